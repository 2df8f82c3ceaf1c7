/* SPDX-License-Identifier: Apache-2.0
 * Reading a stream. Data is used only after its checksum was compared and its
 * indexes were checked.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/reading.h"
#include "record/stream_format.h"

struct vly_stream_reader {
    vly_stream_heading heading;
    uint32_t check; /* of the block before */
    bool ended;
    vly_stream_tail tail;
    unsigned char *bytes; /* of a block */
    size_t capacity;
    uint32_t *words; /* what a block holds, for the caller */
    size_t words_capacity;
};

static vly_status fail_read(const vly_stream_reader *reader, vly_error *error)
{
    return vly_fail(error, VLY_E_IO, "%s: cannot be read: %s",
                    reader->heading.path, strerror(errno));
}

/* ---- open and close ---------------------------------------------------- */

/* held: by vly_stream_hold, so the lock is not taken */
static vly_status open_file(vly_stream_reader *reader, bool held,
                            vly_error *error)
{
    struct stat info;
    const vly_status status = vly_reading_open(
        reader->heading.path, VLY_READ_FILE, &reader->heading.file, error);
    if (status != VLY_OK)
        return status;
    if (fstat(fileno(reader->heading.file), &info) != 0)
        return fail_read(reader, error);
    /* its writer holds it until the end; a file system without locks returns an
     * error other than EWOULDBLOCK */
    if (!held && flock(fileno(reader->heading.file), LOCK_SH | LOCK_NB) != 0 &&
        errno == EWOULDBLOCK)
        return vly_fail(error, VLY_E_IO,
                        "%s: is being written by a run that goes on",
                        reader->heading.path);
    reader->heading.n_file = (uint64_t)info.st_size;
    return VLY_OK;
}

static vly_status open_reader(const char *path, bool held,
                              vly_stream_reader **reader, vly_error *error)
{
    vly_stream_reader *made = vly_calloc(1, sizeof *made);
    vly_status status = VLY_OK;
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "a reader");
    made->heading.path = vly_strdup(path);
    if (!made->heading.path) {
        status = vly_fail_nomem(error, strlen(path), "a file name");
        goto out;
    }
    VLY_TRY(open_file(made, held, error));
    VLY_TRY(vly_stream_heading_read(&made->heading, error));
    VLY_TRY(vly_stream_reader_rewind(made, error));
    *reader = made;
    made = NULL;
out:
    vly_stream_reader_close(made);
    return status;
}

vly_status vly_stream_reader_open(const char *path, vly_stream_reader **reader,
                                  vly_error *error)
{
    return open_reader(path, false, reader, error);
}

vly_status vly_stream_reader_open_held(const char *path,
                                       vly_stream_reader **reader,
                                       vly_error *error)
{
    return open_reader(path, true, reader, error);
}

const vly_stream_head *vly_stream_reader_head(const vly_stream_reader *reader)
{
    return &reader->heading.head;
}

void vly_stream_reader_tail(const vly_stream_reader *reader,
                            vly_stream_tail *tail)
{
    *tail = reader->tail;
}

vly_status vly_stream_reader_rewind(vly_stream_reader *reader, vly_error *error)
{
    if (fseeko(reader->heading.file, (off_t)reader->heading.n_bytes,
               SEEK_SET) != 0)
        return fail_read(reader, error);
    memcpy(&reader->check, reader->heading.bytes + reader->heading.n_bytes - 4,
           4);
    reader->ended = false;
    reader->tail =
        (vly_stream_tail){.state = VLY_STREAM_OPEN,
                          .n_bytes = reader->heading.n_bytes,
                          .n_bursts = reader->heading.head.first_burst};
    return VLY_OK;
}

void vly_stream_reader_close(vly_stream_reader *reader)
{
    if (!reader)
        return;
    vly_stream_heading_deinit(&reader->heading);
    vly_free(reader->bytes);
    vly_free(reader->words);
    vly_free(reader);
}

/* ---- blocks ------------------------------------------------------------ */

/* No payload is longer: all neurons fired, or one frame. */
static uint64_t payload_limit(const vly_stream_reader *reader)
{
    return 2 * VLY_STREAM_VARINT + 5 * reader->heading.n_neurons;
}

static vly_status grow(void **memory, size_t *capacity, uint64_t n, size_t size,
                       vly_error *error)
{
    if (n <= *capacity)
        return VLY_OK;
    void *grown = vly_realloc(*memory, (size_t)n, size);
    if (!grown)
        return vly_fail_nomem(error, n * size, "a block of a stream");
    *memory = grown;
    *capacity = (size_t)n;
    return VLY_OK;
}

/* Reads n more bytes of a block. *whole is false where the file ends. */
static vly_status read_more(vly_stream_reader *reader, size_t *have, uint64_t n,
                            bool *whole, vly_error *error)
{
    void *memory = reader->bytes;
    vly_status status = grow(&memory, &reader->capacity, *have + n, 1, error);
    reader->bytes = memory;
    if (status != VLY_OK)
        return status;
    errno = 0;
    size_t got =
        fread(reader->bytes + *have, 1, (size_t)n, reader->heading.file);
    if (ferror(reader->heading.file))
        return fail_read(reader, error);
    *have += got;
    *whole = got == n;
    return VLY_OK;
}

/* One block as stored in the file; *n 0: there is none, *state has the reason.
 */
static vly_status read_block(vly_stream_reader *reader, size_t *n,
                             const unsigned char **payload,
                             vly_stream_state *state, vly_error *error)
{
    uint64_t n_payload = 0;
    size_t have = 0;
    bool whole = false;
    const unsigned char *behind = NULL;
    vly_status status = read_more(reader, &have, 1, &whole, error);
    *n = 0;
    *state = VLY_STREAM_OPEN;
    if (status != VLY_OK || !whole)
        return status;
    *state = VLY_STREAM_DAMAGED;
    while (!behind && have < VLY_STREAM_BLOCK_HEAD) {
        status = read_more(reader, &have, 1, &whole, error);
        *state = whole ? VLY_STREAM_DAMAGED : VLY_STREAM_CUT;
        if (status != VLY_OK || !whole)
            return status;
        if ((reader->bytes[have - 1] & 0x80u) == 0)
            behind = vly_varint_get(reader->bytes + 1, reader->bytes + have,
                                    &n_payload);
    }
    if (!behind || n_payload > payload_limit(reader))
        return VLY_OK;
    size_t n_head = have;
    status =
        read_more(reader, &have, n_payload + VLY_STREAM_CHECK, &whole, error);
    *state = whole ? VLY_STREAM_DAMAGED : VLY_STREAM_CUT;
    if (status != VLY_OK || !whole)
        return status;
    uint32_t theirs = 0;
    size_t n_block = have - VLY_STREAM_CHECK;
    memcpy(&theirs, reader->bytes + n_block, sizeof theirs);
    if (theirs != vly_stream_check(reader->check, reader->bytes, n_block))
        return VLY_OK;
    *payload = reader->bytes + n_head;
    *n = have;
    return VLY_OK;
}

static bool unpack_ids(const vly_stream_reader *reader, const unsigned char *at,
                       const unsigned char *end, uint32_t n)
{
    uint64_t next = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t gap = 0;
        at = vly_varint_get(at, end, &gap);
        if (!at || gap >= reader->heading.n_neurons ||
            next + gap >= reader->heading.n_neurons)
            return false;
        reader->words[i] = (uint32_t)(next + gap);
        next += gap + 1;
    }
    return at == end;
}

/* *good is false if the content of the block is invalid. */
static vly_status unpack(vly_stream_reader *reader,
                         const unsigned char *payload, const unsigned char *end,
                         vly_stream_block *block, bool *good, vly_error *error)
{
    uint64_t burst = 0;
    uint64_t second = 0;
    const unsigned char *at = vly_varint_get(payload, end, &burst);
    at = at ? vly_varint_get(at, end, &second) : NULL;
    *good = at != NULL;
    if (!at)
        return VLY_OK;
    uint64_t n = block->kind == VLY_STREAM_SPIKES  ? second
                 : block->kind == VLY_STREAM_FRAME ? (uint64_t)(end - at) / 4
                                                   : 0;
    if (n > reader->heading.n_neurons) {
        *good = false;
        return VLY_OK;
    }
    void *memory = reader->words;
    vly_status status =
        grow(&memory, &reader->words_capacity, n, sizeof(uint32_t), error);
    reader->words = memory;
    if (status != VLY_OK)
        return status;
    block->burst = burst;
    block->n = (uint32_t)n;
    block->data = reader->words;
    block->n_spikes = second;
    switch (block->kind) {
    case VLY_STREAM_SPIKES:
        *good = unpack_ids(reader, at, end, block->n);
        break;
    case VLY_STREAM_FRAME:
        *good = second < reader->heading.head.n_reports &&
                n == vly_stream_words(&reader->heading.reports[second]) &&
                (uint64_t)(end - at) == n * 4;
        if (*good && n > 0)
            memcpy(reader->words, at, (size_t)n * 4);
        block->report = (uint32_t)second;
        break;
    default:
        *good = block->kind == VLY_STREAM_END && at == end;
    }
    return VLY_OK;
}

static void count_block(vly_stream_reader *reader,
                        const vly_stream_block *block)
{
    vly_stream_tail *tail = &reader->tail;
    uint64_t done = block->burst + (block->kind == VLY_STREAM_SPIKES);
    tail->n_bursts = done > tail->n_bursts ? done : tail->n_bursts;
    if (block->kind == VLY_STREAM_SPIKES)
        tail->n_spikes += block->n;
    if (block->kind == VLY_STREAM_FRAME)
        tail->n_frames++;
}

static void end_here(vly_stream_reader *reader, vly_stream_state state)
{
    reader->ended = true;
    reader->tail.state = state;
    reader->tail.n_left = reader->heading.n_file > reader->tail.n_bytes
                              ? reader->heading.n_file - reader->tail.n_bytes
                              : 0;
    /* nothing may follow the last block */
    if (state == VLY_STREAM_WHOLE && reader->tail.n_left > 0)
        reader->tail.state = VLY_STREAM_DAMAGED;
}

vly_status vly_stream_reader_next(vly_stream_reader *reader,
                                  vly_stream_block *block, bool *more,
                                  vly_error *error)
{
    const unsigned char *payload = NULL;
    vly_stream_state state = VLY_STREAM_OPEN;
    vly_stream_block found = {0};
    size_t n = 0;
    bool good = false;
    *more = false;
    if (reader->ended)
        return VLY_OK;
    vly_status status = read_block(reader, &n, &payload, &state, error);
    if (status == VLY_OK && n > 0) {
        found.kind = (vly_stream_kind)reader->bytes[0];
        status = unpack(reader, payload, reader->bytes + n - VLY_STREAM_CHECK,
                        &found, &good, error);
        state = VLY_STREAM_DAMAGED;
    }
    if (status != VLY_OK)
        return status;
    if (!good) {
        end_here(reader, state);
        return VLY_OK;
    }
    memcpy(&reader->check, reader->bytes + n - VLY_STREAM_CHECK,
           sizeof reader->check);
    reader->tail.n_bytes += n;
    count_block(reader, &found);
    if (found.kind == VLY_STREAM_END)
        end_here(reader, VLY_STREAM_WHOLE);
    *block = found;
    *more = true;
    return VLY_OK;
}

/* SPDX-License-Identifier: Apache-2.0
 * Reading a stream. Nothing in it is believed before its checksum was compared,
 * and after that nothing that could lead outside of an array either.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/memory.h"
#include "record/stream_format.h"

struct vly_stream_reader {
    FILE *file;
    char *path;
    uint64_t n_file;
    unsigned char *head_bytes;
    vly_stream_head head;
    vly_spike_area *areas;
    vly_stream_report *reports;
    uint64_t n_head;
    uint64_t n_neurons;
    uint32_t check; /* of the block before */
    bool ended;
    vly_stream_tail tail;
    unsigned char *bytes; /* of a block */
    size_t capacity;
    uint32_t *words; /* what a block holds, for the caller */
    size_t words_capacity;
};

static vly_status damaged(const vly_stream_reader *reader, const char *what,
                          vly_error *error)
{
    return vly_fail(error, VLY_E_PARSE, "%s: damaged stream: %s", reader->path,
                    what);
}

static vly_status fail_read(const vly_stream_reader *reader, vly_error *error)
{
    return vly_fail(error, VLY_E_IO, "%s: cannot be read: %s", reader->path,
                    strerror(errno));
}

/* ---- the head ---------------------------------------------------------- */

static vly_status read_file_head(vly_stream_reader *reader,
                                 vly_stream_file_head *file, vly_error *error)
{
    errno = 0;
    size_t n = fread(file, 1, sizeof *file, reader->file);
    if (ferror(reader->file))
        return fail_read(reader, error);
    if (n < sizeof file->magic ||
        memcmp(file->magic, VLY_STREAM_MAGIC, sizeof file->magic) != 0)
        return vly_fail(error, VLY_E_PARSE,
                        "%s: not a stream of a recording, wanted one",
                        reader->path);
    if (n < sizeof *file)
        return damaged(reader, "it ends in its head", error);
    if (file->endian != VLY_STREAM_ENDIAN)
        return damaged(reader, "written in another byte order", error);
    if (file->version != VLY_STREAM_VERSION)
        return vly_fail(error, VLY_E_PARSE,
                        "%s: stream of version %u, wanted %u", reader->path,
                        file->version, VLY_STREAM_VERSION);
    return VLY_OK;
}

/* The bytes that the head says it has. */
static bool is_sized(const vly_stream_reader *reader,
                     const vly_stream_file_head *file)
{
    uint64_t n = sizeof *file + sizeof(vly_hash);
    if (file->head_bytes > reader->n_file || file->text_bytes > UINT32_MAX ||
        file->n_listed > UINT64_C(1) << 40)
        return false;
    n += file->n_areas * (uint64_t)sizeof(vly_stream_file_area);
    n += file->n_reports * (uint64_t)sizeof(vly_stream_file_report);
    n += file->n_listed * sizeof(uint32_t) + file->text_bytes;
    return n == file->head_bytes;
}

static const char *text_at(const char *text, uint64_t n_text, uint32_t at)
{
    if (at >= n_text || memchr(text + at, '\0', n_text - at) == NULL)
        return NULL;
    return text + at;
}

static bool read_areas(vly_stream_reader *reader, const unsigned char *at,
                       const char *text, uint64_t n_text)
{
    uint64_t next = 0;
    for (uint32_t a = 0; a < reader->head.n_areas; a++) {
        vly_stream_file_area entry;
        memcpy(&entry, at + a * sizeof entry, sizeof entry);
        const char *name = text_at(text, n_text, entry.name);
        if (name == NULL || entry.first != next || entry.recorded > 1)
            return false;
        next += entry.n_neurons;
        reader->areas[a] = (vly_spike_area){name, entry.first, entry.n_neurons,
                                            entry.recorded != 0};
    }
    reader->n_neurons = next;
    return next <= UINT32_MAX;
}

static bool is_ascending(const uint32_t *list, uint32_t n, uint32_t limit)
{
    for (uint32_t i = 0; i < n; i++)
        if (list[i] >= limit || (i > 0 && list[i] <= list[i - 1]))
            return false;
    return true;
}

static bool read_reports(vly_stream_reader *reader, const unsigned char *at,
                         const uint32_t *listed, uint64_t n_listed,
                         const char *text, uint64_t n_text)
{
    for (uint32_t r = 0; r < reader->head.n_reports; r++) {
        vly_stream_file_report entry;
        memcpy(&entry, at + r * sizeof entry, sizeof entry);
        const char *field = text_at(text, n_text, entry.field);
        const char *unit = text_at(text, n_text, entry.unit);
        if (field == NULL || unit == NULL || entry.interval == 0 ||
            entry.area >= reader->head.n_areas || entry.type > VLY_TYPE_U32)
            return false;
        uint32_t limit = reader->areas[entry.area].n_neurons;
        if (entry.n_neurons > limit ||
            (entry.listed == 0 && entry.n_neurons != limit))
            return false;
        if (entry.listed != 0 &&
            (entry.n_neurons > n_listed ||
             !is_ascending(listed, entry.n_neurons, limit)))
            return false;
        reader->reports[r] =
            (vly_stream_report){.record = entry.record,
                                .area = entry.area,
                                .type = entry.type,
                                .n_neurons = entry.n_neurons,
                                .neurons = entry.listed != 0 ? listed : NULL,
                                .field = field,
                                .unit = unit,
                                .interval = entry.interval};
        if (entry.listed != 0) {
            listed += entry.n_neurons;
            n_listed -= entry.n_neurons;
        }
    }
    return n_listed == 0;
}

static vly_status read_parts(vly_stream_reader *reader,
                             const vly_stream_file_head *file, vly_error *error)
{
    size_t n = (size_t)file->head_bytes;
    size_t n_sum = n - sizeof(vly_hash);
    unsigned char *bytes = reader->head_bytes;
    vly_hash sum = vly_hash_bytes((vly_hash){{0, 0}}, bytes, n_sum);
    if (memcmp(&sum, bytes + n_sum, sizeof sum) != 0)
        return damaged(reader, "the checksum of its head is another", error);
    const unsigned char *areas = bytes + sizeof *file;
    const unsigned char *reports =
        areas + file->n_areas * sizeof(vly_stream_file_area);
    const unsigned char *listed =
        reports + file->n_reports * sizeof(vly_stream_file_report);
    const char *text = (const char *)(listed + file->n_listed * 4);
    reader->head = (vly_stream_head){.genome_hash = file->genome_hash,
                                     .connectome_hash = file->connectome_hash,
                                     .dt_ms = file->dt_ms,
                                     .first_burst = file->first_burst,
                                     .areas = reader->areas,
                                     .n_areas = file->n_areas,
                                     .n_reports = file->n_reports,
                                     .reports = reader->reports,
                                     .purpose = file->purpose};
    /* the parts before are multiples of 4 bytes, and malloc's block is aligned
     */
    const void *aligned = listed;
    if (file->purpose > 2 ||
        !read_areas(reader, areas, text, file->text_bytes) ||
        !read_reports(reader, reports, aligned, file->n_listed, text,
                      file->text_bytes) ||
        !(file->dt_ms > 0))
        return damaged(reader, "its head contradicts itself", error);
    memcpy(&reader->check, bytes + n - sizeof reader->check,
           sizeof reader->check);
    return VLY_OK;
}

static vly_status read_head(vly_stream_reader *reader, vly_error *error)
{
    vly_stream_file_head file;
    vly_status status = VLY_OK;
    VLY_TRY(read_file_head(reader, &file, error));
    if (!is_sized(reader, &file))
        return damaged(reader, "it ends in its head, or its sizes are wrong",
                       error);
    size_t n = (size_t)file.head_bytes;
    reader->n_head = n;
    reader->head_bytes = vly_malloc(n, 1);
    reader->areas = vly_calloc(file.n_areas, sizeof *reader->areas);
    reader->reports = vly_calloc(file.n_reports, sizeof *reader->reports);
    if (reader->head_bytes == NULL || reader->areas == NULL ||
        reader->reports == NULL)
        return vly_fail_nomem(error, n, "the head of a stream");
    memcpy(reader->head_bytes, &file, sizeof file);
    errno = 0;
    size_t got = fread(reader->head_bytes + sizeof file, 1, n - sizeof file,
                       reader->file);
    if (ferror(reader->file))
        return fail_read(reader, error);
    if (got < n - sizeof file)
        return damaged(reader, "it ends in its head", error);
    status = read_parts(reader, &file, error);
out:
    return status;
}

/* ---- open and close ---------------------------------------------------- */

static vly_status open_file(vly_stream_reader *reader, vly_error *error)
{
    struct stat info;
    reader->file = fopen(reader->path, "rbe");
    if (reader->file == NULL || fstat(fileno(reader->file), &info) != 0)
        return fail_read(reader, error);
    if (!S_ISREG(info.st_mode))
        return vly_fail(error, VLY_E_INVALID, "%s: not a file, wanted one",
                        reader->path);
    /* its writer holds it until the end; a file system without locks says
     * something else than EWOULDBLOCK */
    if (flock(fileno(reader->file), LOCK_SH | LOCK_NB) != 0 &&
        errno == EWOULDBLOCK)
        return vly_fail(error, VLY_E_IO,
                        "%s: is being written by a run that goes on",
                        reader->path);
    reader->n_file = (uint64_t)info.st_size;
    return VLY_OK;
}

vly_status vly_stream_reader_open(const char *path, vly_stream_reader **reader,
                                  vly_error *error)
{
    vly_stream_reader *made = vly_calloc(1, sizeof *made);
    vly_status status = VLY_OK;
    if (made == NULL)
        return vly_fail_nomem(error, sizeof *made, "a reader");
    made->path = vly_strdup(path);
    if (made->path == NULL) {
        status = vly_fail_nomem(error, strlen(path), "a file name");
        goto out;
    }
    VLY_TRY(open_file(made, error));
    VLY_TRY(read_head(made, error));
    VLY_TRY(vly_stream_reader_rewind(made, error));
    *reader = made;
    made = NULL;
out:
    vly_stream_reader_close(made);
    return status;
}

const vly_stream_head *vly_stream_reader_head(const vly_stream_reader *reader)
{
    return &reader->head;
}

void vly_stream_reader_tail(const vly_stream_reader *reader,
                            vly_stream_tail *tail)
{
    *tail = reader->tail;
}

vly_status vly_stream_reader_rewind(vly_stream_reader *reader, vly_error *error)
{
    if (fseeko(reader->file, (off_t)reader->n_head, SEEK_SET) != 0)
        return fail_read(reader, error);
    memcpy(&reader->check, reader->head_bytes + reader->n_head - 4, 4);
    reader->ended = false;
    reader->tail = (vly_stream_tail){.state = VLY_STREAM_OPEN,
                                     .n_bytes = reader->n_head,
                                     .n_bursts = reader->head.first_burst};
    return VLY_OK;
}

void vly_stream_reader_close(vly_stream_reader *reader)
{
    if (reader == NULL)
        return;
    if (reader->file != NULL)
        fclose(reader->file);
    vly_free(reader->path);
    vly_free(reader->head_bytes);
    vly_free(reader->areas);
    vly_free(reader->reports);
    vly_free(reader->bytes);
    vly_free(reader->words);
    vly_free(reader);
}

/* ---- blocks ------------------------------------------------------------ */

/* No payload is longer: all neurons fired, or one frame. */
static uint64_t payload_limit(const vly_stream_reader *reader)
{
    return 2 * VLY_STREAM_VARINT + 5 * reader->n_neurons;
}

static vly_status grow(void **memory, size_t *capacity, uint64_t n, size_t size,
                       vly_error *error)
{
    if (n <= *capacity)
        return VLY_OK;
    void *grown = vly_realloc(*memory, (size_t)n, size);
    if (grown == NULL)
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
    size_t got = fread(reader->bytes + *have, 1, (size_t)n, reader->file);
    if (ferror(reader->file))
        return fail_read(reader, error);
    *have += got;
    *whole = got == n;
    return VLY_OK;
}

/* One block as it lies in the file; *n 0: there is none, *state says why. */
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
    while (behind == NULL && have < VLY_STREAM_BLOCK_HEAD) {
        status = read_more(reader, &have, 1, &whole, error);
        *state = whole ? VLY_STREAM_DAMAGED : VLY_STREAM_CUT;
        if (status != VLY_OK || !whole)
            return status;
        if ((reader->bytes[have - 1] & 0x80u) == 0)
            behind = vly_varint_get(reader->bytes + 1, reader->bytes + have,
                                    &n_payload);
    }
    if (behind == NULL || n_payload > payload_limit(reader))
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
        if (at == NULL || gap >= reader->n_neurons ||
            next + gap >= reader->n_neurons)
            return false;
        reader->words[i] = (uint32_t)(next + gap);
        next += gap + 1;
    }
    return at == end;
}

/* *good is false where the block is not one that a writer makes. */
static vly_status unpack(vly_stream_reader *reader,
                         const unsigned char *payload, const unsigned char *end,
                         vly_stream_block *block, bool *good, vly_error *error)
{
    uint64_t burst = 0;
    uint64_t second = 0;
    const unsigned char *at = vly_varint_get(payload, end, &burst);
    at = at != NULL ? vly_varint_get(at, end, &second) : NULL;
    *good = at != NULL;
    if (at == NULL)
        return VLY_OK;
    uint64_t n = block->kind == VLY_STREAM_SPIKES  ? second
                 : block->kind == VLY_STREAM_FRAME ? (uint64_t)(end - at) / 4
                                                   : 0;
    if (n > reader->n_neurons) {
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
        *good = second < reader->head.n_reports &&
                n == reader->reports[second].n_neurons &&
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
    reader->tail.n_left = reader->n_file > reader->tail.n_bytes
                              ? reader->n_file - reader->tail.n_bytes
                              : 0;
    /* behind the last block there is nothing */
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

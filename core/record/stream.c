/* SPDX-License-Identifier: Apache-2.0
 * Writing a stream. A block is built in memory and passed to the writer as a
 * whole, so the file ends inside a block only if the machine or the disk
 * failed.
 */
#include "record/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/reading.h"
#include "base/transfer.h"
#include "base/writer.h"
#include "record/stream_format.h"

typedef struct stream_area {
    uint32_t first;
    uint32_t n_neurons;
    bool recorded;
} stream_area;

struct vly_stream {
    vly_writer *writer;
    char *path;
    stream_area *areas;
    uint32_t *frame_words; /* [n_reports] */
    uint32_t n_areas;
    uint32_t n_reports;
    uint32_t check; /* of the block before */
    uint64_t n_spikes;
    unsigned char *bytes; /* the block being made */
    size_t capacity;
};

/* ---- open and close ---------------------------------------------------- */

static void free_stream(vly_stream *stream)
{
    vly_free(stream->path);
    vly_free(stream->areas);
    vly_free(stream->frame_words);
    vly_free(stream->bytes);
    vly_free(stream);
}

static vly_status make_stream(const char *path, const vly_stream_head *head,
                              vly_stream **stream, vly_error *error)
{
    vly_stream *made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "a stream");
    made->path = vly_strdup(path);
    made->areas = vly_calloc(head->n_areas, sizeof *made->areas);
    made->frame_words = vly_calloc(head->n_reports, sizeof(uint32_t));
    if (!made->path || !made->areas || !made->frame_words) {
        free_stream(made);
        return vly_fail_nomem(error, head->n_areas * sizeof *made->areas,
                              "a stream");
    }
    made->n_areas = head->n_areas;
    made->n_reports = head->n_reports;
    for (uint32_t a = 0; a < head->n_areas; a++)
        made->areas[a] =
            (stream_area){head->areas[a].first, head->areas[a].n_neurons,
                          head->areas[a].recorded};
    for (uint32_t r = 0; r < head->n_reports; r++)
        made->frame_words[r] = vly_stream_words(&head->reports[r]);
    *stream = made;
    return VLY_OK;
}

static uint32_t last_word(const unsigned char *bytes, size_t n)
{
    uint32_t word = 0;
    memcpy(&word, bytes + n - sizeof word, sizeof word);
    return word;
}

vly_status vly_stream_open(const char *path, const vly_stream_head *head,
                           vly_stream **stream, vly_error *error)
{
    vly_stream *made = NULL;
    vly_stream_head_image bytes = {NULL, 0};
    vly_status status = make_stream(path, head, &made, error);
    if (status != VLY_OK)
        return status;
    VLY_TRY(
        vly_stream_head_make(head, vly_stream_version_of(head), &bytes, error));
    VLY_TRY(vly_writer_open(path, false, &made->writer, error));
    VLY_TRY(vly_writer_bytes(made->writer, bytes.bytes, bytes.n, error));
    made->check = last_word(bytes.bytes, bytes.n);
    *stream = made;
    made = NULL;
out:
    if (made) {
        vly_writer_abandon(made->writer);
        free_stream(made);
    }
    vly_free(bytes.bytes);
    return status;
}

static vly_status read_at(const char *path, uint64_t at, void *bytes, size_t n,
                          vly_error *error)
{
    int file = -1;
    const vly_status status =
        vly_reading_descriptor(path, VLY_READ_FILE, &file, error);
    if (status != VLY_OK)
        return status;
    ssize_t got = vly_transfer_read_at(file, bytes, n, at);
    int number = errno;
    close(file);
    if (got < 0)
        return vly_fail(error, VLY_E_IO, "%s: cannot be read: %s", path,
                        strerror(number));
    if ((size_t)got < n)
        return vly_fail(error, VLY_E_PARSE,
                        "%s: ends in the part that the run goes on from", path);
    return VLY_OK;
}

static vly_status check_head(const char *path, const vly_stream_head *head,
                             const vly_spike_place *place, vly_error *error)
{
    vly_stream_head_image ours = {NULL, 0};
    unsigned char *theirs = NULL;
    uint32_t version = 0;
    vly_status status = VLY_OK;
    VLY_TRY(read_at(path, offsetof(vly_stream_file_head, version), &version,
                    sizeof version, error));
    if (version != 1) /* another one: a stream with another head */
        version = vly_stream_version_of(head);
    VLY_TRY(vly_stream_head_make(head, version, &ours, error));
    theirs = vly_malloc(ours.n, 1);
    if (!theirs) {
        status = vly_fail_nomem(error, ours.n, "the head of a stream");
        goto out;
    }
    VLY_TRY(read_at(path, 0, theirs, ours.n, error));
    /* the old stream's first burst is kept */
    size_t first = offsetof(vly_stream_file_head, first_burst);
    memcpy(ours.bytes + first, theirs + first, sizeof(uint64_t));
    vly_stream_head_seal(&ours);
    if (place->n_bytes < ours.n || memcmp(ours.bytes, theirs, ours.n) != 0)
        status =
            vly_fail(error, VLY_E_PARSE,
                     "%s: not the stream of this network and [[record]]", path);
out:
    vly_free(theirs);
    vly_free(ours.bytes);
    return status;
}

/* Otherwise a damaged block would be found only at the end of the run. */
static vly_status check_blocks(const char *path, const vly_spike_place *place,
                               vly_error *error)
{
    vly_stream_reader *reader = NULL;
    vly_stream_block block;
    vly_stream_tail tail = {.n_bytes = 0};
    bool more = true;
    vly_status status = VLY_OK;
    VLY_TRY(vly_stream_reader_open(path, &reader, error));
    vly_stream_reader_tail(reader, &tail);
    while (more && tail.n_bytes < place->n_bytes) {
        VLY_TRY(vly_stream_reader_next(reader, &block, &more, error));
        vly_stream_reader_tail(reader, &tail);
    }
    if (tail.n_bytes != place->n_bytes || tail.n_spikes != place->n_spikes)
        status =
            vly_fail(error, VLY_E_PARSE,
                     "%s: damaged at byte %" PRIu64 ", after burst %" PRIu64
                     ", and the run was to go on after byte %" PRIu64,
                     path, tail.n_bytes, tail.n_bursts, place->n_bytes);
out:
    vly_stream_reader_close(reader);
    return status;
}

vly_status vly_stream_resume(const char *path, const vly_stream_head *head,
                             const vly_spike_place *place, vly_stream **stream,
                             vly_error *error)
{
    vly_stream *made = NULL;
    vly_status status = make_stream(path, head, &made, error);
    if (status != VLY_OK)
        return status;
    VLY_TRY(check_head(path, head, place, error));
    VLY_TRY(check_blocks(path, place, error));
    VLY_TRY(read_at(path, place->n_bytes - VLY_STREAM_CHECK, &made->check,
                    sizeof made->check, error));
    VLY_TRY(vly_writer_resume(path, place->n_bytes, &made->writer, error));
    made->n_spikes = place->n_spikes;
    *stream = made;
    made = NULL;
out:
    if (made) {
        vly_writer_abandon(made->writer);
        free_stream(made);
    }
    return status;
}

vly_status vly_stream_flush(vly_stream *stream, vly_spike_place *place,
                            vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_writer_flush(stream->writer, error));
    place->n_bytes = vly_writer_tell(stream->writer);
    place->n_spikes = stream->n_spikes;
out:
    return status;
}

vly_status vly_stream_rewind(vly_stream *stream, const vly_spike_place *place,
                             vly_error *error)
{
    uint32_t check = 0;
    vly_status status = VLY_OK;
    VLY_TRY(vly_writer_rewind(stream->writer, place->n_bytes, error));
    VLY_TRY(read_at(stream->path, place->n_bytes - VLY_STREAM_CHECK, &check,
                    sizeof check, error));
    stream->check = check;
    stream->n_spikes = place->n_spikes;
out:
    return status;
}

uint64_t vly_stream_count(const vly_stream *stream)
{
    return stream->n_spikes;
}

uint64_t vly_stream_bytes(const vly_stream *stream)
{
    return vly_writer_tell(stream->writer);
}

int vly_stream_hold(const vly_stream *stream)
{
    return vly_writer_hold(stream->writer);
}

void vly_stream_cancel(vly_stream *stream)
{
    if (stream)
        vly_writer_cancel(stream->writer);
}

vly_status vly_stream_close(vly_stream *stream, vly_error *error)
{
    if (!stream)
        return VLY_OK;
    vly_status status = vly_writer_close(stream->writer, error);
    free_stream(stream);
    return status;
}

/* ---- blocks ------------------------------------------------------------ */

/* Room for a payload of n bytes, its head and its checksum. */
static vly_status reserve(vly_stream *stream, uint64_t n, vly_error *error)
{
    uint64_t wanted = n + VLY_STREAM_BLOCK_HEAD + VLY_STREAM_CHECK;
    if (wanted <= stream->capacity)
        return VLY_OK;
    unsigned char *bytes = vly_realloc(stream->bytes, (size_t)wanted, 1);
    if (!bytes)
        return vly_fail_nomem(error, wanted, "a block of a stream");
    stream->bytes = bytes;
    stream->capacity = (size_t)wanted;
    return VLY_OK;
}

/* The payload is stored after room for the longest head; the head is written
 * directly before it. */
static vly_status put_block(vly_stream *stream, vly_stream_kind kind,
                            const unsigned char *end, vly_error *error)
{
    unsigned char head[VLY_STREAM_BLOCK_HEAD];
    unsigned char *payload = stream->bytes + VLY_STREAM_BLOCK_HEAD;
    head[0] = (unsigned char)kind;
    size_t n_payload = (size_t)(end - payload);
    size_t n_head = (size_t)(vly_varint_put(head + 1, n_payload) - head);
    unsigned char *block = payload - n_head;
    size_t n = n_head + n_payload;
    memcpy(block, head, n_head);
    uint32_t check = vly_stream_check(stream->check, block, n);
    memcpy(block + n, &check, sizeof check);
    vly_status status = VLY_OK;
    VLY_TRY(vly_writer_bytes(stream->writer, block, n + sizeof check, error));
    stream->check = check;
out:
    return status;
}

/* How many of the ids are recorded. */
static vly_status count_recorded(const vly_stream *stream, const uint32_t *ids,
                                 uint32_t n_ids, uint32_t *n, vly_error *error)
{
    uint32_t a = 0;
    uint32_t sum = 0;
    for (uint32_t i = 0; i < n_ids; i++) {
        while (a < stream->n_areas &&
               ids[i] - stream->areas[a].first >= stream->areas[a].n_neurons)
            a++;
        if (a == stream->n_areas)
            return vly_fail(error, VLY_E_INVALID, "neuron %u is in no area",
                            ids[i]);
        sum += stream->areas[a].recorded;
    }
    *n = sum;
    return VLY_OK;
}

vly_status vly_stream_spikes(vly_stream *stream, uint64_t burst,
                             const uint32_t *ids, uint32_t n_ids,
                             vly_error *error)
{
    uint32_t n = 0;
    uint32_t a = 0;
    uint32_t next = 0; /* the smallest id that may follow */
    vly_status status = VLY_OK;
    VLY_TRY(count_recorded(stream, ids, n_ids, &n, error));
    if (n == 0)
        return VLY_OK;
    /* an id has at most five bytes */
    VLY_TRY(reserve(stream, 2 * VLY_STREAM_VARINT + UINT64_C(5) * n, error));
    unsigned char *at = stream->bytes + VLY_STREAM_BLOCK_HEAD;
    at = vly_varint_put(at, burst);
    at = vly_varint_put(at, n);
    for (uint32_t i = 0; i < n_ids; i++) {
        while (ids[i] - stream->areas[a].first >= stream->areas[a].n_neurons)
            a++;
        if (!stream->areas[a].recorded)
            continue;
        at = vly_varint_put(at, ids[i] - next);
        next = ids[i] + 1;
    }
    VLY_TRY(put_block(stream, VLY_STREAM_SPIKES, at, error));
    stream->n_spikes += n;
out:
    return status;
}

vly_status vly_stream_frame(vly_stream *stream, uint64_t n_bursts,
                            uint32_t report, const uint32_t *words,
                            vly_error *error)
{
    vly_status status = VLY_OK;
    size_t n = stream->frame_words[report] * sizeof *words;
    VLY_TRY(reserve(stream, 2 * VLY_STREAM_VARINT + (uint64_t)n, error));
    unsigned char *at = stream->bytes + VLY_STREAM_BLOCK_HEAD;
    at = vly_varint_put(at, n_bursts);
    at = vly_varint_put(at, report);
    memcpy(at, words, n);
    at += n;
    status = put_block(stream, VLY_STREAM_FRAME, at, error);
out:
    return status;
}

vly_status vly_stream_end(vly_stream *stream, uint64_t n_bursts,
                          vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(reserve(stream, 2 * VLY_STREAM_VARINT, error));
    unsigned char *at = stream->bytes + VLY_STREAM_BLOCK_HEAD;
    at = vly_varint_put(at, n_bursts);
    at = vly_varint_put(at, stream->n_spikes);
    status = put_block(stream, VLY_STREAM_END, at, error);
out:
    return status;
}

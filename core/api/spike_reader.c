/* SPDX-License-Identifier: Apache-2.0
 * Recordings read and converted by C programs: see volley/record.h.
 */
#include <volley/record.h>

#include "base/error.h"
#include "base/memory.h"
#include "record/export.h"
#include "record/stream.h"

struct vly_spike_reader {
    vly_stream_reader *stream;
    char *path;
};

vly_status vly_spike_reader_open(const char *path, vly_spike_reader **reader,
                                 vly_error *error)
{
    vly_status status = VLY_OK;
    if (!path || !reader)
        return vly_fail(error, VLY_E_INVALID,
                        "vly_spike_reader_open: an argument is NULL");
    vly_spike_reader *made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "a reader");
    made->path = vly_strdup(path);
    if (!made->path)
        status = vly_fail_nomem(error, 4096, "a path");
    else
        status = vly_stream_reader_open(path, &made->stream, error);
    if (status != VLY_OK)
        vly_spike_reader_close(made);
    else
        *reader = made;
    return status;
}

void vly_spike_reader_close(vly_spike_reader *reader)
{
    if (!reader)
        return;
    vly_stream_reader_close(reader->stream);
    vly_free(reader->path);
    vly_free(reader);
}

vly_status vly_spike_reader_info(const vly_spike_reader *reader,
                                 vly_recording_info *info)
{
    const vly_stream_head *head = vly_stream_reader_head(reader->stream);
    const vly_recording_info made = {
        .n_areas = head->n_areas,
        .first_burst = head->first_burst,
        .dt_ms = head->dt_ms,
        .genome_hash = {head->genome_hash.lane[0], head->genome_hash.lane[1]},
        .connectome_hash = {head->connectome_hash.lane[0],
                            head->connectome_hash.lane[1]},
    };
    return vly_struct_fill(info, &made, sizeof made);
}

vly_status vly_spike_reader_area(const vly_spike_reader *reader, uint32_t index,
                                 vly_recording_area *area)
{
    const vly_stream_head *head = vly_stream_reader_head(reader->stream);
    if (index >= head->n_areas)
        return VLY_E_INVALID;
    const vly_recording_area made = {
        .first = head->areas[index].first,
        .n_neurons = head->areas[index].n_neurons,
        .recorded = head->areas[index].recorded,
        .name = head->areas[index].name,
    };
    return vly_struct_fill(area, &made, sizeof made);
}

/* How the stream ended. */
static vly_status end(const vly_spike_reader *reader, uint64_t *burst,
                      vly_error *error)
{
    static const char *const how[] = {
        [VLY_STREAM_OPEN] = "has no end",
        [VLY_STREAM_CUT] = "is cut",
        [VLY_STREAM_DAMAGED] = "is damaged",
    };
    vly_stream_tail tail;
    vly_stream_reader_tail(reader->stream, &tail);
    if (tail.state != VLY_STREAM_WHOLE)
        return vly_fail(error, VLY_E_PARSE,
                        "%.300s: the stream %s after byte %llu, wanted a whole "
                        "one",
                        reader->path, how[tail.state],
                        (unsigned long long)tail.n_bytes);
    *burst = tail.n_bursts;
    return VLY_OK;
}

vly_status vly_spike_reader_next(vly_spike_reader *reader, uint64_t *burst,
                                 const uint32_t **ids, uint32_t *n_ids,
                                 vly_error *error)
{
    vly_stream_block block;
    vly_status status = VLY_OK;
    bool more = true;
    do {
        VLY_TRY(vly_stream_reader_next(reader->stream, &block, &more, error));
    } while (more && (block.kind != VLY_STREAM_SPIKES || block.n == 0));
    if (!more) {
        VLY_TRY(end(reader, burst, error));
        *ids = NULL;
        *n_ids = 0;
    } else {
        *burst = block.burst;
        *ids = block.data;
        *n_ids = block.n;
    }
out:
    return status;
}

vly_status vly_recording_convert(const char *stream, const char *path,
                                 uint64_t *n_spikes, vly_error *error)
{
    vly_stream_reader *reader = NULL;
    vly_export_counts counts = {0};
    vly_status status = VLY_OK;
    if (!stream || !path)
        return vly_fail(error, VLY_E_INVALID,
                        "vly_recording_convert: an argument is NULL");
    const vly_export_format format = vly_export_format_of(path);
    if (format == VLY_EXPORT_NONE)
        return vly_fail(error, VLY_E_INVALID,
                        "%.300s: wanted another ending than that of a stream",
                        path);
    VLY_TRY(vly_export_check(format, path, error));
    VLY_TRY(vly_stream_reader_open(stream, &reader, error));
    status = vly_export(reader, format, path, true, &counts, NULL, NULL, error);
    if (status == VLY_OK && n_spikes)
        *n_spikes = counts.tail.n_spikes;
    vly_export_counts_deinit(&counts);
out:
    vly_stream_reader_close(reader);
    return status;
}

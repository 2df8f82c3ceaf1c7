/* SPDX-License-Identifier: Apache-2.0
 * Converts a stream to CSV: spikes as spike_csv writes them, samples of a field
 * as `burst,time_ms,area,neuron,FIELD`, where burst is the last one done and
 * time_ms its end; means without the column `neuron`.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/writer.h"
#include "record/export.h"

vly_status vly_export_spikes_csv(vly_stream_reader *reader, const char *path,
                                 vly_error *error)
{
    const vly_stream_head *head = vly_stream_reader_head(reader);
    vly_spike_csv *csv = NULL;
    vly_stream_block block;
    bool more = true;
    vly_status status = VLY_OK;
    VLY_TRY(vly_stream_reader_rewind(reader, error));
    VLY_TRY(vly_spike_csv_create(path, head->areas, head->n_areas, head->dt_ms,
                                 &csv, error));
    while (more) {
        VLY_TRY(vly_stream_reader_next(reader, &block, &more, error));
        if (more && block.kind == VLY_STREAM_SPIKES)
            VLY_TRY(vly_spike_csv_add(csv, block.burst, block.data, block.n,
                                      error));
    }
    status = vly_spike_csv_close(csv, error);
    csv = NULL;
out:
    vly_spike_csv_abandon(csv);
    return status;
}

static vly_status put_frame(vly_writer *writer, const vly_stream_head *head,
                            const vly_stream_block *block, vly_error *error)
{
    const vly_stream_report *report = &head->reports[block->report];
    double time = vly_recording_time(head->dt_ms, block->burst);
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < block->n; i++) {
        float value = 0;
        memcpy(&value, &block->data[i], sizeof value);
        uint32_t neuron = report->neurons ? report->neurons[i] : i;
        char text[32];
        if (report->type == VLY_TYPE_F32)
            snprintf(text, sizeof text, "%.9g", (double)value);
        else
            snprintf(text, sizeof text, "%" PRIu32, block->data[i]);
        const char *area = head->areas[report->area].name;
        VLY_TRY(
            report->mean
                ? vly_writer_print(writer, error, "%" PRIu64 ",%.15g,%s,%s\n",
                                   block->burst - 1, time, area, text)
                : vly_writer_print(writer, error,
                                   "%" PRIu64 ",%.15g,%s,%" PRIu32 ",%s\n",
                                   block->burst - 1, time, area, neuron, text));
    }
out:
    return status;
}

vly_status vly_export_report_csv(vly_stream_reader *reader, uint32_t first,
                                 uint32_t n, const char *path, vly_error *error)
{
    const vly_stream_head *head = vly_stream_reader_head(reader);
    vly_writer *writer = NULL;
    vly_stream_block block;
    bool more = true;
    vly_status status = VLY_OK;
    VLY_TRY(vly_stream_reader_rewind(reader, error));
    VLY_TRY(vly_writer_open(path, true, &writer, error));
    VLY_TRY(vly_writer_print(writer, error, "%s,%s\n",
                             head->reports[first].mean ? VLY_AREA_CSV_HEADER
                                                       : VLY_SPIKE_CSV_HEADER,
                             head->reports[first].field));
    while (more) {
        VLY_TRY(vly_stream_reader_next(reader, &block, &more, error));
        if (more && block.kind == VLY_STREAM_FRAME && block.report - first < n)
            VLY_TRY(put_frame(writer, head, &block, error));
    }
    status = vly_writer_close(writer, error);
    writer = NULL;
out:
    vly_writer_abandon(writer);
    return status;
}

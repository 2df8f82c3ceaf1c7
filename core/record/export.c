/* SPDX-License-Identifier: Apache-2.0
 * Converts a stream to files for other programs.
 */
#include "record/export.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

/* Where the suffix begins, or the end of the text. */
static const char *suffix_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    return dot && dot != name ? dot : name + strlen(name);
}

vly_export_format vly_export_format_of(const char *path)
{
    static const char *const sonata[] = {".h5", ".hdf5", ".sonata"};
    const char *suffix = suffix_of(path);
    for (size_t i = 0; i < sizeof sonata / sizeof sonata[0]; i++)
        if (strcmp(suffix, sonata[i]) == 0)
            return VLY_EXPORT_SONATA;
    return strcmp(suffix, VLY_STREAM_SUFFIX) == 0 ? VLY_EXPORT_NONE
                                                  : VLY_EXPORT_CSV;
}

vly_status vly_export_check(vly_export_format format, const char *path,
                            vly_error *error)
{
    if (format != VLY_EXPORT_SONATA || vly_export_has_sonata())
        return VLY_OK;
    return vly_fail(error, VLY_E_UNSUPPORTED,
                    "%s: SONATA files need HDF5, and this volley was built "
                    "without it; build it with libhdf5-dev and "
                    "-DVOLLEY_HDF5=ON, or record a .csv",
                    path);
}

char *vly_export_report_path(const char *path, uint32_t record,
                             const char *field)
{
    const char *suffix = suffix_of(path);
    return vly_format("%.*s.%" PRIu32 ".%s%s", (int)(suffix - path), path,
                      record, field, suffix);
}

uint32_t vly_recording_format(const char *path)
{
    return (uint32_t)vly_export_format_of(path);
}

vly_status vly_recording_check(const char *path, vly_error *error)
{
    return vly_export_check(vly_export_format_of(path), path, error);
}

double vly_recording_time(double dt_ms, uint64_t n_bursts)
{
    char text[32];
    snprintf(text, sizeof text, "%.15g", (double)n_bursts * dt_ms);
    return strtod(text, NULL);
}

/* ---- counting ---------------------------------------------------------- */

static vly_status count_block(const vly_stream_reader *reader,
                              const vly_stream_block *block,
                              vly_export_counts *counts, vly_error *error)
{
    const vly_stream_head *head = vly_stream_reader_head(reader);
    uint32_t a = 0;
    if (block->kind == VLY_STREAM_SPIKES) {
        for (uint32_t i = 0; i < block->n; i++) {
            while (block->data[i] - head->areas[a].first >=
                   head->areas[a].n_neurons)
                a++;
            counts->area_spikes[a]++;
        }
        return VLY_OK;
    }
    if (block->kind != VLY_STREAM_FRAME)
        return VLY_OK;
    const vly_stream_report *report = &head->reports[block->report];
    uint64_t n = counts->report_frames[block->report]++;
    if (n == 0)
        counts->report_first[block->report] = block->burst;
    uint64_t wanted =
        counts->report_first[block->report] + n * report->interval;
    if (block->burst == wanted)
        return VLY_OK;
    return vly_fail(error, VLY_E_PARSE,
                    "%s of area %s: a sample after burst %" PRIu64
                    ", wanted one after burst %" PRIu64,
                    report->field, head->areas[report->area].name, block->burst,
                    wanted);
}

vly_status vly_export_count(vly_stream_reader *reader,
                            vly_export_counts *counts, vly_error *error)
{
    const vly_stream_head *head = vly_stream_reader_head(reader);
    vly_stream_block block;
    bool more = true;
    vly_status status = VLY_OK;
    *counts = (vly_export_counts){
        .area_spikes = vly_calloc(head->n_areas, sizeof(uint64_t)),
        .report_frames = vly_calloc(head->n_reports, sizeof(uint64_t)),
        .report_first = vly_calloc(head->n_reports, sizeof(uint64_t)),
    };
    if (!counts->area_spikes || !counts->report_frames || !counts->report_first)
        return vly_fail_nomem(error, head->n_areas * sizeof(uint64_t),
                              "counts of spikes");
    VLY_TRY(vly_stream_reader_rewind(reader, error));
    while (more) {
        VLY_TRY(vly_stream_reader_next(reader, &block, &more, error));
        if (more)
            VLY_TRY(count_block(reader, &block, counts, error));
    }
    vly_stream_reader_tail(reader, &counts->tail);
out:
    return status;
}

void vly_export_counts_deinit(vly_export_counts *counts)
{
    vly_free(counts->area_spikes);
    vly_free(counts->report_frames);
    vly_free(counts->report_first);
    *counts = (vly_export_counts){0};
}

/* ---- all files --------------------------------------------------------- */

static bool records_spikes(const vly_stream_head *head)
{
    bool any = false;
    for (uint32_t a = 0; a < head->n_areas; a++)
        any = any || head->areas[a].recorded;
    return any;
}

/* The number of reports, from this one on, that go to one file. */
static uint32_t reports_together(const vly_stream_head *head, uint32_t first)
{
    const vly_stream_report *a = &head->reports[first];
    uint32_t n = 1;
    while (first + n < head->n_reports &&
           head->reports[first + n].record == a->record &&
           head->reports[first + n].mean == a->mean &&
           strcmp(head->reports[first + n].field, a->field) == 0)
        n++;
    return n;
}

static vly_status export_report(vly_stream_reader *reader,
                                vly_export_format format, uint32_t first,
                                uint32_t n, const char *path,
                                const vly_export_counts *counts,
                                vly_error *error)
{
    return format == VLY_EXPORT_CSV
               ? vly_export_report_csv(reader, first, n, path, error)
               : vly_export_report_sonata(reader, counts, first, n, path,
                                          error);
}

vly_status vly_export(vly_stream_reader *reader, vly_export_format format,
                      const char *path, bool whole, vly_export_counts *counts,
                      void (*told)(void *arg, const char *path), void *arg,
                      vly_error *error)
{
    const vly_stream_head *head = vly_stream_reader_head(reader);
    char *report = NULL;
    vly_status status = VLY_OK;
    *counts = (vly_export_counts){0};
    VLY_TRY(vly_export_check(format, path, error));
    VLY_TRY(vly_export_count(reader, counts, error));
    if (whole && counts->tail.state != VLY_STREAM_WHOLE) {
        status = vly_fail(error, VLY_E_PARSE,
                          "%s cannot be made: its stream is damaged at byte "
                          "%" PRIu64 ", after burst %" PRIu64,
                          path, counts->tail.n_bytes, counts->tail.n_bursts);
        goto out;
    }
    if (format == VLY_EXPORT_NONE)
        return VLY_OK;
    if (records_spikes(head)) {
        if (format == VLY_EXPORT_CSV)
            VLY_TRY(vly_export_spikes_csv(reader, path, error));
        else
            VLY_TRY(vly_export_spikes_sonata(reader, counts, path, error));
        if (told)
            told(arg, path);
    }
    for (uint32_t r = 0; r < head->n_reports;) {
        uint32_t n = reports_together(head, r);
        vly_free(report);
        report = vly_export_report_path(path, head->reports[r].record,
                                        head->reports[r].field);
        if (!report) {
            status = vly_fail_nomem(error, strlen(path) + 64, "a file name");
            goto out;
        }
        VLY_TRY(export_report(reader, format, r, n, report, counts, error));
        if (told)
            told(arg, report);
        r += n;
    }
out:
    vly_free(report);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0
 * The parent: starts the child, checks its data and passes it on.
 */
#include <volley/record.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/reading.h"
#include "record/sonata_scan.h"

static const double time_max_ms = 1e12; /* 30 years */

typedef struct scan {
    const vly_scan_ask *ask;
    const vly_sonata_take *take;
    vly_error *error;
    vly_child child;
    vly_scan_block *block;
    bool ended; /* the last frame was received, or the data is refused */
    bool begun; /* a population */
    char name[VLY_SCAN_NAME];
    uint64_t total; /* rows or spikes of the population */
    uint64_t so_far;
    uint32_t n_columns;
    bool more;
} scan;

static bool frame_good(const scan *of, const vly_scan_frame *frame)
{
    const bool report = of->ask->report;
    const bool whole = !of->begun || of->so_far == of->total;
    const uint64_t left = of->total - of->so_far;
    switch (frame->kind) {
    case VLY_SCAN_FAILED:
        return true;
    case VLY_SCAN_POPULATION:
        return !report && whole && frame->text[0] != '\0';
    case VLY_SCAN_SPIKES:
        return !report && of->begun && frame->n > 0 &&
               frame->n <= VLY_SCAN_BLOCK && frame->n <= left;
    case VLY_SCAN_REPORT:
        return report && whole && frame->text[0] != '\0' && frame->n > 0 &&
               frame->n <= of->ask->want->n_columns_max;
    case VLY_SCAN_ROWS:
        return report && of->begun && frame->n > 0 && frame->n <= left &&
               frame->n <= VLY_SCAN_BLOCK / of->n_columns;
    default:
        return frame->kind == VLY_SCAN_END && whole;
    }
}

static vly_status refuse(scan *of, const char *set, uint64_t index,
                         const char *found, const char *wanted)
{
    return vly_fail(of->error, VLY_E_PARSE,
                    "%.300s: /%s/%s/%s[%" PRIu64 "]: %s, wanted %s",
                    of->ask->path, of->ask->report ? "report" : "spikes",
                    of->name, set, index, found, wanted);
}

static vly_status take_spikes(scan *of, uint32_t n)
{
    const vly_scan_block *block = of->block;
    if (!vly_child_receive(&of->child, of->block->numbers,
                           n * sizeof *block->numbers) ||
        !vly_child_receive(&of->child, of->block->nodes,
                           n * sizeof *block->nodes))
        return VLY_E_PARSE; /* its exit status gives the reason */
    of->ended = true;
    for (uint32_t i = 0; i < n; i++) {
        char found[64];
        const double time = block->numbers[i];
        if (time >= 0 && time <= time_max_ms)
            continue;
        snprintf(found, sizeof found, "is %g ms", time);
        return refuse(of, "timestamps", of->so_far + i, found,
                      "a time from 0 to 1e12 ms");
    }
    vly_status status =
        of->take->spikes(of->take->context, of->so_far, n, block->numbers,
                         block->nodes, of->error);
    of->ended = status != VLY_OK;
    of->so_far += n;
    return status;
}

static vly_status take_report(scan *of, const vly_scan_frame *frame)
{
    vly_scan_block *block = of->block;
    const vly_sonata_report report = {.struct_size = sizeof report,
                                      .population = of->name,
                                      .units = frame->units,
                                      .start_ms = frame->start_ms,
                                      .step_ms = frame->step_ms,
                                      .n_columns = frame->n,
                                      .nodes = block->nodes,
                                      .elements = block->elements};
    if (!vly_child_receive(&of->child, block->nodes,
                           frame->n * sizeof *block->nodes) ||
        !vly_child_receive(&of->child, block->elements,
                           frame->n * sizeof *block->elements))
        return VLY_E_PARSE;
    of->n_columns = frame->n;
    vly_status status = of->take->report(of->take->context, &report, of->error);
    of->ended = status != VLY_OK;
    return status;
}

static vly_status take_rows(scan *of, uint32_t n)
{
    const size_t n_values = (size_t)n * of->n_columns;
    const double *values = of->block->numbers;
    if (!vly_child_receive(&of->child, of->block->numbers,
                           n_values * sizeof *values))
        return VLY_E_PARSE;
    of->ended = true;
    for (size_t i = 0; i < n_values; i++)
        if (!isfinite(values[i]))
            return refuse(of, "data", of->so_far + i / of->n_columns,
                          "is not finite", "finite samples");
    vly_status status =
        of->take->rows(of->take->context, of->so_far, n, values, of->error);
    of->ended = status != VLY_OK;
    of->so_far += n;
    return status;
}

static vly_status take_frame(scan *of, vly_scan_frame *frame)
{
    vly_status status = VLY_OK;
    frame->text[sizeof frame->text - 1] = '\0';
    frame->units[sizeof frame->units - 1] = '\0';
    switch (frame->kind) {
    case VLY_SCAN_POPULATION:
    case VLY_SCAN_REPORT:
        snprintf(of->name, sizeof of->name, "%.*s", VLY_SCAN_NAME - 1,
                 frame->text);
        of->begun = true;
        of->total = frame->total;
        of->so_far = 0;
        if (frame->kind == VLY_SCAN_REPORT)
            return take_report(of, frame);
        status = of->take->population(of->take->context, of->name, of->error);
        of->ended = status != VLY_OK;
        return status;
    case VLY_SCAN_SPIKES:
        return take_spikes(of, frame->n);
    case VLY_SCAN_ROWS:
        return take_rows(of, frame->n);
    case VLY_SCAN_FAILED:
        status = vly_fail(of->error, VLY_E_PARSE, "%s", frame->text);
        break;
    default:
        of->more = frame->more != 0;
        break;
    }
    of->ended = true;
    return status;
}

static void work(void *context, int out)
{
    vly_scan(context, out);
}

static vly_status read_file(vly_scan_ask *ask, const vly_sonata_take *take,
                            int *more, vly_error *error)
{
    scan of = {.ask = ask, .take = take, .error = error};
    vly_scan_frame frame;
    vly_status status = VLY_OK;
    if (ask->want->struct_size < sizeof *ask->want ||
        take->struct_size < sizeof *take)
        return vly_fail(error, VLY_E_INVALID,
                        "%.300s: struct_size of what is read is too small",
                        ask->path);
    if (!vly_scan_built())
        return vly_fail(error, VLY_E_UNSUPPORTED,
                        "%.300s is an HDF5 file, and this build has no HDF5: "
                        "install libhdf5-dev and build again, or record CSV or "
                        "a stream (--record FILE.csv, FILE.vls)",
                        ask->path);
    int file = -1;
    VLY_TRY(vly_reading_descriptor(ask->path, VLY_READ_FILE, &file, error));
    close(file);
    of.block = vly_malloc(1, sizeof *of.block);
    if (!of.block)
        return vly_fail_nomem(error, sizeof *of.block, "a recording");
    memset(of.block, 0, sizeof *of.block);
    ask->block = of.block;
    VLY_TRY(vly_child_start(&of.child, ask->path, work, ask, error));
    while (status == VLY_OK && !of.ended) {
        if (vly_child_receive(&of.child, &frame, sizeof frame) &&
            frame_good(&of, &frame))
            status = take_frame(&of, &frame);
        else
            status = VLY_E_PARSE;
    }
    int end = vly_child_stop(&of.child, of.ended);
    if (!of.ended)
        status = vly_child_broke_down(ask->path, end, error);
    if (status == VLY_OK && more)
        *more = of.more;
out:
    vly_free(of.block);
    return status;
}

vly_status vly_sonata_read_spikes(const char *path, const vly_sonata_want *want,
                                  const vly_sonata_take *take, vly_error *error)
{
    vly_scan_ask ask = {.path = path, .want = want};
    return read_file(&ask, take, NULL, error);
}

vly_status vly_sonata_read_report(const char *path, const vly_sonata_want *want,
                                  const vly_sonata_take *take, int *more,
                                  vly_error *error)
{
    vly_scan_ask ask = {.path = path, .want = want, .report = true};
    return read_file(&ask, take, more, error);
}

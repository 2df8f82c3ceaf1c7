/* SPDX-License-Identifier: Apache-2.0
 * Spikes for pictures, from CSV and from streams.
 */
#include "tools/plot/plot_rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/reading.h"
#include "genome/csv_reader.h"
#include "tools/cli/tool.h"

/* ---- rows -------------------------------------------------------------- */

bool plot_fits(uint64_t count, uint64_t size)
{
    const uint64_t available = vly_memory_available();
    return available == 0 || count <= available / size;
}

static vly_status rows_grow(plot_data *data, plot_rows *rows, vly_error *error)
{
    const uint64_t n = rows->capacity > 0 ? rows->capacity * 2 : 65536;
    if (n > 1 << 22 && !plot_fits(n, 16))
        return vly_fail_nomem(error, n * 16, "spikes");
    uint64_t *bursts = vly_realloc(data->bursts, n, sizeof *bursts);
    if (bursts)
        data->bursts = bursts;
    uint32_t *neurons = vly_realloc(data->neurons, n, sizeof *neurons);
    if (neurons)
        data->neurons = neurons;
    uint32_t *area = vly_realloc(rows->area, n, sizeof *area);
    if (area)
        rows->area = area;
    if (!bursts || !neurons || !area)
        return vly_fail_nomem(error, n * 16, "spikes");
    rows->capacity = n;
    return VLY_OK;
}

/* *found: data->n_areas if the area is not wanted. */
static vly_status row_area(plot_data *data, plot_rows *rows, vly_csv *csv,
                           uint32_t *found, vly_error *error)
{
    const char *name = csv->fields[rows->columns[2]];
    if (rows->seen < data->n_areas &&
        strcmp(data->areas[rows->seen].name, name) == 0) {
        *found = rows->seen;
        return VLY_OK;
    }
    for (uint32_t a = 0; a < data->n_areas; a++)
        if (strcmp(data->areas[a].name, name) == 0) {
            *found = rows->seen = a;
            return VLY_OK;
        }
    *found = UINT32_MAX;
    if (!plot_chosen(rows->args, name))
        return VLY_OK;
    if (data->sizes_known)
        return vly_csv_fail(csv, rows->columns[2],
                            "area %s, which the genome does not have", name);
    if (!plot_area_add(data, name, error))
        return VLY_E_NOMEM;
    *found = rows->seen = data->n_areas - 1;
    return VLY_OK;
}

static vly_status row_burst(plot_data *data, plot_rows *rows, vly_csv *csv,
                            uint64_t *burst)
{
    double at = 0;
    double time_ms = 0;
    vly_status status = VLY_OK;
    VLY_TRY(vly_csv_number(csv, rows->columns[0], &at));
    if (!(at >= 0 && at < 9e15 && at == floor(at)))
        return vly_csv_fail(csv, rows->columns[0],
                            "wanted the number of a burst");
    *burst = (uint64_t)at;
    if (rows->any && *burst < rows->last)
        return vly_csv_fail(csv, rows->columns[0],
                            "burst %s after burst %llu, wanted them in order",
                            csv->fields[rows->columns[0]],
                            (unsigned long long)rows->last);
    VLY_TRY(vly_csv_number(csv, rows->columns[1], &time_ms));
    if (!rows->any && data->dt_ms <= 0) {
        if (!(time_ms > 0))
            return vly_csv_fail(csv, rows->columns[1],
                                "wanted a time above 0: a spike has the time "
                                "at which its burst ends");
        data->dt_ms = time_ms / (at + 1);
    }
    rows->any = true;
    rows->last = *burst;
out:
    return status;
}

vly_status plot_rows_keep(plot_data *data, plot_rows *rows, uint64_t burst,
                          uint32_t area, uint32_t neuron, vly_error *error)
{
    const double end_ms = ((double)burst + 1) * data->dt_ms;
    vly_status status = VLY_OK;
    /* the half allows for times that are not exact multiples */
    if (end_ms < tool_number(rows->args, "from", 0) + data->dt_ms / 2 ||
        end_ms > tool_number(rows->args, "to", HUGE_VAL) + data->dt_ms / 2)
        return VLY_OK;
    if (data->n_spikes == rows->capacity)
        status = rows_grow(data, rows, error);
    if (status != VLY_OK)
        return status;
    data->bursts[data->n_spikes] = burst;
    data->neurons[data->n_spikes] = neuron;
    rows->area[data->n_spikes++] = area;
    data->areas[area].n_spikes++;
    return VLY_OK;
}

static vly_status row_take(plot_data *data, plot_rows *rows, vly_csv *csv,
                           vly_error *error)
{
    uint32_t area = 0;
    uint32_t neuron = 0;
    uint64_t burst = 0;
    vly_status status = row_burst(data, rows, csv, &burst);
    if (status == VLY_OK)
        status = row_area(data, rows, csv, &area, error);
    if (status != VLY_OK || area == UINT32_MAX)
        return status;
    plot_area *in = &data->areas[area];
    VLY_TRY(vly_csv_index(csv, rows->columns[3],
                          data->sizes_known ? in->n_neurons : UINT32_MAX,
                          &neuron));
    if (!data->sizes_known && neuron >= in->n_neurons)
        in->n_neurons = neuron + 1;
    return plot_rows_keep(data, rows, burst, area, neuron, error);
out:
    return status;
}

static vly_status read_lines(plot_data *data, plot_rows *rows, FILE *file,
                             const char *path, vly_error *error)
{
    static const char *const names[] = {"burst", "time_ms", "area", "neuron"};
    vly_csv csv = {0};
    vly_status status = vly_csv_init(&csv, file, path, error);
    bool more = true;
    for (uint32_t c = 0; c < 4 && status == VLY_OK; c++) {
        rows->columns[c] = vly_csv_column(&csv, names[c]);
        if (rows->columns[c] == csv.n_fields)
            status = vly_fail(error, VLY_E_PARSE,
                              "%s:1:1: no column %s, wanted a recording of "
                              "spikes: burst,time_ms,area,neuron",
                              path, names[c]);
    }
    if (status == VLY_OK && csv.n_fields == 5 && rows->columns[0] == 0 &&
        rows->columns[1] == 1 && rows->columns[2] == 2 && rows->columns[3] == 3)
        status = vly_fail(error, VLY_E_PARSE,
                          "%s:1:1: samples of %.64s, wanted a recording of "
                          "spikes: burst,time_ms,area,neuron (volley plot "
                          "traces shows samples)",
                          path, csv.names[4]);
    csv.is_ours = true;
    while (status == VLY_OK) {
        status = vly_csv_next(&csv, &more);
        if (status != VLY_OK || !more)
            break;
        status = row_take(data, rows, &csv, error);
    }
    vly_csv_deinit(&csv);
    return status;
}

vly_status plot_rows_csv(plot_data *data, plot_rows *rows, const char *path,
                         vly_error *error)
{
    FILE *file = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_reading_open(path, VLY_READ_STREAM, &file, error));
    status = read_lines(data, rows, file, path, error);
    (void)fclose(file);
out:
    return status;
}

/* ---- streams ------------------------------------------------------------ */

/* map [areas of the stream] gives the chosen area; UINT32_MAX: not wanted. */
static vly_status stream_areas(plot_data *data, const tool_args *args,
                               const vly_stream_head *head, uint32_t *map,
                               vly_error *error)
{
    data->dt_ms = head->dt_ms;
    for (uint32_t a = 0; a < head->n_areas; a++) {
        const vly_spike_area *from = &head->areas[a];
        uint32_t at = 0;
        map[a] = UINT32_MAX;
        if (!from->recorded || !plot_chosen(args, from->name))
            continue;
        while (at < data->n_areas &&
               strcmp(data->areas[at].name, from->name) != 0)
            at++;
        if (at == data->n_areas) {
            plot_area *area = plot_area_add(data, from->name, error);
            if (!area)
                return VLY_E_NOMEM;
            area->n_neurons = from->n_neurons;
        } else if (data->areas[at].n_neurons != from->n_neurons) {
            return vly_fail(error, VLY_E_INVALID,
                            "area %s has %u neurons in the recording and %u "
                            "in the genome",
                            from->name, from->n_neurons,
                            data->areas[at].n_neurons);
        }
        map[a] = at;
    }
    data->sizes_known = true;
    return VLY_OK;
}

static vly_status stream_spikes(plot_data *data, plot_rows *rows,
                                const vly_stream_head *head,
                                const uint32_t *map,
                                const vly_stream_block *block, vly_error *error)
{
    uint32_t a = 0;
    vly_status status = VLY_OK;
    rows->any = true;
    rows->last = block->burst;
    for (uint32_t i = 0; i < block->n && status == VLY_OK; i++) {
        /* ids ascend, as areas do */
        while (a + 1 < head->n_areas &&
               block->data[i] >= head->areas[a + 1].first)
            a++;
        if (map[a] != UINT32_MAX)
            status =
                plot_rows_keep(data, rows, block->burst, map[a],
                               block->data[i] - head->areas[a].first, error);
    }
    return status;
}

void plot_stream_ended(const vly_stream_reader *reader, const char *path,
                       vly_error *damage)
{
    vly_stream_tail tail;
    vly_stream_reader_tail(reader, &tail);
    damage->struct_size = sizeof *damage;
    if (tail.state == VLY_STREAM_DAMAGED)
        (void)vly_fail(damage, VLY_E_PARSE,
                       "%s: damaged at byte %" PRIu64 ", after burst %" PRIu64
                       ": the picture has what is before",
                       path, tail.n_bytes, tail.n_bursts);
    else if (tail.state != VLY_STREAM_WHOLE)
        tool_message("note: %s: without its end, the run was killed: shown "
                     "are %" PRIu64 " bursts",
                     path, tail.n_bursts);
}

vly_status plot_rows_stream(plot_data *data, plot_rows *rows, const char *path,
                            vly_error *error)
{
    vly_stream_reader *reader = NULL;
    uint32_t *map = NULL;
    vly_stream_block block;
    vly_stream_tail tail;
    bool more = true;
    vly_status status = VLY_OK;
    VLY_TRY(vly_stream_reader_open(path, &reader, error));
    const vly_stream_head *head = vly_stream_reader_head(reader);
    map = vly_calloc((size_t)head->n_areas + 1, sizeof *map);
    if (!map) {
        status = vly_fail_nomem(error, head->n_areas * sizeof *map, "areas");
        goto out;
    }
    VLY_TRY(stream_areas(data, rows->args, head, map, error));
    for (;;) {
        VLY_TRY(vly_stream_reader_next(reader, &block, &more, error));
        if (!more)
            break;
        if (block.kind == VLY_STREAM_SPIKES)
            VLY_TRY(stream_spikes(data, rows, head, map, &block, error));
    }
    vly_stream_reader_tail(reader, &tail);
    plot_stream_ended(reader, path, &data->damage);
    if (data->end == 0)
        data->end = tail.n_bursts;
out:
    vly_free(map);
    vly_stream_reader_close(reader);
    return status;
}

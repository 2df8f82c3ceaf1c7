/* SPDX-License-Identifier: Apache-2.0
 * Reads recordings for pictures. An area is known by name: ids in a recording
 * count from 0 in each, so the areas chosen lie one after the other here.
 */
#include "plot_data.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/memory.h"
#include "genome/csv_reader.h"
#include "genome/genome.h"
#include "genome/suggest.h"
#include "json_reader.h"
#include "record/stream.h"
#include "tool.h"

/* ---- areas -------------------------------------------------------------- */

static bool chosen(const tool_args *args, const char *name)
{
    const char *one = tool_text_at(args, "area", 0);
    for (uint32_t k = 0; one != NULL; one = tool_text_at(args, "area", ++k))
        if (strcmp(one, name) == 0)
            return true;
    return tool_text_at(args, "area", 0) == NULL;
}

static plot_area *area_add(plot_data *data, const char *name, vly_error *error)
{
    /* doubled when full: 1, 2, 4, ... */
    if ((data->n_areas & (data->n_areas - 1)) == 0) {
        const size_t n = data->n_areas > 0 ? 2 * (size_t)data->n_areas : 1;
        plot_area *more = vly_realloc(data->areas, n, sizeof *data->areas);
        if (!more) {
            (void)vly_fail_nomem(error, n * sizeof *more, "areas");
            return NULL;
        }
        data->areas = more;
    }
    plot_area *area = &data->areas[data->n_areas];
    *area = (plot_area){.name = vly_format("%s", name), .neurons_per_voxel = 1};
    if (!area->name) {
        (void)vly_fail_nomem(error, strlen(name), "a name");
        return NULL;
    }
    data->n_areas++;
    return area;
}

/* Each --area must be one of the genome's, or, NULL, of those read. */
static vly_status check_chosen(const plot_data *data, const vly_genome *genome,
                               const tool_args *args, vly_error *error)
{
    const uint32_t n = genome ? genome->n_areas : data->n_areas;
    const char *one = NULL;
    for (uint32_t k = 0; (one = tool_text_at(args, "area", k)) != NULL; k++) {
        vly_suggest near = {0};
        char text[160];
        bool found = false;
        for (uint32_t a = 0; a < n; a++) {
            const char *name =
                genome ? genome->areas[a].name : data->areas[a].name;
            found = found || strcmp(one, name) == 0;
            vly_suggest_offer(&near, one, name);
        }
        if (!found)
            return vly_fail(error, VLY_E_INVALID, "--area %s: no such area%s",
                            one, vly_suggest_text(&near, text, sizeof text));
    }
    return VLY_OK;
}

static vly_status from_genome(plot_data *data, const tool_args *args,
                              const char *path, vly_error *error)
{
    vly_genome *genome = NULL;
    vly_status status = vly_genome_load(path, NULL, 0, &genome, error);
    if (status != VLY_OK)
        return status;
    status = check_chosen(data, genome, args, error);
    for (uint32_t a = 0; a < genome->n_areas && status == VLY_OK; a++) {
        const vly_area *from = &genome->areas[a];
        if (!chosen(args, from->name))
            continue;
        plot_area *area = area_add(data, from->name, error);
        if (!area) {
            status = VLY_E_NOMEM;
            break;
        }
        area->n_neurons = from->n_neurons;
        area->has_voxels = from->has_voxels;
        memcpy(area->voxels, from->voxels, sizeof area->voxels);
        area->neurons_per_voxel = from->neurons_per_voxel;
    }
    data->sizes_known = true;
    data->dt_ms = genome->dt_ms;
    if (genome->title && status == VLY_OK) {
        data->title = vly_format("%s", genome->title);
        if (!data->title)
            status = vly_fail_nomem(error, strlen(genome->title), "a title");
    }
    vly_genome_destroy(genome);
    return status;
}

static vly_status number_areas(plot_data *data, vly_error *error)
{
    uint64_t n = 0;
    for (uint32_t a = 0; a < data->n_areas; a++) {
        data->areas[a].first = (uint32_t)n;
        n += data->areas[a].n_neurons;
        if (n > UINT32_MAX)
            return vly_fail(error, VLY_E_INVALID,
                            "more than %u neurons: choose areas with --area",
                            UINT32_MAX);
    }
    data->n_neurons = (uint32_t)n;
    return VLY_OK;
}

uint32_t plot_data_area(const plot_data *data, uint32_t neuron)
{
    uint32_t lo = 0;
    uint32_t hi = data->n_areas - 1;
    while (lo < hi) {
        const uint32_t middle = (lo + hi + 1) / 2;
        if (data->areas[middle].first <= neuron)
            lo = middle;
        else
            hi = middle - 1;
    }
    return lo;
}

double plot_data_seconds(const plot_data *data)
{
    return (double)(data->end - data->begin) * data->dt_ms / 1000;
}

/* ---- spikes ------------------------------------------------------------- */

/* Those read so far; area and id apart until all areas are known. */
typedef struct spike_rows {
    const tool_args *args;
    uint32_t columns[4]; /* burst, time_ms, area, neuron */
    uint32_t *area;      /* of data->areas */
    uint64_t capacity;
    uint64_t last; /* burst, of any area */
    uint32_t seen; /* the area of the row before: they come in runs */
    bool any;
} spike_rows;

static vly_status rows_grow(plot_data *data, spike_rows *rows, vly_error *error)
{
    const uint64_t n = rows->capacity > 0 ? rows->capacity * 2 : 65536;
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
static vly_status row_area(plot_data *data, spike_rows *rows, vly_csv *csv,
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
    if (!chosen(rows->args, name))
        return VLY_OK;
    if (data->sizes_known)
        return vly_csv_fail(csv, rows->columns[2],
                            "area %s, which the genome does not have", name);
    if (!area_add(data, name, error))
        return VLY_E_NOMEM;
    *found = rows->seen = data->n_areas - 1;
    return VLY_OK;
}

static vly_status row_burst(plot_data *data, spike_rows *rows, vly_csv *csv,
                            uint64_t *burst)
{
    double at = 0;
    double time_ms = 0;
    vly_status status = vly_csv_number(csv, rows->columns[0], &at);
    if (status != VLY_OK)
        return status;
    if (!(at >= 0 && at < 9e15 && at == floor(at)))
        return vly_csv_fail(csv, rows->columns[0],
                            "wanted the number of a burst");
    *burst = (uint64_t)at;
    if (rows->any && *burst < rows->last)
        return vly_csv_fail(csv, rows->columns[0],
                            "burst %s after burst %llu, wanted them in order",
                            csv->fields[rows->columns[0]],
                            (unsigned long long)rows->last);
    if (!rows->any && data->dt_ms <= 0) {
        status = vly_csv_number(csv, rows->columns[1], &time_ms);
        if (status != VLY_OK)
            return status;
        if (!(time_ms > 0))
            return vly_csv_fail(csv, rows->columns[1],
                                "wanted a time above 0: a spike has the time "
                                "at which its burst ends");
        data->dt_ms = time_ms / (at + 1);
    }
    rows->any = true;
    rows->last = *burst;
    return VLY_OK;
}

/* A spike of the window. */
static vly_status row_keep(plot_data *data, spike_rows *rows, uint64_t burst,
                           uint32_t area, uint32_t neuron, vly_error *error)
{
    const double end_ms = ((double)burst + 1) * data->dt_ms;
    vly_status status = VLY_OK;
    /* the half is for times that are no exact multiples */
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

static vly_status row_take(plot_data *data, spike_rows *rows, vly_csv *csv,
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
    status =
        vly_csv_index(csv, rows->columns[3],
                      data->sizes_known ? in->n_neurons : UINT32_MAX, &neuron);
    if (status != VLY_OK)
        return status;
    if (!data->sizes_known && neuron >= in->n_neurons)
        in->n_neurons = neuron + 1;
    return row_keep(data, rows, burst, area, neuron, error);
}

static vly_status read_rows(plot_data *data, spike_rows *rows, FILE *file,
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
    while (status == VLY_OK) {
        status = vly_csv_next(&csv, &more);
        if (status != VLY_OK || !more)
            break;
        status = row_take(data, rows, &csv, error);
    }
    vly_csv_deinit(&csv);
    return status;
}

/* ---- streams ------------------------------------------------------------ */

/* map [areas of the stream] to those chosen; UINT32_MAX: not wanted. */
static vly_status stream_areas(plot_data *data, const tool_args *args,
                               const vly_stream_head *head, uint32_t *map,
                               vly_error *error)
{
    data->dt_ms = head->dt_ms;
    for (uint32_t a = 0; a < head->n_areas; a++) {
        const vly_spike_area *from = &head->areas[a];
        uint32_t at = 0;
        map[a] = UINT32_MAX;
        if (!from->recorded || !chosen(args, from->name))
            continue;
        while (at < data->n_areas &&
               strcmp(data->areas[at].name, from->name) != 0)
            at++;
        if (at == data->n_areas) {
            plot_area *area = area_add(data, from->name, error);
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

static vly_status stream_spikes(plot_data *data, spike_rows *rows,
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
            status = row_keep(data, rows, block->burst, map[a],
                              block->data[i] - head->areas[a].first, error);
    }
    return status;
}

/* A stream that a killed run left is shown as far as it is good. */
static vly_status read_stream(plot_data *data, spike_rows *rows,
                              const char *path, vly_error *error)
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
    if (tail.state == VLY_STREAM_DAMAGED)
        tool_message("%s: damaged behind byte %llu: what is before is shown",
                     path, (unsigned long long)tail.n_bytes);
    if (data->end == 0)
        data->end = tail.n_bursts;
out:
    vly_free(map);
    vly_stream_reader_close(reader);
    return status;
}

plot_file_kind plot_file_kind_of(const char *path)
{
    char start[8] = {0};
    FILE *file = fopen(path, "re");
    const size_t n = file ? fread(start, 1, sizeof start, file) : 0;
    if (file)
        (void)fclose(file);
    if (n == sizeof start && memcmp(start, VLY_STREAM_MAGIC, n) == 0)
        return PLOT_FILE_STREAM;
    if (n == sizeof start && memcmp(start, "\211HDF\r\n\032\n", n) == 0)
        return PLOT_FILE_HDF5;
    return PLOT_FILE_CSV;
}

vly_status plot_refuse_hdf5(const char *path, vly_error *error)
{
    return vly_fail(error, VLY_E_UNSUPPORTED,
                    "%s is an HDF5 file; pictures are made of CSV files and "
                    "streams: --record FILE.csv or FILE.vls",
                    path);
}

static vly_status read_spikes(plot_data *data, spike_rows *rows,
                              const char *path, vly_error *error)
{
    const plot_file_kind kind = plot_file_kind_of(path);
    if (kind == PLOT_FILE_STREAM)
        return read_stream(data, rows, path, error);
    if (kind == PLOT_FILE_HDF5)
        return plot_refuse_hdf5(path, error);
    FILE *file = fopen(path, "re");
    if (!file)
        return vly_fail(error, VLY_E_IO, "%s: %s", path, strerror(errno));
    vly_status status = read_rows(data, rows, file, path, error);
    (void)fclose(file);
    return status;
}

/* ---- folders ------------------------------------------------------------ */

/* What the manifest of a run says: which bursts, and where the spikes are. */
static vly_status read_manifest(plot_data *data, const char *folder,
                                char **spikes, vly_error *error)
{
    json_value manifest = {0};
    vly_status status = VLY_OK;
    char *path = vly_format("%s/manifest.json", folder);
    if (!path)
        return vly_fail_nomem(error, strlen(folder), "a path");
    VLY_TRY(json_load(path, &manifest, error));
    data->end = (uint64_t)json_find_number(&manifest, "bursts", 0);
    const char *recording = json_find_text(&manifest, "recording");
    if (!recording) {
        status = vly_fail(error, VLY_E_INVALID,
                          "%s: nothing was recorded; a [[record]] in the "
                          "genome or --record FILE does",
                          folder);
        goto out;
    }
    /* the folder may have been moved since: its own file goes first */
    const char *name = strrchr(recording, '/');
    struct stat info;
    *spikes = vly_format("%s/%s", folder, name ? name + 1 : recording);
    if (*spikes && stat(*spikes, &info) != 0) {
        vly_free(*spikes);
        *spikes = vly_format("%s", recording);
    }
    if (!*spikes)
        status = vly_fail_nomem(error, strlen(recording), "a path");
out:
    json_free(&manifest);
    vly_free(path);
    return status;
}

static vly_status read_folder(plot_data *data, const tool_args *args,
                              const char *folder, char **spikes,
                              vly_error *error)
{
    char *genome = vly_format("%s/genome.resolved.toml", folder);
    if (!genome)
        return vly_fail_nomem(error, strlen(folder), "a path");
    vly_status status = read_manifest(data, folder, spikes, error);
    if (status == VLY_OK)
        status = from_genome(data, args, genome, error);
    vly_free(genome);
    return status;
}

/* The window, and one count of neurons for all areas. */
static vly_status finish(plot_data *data, const spike_rows *rows,
                         const tool_args *args, vly_error *error)
{
    const double from = tool_number(args, "from", 0);
    const double to = tool_number(args, "to", HUGE_VAL);
    if (data->end == 0)
        data->end = rows->any ? rows->last + 1 : 0;
    if (data->dt_ms > 0) {
        data->begin = (uint64_t)llround(from / data->dt_ms);
        if (to / data->dt_ms < (double)data->end)
            data->end = (uint64_t)llround(to / data->dt_ms);
    }
    if (data->begin >= data->end)
        return vly_fail(error, VLY_E_INVALID,
                        "nothing to show: no bursts between %g and %g ms", from,
                        to);
    vly_status status = check_chosen(data, NULL, args, error);
    if (status == VLY_OK)
        status = number_areas(data, error);
    for (uint64_t i = 0; i < data->n_spikes && status == VLY_OK; i++)
        data->neurons[i] += data->areas[rows->area[i]].first;
    return status;
}

vly_status plot_data_init(plot_data *data, const tool_args *args,
                          const char *path, vly_error *error)
{
    struct stat info;
    spike_rows rows = {.args = args};
    char *spikes = NULL;
    vly_status status = VLY_OK;
    const char *genome = tool_text(args, "genome");
    *data = (plot_data){0};
    if (stat(path, &info) != 0)
        return vly_fail(error, VLY_E_IO, "%s: %s", path, strerror(errno));
    if (S_ISDIR(info.st_mode)) {
        VLY_TRY(read_folder(data, args, path, &spikes, error));
        path = spikes;
    } else if (genome) {
        VLY_TRY(from_genome(data, args, genome, error));
    }
    VLY_TRY(read_spikes(data, &rows, path, error));
    VLY_TRY(finish(data, &rows, args, error));
out:
    vly_free(rows.area);
    vly_free(spikes);
    return status;
}

void plot_data_deinit(plot_data *data)
{
    for (uint32_t a = 0; a < data->n_areas; a++)
        vly_free(data->areas[a].name);
    vly_free(data->areas);
    vly_free(data->title);
    vly_free(data->bursts);
    vly_free(data->neurons);
    *data = (plot_data){0};
}

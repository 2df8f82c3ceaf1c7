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
#include "genome/genome.h"
#include "genome/suggest.h"
#include "json_reader.h"
#include "plot_rows.h"
#include "record/stream.h"
#include "setup.h"

/* ---- areas -------------------------------------------------------------- */

bool plot_chosen(const tool_args *args, const char *name)
{
    const char *one = tool_text_at(args, "area", 0);
    for (uint32_t k = 0; one != NULL; one = tool_text_at(args, "area", ++k))
        if (strcmp(one, name) == 0)
            return true;
    return tool_text_at(args, "area", 0) == NULL;
}

plot_area *plot_area_add(plot_data *data, const char *name, vly_error *error)
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
    vly_status status = tool_genome_load(path, NULL, 0, &genome, error);
    if (status != VLY_OK)
        return status;
    status = check_chosen(data, genome, args, error);
    for (uint32_t a = 0; a < genome->n_areas && status == VLY_OK; a++) {
        const vly_area *from = &genome->areas[a];
        if (!plot_chosen(args, from->name))
            continue;
        plot_area *area = plot_area_add(data, from->name, error);
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

/* ---- recordings --------------------------------------------------------- */

static bool ends_in(const char *text, const char *end)
{
    const size_t n = strlen(text);
    const size_t m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

plot_file_kind plot_file_kind_of(const char *path)
{
    static const char hdf5[] = "\211HDF\r\n\032\n";
    char start[8] = {0};
    FILE *file = fopen(path, "re");
    const size_t n = file ? fread(start, 1, sizeof start, file) : 0;
    if (file)
        (void)fclose(file);
    if (n == sizeof start && memcmp(start, VLY_STREAM_MAGIC, n) == 0)
        return PLOT_FILE_STREAM;
    if (n == sizeof start && memcmp(start, hdf5, n) == 0)
        return PLOT_FILE_HDF5;
    /* HDF5 may begin later in a file, and looks for it there */
    if (ends_in(path, ".h5") || ends_in(path, ".hdf5") ||
        ends_in(path, ".sonata"))
        return PLOT_FILE_HDF5;
    return PLOT_FILE_CSV;
}

static vly_status read_spikes(plot_data *data, plot_rows *rows,
                              const char *path, vly_error *error)
{
    const plot_file_kind kind = plot_file_kind_of(path);
    if (kind == PLOT_FILE_STREAM)
        return plot_rows_stream(data, rows, path, error);
    if (kind == PLOT_FILE_CSV && ends_in(path, ".toml"))
        return vly_fail(error, VLY_E_INVALID,
                        "%s is a genome, wanted what a run left: volley run %s "
                        "-o FOLDER, then the FOLDER (of a genome there is the "
                        "picture matrix)",
                        path, path);
    if (kind == PLOT_FILE_HDF5)
        return plot_rows_sonata(data, rows, path, error);
    return plot_rows_csv(data, rows, path, error);
}

/* ---- folders ------------------------------------------------------------ */

/* Where a recording is now: the folder may have been moved since, so its own
 * file goes first; a run that has not ended has a stream only. */
static char *find_recording(const char *folder, const char *recording)
{
    struct stat info;
    const char *name = strrchr(recording, '/');
    char *path = vly_format("%s/%s", folder, name ? name + 1 : recording);
    for (int k = 0; path && stat(path, &info) != 0 && k < 3; k++) {
        char *next = k == 0   ? vly_format("%s", recording)
                     : k == 1 ? vly_format("%s/%s" VLY_STREAM_SUFFIX, folder,
                                           name ? name + 1 : recording)
                              : vly_format("%s" VLY_STREAM_SUFFIX, recording);
        vly_free(path);
        path = next;
    }
    if (path && stat(path, &info) != 0) {
        vly_free(path);
        path = vly_format("%s", recording);
    }
    return path;
}

vly_status plot_recording(const char *folder, char **recording,
                          uint64_t *n_bursts, vly_error *error)
{
    json_value manifest = {0};
    vly_status status = VLY_OK;
    char *path = vly_format("%s/manifest.json", folder);
    struct stat info;
    if (!path)
        return vly_fail_nomem(error, strlen(folder), "a path");
    if (stat(path, &info) != 0) {
        status = vly_fail(error, VLY_E_INVALID,
                          "%s: no manifest.json in it, wanted the folder of a "
                          "run (volley run GENOME.toml -o FOLDER), or a "
                          "recording",
                          folder);
        goto out;
    }
    VLY_TRY(json_load(path, &manifest, error));
    *n_bursts = (uint64_t)json_find_number(&manifest, "bursts", 0);
    const char *named = json_find_text(&manifest, "recording");
    if (!named) {
        status = vly_fail(error, VLY_E_INVALID,
                          "%s: nothing was recorded; a [[record]] in the "
                          "genome or --record FILE does",
                          folder);
        goto out;
    }
    *recording = find_recording(folder, named);
    if (!*recording)
        status = vly_fail_nomem(error, strlen(named), "a path");
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
    vly_status status = plot_recording(folder, spikes, &data->end, error);
    if (status == VLY_OK)
        status = from_genome(data, args, genome, error);
    vly_free(genome);
    return status;
}

/* Spikes of the bursts shown, with their places in the count of all neurons. At
 * the window's edges a time may have been rounded otherwise than the edge. */
static void keep_window(plot_data *data, const plot_rows *rows)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < data->n_spikes; i++) {
        plot_area *area = &data->areas[rows->area[i]];
        if (data->bursts[i] < data->begin || data->bursts[i] >= data->end) {
            area->n_spikes--;
            continue;
        }
        data->bursts[kept] = data->bursts[i];
        data->neurons[kept++] = data->neurons[i] + area->first;
    }
    data->n_spikes = kept;
}

/* The window, and one count of neurons for all areas. */
static vly_status finish(plot_data *data, const plot_rows *rows,
                         const tool_args *args, vly_error *error)
{
    const double from = tool_number(args, "from", 0);
    const double to = tool_number(args, "to", HUGE_VAL);
    vly_status status = check_chosen(data, NULL, args, error);
    if (status != VLY_OK)
        return status;
    /* a manifest that is older than its recording, or of a killed run */
    if (rows->any && data->end <= rows->last)
        data->end = rows->last + 1;
    if (data->dt_ms > 0) {
        data->begin = (uint64_t)llround(from / data->dt_ms);
        if (to / data->dt_ms < (double)data->end)
            data->end = (uint64_t)llround(to / data->dt_ms);
    }
    if (data->end == 0)
        return vly_fail(error, VLY_E_INVALID,
                        "nothing to show: no spikes in the recording");
    if (data->begin >= data->end)
        return vly_fail(error, VLY_E_INVALID,
                        "nothing to show: no bursts between %g and %g ms", from,
                        to);
    status = number_areas(data, error);
    if (status == VLY_OK)
        keep_window(data, rows);
    return status;
}

vly_status plot_data_init(plot_data *data, const tool_args *args,
                          const char *path, vly_error *error)
{
    struct stat info;
    plot_rows rows = {.args = args};
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

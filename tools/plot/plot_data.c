/* SPDX-License-Identifier: Apache-2.0
 * Reads recordings for pictures. An area is known by name: ids in a recording
 * count from 0 in each, so the areas chosen lie one after the other here.
 */
#include "tools/plot/plot_data.h"

#include <volley/host.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/reading.h"
#include "genome/foreign_names.h"
#include "genome/genome.h"
#include "tools/cli/json_reader.h"
#include "tools/cli/setup.h"
#include "tools/cli/tool.h"
#include "tools/plot/plot_figure.h"
#include "tools/plot/plot_rows.h"

/* ---- areas -------------------------------------------------------------- */

/* Each --area must exist in the genome, or, if that is NULL, in the
 * recording. */
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
            vly_foreign_offer(&near, one, name);
        }
        if (!found)
            return vly_fail(error, VLY_E_INVALID, "--area %s: no such area%s",
                            one, vly_suggest_text(&near, text, sizeof text));
    }
    return VLY_OK;
}

static bool is_recorded(const vly_genome *genome, uint32_t a)
{
    for (uint32_t r = 0; r < genome->n_records; r++)
        if (genome->records[r].kind == VLY_RECORD_SPIKES &&
            genome->records[r].area == a)
            return true;
    return genome->n_records == 0;
}

/* A neuron that was not recorded must not count as silent. */
static vly_status mark_recorded(const vly_genome *genome, uint32_t a,
                                plot_area *area, vly_error *error)
{
    bool all = genome->n_records == 0;
    for (uint32_t r = 0; r < genome->n_records; r++)
        all = all ||
              (genome->records[r].kind == VLY_RECORD_SPIKES &&
               genome->records[r].area == a && !genome->records[r].neurons);
    if (all)
        return VLY_OK;
    const size_t n_bytes = area->n_neurons / 8 + (size_t)1;
    area->recorded = vly_calloc(n_bytes, 1);
    if (!area->recorded)
        return vly_fail_nomem(error, n_bytes, "recorded neurons");
    for (uint32_t r = 0; r < genome->n_records; r++) {
        const vly_record *record = &genome->records[r];
        if (record->kind != VLY_RECORD_SPIKES || record->area != a)
            continue;
        for (uint32_t i = 0; i < record->n_neurons; i++) {
            const uint32_t id = record->neurons[i];
            area->n_recorded += !plot_area_records(area, id);
            area->recorded[id / 8] |= (uint8_t)(1u << id % 8);
        }
    }
    return VLY_OK;
}

static vly_status leave_out(plot_data *data, const tool_args *args,
                            const char *name, vly_error *error)
{
    if (tool_text(args, "area"))
        return vly_fail(error, VLY_E_INVALID,
                        "--area %s: the run did not record its spikes, wanted "
                        "an area that a [[record]] of spikes names",
                        name);
    if (data->n_left_out++ == 0)
        data->left_out = vly_strdup(name);
    return data->left_out ? VLY_OK
                          : vly_fail_nomem(error, strlen(name), "a name");
}

/* The areas of a genome; for a run of it, only those that it recorded. */
static vly_status from_genome(plot_data *data, const tool_args *args,
                              const char *path, bool run, vly_error *error)
{
    vly_genome *genome = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(tool_genome_load(path, NULL, 0, &genome, error));
    status = check_chosen(data, genome, args, error);
    for (uint32_t a = 0; a < genome->n_areas && status == VLY_OK; a++) {
        const vly_area *from = &genome->areas[a];
        if (!plot_chosen(args, from->name))
            continue;
        if (run && !is_recorded(genome, a)) {
            status = leave_out(data, args, from->name, error);
            continue;
        }
        plot_area *area = plot_area_add(data, from->name, error);
        if (!area) {
            status = VLY_E_NOMEM;
            break;
        }
        area->n_neurons = from->n_neurons;
        area->has_voxels = from->has_voxels;
        memcpy(area->voxels, from->voxels, sizeof area->voxels);
        area->neurons_per_voxel = from->neurons_per_voxel;
        if (run)
            status = mark_recorded(genome, a, area, error);
    }
    if (status == VLY_OK && data->n_areas == 0)
        status = vly_fail(error, VLY_E_INVALID,
                          "the run recorded no spikes; a [[record]] with what "
                          "= \"spikes\" does");
    data->sizes_known = true;
    data->dt_ms = genome->dt_ms;
    if (genome->title && status == VLY_OK) {
        data->title = vly_format("%s", genome->title);
        if (!data->title)
            status = vly_fail_nomem(error, strlen(genome->title), "a title");
    }
    vly_genome_destroy(genome);
out:
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

/* ---- recordings --------------------------------------------------------- */

plot_file_kind plot_file_kind_of(const char *path)
{
    static const char hdf5[] = "\211HDF\r\n\032\n";
    char start[VLY_FILE_KIND_BYTES] = {0};
    FILE *file = NULL;
    /* a pipe can be read only once: its contents are taken as text */
    (void)vly_reading_open(path, VLY_READ_FILE, &file, NULL);
    const size_t n = file ? fread(start, 1, sizeof start, file) : 0;
    if (file)
        (void)fclose(file);
    if (vly_file_kind(start, n) == VLY_FILE_STREAM)
        return PLOT_FILE_STREAM;
    if (n >= sizeof hdf5 - 1 && memcmp(start, hdf5, sizeof hdf5 - 1) == 0)
        return PLOT_FILE_HDF5;
    /* the HDF5 signature may be later in a file, and the library searches it
     * there */
    if (tool_ends_in(path, ".h5") || tool_ends_in(path, ".hdf5") ||
        tool_ends_in(path, ".sonata"))
        return PLOT_FILE_HDF5;
    return PLOT_FILE_CSV;
}

static vly_status read_spikes(plot_data *data, plot_rows *rows,
                              const char *path, vly_error *error)
{
    const plot_file_kind kind = plot_file_kind_of(path);
    if (kind == PLOT_FILE_STREAM)
        return plot_rows_stream(data, rows, path, error);
    if (kind == PLOT_FILE_CSV && tool_ends_in(path, ".toml"))
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

/* The present path of a recording. The folder may have been moved, so a file in
 * it is tried first, then the path relative to it; a run that has not ended has
 * only a stream. If there is no file, the expected path. */
static char *find_recording(const char *folder, const char *recording,
                            const char *from_folder)
{
    static const char *const suffixes[] = {"", ".vls"};
    const char *name = strrchr(recording, '/');
    struct stat info;
    name = name ? name + 1 : recording;
    from_folder = from_folder ? from_folder : name;
    for (int k = 0; k < 6; k++) {
        const char *suffix = suffixes[k / 3];
        char *path = k % 3 == 2
                         ? vly_format("%s%s", recording, suffix)
                         : vly_format("%s/%s%s", folder,
                                      k % 3 == 0 ? name : from_folder, suffix);
        if (!path || stat(path, &info) == 0)
            return path;
        vly_free(path);
    }
    return from_folder == name ? vly_strdup(recording)
                               : vly_format("%s/%s", folder, from_folder);
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
    const double bursts = json_find_number(&manifest, "bursts", 0);
    if (!(bursts >= 0 && bursts <= 0x1p53))
        VLY_TRY(vly_fail(error, VLY_E_PARSE,
                         "%s: bursts is %g, wanted 0 to 2^53", path, bursts));
    *n_bursts = (uint64_t)bursts;
    const char *named = json_find_text(&manifest, "recording");
    if (!named) {
        status = vly_fail(error, VLY_E_INVALID,
                          "%s: nothing was recorded; a [[record]] in the "
                          "genome or --record FILE does",
                          folder);
        goto out;
    }
    *recording = find_recording(
        folder, named, json_find_text(&manifest, "recording_from_folder"));
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
        status = from_genome(data, args, genome, true, error);
    vly_free(genome);
    return status;
}

/* Spikes of the bursts shown, with their places in the count of all neurons. At
 * the edges of the window a time may be rounded differently from the edge. */
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

/* A recording without spikes and without a length: shows the window of --from
 * and --to, otherwise one empty millisecond. */
static void make_empty(plot_data *data, double from, double to)
{
    tool_message("no spikes in the recording: the picture is empty");
    if (!(data->dt_ms > 0))
        data->dt_ms = to < 1e9 ? (to - from) / 1000 : 0.1;
    const double end = (to < 1e9 ? to : from + 1) / data->dt_ms;
    data->end = end < 1e15 ? (uint64_t)llround(end) : 1;
    data->begin = (uint64_t)llround(from / data->dt_ms);
    if (data->end <= data->begin)
        data->end = data->begin + 1;
}

/* The window, and one count of neurons for all areas. */
static vly_status finish(plot_data *data, const plot_rows *rows,
                         const tool_args *args, vly_error *error)
{
    const double from = tool_number(args, "from", 0);
    const double to = tool_number(args, "to", HUGE_VAL);
    /* a text recording without spikes does not even name areas */
    vly_status status = VLY_OK;
    VLY_TRY(rows->any || data->n_areas > 0
                ? check_chosen(data, NULL, args, error)
                : VLY_OK);
    /* the manifest is older than its recording, or of a killed run */
    if (rows->any && data->end <= rows->last)
        data->end = rows->last + 1;
    const bool empty = data->end == 0;
    if (empty)
        make_empty(data, from, to);
    const double end_ms = (double)data->end * data->dt_ms;
    if (data->dt_ms > 0 && !empty) {
        data->begin = vly_count_of(from / data->dt_ms + 0.5);
        if (to / data->dt_ms < (double)data->end)
            data->end = vly_count_of(to / data->dt_ms + 0.5);
    }
    if (data->begin >= data->end && from >= end_ms)
        return vly_fail(error, VLY_E_INVALID,
                        "--from %g: nothing to show, the recording ends at "
                        "%g ms; wanted less",
                        from, end_ms);
    if (data->begin >= data->end)
        return vly_fail(error, VLY_E_INVALID,
                        "nothing to show: no bursts between %g and %g ms, "
                        "wanted at least one of %g ms",
                        from, to, data->dt_ms);
    status = number_areas(data, error);
    if (status == VLY_OK)
        keep_window(data, rows);
    if (status == VLY_OK && data->n_spikes == 0 && !empty)
        tool_message("no spikes in %s: the picture is empty",
                     tool_has(args, "from") || tool_has(args, "to") ||
                             tool_has(args, "area")
                         ? "what is shown"
                         : "the recording");
out:
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
        if (stat(spikes, &info) != 0) {
            status = vly_fail(error, VLY_E_IO,
                              "%s: %s: the recording of the run in %s, as its "
                              "manifest.json says",
                              spikes, strerror(errno), path);
            goto out;
        }
        path = spikes;
    } else if (genome) {
        VLY_TRY(from_genome(data, args, genome, false, error));
    }
    VLY_TRY(read_spikes(data, &rows, path, error));
    VLY_TRY(finish(data, &rows, args, error));
out:
    vly_free(rows.area);
    vly_free(spikes);
    return status;
}

static void area_deinit(plot_area *area)
{
    vly_free(area->name);
    vly_free(area->recorded);
}

void plot_data_deinit(plot_data *data)
{
    for (uint32_t a = 0; a < data->n_areas; a++)
        area_deinit(&data->areas[a]);
    vly_free(data->areas);
    vly_free(data->left_out);
    vly_free(data->title);
    vly_free(data->bursts);
    vly_free(data->neurons);
    *data = (plot_data){0};
}

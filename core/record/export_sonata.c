/* SPDX-License-Identifier: Apache-2.0
 * Converts a stream to SONATA (Dai et al. 2020,
 * doi:10.1371/journal.pcbi.1007696, and its developer guide): a population is
 * an area, a node an index in it. A file is written to a temporary name and
 * renamed, so other programs never see a partial file. The same stream gives
 * the same bytes: objects carry no times.
 */
#include "record/export.h"

#include "base/error.h"

#ifndef VLY_HAVE_HDF5

bool vly_export_has_sonata(void)
{
    return false;
}

vly_status vly_export_spikes_sonata(vly_stream_reader *reader,
                                    const vly_export_counts *counts,
                                    const char *path, vly_error *error)
{
    (void)reader;
    (void)counts;
    return vly_export_check(VLY_EXPORT_SONATA, path, error);
}

vly_status vly_export_report_sonata(vly_stream_reader *reader,
                                    const vly_export_counts *counts,
                                    uint32_t first, uint32_t n,
                                    const char *path, vly_error *error)
{
    (void)reader;
    (void)counts;
    (void)first;
    (void)n;
    return vly_export_check(VLY_EXPORT_SONATA, path, error);
}

#else

#include <string.h>

#include "base/memory.h"
#include "record/sonata_file.h"

/* Bytes of all buffers together, and of one chunk of a report. */
enum { BUFFER_BYTES = 64 << 20, CHUNK_BYTES = 1 << 20, ROWS_MAX = 4096 };

bool vly_export_has_sonata(void)
{
    return true;
}

/* ---- spikes ------------------------------------------------------------ */

typedef struct spike_set {
    vly_sonata_set times;
    vly_sonata_set nodes;
    double *time; /* [capacity], not yet in the file */
    uint64_t *node;
    size_t n;
} spike_set;

typedef struct spike_sets {
    spike_set *areas; /* [n_areas] */
    uint32_t n_areas;
    size_t capacity;
} spike_sets;

static void free_sets(spike_sets *sets)
{
    for (uint32_t a = 0; sets->areas && a < sets->n_areas; a++) {
        vly_free(sets->areas[a].time);
        vly_free(sets->areas[a].node);
    }
    vly_free(sets->areas);
    sets->areas = NULL;
}

static vly_status open_set(vly_sonata_file *file, const vly_spike_area *area,
                           uint64_t n_spikes, size_t capacity, spike_set *set,
                           vly_error *error)
{
    vly_sonata_group group = {-1};
    vly_status status = VLY_OK;
    set->time = vly_malloc(capacity, sizeof *set->time);
    set->node = vly_malloc(capacity, sizeof *set->node);
    if (!set->time || !set->node)
        return vly_fail_nomem(error, capacity * 16, "spikes of an area");
    VLY_TRY(vly_sonata_population(file, "spikes", area->name, &group, error));
    VLY_TRY(vly_sonata_sorting(file, &group, error));
    VLY_TRY(vly_sonata_set_open(file, &group, "timestamps", VLY_SONATA_F64,
                                n_spikes, &set->times, error));
    VLY_TRY(vly_sonata_units(file, &set->times, "ms", error));
    VLY_TRY(vly_sonata_set_open(file, &group, "node_ids", VLY_SONATA_U64,
                                n_spikes, &set->nodes, error));
    status = vly_sonata_group_close(file, &group, error);
out:
    return status;
}

static vly_status open_sets(vly_sonata_file *file, const vly_stream_head *head,
                            const vly_export_counts *counts, spike_sets *sets,
                            vly_error *error)
{
    uint32_t n = 0;
    vly_status status = VLY_OK;
    for (uint32_t a = 0; a < head->n_areas; a++)
        n += head->areas[a].recorded;
    sets->areas = vly_calloc(head->n_areas, sizeof *sets->areas);
    if (!sets->areas)
        return vly_fail_nomem(error, head->n_areas * sizeof *sets->areas,
                              "spikes of areas");
    sets->n_areas = head->n_areas;
    sets->capacity = BUFFER_BYTES / 16 / (n > 0 ? n : 1);
    sets->capacity = sets->capacity > 16384 ? 16384 : sets->capacity + 1;
    for (uint32_t a = 0; a < head->n_areas; a++) {
        sets->areas[a].times = (vly_sonata_set){.id = -1};
        sets->areas[a].nodes = (vly_sonata_set){.id = -1};
    }
    for (uint32_t a = 0; a < head->n_areas; a++)
        if (head->areas[a].recorded)
            VLY_TRY(open_set(file, &head->areas[a], counts->area_spikes[a],
                             sets->capacity, &sets->areas[a], error));
out:
    return status;
}

static vly_status flush_set(vly_sonata_file *file, spike_set *set,
                            vly_error *error)
{
    vly_status status = VLY_OK;
    if (set->n == 0)
        return VLY_OK;
    VLY_TRY(vly_sonata_append(file, &set->times, set->time, set->n, error));
    VLY_TRY(vly_sonata_append(file, &set->nodes, set->node, set->n, error));
    set->n = 0;
out:
    return status;
}

/* Writes the rest to the file; closing writes too. */
static vly_status close_set(vly_sonata_file *file, spike_set *set,
                            vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(flush_set(file, set, error));
    VLY_TRY(vly_sonata_set_close(file, &set->times, error));
    status = vly_sonata_set_close(file, &set->nodes, error);
out:
    return status;
}

static vly_status put_spikes(vly_sonata_file *file, const vly_stream_head *head,
                             const vly_stream_block *block, spike_sets *sets,
                             vly_error *error)
{
    vly_status status = VLY_OK;
    double time = vly_recording_time(head->dt_ms, block->burst + 1);
    uint32_t a = 0;
    for (uint32_t i = 0; i < block->n; i++) {
        while (block->data[i] - head->areas[a].first >=
               head->areas[a].n_neurons)
            a++;
        spike_set *set = &sets->areas[a];
        if (!head->areas[a].recorded)
            continue; /* no writer puts one there */
        set->time[set->n] = time;
        set->node[set->n++] = block->data[i] - head->areas[a].first;
        if (set->n < sets->capacity)
            continue;
        VLY_TRY(flush_set(file, set, error));
    }
out:
    return status;
}

vly_status vly_export_spikes_sonata(vly_stream_reader *reader,
                                    const vly_export_counts *counts,
                                    const char *path, vly_error *error)
{
    const vly_stream_head *head = vly_stream_reader_head(reader);
    vly_sonata_file *file = NULL;
    spike_sets sets = {0};
    vly_stream_block block;
    bool more = true;
    vly_status status = VLY_OK;
    VLY_TRY(vly_sonata_open(path, "spikes", &file, error));
    VLY_TRY(open_sets(file, head, counts, &sets, error));
    VLY_TRY(vly_stream_reader_rewind(reader, error));
    while (more) {
        VLY_TRY(vly_stream_reader_next(reader, &block, &more, error));
        if (more && block.kind == VLY_STREAM_SPIKES)
            VLY_TRY(put_spikes(file, head, &block, &sets, error));
    }
    for (uint32_t a = 0; a < sets.n_areas; a++)
        VLY_TRY(close_set(file, &sets.areas[a], error));
    status = vly_sonata_close(file, error);
    file = NULL;
out:
    free_sets(&sets);
    vly_sonata_abandon(file);
    return status;
}

/* ---- a report ---------------------------------------------------------- */

typedef struct frame_set {
    vly_sonata_set data;
    uint32_t *rows;   /* [n_rows * n_words], not yet in the file */
    uint32_t n_words; /* of a frame */
    uint32_t n_rows;
    uint32_t capacity; /* rows */
} frame_set;

typedef struct frame_sets {
    frame_set *reports; /* [n] */
    uint32_t n;
} frame_sets;

static void free_frames(frame_sets *sets)
{
    for (uint32_t r = 0; sets->reports && r < sets->n; r++)
        vly_free(sets->reports[r].rows);
    vly_free(sets->reports);
    sets->reports = NULL;
}

static vly_status put_list(vly_sonata_file *file, const vly_sonata_group *group,
                           const char *name, vly_sonata_type type,
                           const void *values, uint64_t n, vly_error *error)
{
    vly_sonata_set set = {.id = -1};
    vly_status status = VLY_OK;
    VLY_TRY(vly_sonata_set_open(file, group, name, type, n, &set, error));
    VLY_TRY(vly_sonata_append(file, &set, values, n, error));
    if (strcmp(name, "node_ids") == 0)
        VLY_TRY(vly_sonata_sorted(file, &set, error));
    if (strcmp(name, "time") == 0)
        VLY_TRY(vly_sonata_units(file, &set, "ms", error));
    status = vly_sonata_set_close(file, &set, error);
out:
    return status;
}

/* One element for each node, with number 1, as the guide defines for point
 * neurons. */
static vly_status put_mapping(vly_sonata_file *file,
                              const vly_sonata_group *population,
                              const vly_stream_report *report,
                              const double time[3], vly_error *error)
{
    vly_sonata_group group = {-1};
    uint64_t n = report->n_neurons;
    uint64_t *nodes = vly_malloc((size_t)n + 1, sizeof *nodes);
    uint32_t *elements = vly_malloc((size_t)n, sizeof *elements);
    vly_status status = VLY_OK;
    if (!nodes || !elements) {
        status = vly_fail_nomem(error, (n + 1) * 8, "neurons of a report");
        goto out;
    }
    VLY_TRY(vly_sonata_group_open(file, population, "mapping", &group, error));
    for (uint32_t i = 0; i < n; i++) {
        nodes[i] = report->neurons ? report->neurons[i] : i;
        elements[i] = 1;
    }
    VLY_TRY(
        put_list(file, &group, "node_ids", VLY_SONATA_U64, nodes, n, error));
    for (uint64_t i = 0; i <= n; i++)
        nodes[i] = i;
    VLY_TRY(put_list(file, &group, "index_pointers", VLY_SONATA_U64, nodes,
                     n + 1, error));
    /* its name in older versions of the guide and in their readers */
    VLY_TRY(vly_sonata_alias(file, &group, "index_pointers", "index_pointer",
                             error));
    VLY_TRY(put_list(file, &group, "element_ids", VLY_SONATA_U32, elements, n,
                     error));
    VLY_TRY(put_list(file, &group, "time", VLY_SONATA_F64, time, 3, error));
    status = vly_sonata_group_close(file, &group, error);
out:
    vly_free(nodes);
    vly_free(elements);
    return status;
}

/* SONATA has no means of neurons: they have a group of their own, with the
 * neurons and the times beside the data. */
static vly_status put_mean(vly_sonata_file *file,
                           const vly_sonata_group *population,
                           const vly_stream_report *report,
                           const double time[3], vly_error *error)
{
    uint64_t *nodes = vly_malloc(report->n_neurons, sizeof *nodes);
    vly_status status = VLY_OK;
    if (!nodes)
        return vly_fail_nomem(error, report->n_neurons * UINT64_C(8),
                              "neurons of a report");
    for (uint32_t i = 0; i < report->n_neurons; i++)
        nodes[i] = report->neurons ? report->neurons[i] : i;
    VLY_TRY(put_list(file, population, "node_ids", VLY_SONATA_U64, nodes,
                     report->n_neurons, error));
    status = put_list(file, population, "time", VLY_SONATA_F64, time, 3, error);
out:
    vly_free(nodes);
    return status;
}

static vly_status open_frames(vly_sonata_file *file,
                              const vly_stream_head *head,
                              const vly_export_counts *counts, uint32_t r,
                              uint32_t n_sets, frame_set *set, vly_error *error)
{
    const vly_stream_report *report = &head->reports[r];
    uint64_t n_frames = counts->report_frames[r];
    uint64_t first = n_frames > 0 ? counts->report_first[r] : 0;
    const double time[3] = {
        vly_recording_time(head->dt_ms, first),
        vly_recording_time(head->dt_ms, first + n_frames * report->interval),
        vly_recording_time(head->dt_ms, report->interval)};
    vly_sonata_group group = {-1};
    vly_status status = VLY_OK;
    uint64_t rows =
        BUFFER_BYTES / n_sets / 4 / (vly_stream_words(report) + UINT64_C(1));
    rows = rows > ROWS_MAX ? ROWS_MAX : rows < 1 ? 1 : rows;
    rows = n_frames > 0 && rows > n_frames ? n_frames : rows;
    set->n_words = vly_stream_words(report);
    set->capacity = (uint32_t)rows;
    set->rows = vly_malloc((size_t)rows * set->n_words, sizeof *set->rows);
    if (!set->rows)
        return vly_fail_nomem(error, rows * set->n_words * 4,
                              "samples of a field");
    VLY_TRY(vly_sonata_population(file, report->mean ? "mean" : "report",
                                  head->areas[report->area].name, &group,
                                  error));
    VLY_TRY(vly_sonata_table_open(
        file, &group, "data",
        report->type == VLY_TYPE_F32 ? VLY_SONATA_F32 : VLY_SONATA_U32,
        n_frames, set->n_words, rows,
        CHUNK_BYTES / 4 / rows > 0 ? CHUNK_BYTES / 4 / rows : 1, &set->data,
        error));
    VLY_TRY(vly_sonata_units(
        file, &set->data, report->unit[0] != '\0' ? report->unit : "1", error));
    VLY_TRY(report->mean ? put_mean(file, &group, report, time, error)
                         : put_mapping(file, &group, report, time, error));
    status = vly_sonata_group_close(file, &group, error);
out:
    return status;
}

static vly_status flush_frames(vly_sonata_file *file, frame_set *set,
                               vly_error *error)
{
    vly_status status = VLY_OK;
    if (set->n_rows > 0)
        status =
            vly_sonata_append(file, &set->data, set->rows, set->n_rows, error);
    set->n_rows = 0;
    return status;
}

static vly_status put_frame(vly_sonata_file *file,
                            const vly_stream_block *block, frame_set *set,
                            vly_error *error)
{
    size_t n = set->n_words;
    if (n > 0)
        memcpy(set->rows + set->n_rows * n, block->data, n * sizeof *set->rows);
    set->n_rows++;
    return set->n_rows < set->capacity ? VLY_OK
                                       : flush_frames(file, set, error);
}

vly_status vly_export_report_sonata(vly_stream_reader *reader,
                                    const vly_export_counts *counts,
                                    uint32_t first, uint32_t n,
                                    const char *path, vly_error *error)
{
    const vly_stream_head *head = vly_stream_reader_head(reader);
    vly_sonata_file *file = NULL;
    frame_sets sets = {vly_calloc(n, sizeof *sets.reports), n};
    vly_stream_block block;
    bool more = true;
    vly_status status = VLY_OK;
    if (!sets.reports)
        return vly_fail_nomem(error, n * sizeof *sets.reports, "reports");
    for (uint32_t r = 0; r < n; r++)
        sets.reports[r].data = (vly_sonata_set){.id = -1};
    VLY_TRY(vly_sonata_open(path, head->reports[first].mean ? "mean" : "report",
                            &file, error));
    for (uint32_t r = 0; r < n; r++)
        VLY_TRY(open_frames(file, head, counts, first + r, n, &sets.reports[r],
                            error));
    VLY_TRY(vly_stream_reader_rewind(reader, error));
    while (more) {
        VLY_TRY(vly_stream_reader_next(reader, &block, &more, error));
        if (more && block.kind == VLY_STREAM_FRAME && block.report - first < n)
            VLY_TRY(put_frame(file, &block, &sets.reports[block.report - first],
                              error));
    }
    for (uint32_t r = 0; r < n; r++) {
        VLY_TRY(flush_frames(file, &sets.reports[r], error));
        VLY_TRY(vly_sonata_set_close(file, &sets.reports[r].data, error));
    }
    status = vly_sonata_close(file, error);
    file = NULL;
out:
    free_frames(&sets);
    vly_sonata_abandon(file);
    return status;
}

#endif

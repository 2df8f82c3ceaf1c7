/* SPDX-License-Identifier: Apache-2.0
 * Reads samples of fields for pictures.
 */
#include "tools/plot/plot_traces.h"

#include <volley/record.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/reading.h"
#include "genome/csv_reader.h"
#include "record/stream.h"
#include "tools/cli/tool.h"
#include "tools/plot/plot_data.h"
#include "tools/plot/plot_rows.h"

/* ---- samples ------------------------------------------------------------ */

static bool wanted(const tool_args *args, const char *area, uint32_t neuron,
                   double time_ms)
{
    const char *one = NULL;
    bool area_in = !tool_text_at(args, "area", 0);
    bool neuron_in = !tool_text_at(args, "neuron", 0);
    for (uint32_t k = 0; (one = tool_text_at(args, "area", k)) != NULL; k++)
        area_in = area_in || strcmp(one, area) == 0;
    for (uint32_t k = 0; (one = tool_text_at(args, "neuron", k)) != NULL; k++) {
        uint64_t number = 0;
        neuron_in =
            neuron_in || (tool_read_count(one, &number) && number == neuron);
    }
    return area_in && neuron_in && time_ms >= tool_number(args, "from", 0) &&
           time_ms <= tool_number(args, "to", HUGE_VAL);
}

/* The trace of this area and of the neuron, element and report of `of`, made if
 * there is none. NULL with *status OK: enough traces already. */
static plot_trace *trace_of(plot_traces *traces, const char *area,
                            const plot_trace *of, vly_status *status,
                            vly_error *error)
{
    for (uint32_t t = 0; t < traces->n_traces; t++)
        if (traces->traces[t].neuron == of->neuron &&
            traces->traces[t].element == of->element &&
            traces->traces[t].report == of->report &&
            strcmp(traces->traces[t].area, area) == 0)
            return &traces->traces[t];
    if (traces->n_traces == PLOT_TRACES_MAX)
        return NULL;
    plot_trace *made = &traces->traces[traces->n_traces];
    *made = *of;
    made->area = vly_strdup(area);
    if (!made->area) {
        *status = vly_fail_nomem(error, strlen(area), "a name");
        return NULL;
    }
    traces->n_traces++;
    return made;
}

static vly_status add_sample(plot_trace *trace, double time_ms, double value,
                             vly_error *error)
{
    if (trace->n == trace->capacity) {
        const uint64_t n = trace->n > 0 ? 2 * trace->n : 1024;
        double *times = vly_realloc(trace->times_ms, n, sizeof *times);
        if (times)
            trace->times_ms = times;
        double *values = vly_realloc(trace->values, n, sizeof *values);
        if (values)
            trace->values = values;
        if (!times || !values)
            return vly_fail_nomem(error, n * 16, "samples");
        trace->capacity = n;
    }
    trace->times_ms[trace->n] = time_ms;
    trace->values[trace->n++] = value;
    return VLY_OK;
}

static vly_status add(plot_traces *traces, const char *area,
                      const plot_trace *of, double time_ms, double value,
                      vly_error *error)
{
    vly_status status = VLY_OK;
    plot_trace *trace = trace_of(traces, area, of, &status, error);
    if (!trace) {
        traces->n_left_out += status == VLY_OK;
        return status;
    }
    return add_sample(trace, time_ms, value, error);
}

/* ---- CSV ---------------------------------------------------------------- */

static vly_status read_rows(plot_traces *traces, const tool_args *args,
                            vly_csv *csv, const char *path, vly_error *error)
{
    static const char *const names[] = {"burst", "time_ms", "area", "neuron"};
    /* rates of areas; with neurons it would be a file of spikes */
    const bool mean =
        csv->n_fields == 4 && vly_csv_column(csv, "neuron") == csv->n_fields;
    const uint32_t value_at = mean ? 3 : 4;
    bool more = true;
    vly_status status = VLY_OK;
    for (uint32_t c = 0; c < value_at; c++)
        if (vly_csv_column(csv, names[c]) != c || csv->n_fields != value_at + 1)
            return vly_fail(
                error, VLY_E_PARSE,
                "%s:1:1: no samples of a field, wanted the columns "
                "burst,time_ms,area,neuron,FIELD, or of rates by area "
                "burst,time_ms,area,FIELD",
                path);
    csv->is_ours = true;
    traces->field = vly_strdup(csv->names[value_at]);
    if (!traces->field)
        return vly_fail_nomem(error, 64, "a name");
    for (;;) {
        double time_ms = 0, value = 0;
        uint32_t neuron = PLOT_MEAN;
        VLY_TRY(vly_csv_next(csv, &more));
        if (!more)
            break;
        VLY_TRY(vly_csv_number(csv, 1, &time_ms));
        if (!mean)
            VLY_TRY(vly_csv_index(csv, 3, UINT32_MAX, &neuron));
        VLY_TRY(vly_csv_number(csv, value_at, &value));
        const plot_trace of = {.neuron = neuron, .element = -1};
        if (wanted(args, csv->fields[2], neuron, time_ms))
            VLY_TRY(add(traces, csv->fields[2], &of, time_ms, value, error));
    }
out:
    return status;
}

static vly_status read_csv(plot_traces *traces, const tool_args *args,
                           const char *path, vly_error *error)
{
    vly_csv csv = {0};
    FILE *file = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_reading_open(path, VLY_READ_STREAM, &file, error));
    VLY_TRY(vly_csv_init(&csv, file, path, error));
    status = read_rows(traces, args, &csv, path, error);
out:
    vly_csv_deinit(&csv);
    if (file)
        (void)fclose(file);
    return status;
}

/* ---- streams ------------------------------------------------------------ */

/* The field to show: --field, or the only one. */
static vly_status choose_field(plot_traces *traces, const tool_args *args,
                               const vly_stream_head *head, const char *path,
                               vly_error *error)
{
    const char *asked = tool_text(args, "field");
    const char *found = NULL;
    const char *unit = "";
    for (uint32_t r = 0; r < head->n_reports; r++) {
        const char *field = head->reports[r].field;
        if (asked && strcmp(asked, field) != 0)
            continue;
        if (found && strcmp(found, field) != 0)
            return vly_fail(error, VLY_E_INVALID,
                            "%s has samples of %s and of %s: choose with "
                            "--field",
                            path, found, field);
        found = field;
        unit = head->reports[r].unit;
    }
    if (!found)
        return vly_fail(error, VLY_E_INVALID,
                        "%s has no samples of %s; a [[record]] with what = "
                        "\"fields\" makes some",
                        path, asked ? asked : "fields");
    traces->field = vly_strdup(found);
    traces->unit = vly_strdup(unit);
    return traces->field && traces->unit ? VLY_OK
                                         : vly_fail_nomem(error, 64, "a name");
}

static vly_status add_frame(plot_traces *traces, const tool_args *args,
                            const vly_stream_head *head,
                            const vly_stream_block *block, vly_error *error)
{
    const vly_stream_report *report = &head->reports[block->report];
    const char *area = head->areas[report->area].name;
    const double time_ms = (double)block->burst * head->dt_ms;
    plot_trace of = {
        .element = -1, .report = block->report, .record = report->record};
    vly_status status = VLY_OK;
    if (strcmp(report->field, traces->field) != 0)
        return VLY_OK;
    for (uint32_t i = 0; i < block->n && status == VLY_OK; i++) {
        of.neuron = report->mean      ? PLOT_MEAN
                    : report->neurons ? report->neurons[i]
                                      : i;
        if (wanted(args, area, of.neuron, time_ms))
            status = add(traces, area, &of, time_ms,
                         report->type == VLY_TYPE_F32
                             ? (double)vly_float_from_bits(block->data[i])
                             : (double)block->data[i],
                         error);
    }
    return status;
}

static vly_status read_stream(plot_traces *traces, const tool_args *args,
                              const char *path, vly_error *error)
{
    vly_stream_reader *reader = NULL;
    vly_stream_block block;
    bool more = true;
    vly_status status = VLY_OK;
    VLY_TRY(vly_stream_reader_open(path, &reader, error));
    const vly_stream_head *head = vly_stream_reader_head(reader);
    VLY_TRY(choose_field(traces, args, head, path, error));
    for (;;) {
        VLY_TRY(vly_stream_reader_next(reader, &block, &more, error));
        if (!more)
            break;
        if (block.kind == VLY_STREAM_FRAME)
            VLY_TRY(add_frame(traces, args, head, &block, error));
    }
    plot_stream_ended(reader, path, &traces->damage);
out:
    vly_stream_reader_close(reader);
    return status;
}

/* ---- SONATA ------------------------------------------------------------- */

typedef struct sonata_samples {
    plot_traces *traces;
    const tool_args *args;
    const char *path;
    double start_ms;
    double step_ms;
    uint32_t n_columns;
    uint32_t column[PLOT_TRACES_MAX]; /* its trace */
} sonata_samples;

static int want_population(void *context, const char *name)
{
    const sonata_samples *of = context;
    return plot_population_area(of->args, name) != NULL;
}

static int want_node(void *context, const char *population, uint64_t node)
{
    const sonata_samples *of = context;
    const char *one = NULL;
    (void)population;
    for (uint32_t k = 0; (one = tool_text_at(of->args, "neuron", k)); k++) {
        uint64_t number = 0;
        if (tool_read_count(one, &number) && number == node)
            return 1;
    }
    return !tool_text(of->args, "neuron");
}

static vly_status begin_report(void *context, const vly_sonata_report *report,
                               vly_error *error)
{
    sonata_samples *of = context;
    const char *area = plot_population_area(of->args, report->population);
    plot_traces *traces = of->traces;
    vly_status status = VLY_OK;
    if (!traces->unit)
        traces->unit =
            vly_strdup(strcmp(report->units, "1") == 0 ? "" : report->units);
    if (!traces->unit)
        return vly_fail_nomem(error, strlen(report->units), "a unit");
    of->start_ms = report->start_ms;
    of->step_ms = report->step_ms;
    of->n_columns = report->n_columns;
    for (uint32_t c = 0; c < report->n_columns; c++) {
        if (report->nodes[c] > UINT32_MAX)
            return vly_fail(error, VLY_E_PARSE,
                            "%.300s: /report/%s: neuron %llu, wanted at most "
                            "%u",
                            of->path, report->population,
                            (unsigned long long)report->nodes[c], UINT32_MAX);
        const plot_trace key = {.neuron = (uint32_t)report->nodes[c],
                                .element = report->elements[c]};
        const plot_trace *trace = trace_of(traces, area, &key, &status, error);
        if (!trace) /* always fits: want has the limit */
            return status;
        of->column[c] = (uint32_t)(trace - traces->traces);
    }
    return VLY_OK;
}

static vly_status take_rows(void *context, uint64_t first, uint32_t n_rows,
                            const double *values, vly_error *error)
{
    sonata_samples *of = context;
    vly_status status = VLY_OK;
    for (uint32_t r = 0; r < n_rows && status == VLY_OK; r++) {
        const double time_ms = of->start_ms + (double)(first + r) * of->step_ms;
        if (time_ms < tool_number(of->args, "from", 0) ||
            time_ms > tool_number(of->args, "to", HUGE_VAL))
            continue;
        for (uint32_t c = 0; c < of->n_columns && status == VLY_OK; c++)
            status = add_sample(&of->traces->traces[of->column[c]], time_ms,
                                values[(size_t)r * of->n_columns + c], error);
    }
    return status;
}

/* Only the name of the file gives its field: "spikes.1.v_mv.h5" has v_mv, any
 * other "NAME.h5" has NAME. */
static vly_status name_field(plot_traces *traces, const tool_args *args,
                             const char *path, vly_error *error)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    const char *end = dot && dot > name ? dot : name + strlen(name);
    const char *asked = tool_text(args, "field");
    const char *begin = end;
    while (begin > name && begin[-1] != '.')
        begin--;
    if (begin - name < 2 || begin[-2] < '0' || begin[-2] > '9')
        begin = name;
    traces->field = vly_format("%.*s", (int)(end - begin), begin);
    if (!traces->field)
        return vly_fail_nomem(error, strlen(path), "a name");
    if (asked && strcmp(asked, traces->field) != 0)
        return vly_fail(error, VLY_E_INVALID,
                        "%s has samples of %s, none of %s: leave out --field, "
                        "or name the other file",
                        path, traces->field, asked);
    return VLY_OK;
}

/* Removes traces without samples between --from and --to. */
static void drop_empty(plot_traces *traces)
{
    uint32_t kept = 0;
    for (uint32_t t = 0; t < traces->n_traces; t++) {
        if (traces->traces[t].n > 0)
            traces->traces[kept++] = traces->traces[t];
        else
            vly_free(traces->traces[t].area);
    }
    traces->n_traces = kept;
}

/* Rates by area, of which HDF5 has no SONATA report. */
static bool has_means(const char *path)
{
    vly_sonata_about about = {.struct_size = sizeof about};
    vly_error ignored = VLY_ERROR_INIT;
    return vly_sonata_describe(path, &about, NULL, NULL, &ignored) == VLY_OK &&
           about.mean && !about.report;
}

static vly_status read_sonata(plot_traces *traces, const tool_args *args,
                              const char *path, vly_error *error)
{
    sonata_samples of = {.traces = traces, .args = args, .path = path};
    const vly_sonata_want want = {.struct_size = sizeof want,
                                  .context = &of,
                                  .population = want_population,
                                  .node = want_node,
                                  .n_columns_max = PLOT_TRACES_MAX};
    const vly_sonata_take take = {.struct_size = sizeof take,
                                  .context = &of,
                                  .report = begin_report,
                                  .rows = take_rows};
    int more = 0;
    vly_status status = name_field(traces, args, path, error);
    if (status == VLY_OK)
        status = vly_sonata_read_report(path, &want, &take, &more, error);
    if (status == VLY_E_PARSE && has_means(path))
        status = vly_fail(error, VLY_E_INVALID,
                          "%s: rates of areas (/mean/AREA) in HDF5, which this "
                          "picture does not read; wanted those of --record "
                          "FILE.csv or FILE.vls",
                          path);
    traces->n_left_out += more != 0;
    drop_empty(traces);
    return status;
}

/* ---- folders ------------------------------------------------------------ */

/* A CSV does not contain the unit; the model of the genome does. */
static vly_status find_unit(plot_traces *traces, const tool_args *args,
                            const char *folder, vly_error *error)
{
    const char *given = tool_text(args, "genome");
    vly_error ignored = VLY_ERROR_INIT;
    if (!folder)
        return given ? plot_traces_unit(traces, given, error) : VLY_OK;
    char *genome = vly_format("%s/genome.resolved.toml", folder);
    if (!genome)
        return vly_fail_nomem(error, strlen(folder), "a path");
    /* a picture without a unit is better than none */
    (void)plot_traces_unit(traces, genome, &ignored);
    vly_free(genome);
    return VLY_OK;
}

static bool chooses(const tool_args *args)
{
    return tool_has(args, "area") || tool_has(args, "neuron") ||
           tool_has(args, "from") || tool_has(args, "to");
}

vly_status plot_traces_init(plot_traces *traces, const tool_args *args,
                            const char *path, vly_error *error)
{
    struct stat info;
    char *found = NULL;
    const char *folder = NULL;
    vly_status status = VLY_OK;
    *traces = (plot_traces){0};
    if (stat(path, &info) != 0)
        return vly_fail(error, VLY_E_IO, "%s: %s", path, strerror(errno));
    if (S_ISDIR(info.st_mode)) {
        VLY_TRY(plot_find_samples(args, path, &found, error));
        folder = path;
        path = found;
    }
    const plot_file_kind kind = plot_file_kind_of(path);
    if (kind == PLOT_FILE_HDF5)
        status = read_sonata(traces, args, path, error);
    else if (kind == PLOT_FILE_STREAM)
        status = read_stream(traces, args, path, error);
    else
        status = read_csv(traces, args, path, error);
    if (status == VLY_OK && traces->n_traces == 0 && !chooses(args))
        status = vly_fail(error, VLY_E_INVALID,
                          "%s: no samples of %s in it: wanted a run of at "
                          "least the interval of the [[record]]",
                          path, traces->field);
    else if (status == VLY_OK && traces->n_traces == 0)
        status = vly_fail(error, VLY_E_INVALID,
                          "%s: no samples of what --area, --neuron, --from and "
                          "--to choose",
                          path);
    if (status == VLY_OK && !traces->unit)
        status = find_unit(traces, args, folder, error);
out:
    vly_free(found);
    return status;
}

void plot_traces_deinit(plot_traces *traces)
{
    for (uint32_t t = 0; t < traces->n_traces; t++) {
        vly_free(traces->traces[t].area);
        vly_free(traces->traces[t].times_ms);
        vly_free(traces->traces[t].values);
    }
    vly_free(traces->field);
    vly_free(traces->unit);
    *traces = (plot_traces){0};
}

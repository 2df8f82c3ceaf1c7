/* SPDX-License-Identifier: Apache-2.0
 * Reads and draws samples of fields.
 */
#include "plot_traces.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "genome/csv_reader.h"
#include "plot.h"
#include "record/stream.h"
#include "tool.h"

/* ---- samples ------------------------------------------------------------ */

static bool wanted(const tool_args *args, const char *area, uint32_t neuron,
                   double time_ms)
{
    const char *one = NULL;
    bool area_in = tool_text_at(args, "area", 0) == NULL;
    bool neuron_in = tool_text_at(args, "neuron", 0) == NULL;
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

/* NULL without *status: there are enough already. */
static plot_trace *trace_of(plot_traces *traces, const char *area,
                            uint32_t neuron, vly_status *status,
                            vly_error *error)
{
    for (uint32_t t = 0; t < traces->n_traces; t++)
        if (traces->traces[t].neuron == neuron &&
            strcmp(traces->traces[t].area, area) == 0)
            return &traces->traces[t];
    if (traces->n_traces == PLOT_TRACES_MAX)
        return NULL;
    plot_trace *made = &traces->traces[traces->n_traces];
    *made = (plot_trace){.area = vly_strdup(area), .neuron = neuron};
    if (!made->area) {
        *status = vly_fail_nomem(error, strlen(area), "a name");
        return NULL;
    }
    traces->n_traces++;
    return made;
}

static vly_status add(plot_traces *traces, const char *area, uint32_t neuron,
                      double time_ms, double value, vly_error *error)
{
    vly_status status = VLY_OK;
    plot_trace *trace = trace_of(traces, area, neuron, &status, error);
    if (!trace) {
        traces->n_left_out += status == VLY_OK;
        return status;
    }
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

/* ---- CSV ---------------------------------------------------------------- */

static vly_status read_rows(plot_traces *traces, const tool_args *args,
                            vly_csv *csv, const char *path, vly_error *error)
{
    static const char *const names[] = {"burst", "time_ms", "area", "neuron"};
    bool more = true;
    vly_status status = VLY_OK;
    for (uint32_t c = 0; c < 4; c++)
        if (vly_csv_column(csv, names[c]) != c || csv->n_fields != 5)
            return vly_fail(error, VLY_E_PARSE,
                            "%s:1:1: no samples of a field, wanted the columns "
                            "burst,time_ms,area,neuron,FIELD",
                            path);
    traces->field = vly_strdup(csv->names[4]);
    if (!traces->field)
        return vly_fail_nomem(error, 64, "a name");
    for (;;) {
        double time_ms = 0;
        double value = 0;
        uint32_t neuron = 0;
        VLY_TRY(vly_csv_next(csv, &more));
        if (!more)
            break;
        VLY_TRY(vly_csv_number(csv, 1, &time_ms));
        VLY_TRY(vly_csv_index(csv, 3, UINT32_MAX, &neuron));
        VLY_TRY(vly_csv_number(csv, 4, &value));
        if (wanted(args, csv->fields[2], neuron, time_ms))
            VLY_TRY(add(traces, csv->fields[2], neuron, time_ms, value, error));
    }
out:
    return status;
}

static vly_status read_csv(plot_traces *traces, const tool_args *args,
                           const char *path, vly_error *error)
{
    vly_csv csv = {0};
    FILE *file = fopen(path, "re");
    if (!file)
        return vly_fail(error, VLY_E_IO, "%s: %s", path, strerror(errno));
    vly_status status = vly_csv_init(&csv, file, path, error);
    if (status == VLY_OK)
        status = read_rows(traces, args, &csv, path, error);
    vly_csv_deinit(&csv);
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
    }
    if (!found)
        return vly_fail(error, VLY_E_INVALID,
                        "%s has no samples of %s; a [[record]] with what = "
                        "\"fields\" makes some",
                        path, asked ? asked : "fields");
    traces->field = vly_strdup(found);
    return traces->field ? VLY_OK : vly_fail_nomem(error, 64, "a name");
}

static vly_status add_frame(plot_traces *traces, const tool_args *args,
                            const vly_stream_head *head,
                            const vly_stream_block *block, vly_error *error)
{
    const vly_stream_report *report = &head->reports[block->report];
    const char *area = head->areas[report->area].name;
    const double time_ms = (double)block->burst * head->dt_ms;
    vly_status status = VLY_OK;
    if (strcmp(report->field, traces->field) != 0)
        return VLY_OK;
    for (uint32_t i = 0; i < block->n && status == VLY_OK; i++) {
        const uint32_t neuron = report->neurons ? report->neurons[i] : i;
        if (wanted(args, area, neuron, time_ms))
            status = add(traces, area, neuron, time_ms,
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
out:
    vly_stream_reader_close(reader);
    return status;
}

/* ---- folders ------------------------------------------------------------ */

/* "spikes.1.v_mv.csv" is samples of v_mv; NULL: of no field, or another. */
static bool is_samples(const char *name, const char *field)
{
    const size_t n = strlen(name);
    const char *dot = NULL;
    uint32_t dots = 0;
    for (const char *c = name; *c; c++) {
        if (*c == '.' && ++dots == 2)
            dot = c + 1;
    }
    if (dots != 3 || n < 5 || strcmp(name + n - 4, ".csv") != 0)
        return false;
    return !field || (strlen(field) == (size_t)(name + n - 4 - dot) &&
                      strncmp(dot, field, strlen(field)) == 0);
}

static vly_status find_samples(const tool_args *args, const char *folder,
                               char **path, vly_error *error)
{
    const char *field = tool_text(args, "field");
    const struct dirent *entry = NULL;
    vly_status status = VLY_OK;
    DIR *entries = opendir(folder);
    if (!entries)
        return vly_fail(error, VLY_E_IO, "%s: %s", folder, strerror(errno));
    while (status == VLY_OK && (entry = readdir(entries)) != NULL) {
        if (!is_samples(entry->d_name, field))
            continue;
        if (*path)
            status = vly_fail(error, VLY_E_INVALID,
                              "%s has samples in several files: choose with "
                              "--field, or name the file",
                              folder);
        else if (!(*path = vly_format("%s/%s", folder, entry->d_name)))
            status = vly_fail_nomem(error, strlen(folder), "a path");
    }
    closedir(entries);
    if (status == VLY_OK && !*path)
        status = vly_fail(error, VLY_E_INVALID,
                          "%s has no samples of %s; a [[record]] with what = "
                          "\"fields\" makes some",
                          folder, field ? field : "fields");
    return status;
}

vly_status plot_traces_init(plot_traces *traces, const tool_args *args,
                            const char *path, vly_error *error)
{
    struct stat info;
    char *found = NULL;
    vly_status status = VLY_OK;
    *traces = (plot_traces){0};
    if (stat(path, &info) != 0)
        return vly_fail(error, VLY_E_IO, "%s: %s", path, strerror(errno));
    if (S_ISDIR(info.st_mode)) {
        VLY_TRY(find_samples(args, path, &found, error));
        path = found;
    }
    const plot_file_kind kind = plot_file_kind_of(path);
    if (kind == PLOT_FILE_HDF5)
        status = plot_refuse_hdf5(path, error);
    else if (kind == PLOT_FILE_STREAM)
        status = read_stream(traces, args, path, error);
    else
        status = read_csv(traces, args, path, error);
    if (status == VLY_OK && traces->n_traces == 0)
        status = vly_fail(error, VLY_E_INVALID,
                          "%s: no samples of what --area, --neuron, --from and "
                          "--to choose",
                          path);
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
    *traces = (plot_traces){0};
}

/* ---- the picture -------------------------------------------------------- */

/* "v_mv" is "v (mV)"; what has no unit stays as it is. */
static void label_of(const char *field, char *text, size_t n)
{
    static const char *const units[][2] = {{"_mv", "mV"}, {"_pa", "pA"},
                                           {"_ns", "nS"}, {"_ms", "ms"},
                                           {"_hz", "Hz"}, {"_pf", "pF"}};
    const size_t length = strlen(field);
    for (size_t u = 0; u < sizeof units / sizeof units[0]; u++)
        if (length > 3 && strcmp(field + length - 3, units[u][0]) == 0) {
            snprintf(text, n, "%.*s (%s)", (int)length - 3, field, units[u][1]);
            return;
        }
    snprintf(text, n, "%s", field);
}

static void scales_of(const plot_traces *traces, plot_axes *axes)
{
    double lo = HUGE_VAL;
    double hi = -HUGE_VAL;
    axes->x_lo = HUGE_VAL;
    axes->x_hi = -HUGE_VAL;
    for (uint32_t t = 0; t < traces->n_traces; t++) {
        const plot_trace *trace = &traces->traces[t];
        axes->x_lo = fmin(axes->x_lo, trace->times_ms[0]);
        axes->x_hi = fmax(axes->x_hi, trace->times_ms[trace->n - 1]);
        for (uint64_t i = 0; i < trace->n; i++) {
            lo = fmin(lo, trace->values[i]);
            hi = fmax(hi, trace->values[i]);
        }
    }
    if (!(axes->x_hi > axes->x_lo))
        axes->x_hi = axes->x_lo + 1;
    const double room = hi > lo ? 0.05 * (hi - lo) : fmax(1, fabs(hi)) * 0.1;
    axes->y_lo = lo - room;
    axes->y_hi = hi + room;
}

static void draw_trace(plot_figure *figure, const plot_axes *axes,
                       const plot_trace *trace, uint32_t colour)
{
    plot_axes_begin(figure, axes);
    plot_set_colour(figure, plot_area_colour(colour));
    cairo_set_line_width(figure->cairo, 0.9);
    cairo_set_line_join(figure->cairo, CAIRO_LINE_JOIN_ROUND);
    for (uint64_t i = 0; i < trace->n; i++)
        cairo_line_to(figure->cairo, plot_at_x(axes, trace->times_ms[i]),
                      plot_at_y(axes, trace->values[i]));
    cairo_stroke(figure->cairo);
    plot_axes_end(figure);
}

vly_status plot_traces_draw(plot_figure *figure, const plot_traces *traces,
                            const char *title, vly_error *error)
{
    char note[256];
    char label[96];
    const uint32_t n = traces->n_traces;
    label_of(traces->field, label, sizeof label);
    snprintf(note, sizeof note, "%s of %u neuron%s%s", label, n,
             n > 1 ? "s" : "",
             traces->n_left_out > 0
                 ? "; there are more: choose with --area and --neuron"
                 : "");
    plot_axes axes = {.x = 58, .y_label = n <= 4 ? label : NULL};
    const double top = plot_heading(figure, title, note);
    const double step = (figure->height - top - 30) / n;
    axes.width = figure->width - axes.x - 18;
    axes.height = step - 16;
    if (axes.height < 12)
        return vly_fail(error, VLY_E_INVALID,
                        "%u traces do not fit: fewer, or a larger --height", n);
    scales_of(traces, &axes);
    for (uint32_t t = 0; t < n; t++) {
        const plot_trace *trace = &traces->traces[t];
        char name[160];
        axes.y = top + 12 + step * t;
        axes.x_bare = t + 1 < n;
        axes.x_label = t + 1 < n ? NULL : "time (ms)";
        draw_trace(figure, &axes, trace, t);
        plot_axes_draw(figure, &axes);
        snprintf(name, sizeof name, "%s %u", trace->area, trace->neuron);
        plot_text(figure, axes.x, axes.y - 6, PLOT_LEFT, 8, axes.width, name);
    }
    return VLY_OK;
}

/* SPDX-License-Identifier: Apache-2.0
 * Draws samples of a field: a panel a neuron.
 */
#include "tools/plot/plot_traces.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "genome/genome.h"
#include "tools/cli/setup.h"
#include "tools/plot/plot.h"

void plot_field_label(const char *field, const char *unit, char *text, size_t n)
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
    if (unit && unit[0])
        snprintf(text, n, "%s (%s)", field, unit);
    else
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

/* Does another [[record]] have samples of the same? */
static bool is_twice(const plot_traces *traces, const plot_trace *trace)
{
    for (uint32_t t = 0; t < traces->n_traces; t++)
        if (&traces->traces[t] != trace &&
            traces->traces[t].neuron == trace->neuron &&
            traces->traces[t].element == trace->element &&
            strcmp(traces->traces[t].area, trace->area) == 0)
            return true;
    return false;
}

static char *name_of(const plot_traces *traces, const plot_trace *trace)
{
    char neuron[16] = "";
    char element[40] = "";
    char record[24] = "";
    if (trace->neuron != PLOT_MEAN)
        snprintf(neuron, sizeof neuron, " %u", trace->neuron);
    if (trace->element >= 0)
        snprintf(element, sizeof element, ", element %lld",
                 (long long)trace->element);
    if (is_twice(traces, trace))
        snprintf(record, sizeof record, ", record %u", trace->record);
    return vly_format("%s%s%s%s", trace->area, neuron, element, record);
}

/* "AREA NEURON" for each. */
static vly_status name_traces(plot_figure *figure, const plot_traces *traces,
                              double width, plot_names *names, vly_error *error)
{
    char *from[PLOT_TRACES_MAX] = {NULL};
    vly_status status = VLY_OK;
    *names = (plot_names){0};
    for (uint32_t t = 0; t < traces->n_traces && status == VLY_OK; t++) {
        const plot_trace *trace = &traces->traces[t];
        from[t] = name_of(traces, trace);
        if (!from[t])
            status = vly_fail_nomem(error, strlen(trace->area), "a name");
    }
    if (status == VLY_OK)
        status =
            plot_names_init(names, figure, 8, width, (const char *const *)from,
                            traces->n_traces, error);
    for (uint32_t t = 0; t < traces->n_traces; t++)
        vly_free(from[t]);
    return status;
}

vly_status plot_traces_unit(plot_traces *traces, const char *path,
                            vly_error *error)
{
    vly_genome *genome = NULL;
    const char *unit = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(tool_genome_load(path, NULL, 0, &genome, error));
    for (uint32_t a = 0; a < genome->n_areas; a++) {
        const vly_model_info *model = genome->areas[a].model;
        if (strcmp(genome->areas[a].name, traces->traces[0].area) != 0)
            continue;
        for (uint32_t f = 0; f < model->n_fields; f++)
            if (strcmp(model->fields[f].name, traces->field) == 0)
                unit = model->fields[f].unit;
    }
    traces->unit = unit ? vly_strdup(unit) : NULL;
    if (unit && !traces->unit)
        status = vly_fail_nomem(error, strlen(unit), "a unit");
    vly_genome_destroy(genome);
out:
    return status;
}

/* What each trace is of. */
static const char *noun_of(const plot_traces *traces)
{
    bool elements = false;
    bool twice = false;
    for (uint32_t t = 0; t < traces->n_traces; t++) {
        elements = elements || traces->traces[t].element >= 0;
        twice = twice || is_twice(traces, &traces->traces[t]);
    }
    return twice                                   ? "recording"
           : elements                              ? "element"
           : traces->traces[0].neuron == PLOT_MEAN ? "area"
                                                   : "neuron";
}

vly_status plot_traces_draw(plot_figure *figure, const plot_traces *traces,
                            const char *title, vly_error *error)
{
    char note[256];
    char label[96];
    plot_names names;
    const uint32_t n = traces->n_traces;
    plot_field_label(traces->field, traces->unit, label, sizeof label);
    snprintf(note, sizeof note, "%s of %u %s%s%s", label, n, noun_of(traces),
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
    vly_status status = name_traces(figure, traces, axes.width, &names, error);
    if (status != VLY_OK) {
        plot_names_deinit(&names);
        return status;
    }
    if (n > 4) { /* panels too low for one label each */
        plot_set_colour(figure, (plot_colour){0, 0, 0});
        plot_text_upwards(figure, PLOT_MARGIN + 6,
                          top + 12 + (step * n - 16) / 2, 9, 0, label);
    }
    for (uint32_t t = 0; t < n; t++) {
        const plot_trace *trace = &traces->traces[t];
        axes.y = top + 12 + step * t;
        axes.x_bare = t + 1 < n;
        axes.x_label = t + 1 < n ? NULL : "time (ms)";
        plot_line(figure, &axes, trace->times_ms, trace->values, trace->n, t);
        plot_axes_draw(figure, &axes);
        plot_text(figure, axes.x, axes.y - 6, PLOT_LEFT, 8, 0, names.shown[t]);
    }
    plot_names_deinit(&names);
    return VLY_OK;
}

/* SPDX-License-Identifier: Apache-2.0
 * Draws what a model answers.
 */
#include "tools/model/model_picture.h"

#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "tools/plot/plot.h"
#include "tools/plot/plot_traces.h"

#define GAP 34.0 /* points below axes, for numbers and label */

static void widen(const double *values, uint32_t n, double *lo, double *hi)
{
    for (uint32_t i = 0; i < n; i++) {
        *lo = fmin(*lo, values[i]);
        *hi = fmax(*hi, values[i]);
    }
}

static void scale_y(plot_axes *axes, double lo, double hi)
{
    const double room = hi > lo ? 0.06 * (hi - lo) : fmax(1e-6, fabs(hi)) * 0.1;
    axes->y_lo = lo - room;
    axes->y_hi = hi + room;
}

/* "150 pA" and the like above the axes, each in its colour. */
static void draw_name(plot_figure *figure, const plot_axes *axes, uint32_t k,
                      uint32_t n, const char *name)
{
    plot_set_colour(figure, plot_area_colour(k));
    plot_text(figure, axes->x + axes->width * k / n, axes->y - 7, PLOT_LEFT, 8,
              axes->width / n - 4, name);
}

static void draw_steps(plot_figure *figure, const model_answers *a,
                       plot_axes axes)
{
    const vly_param_info *input = doc_model_input(a->model);
    double lo = HUGE_VAL;
    double hi = -HUGE_VAL;
    for (uint32_t s = 0; s < ANSWER_STEPS; s++)
        widen(a->traces[1 + s], a->n_bursts, &lo, &hi);
    scale_y(&axes, lo, hi);
    axes.x_hi = a->n_bursts * a->dt_ms;
    axes.x_label = "time (ms)";
    for (uint32_t s = ANSWER_STEPS; s-- > 0;) {
        char name[96];
        (void)snprintf(name, sizeof name, "%g%s%s from %g to %g ms",
                       a->steps[s], input->unit[0] == '1' ? "" : " ",
                       input->unit[0] == '1' ? "" : input->unit, a->begin_ms,
                       a->end_ms);
        plot_line(figure, &axes, a->times_ms, a->traces[1 + s], a->n_bursts, s);
        draw_name(figure, &axes, s, ANSWER_STEPS, name);
    }
    plot_axes_draw(figure, &axes);
}

static void draw_rates(plot_figure *figure, const model_answers *a,
                       plot_axes axes)
{
    double lo = 0.0;
    double hi = 0.0;
    char label[96];
    widen(a->rates_hz, ANSWER_CURRENTS, &lo, &hi);
    plot_field_label(doc_model_input(a->model)->name, "", label, sizeof label);
    axes.x_lo = a->currents[0];
    axes.x_hi = a->currents[ANSWER_CURRENTS - 1];
    axes.y_hi = plot_round_up(hi);
    axes.x_label = label;
    axes.y_label = "rate (Hz)";
    plot_line(figure, &axes, a->currents, a->rates_hz, ANSWER_CURRENTS, 0);
    plot_set_colour(figure, (plot_colour){0.3, 0.3, 0.3});
    plot_text(figure, axes.x, axes.y - 7, PLOT_LEFT, 8, axes.width,
              a->fires ? "rate over the current" : "does not fire");
    plot_axes_draw(figure, &axes);
}

static void draw_events(plot_figure *figure, const model_answers *a,
                        plot_axes axes)
{
    const uint32_t n = a->model->n_ports;
    double lo = HUGE_VAL;
    double hi = -HUGE_VAL;
    const uint32_t n_shown = a->n_bursts / 2;
    for (uint32_t p = 0; p < n; p++)
        widen(a->traces[1 + ANSWER_STEPS + p], n_shown, &lo, &hi);
    scale_y(&axes, lo, hi);
    axes.x_hi = n_shown * a->dt_ms;
    axes.x_label = "time (ms)";
    for (uint32_t p = n; p-- > 0;) {
        const vly_port_info *port = &a->model->ports[p];
        char name[96];
        (void)snprintf(name, sizeof name, "%g%s%s at %s", a->weights[p],
                       port->unit[0] == '1' ? "" : " ",
                       port->unit[0] == '1' ? "" : port->unit, port->text);
        plot_line(figure, &axes, a->times_ms, a->traces[1 + ANSWER_STEPS + p],
                  n_shown, p);
        draw_name(figure, &axes, p, n, name);
    }
    plot_axes_draw(figure, &axes);
}

vly_status model_picture_draw(plot_figure *figure, const model_answers *a,
                              vly_error *error)
{
    char title[96];
    char note[320];
    char label[96];
    char change[112];
    const char *unit = "";
    for (uint32_t f = 0; f < a->model->n_fields; f++)
        if (a->model->fields[f].name == a->field)
            unit = a->model->fields[f].unit;
    plot_field_label(a->field, unit, label, sizeof label);
    (void)snprintf(change, sizeof change, "change of %s", label);
    (void)snprintf(title, sizeof title, "%s", a->model->id);
    (void)snprintf(note, sizeof note, "bursts of %g ms; %s", a->dt_ms,
                   a->model->scheme);
    const double top = plot_heading(figure, title, note) + 14;
    const double room = figure->height - top - GAP;
    plot_axes axes = {.x = 58, .y = top, .y_label = label};
    if (room < 120 || figure->width < 200)
        return vly_fail(error, VLY_E_INVALID,
                        "the picture is too small, wanted a larger --width or "
                        "--height");
    axes.width = figure->width - axes.x - 18;
    axes.height = room;
    if (a->has_input) {
        axes.height = (room - GAP - 14) / 2;
        draw_steps(figure, a, axes);
        axes.y += axes.height + GAP + 14;
        axes.width = (axes.width - 76) / 2;
        draw_rates(figure, a, axes);
        axes.x += axes.width + 76;
    }
    axes.y_label = change;
    draw_events(figure, a, axes);
    return VLY_OK;
}

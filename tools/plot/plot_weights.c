/* SPDX-License-Identifier: Apache-2.0
 * Draws weights: single synapses over time on the left, the spread of all at
 * several times on the right.
 */
#include "tools/plot/plot_weights.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "tools/cli/tool.h"
#include "tools/plot/plot.h"
#include "tools/plot/plot_traces.h"

#define BINS 40u

typedef struct scale {
    double lo;
    double hi;
} scale;

/* From 0, so that the bound of weights at 0 is seen. */
static scale scale_of(const plot_weights *weights)
{
    scale of = {0, 0};
    for (uint64_t i = 0; i < weights->rows[weights->n_times]; i++) {
        of.lo = fmin(of.lo, weights->weights[i].weight);
        of.hi = fmax(of.hi, weights->weights[i].weight);
    }
    of.hi = of.hi > 0 ? plot_round_up(of.hi) : 0;
    of.lo = of.lo < 0 ? -plot_round_up(-of.lo) : 0;
    if (!(of.hi > of.lo))
        of.hi = 1;
    return of;
}

/* ---- single synapses ---------------------------------------------------- */

static bool same_ends(const plot_weight *a, const plot_weight *b)
{
    return a->pair == b->pair && a->source == b->source &&
           a->target == b->target;
}

/* How many rows of the same ends are before this one in its time: two neurons
 * may have several synapses. */
static uint64_t order_of(const plot_weights *weights, uint64_t row)
{
    uint64_t n = 0;
    for (uint64_t i = weights->rows[0]; i < row; i++)
        n += same_ends(&weights->weights[i], &weights->weights[row]);
    return n;
}

/* The row of the synapse at time t; UINT64_MAX: none. */
static uint64_t row_at(const plot_weights *weights, uint64_t t,
                       const plot_weight *ends, uint64_t order)
{
    for (uint64_t i = weights->rows[t]; i < weights->rows[t + 1]; i++)
        if (same_ends(&weights->weights[i], ends) && order-- == 0)
            return i;
    return UINT64_MAX;
}

static void draw_synapse(plot_figure *figure, const plot_axes *axes,
                         const plot_weights *weights, uint64_t first,
                         uint32_t colour)
{
    const plot_weight *ends = &weights->weights[first];
    const uint64_t order = order_of(weights, first);
    plot_set_colour(figure, plot_area_colour(colour));
    cairo.set_line_width(figure->cairo, 1.1);
    cairo.set_line_join(figure->cairo, PLOT_CAIRO_JOIN_ROUND);
    for (uint64_t t = 0; t < weights->n_times; t++) {
        const uint64_t row = row_at(weights, t, ends, order);
        if (row != UINT64_MAX)
            cairo.line_to(figure->cairo, plot_at_x(axes, weights->times[t]),
                          plot_at_y(axes, weights->weights[row].weight));
    }
    cairo.stroke(figure->cairo);
}

static void name_synapse(plot_figure *figure, const plot_axes *axes,
                         const plot_weights *weights, uint64_t row, uint32_t s)
{
    char text[160];
    const plot_weight *at = &weights->weights[row];
    if (weights->n_pairs > 1)
        snprintf(text, sizeof text, "%s: %u -> %u", weights->pairs[at->pair],
                 at->source, at->target);
    else
        snprintf(text, sizeof text, "%u -> %u", at->source, at->target);
    plot_set_colour(figure, plot_area_colour(s));
    plot_text(figure, axes->x + axes->width - 4, axes->y + 8 + 10 * s,
              PLOT_RIGHT, 8, 0.6 * axes->width, text);
}

/* So many of the first time, evenly. */
static void draw_synapses(plot_figure *figure, plot_axes axes,
                          const plot_weights *weights, const char *label)
{
    const uint64_t n = weights->rows[1];
    const uint32_t shown =
        n < PLOT_SYNAPSES_MAX ? (uint32_t)n : PLOT_SYNAPSES_MAX;
    const scale of = scale_of(weights);
    axes.x_lo = weights->times[0];
    axes.x_hi = weights->times[weights->n_times - 1];
    axes.y_lo = of.lo;
    axes.y_hi = of.hi;
    axes.x_label = "time (ms)";
    axes.y_label = label;
    plot_axes_begin(figure, &axes);
    for (uint32_t s = 0; s < shown; s++)
        draw_synapse(figure, &axes, weights, n * s / shown, s);
    plot_axes_end(figure);
    plot_axes_draw(figure, &axes);
    for (uint32_t s = 0; s < shown; s++)
        name_synapse(figure, &axes, weights, n * s / shown, s);
}

/* ---- the spread --------------------------------------------------------- */

static double spread_of(const plot_weights *weights, uint64_t t, scale of,
                        double share[BINS])
{
    const uint64_t n = weights->rows[t + 1] - weights->rows[t];
    double highest = 0;
    for (uint32_t b = 0; b < BINS; b++)
        share[b] = 0;
    for (uint64_t i = weights->rows[t]; i < weights->rows[t + 1]; i++) {
        const double at =
            (weights->weights[i].weight - of.lo) / (of.hi - of.lo) * BINS;
        share[at < 0       ? 0
              : at >= BINS ? BINS - 1
                           : (uint32_t)at] += 1 / (double)n;
    }
    for (uint32_t b = 0; b < BINS; b++)
        highest = fmax(highest, share[b]);
    return highest;
}

static void draw_spreads(plot_figure *figure, plot_axes axes,
                         const plot_weights *weights, const char *label)
{
    double share[PLOT_SPREADS_MAX][BINS];
    uint64_t times[PLOT_SPREADS_MAX];
    char text[64];
    const scale of = scale_of(weights);
    const uint32_t n = weights->n_times < PLOT_SPREADS_MAX
                           ? (uint32_t)weights->n_times
                           : PLOT_SPREADS_MAX;
    double highest = 0;
    for (uint32_t k = 0; k < n; k++) {
        times[k] = n > 1 ? (weights->n_times - 1) * k / (n - 1) : 0;
        highest = fmax(highest, spread_of(weights, times[k], of, share[k]));
    }
    axes.x_lo = of.lo;
    axes.x_hi = of.hi;
    axes.y_hi = plot_round_up(highest);
    axes.x_label = label;
    axes.y_label = "share of synapses";
    plot_axes_begin(figure, &axes);
    for (uint32_t k = 0; k < n; k++)
        plot_steps(figure, &axes, share[k], BINS, BINS, k);
    plot_axes_end(figure);
    plot_axes_draw(figure, &axes);
    for (uint32_t k = 0; k < n && weights->timed; k++) {
        snprintf(text, sizeof text, "%g s", weights->times[times[k]] / 1000);
        plot_set_colour(figure, plot_area_colour(k));
        plot_text(figure, axes.x + axes.width * k / n, axes.y - 6, PLOT_LEFT, 8,
                  axes.width / n - 2, text);
    }
}

vly_status plot_weights_draw(plot_figure *figure, const plot_weights *weights,
                             const char *title, vly_error *error)
{
    char note[256];
    char label[96];
    const bool moves = weights->n_times > 1;
    plot_axes axes = {.x = 58};
    (void)error;
    plot_field_label(weights->column, NULL, label, sizeof label);
    snprintf(note, sizeof note, "map %s, %s synapses%s%s", weights->map,
             tool_thousands(weights->rows[1]), moves ? ", times: " : "",
             moves ? tool_thousands(weights->n_times) : "");
    axes.y = plot_heading(figure, title, note) + 12;
    axes.height = figure->height - axes.y - 34;
    axes.width = figure->width - axes.x - 18;
    if (moves) {
        axes.width = (figure->width - 2 * axes.x - 28) / 2;
        draw_synapses(figure, axes, weights, label);
        axes.x += axes.width + 68;
    }
    draw_spreads(figure, axes, weights, label);
    return VLY_OK;
}

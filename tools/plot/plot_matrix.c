/* SPDX-License-Identifier: Apache-2.0
 * Who is connected to whom: areas by areas, a source a column and a target a
 * row, all maps between two areas together. Colours are logarithmic.
 */
#include "tools/plot/plot.h"

#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"
#include "connectome/connectome.h"
#include "tools/cli/check_size.h"

static const char *const value_labels[] = {
    "synapses a target neuron", "synapses", "connection probability"};

static void count(const vly_genome *genome, const vly_connectome *connectome,
                  double *synapses)
{
    const size_t n = genome->n_areas;
    if (connectome) {
        const vly_net_desc *desc = &connectome->desc;
        for (uint32_t p = 0; p < desc->n_projections; p++)
            synapses[desc->projections[p].target_area * n +
                     desc->projections[p].source_area] +=
                (double)connectome->projections[p].n_synapses;
        return;
    }
    for (uint32_t p = 0; p < genome->n_pairs; p++)
        synapses[genome->pairs[p].to * n + genome->pairs[p].from] +=
            check_pair_synapses(genome, &genome->pairs[p]);
}

static double cell_value(const vly_genome *genome, plot_matrix_value value,
                         uint32_t to, uint32_t from, double synapses)
{
    const double targets = genome->areas[to].n_neurons;
    const double sources = genome->areas[from].n_neurons;
    if (value == PLOT_IN_DEGREE)
        return synapses / targets;
    return value == PLOT_SYNAPSES ? synapses : synapses / targets / sources;
}

static void number_text(double value, char *text, size_t n)
{
    static const char *const suffix[] = {"", "k", "M", "G"};
    uint32_t k = 0;
    while (value >= 999.5 && k < 3) {
        value /= 1000;
        k++;
    }
    snprintf(text, n, value >= 100 ? "%.0f%s" : "%.2g%s", value, suffix[k]);
}

static void draw_cells(plot_figure *figure, const vly_genome *genome,
                       const double *cells, double x, double y, double side,
                       double lo, double hi)
{
    const uint32_t n = genome->n_areas;
    for (uint32_t to = 0; to < n; to++)
        for (uint32_t from = 0; from < n; from++) {
            const double value = cells[(size_t)to * n + from];
            if (!(value > 0))
                continue;
            const double at = (log10(value) - log10(lo)) / log10(hi / lo);
            char text[32];
            plot_set_colour(figure, plot_scale_colour(at));
            cairo.rectangle(figure->cairo, x + from * side, y + to * side, side,
                            side);
            cairo.fill(figure->cairo);
            number_text(value, text, sizeof text);
            if (plot_text_width(figure, 7, text) > side - 2)
                continue;
            /* light on the dark half of the scale */
            const double ink = at > 0.55 ? 0 : 1;
            plot_set_colour(figure, (plot_colour){ink, ink, ink});
            plot_text(figure, x + (from + 0.5) * side, y + (to + 0.5) * side,
                      PLOT_CENTRE, 7, 0, text);
        }
}

static void draw_names(plot_figure *figure, const vly_genome *genome,
                       const plot_names *names, double x, double y, double side)
{
    const uint32_t n = genome->n_areas;
    /* if not every name fits, only every second, third ... */
    const uint32_t step = side >= 8 ? 1 : (uint32_t)ceil(8 / side);
    plot_set_colour(figure, (plot_colour){0, 0, 0});
    for (uint32_t a = 0; a < n; a += step) {
        const char *name = names->shown[a];
        const double at = (a + 0.5) * side;
        plot_text(figure, x - 4, y + at, PLOT_RIGHT, 8, 0, name);
        cairo.save(figure->cairo);
        cairo.translate(figure->cairo, x + at, y + n * side + 4);
        cairo.rotate(figure->cairo, -acos(-1.0) / 2);
        plot_text(figure, 0, 0, PLOT_RIGHT, 8, 0, name);
        cairo.restore(figure->cairo);
    }
    cairo.set_line_width(figure->cairo, 0.75);
    cairo.rectangle(figure->cairo, x, y, n * side, n * side);
    cairo.stroke(figure->cairo);
}

static void draw(plot_figure *figure, const vly_genome *genome,
                 const plot_names *names, const double *cells,
                 plot_matrix_value value, double lo, double hi, double top)
{
    const double room = fmax(names->widest, 10);
    const double x = PLOT_MARGIN + 16 + room + 4;
    const double side =
        fmin(figure->width - x - 80, figure->height - top - room - 30) /
        genome->n_areas;
    const double length = side * genome->n_areas;
    draw_cells(figure, genome, cells, x, top, side, lo, hi);
    draw_names(figure, genome, names, x, top, side);
    plot_text(figure, x + length / 2, top + length + room + 16, PLOT_CENTRE, 9,
              0, "source");
    plot_text_upwards(figure, PLOT_MARGIN + 6, top + length / 2, 9, 0,
                      "target");
    plot_colour_bar(figure, x + length + 14, top, length, lo, hi, true,
                    value_labels[value]);
}

static vly_status genome_names(plot_figure *figure, const vly_genome *genome,
                               plot_names *names, vly_error *error)
{
    const char **from = vly_calloc(genome->n_areas + (size_t)1, sizeof *from);
    *names = (plot_names){0};
    if (!from)
        return vly_fail_nomem(error, genome->n_areas * sizeof *from, "names");
    for (uint32_t a = 0; a < genome->n_areas; a++)
        from[a] = genome->areas[a].name;
    vly_status status = plot_names_init(names, figure, 8, figure->width / 5,
                                        from, genome->n_areas, error);
    vly_free(from);
    return status;
}

vly_status plot_matrix(plot_figure *figure, const vly_genome *genome,
                       const vly_connectome *connectome,
                       plot_matrix_value value, vly_error *error)
{
    char note[160];
    const uint32_t n = genome->n_areas;
    double lo = HUGE_VAL;
    double hi = 0;
    double *cells = vly_calloc((size_t)n * n, sizeof *cells);
    check_size size;
    check_size_of(genome, &size);
    const bool exact = size.exact || connectome;
    if (!cells)
        return vly_fail_nomem(error, (uint64_t)n * n * sizeof *cells,
                              "a matrix");
    count(genome, connectome, cells);
    for (uint32_t to = 0; to < n; to++)
        for (uint32_t from = 0; from < n; from++) {
            double *cell = &cells[(size_t)to * n + from];
            *cell = cell_value(genome, value, to, from, *cell);
            lo = *cell > 0 ? fmin(lo, *cell) : lo;
            hi = fmax(hi, *cell);
        }
    if (!(hi > 0)) {
        vly_free(cells);
        return vly_fail(error, VLY_E_INVALID, "%s has no synapses to show",
                        genome->path);
    }
    /* whole powers of ten, so that the scale has at least two numbers */
    lo = pow(10, floor(log10(lo) + 1e-9));
    hi = fmax(pow(10, ceil(log10(hi) - 1e-9)), lo * 10);
    snprintf(note, sizeof note, "%s%s; white: none", value_labels[value],
             exact ? "" : ", expected");
    const double top = plot_heading(
        figure, genome->title ? genome->title : genome->path, note);
    plot_names names;
    vly_status status = genome_names(figure, genome, &names, error);
    if (status == VLY_OK)
        draw(figure, genome, &names, cells, value, lo, hi, top);
    plot_names_deinit(&names);
    vly_free(cells);
    return status;
}

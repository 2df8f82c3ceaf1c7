/* SPDX-License-Identifier: Apache-2.0
 * The pictures that `volley plot` draws. Each function draws one into a figure
 * of any size.
 */
#ifndef VOLLEY_TOOLS_PLOT_H
#define VOLLEY_TOOLS_PLOT_H

#include <volley/volley.h>

#include "tools/plot/plot_data.h"
#include "tools/plot/plot_figure.h"

#define PLOT_MARGIN 8.0 /* points, between the drawing and the edge */

/* Draws the title and the shown part of the run. Returns the height. */
double plot_heading(plot_figure *figure, const char *title, const char *note);
/* Names as shown, each at most so wide: a longer name is cut in its middle, and
 * two different names are never shown the same. */
typedef struct plot_names {
    char **shown; /* [n] */
    uint32_t n;
    double points;
    double width;
    double widest; /* of those shown */
} plot_names;
vly_status plot_names_init(plot_names *names, plot_figure *figure,
                           double points, double width, const char *const *from,
                           uint32_t n, vly_error *error);
vly_status plot_area_names(plot_names *names, plot_figure *figure,
                           double points, double width, const plot_data *data,
                           vly_error *error);
void plot_names_deinit(plot_names *names); /* also after a failure */

/* Names of areas beside their colours, from x on, wrapped at width. Many names
 * are drawn smaller, on at most a quarter of the picture; the rest is
 * counted. */
vly_status plot_legend(plot_figure *figure, const plot_data *data, double x,
                       double y, double width, double *height,
                       vly_error *error);

/* Every spike as a dot, areas from above in bands, their rates beside. */
vly_status plot_raster(plot_figure *figure, const plot_data *data,
                       vly_error *error);
/* Rate of a neuron of each area over time, bins of bin_ms. */
vly_status plot_rate(plot_figure *figure, const plot_data *data, double bin_ms,
                     vly_error *error);
/* The width of the drawn bins: whole bursts. */
double plot_bin_ms(const plot_data *data, double bin_ms);
/* Inter-spike intervals, and rates of neurons, as shares of each area. */
vly_status plot_histograms(plot_figure *figure, const plot_data *data,
                           vly_error *error);
/* Spikes of an area's voxels, seen along z, in n_frames windows; `only` is one
 * of them, or UINT32_MAX: all, side by side.
 * Errors  E_INVALID more or less than one area chosen, or one without voxels */
vly_status plot_voxels(plot_figure *figure, const plot_data *data,
                       uint32_t n_frames, uint32_t only, vly_error *error);

typedef enum plot_matrix_value {
    PLOT_IN_DEGREE, /* synapses a target neuron */
    PLOT_SYNAPSES,
    PLOT_PROBABILITY, /* synapses / (sources x targets) */
    PLOT_MATRIX_VALUES
} plot_matrix_value;
/* Areas by areas; `connectome` NULL: numbers of synapses are expected ones. */
vly_status plot_matrix(plot_figure *figure, const vly_genome *genome,
                       const vly_connectome *connectome,
                       plot_matrix_value value, vly_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * A picture with axes: PNG or SVG by cairo, in points (1/72 inch), the origin
 * at the upper left. Points of data go to a raster layer, so that an SVG of a
 * million spikes stays as small as its pixels.
 */
#ifndef VOLLEY_TOOLS_PLOT_FIGURE_H
#define VOLLEY_TOOLS_PLOT_FIGURE_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/plugin.h>

#include "tools/plot/cairo_library.h"

typedef struct plot_colour {
    double r, g, b; /* 0 to 1 */
} plot_colour;

/* Colours of areas that people with red-green blindness can distinguish (Okabe
 * and Ito 2008, without yellow and with grey). The eighth is the first again,
 * and its lines are dashed (plot_set_dash). */
plot_colour plot_area_colour(uint32_t index);
/* Colour of a value from 0 to 1: viridis (nine of its colours, linear between),
 * which is perceptually uniform and prints in grey. */
plot_colour plot_scale_colour(double value);

/* Takes the next bytes of a file. */
typedef bool (*plot_put)(void *to, const void *bytes, size_t n);

typedef struct plot_figure {
    cairo_t *cairo;
    cairo_surface_t *surface;
    double width; /* points */
    double height;
    double dpi; /* of a PNG, and of raster layers in an SVG */
    bool svg;
    const char *path;
    plot_put put;
    void *to;
} plot_figure;

/* The file of a picture. Its extension, .png or .svg, is the format. */
typedef struct plot_page {
    const char *path; /* stays */
    double width;     /* points */
    double height;
    double dpi;
} plot_page;

/* Errors  E_INVALID another ending, or too many pixels */
vly_status plot_page_check(const plot_page *page, vly_error *error);
/* put gets the bytes of the file, `to` is its first argument. deinit is needed
 * after a failure too. plot_process.h has the function that calls it for a
 * file. */
vly_status plot_figure_init(plot_figure *figure, const plot_page *page,
                            plot_put put, void *to, vly_error *error);
/* Writes the last bytes.
 * Errors  E_IO, also if put fails; E_NOMEM */
vly_status plot_figure_write(plot_figure *figure, vly_error *error);
void plot_figure_deinit(plot_figure *figure);

void plot_set_colour(plot_figure *figure, plot_colour colour);
typedef enum plot_anchor { PLOT_LEFT, PLOT_CENTRE, PLOT_RIGHT } plot_anchor;
/* One line, its middle at height y, in the present colour; a text wider than
 * width is cut and ends in "..." (0: any width). */
void plot_text(plot_figure *figure, double x, double y, plot_anchor anchor,
               double points, double width, const char *text);
/* The same, read upwards. */
void plot_text_upwards(plot_figure *figure, double x, double y, double points,
                       double width, const char *text);
double plot_text_width(plot_figure *figure, double points, const char *text);

/* A rectangle with scales. */
typedef struct plot_axes {
    double x, y, width, height;
    double x_lo, x_hi;
    double y_lo, y_hi;
    bool x_log;
    bool x_bare; /* no ticks and numbers */
    bool y_bare;
    const char *x_label; /* with unit; NULL: none */
    const char *y_label;
} plot_axes;

double plot_at_x(const plot_axes *axes, double value);
double plot_at_y(const plot_axes *axes, double value);
/* Frame, ticks, numbers, labels. */
void plot_axes_draw(plot_figure *figure, const plot_axes *axes);
/* Clips all drawing to the inside of the axes, until plot_axes_end. */
void plot_axes_begin(plot_figure *figure, const plot_axes *axes);
void plot_axes_end(plot_figure *figure);
/* Lines of areas with the same colour: the first solid, the next dashed, six
 * kinds. */
void plot_set_dash(plot_figure *figure, uint32_t colour);
/* A step line through n values of equal width, n_wide of which fill the axes:
 * n, or less if the last one is cut short. */
void plot_steps(plot_figure *figure, const plot_axes *axes,
                const double *values, uint32_t n, double n_wide,
                uint32_t colour);
/* A line through n points of the plane of the axes, clipped to them. */
void plot_line(plot_figure *figure, const plot_axes *axes, const double *x,
               const double *y, uint64_t n, uint32_t colour);
/* A round number at or above value, for the end of an axis; 1 for 0. */
double plot_round_up(double value);

/* Pixels over a rectangle of the figure. */
typedef struct plot_layer {
    cairo_surface_t *surface;
    uint32_t *pixels; /* premultiplied ARGB */
    uint32_t stride;  /* in pixels */
    uint32_t width;
    uint32_t height;
    double x, y;
    double scale; /* pixels a point */
} plot_layer;

vly_status plot_layer_init(plot_layer *layer, const plot_figure *figure,
                           double x, double y, double width, double height,
                           vly_error *error);
/* Puts the layer onto the figure. */
void plot_layer_draw(plot_layer *layer, plot_figure *figure);
void plot_layer_deinit(plot_layer *layer);

/* A vertical scale of colours with numbers, 10 points wide, its label beside.
 */
void plot_colour_bar(plot_figure *figure, double x, double y, double height,
                     double lo, double hi, bool log_scale, const char *label);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Scales, ticks, labels and lines of pictures.
 */
#include <math.h>
#include <stdio.h>

#include "tools/plot/plot_figure.h"

static const double label_points = 9;
static const double tick_points = 8;
static const double tick_length = 3;

double plot_at_x(const plot_axes *axes, double value)
{
    const double lo = axes->x_log ? log10(axes->x_lo) : axes->x_lo;
    const double hi = axes->x_log ? log10(axes->x_hi) : axes->x_hi;
    const double at = axes->x_log ? log10(value) : value;
    return axes->x + axes->width * (at - lo) / (hi - lo);
}

double plot_at_y(const plot_axes *axes, double value)
{
    return axes->y +
           axes->height * (axes->y_hi - value) / (axes->y_hi - axes->y_lo);
}

/* 1, 2 or 5 times a power of ten, so that at most n of them fit into span. */
static double tick_step(double span, double n)
{
    const double raw = span / n;
    const double power = pow(10, floor(log10(raw)));
    const double mantissa = raw / power;
    return power * (mantissa <= 1   ? 1
                    : mantissa <= 2 ? 2
                    : mantissa <= 5 ? 5
                                    : 10);
}

double plot_round_up(double value)
{
    if (!(value > 0))
        return 1;
    const double step = tick_step(value, 5);
    return step * ceil(value / step - 1e-9);
}

static void tick_x(plot_figure *figure, const plot_axes *axes, double value,
                   bool number)
{
    char text[32];
    const double x = plot_at_x(axes, value);
    const double y = axes->y + axes->height;
    cairo.move_to(figure->cairo, x, y);
    cairo.line_to(figure->cairo, x, y + (number ? tick_length : 2));
    cairo.stroke(figure->cairo);
    if (!number)
        return;
    /* -0 would be shown as such */
    snprintf(text, sizeof text, "%.10g", value == 0 ? 0 : value);
    plot_text(figure, x, y + tick_length + 6, PLOT_CENTRE, tick_points, 0,
              text);
}

static void ticks_x(plot_figure *figure, const plot_axes *axes)
{
    if (axes->x_log) {
        for (double ten = pow(10, floor(log10(axes->x_lo) + 1e-9));
             ten <= axes->x_hi * 1.000001; ten *= 10)
            for (int k = 1; k < 10; k++)
                if (ten * k >= axes->x_lo * 0.999999 &&
                    ten * k <= axes->x_hi * 1.000001)
                    tick_x(figure, axes, ten * k, k == 1);
        return;
    }
    const double n = fmax(2, fmin(8, axes->width / 45));
    const double step = tick_step(axes->x_hi - axes->x_lo, n);
    const double first = ceil(axes->x_lo / step - 1e-9);
    for (double k = first; k * step <= axes->x_hi + step * 1e-9; k++)
        tick_x(figure, axes, k * step, true);
}

/* Returns the width of the widest number. */
static double ticks_y(plot_figure *figure, const plot_axes *axes)
{
    char text[32];
    double widest = 0;
    const double n = fmax(2, fmin(6, axes->height / 28));
    double step = tick_step(axes->y_hi - axes->y_lo, n);
    /* one number does not make a scale: finer ticks, if they fit */
    if (floor(axes->y_hi / step + 1e-9) - ceil(axes->y_lo / step - 1e-9) < 1 &&
        axes->height >= 3 * tick_points)
        step = tick_step(axes->y_hi - axes->y_lo, 2.5 * n);
    const double first = ceil(axes->y_lo / step - 1e-9);
    for (double k = first; k * step <= axes->y_hi + step * 1e-9; k++) {
        const double y = plot_at_y(axes, k * step);
        cairo.move_to(figure->cairo, axes->x, y);
        cairo.line_to(figure->cairo, axes->x - tick_length, y);
        cairo.stroke(figure->cairo);
        snprintf(text, sizeof text, "%.10g", k == 0 ? 0 : k * step);
        plot_text(figure, axes->x - tick_length - 2, y, PLOT_RIGHT, tick_points,
                  0, text);
        widest = fmax(widest, plot_text_width(figure, tick_points, text));
    }
    return widest;
}

void plot_axes_draw(plot_figure *figure, const plot_axes *axes)
{
    double numbers = 0;
    plot_set_colour(figure, (plot_colour){0, 0, 0});
    cairo.set_dash(figure->cairo, NULL, 0, 0);
    cairo.set_line_width(figure->cairo, 0.75);
    cairo.rectangle(figure->cairo, axes->x, axes->y, axes->width, axes->height);
    cairo.stroke(figure->cairo);
    if (!axes->x_bare)
        ticks_x(figure, axes);
    if (!axes->y_bare)
        numbers = ticks_y(figure, axes);
    if (axes->x_label)
        plot_text(figure, axes->x + axes->width / 2,
                  axes->y + axes->height + (axes->x_bare ? 9 : 22), PLOT_CENTRE,
                  label_points, 0, axes->x_label);
    if (axes->y_label)
        plot_text_upwards(figure, axes->x - tick_length - numbers - 10,
                          axes->y + axes->height / 2, label_points, 0,
                          axes->y_label);
}

void plot_axes_begin(plot_figure *figure, const plot_axes *axes)
{
    cairo.save(figure->cairo);
    cairo.rectangle(figure->cairo, axes->x, axes->y, axes->width, axes->height);
    cairo.clip(figure->cairo);
}

void plot_axes_end(plot_figure *figure)
{
    cairo.restore(figure->cairo);
}

void plot_set_dash(plot_figure *figure, uint32_t colour)
{
    static const double dashes[][6] = {
        {4, 2}, {1.5, 1.5}, {6, 2, 1.5, 2}, {8, 2}, {4, 1, 1, 1, 1, 1}};
    static const int n_dashes[] = {2, 2, 4, 2, 6};
    const uint32_t style = colour / 7 % 6;
    if (style == 0)
        cairo.set_dash(figure->cairo, NULL, 0, 0);
    else
        cairo.set_dash(figure->cairo, dashes[style - 1], n_dashes[style - 1],
                       0);
}

void plot_steps(plot_figure *figure, const plot_axes *axes,
                const double *values, uint32_t n, double n_wide,
                uint32_t colour)
{
    plot_set_dash(figure, colour);
    plot_set_colour(figure, plot_area_colour(colour));
    cairo.set_line_width(figure->cairo, 1.1);
    for (uint32_t i = 0; i < n; i++) {
        const double y = plot_at_y(axes, values[i]);
        const double x = axes->x + axes->width * i / n_wide;
        if (i == 0)
            cairo.move_to(figure->cairo, x, y);
        else
            cairo.line_to(figure->cairo, x, y);
        cairo.line_to(figure->cairo,
                      axes->x + axes->width * fmin(i + 1, n_wide) / n_wide, y);
    }
    cairo.stroke(figure->cairo);
    cairo.set_dash(figure->cairo, NULL, 0, 0);
}

void plot_line(plot_figure *figure, const plot_axes *axes, const double *x,
               const double *y, uint64_t n, uint32_t colour)
{
    plot_axes_begin(figure, axes);
    plot_set_colour(figure, plot_area_colour(colour));
    cairo.set_line_width(figure->cairo, 0.9);
    cairo.set_line_join(figure->cairo, PLOT_CAIRO_JOIN_ROUND);
    for (uint64_t i = 0; i < n; i++)
        cairo.line_to(figure->cairo, plot_at_x(axes, x[i]),
                      plot_at_y(axes, y[i]));
    cairo.stroke(figure->cairo);
    plot_axes_end(figure);
}

void plot_colour_bar(plot_figure *figure, double x, double y, double height,
                     double lo, double hi, bool log_scale, const char *label)
{
    const plot_axes axes = {.x = x,
                            .y = y,
                            .width = 10,
                            .height = height,
                            .y_lo = log_scale ? log10(lo) : lo,
                            .y_hi = log_scale ? log10(hi) : hi};
    char text[32];
    double widest = 0;
    const int n = 64;
    for (int i = 0; i < n; i++) {
        plot_set_colour(figure, plot_scale_colour((i + 0.5) / n));
        /* slightly taller, so that no gap is visible between two */
        cairo.rectangle(figure->cairo, x, y + height * (n - 1 - i) / n, 10,
                        height / n + (i > 0 ? 0.3 : 0));
        cairo.fill(figure->cairo);
    }
    plot_set_colour(figure, (plot_colour){0, 0, 0});
    cairo.rectangle(figure->cairo, x, y, 10, height);
    cairo.stroke(figure->cairo);
    const double span = axes.y_hi - axes.y_lo;
    const double step =
        log_scale ? fmax(1, tick_step(span, 6)) : tick_step(span, 5);
    for (double k = ceil(axes.y_lo / step - 1e-9);
         k * step <= axes.y_hi + 1e-9 * step; k++) {
        const double at = plot_at_y(&axes, k * step);
        cairo.move_to(figure->cairo, x + 10, at);
        cairo.line_to(figure->cairo, x + 13, at);
        cairo.stroke(figure->cairo);
        snprintf(text, sizeof text, "%.6g",
                 log_scale ? pow(10, k * step)
                 : k == 0  ? 0
                           : k * step);
        plot_text(figure, x + 15, at, PLOT_LEFT, tick_points, 0, text);
        widest = fmax(widest, plot_text_width(figure, tick_points, text));
    }
    plot_text_upwards(figure, x + 15 + widest + 9, y + height / 2, label_points,
                      height * 1.3, label);
}

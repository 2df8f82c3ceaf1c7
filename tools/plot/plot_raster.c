/* SPDX-License-Identifier: Apache-2.0
 * Raster of spikes: time to the right, neurons downwards in bands of areas, and
 * the mean rate of each area as a bar beside its band. Dots are pixels of a
 * layer. An area with more neurons than pixels is folded: several neurons share
 * a line, and the note under the picture says so.
 */
#include "tools/plot/plot.h"

#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"
#include "tools/cli/tool.h"

static const double name_points = 8;
static const double small_points = 5.5;
static const double bar_width = 70;
static const double bar_gap = 18; /* between two axes: room for numbers */
static const double gap = 2;      /* between two bands */

double plot_heading(plot_figure *figure, const char *title, const char *note)
{
    const double width = figure->width - 2 * PLOT_MARGIN;
    double y = PLOT_MARGIN;
    plot_set_colour(figure, (plot_colour){0, 0, 0});
    if (title && title[0]) {
        plot_text(figure, PLOT_MARGIN, y + 6, PLOT_LEFT, 11, width, title);
        y += 16;
    }
    if (note && note[0]) {
        plot_set_colour(figure, (plot_colour){0.3, 0.3, 0.3});
        plot_text(figure, PLOT_MARGIN, y + 5, PLOT_LEFT, 8, width, note);
        y += 13;
    }
    return y + 4;
}

typedef struct band {
    double y; /* in points, in the figure */
    double height;
} band;

/* Heights in proportion to numbers of neurons, but at least the height of a
 * name, as long as all bands fit. */
static void place_bands(const plot_data *data, const plot_axes *axes,
                        band *bands)
{
    const double room = axes->height - gap * (data->n_areas - 1);
    const double least = fmin(11, room / data->n_areas / 2);
    const double rest = room - least * data->n_areas;
    double y = axes->y;
    for (uint32_t a = 0; a < data->n_areas; a++) {
        const double share =
            data->n_neurons > 0
                ? (double)data->areas[a].n_neurons / data->n_neurons
                : 1.0 / data->n_areas;
        bands[a] = (band){y, least + rest * share};
        y += bands[a].height + gap;
    }
}

static uint32_t pixel_of(plot_colour colour)
{
    const uint32_t r = (uint32_t)lround(colour.r * 255);
    const uint32_t g = (uint32_t)lround(colour.g * 255);
    const uint32_t b = (uint32_t)lround(colour.b * 255);
    return 0xff000000u | r << 16 | g << 8 | b;
}

/* A dot is as large as its neighbours allow, at most 1.6 points. */
static uint32_t dot_pixels(double room, double scale)
{
    const double pixels = floor(fmin(room, 1.6) * scale);
    return pixels < 1 ? 1 : (uint32_t)pixels;
}

/* Position of a dot, so that the whole dot is inside. */
static uint32_t inside(double at, uint32_t dot, uint32_t room)
{
    const double most = room > dot ? room - dot : 0;
    return (uint32_t)fmin(fmax(at, 0), most);
}

static void dot(plot_layer *layer, double x, double y, uint32_t wide,
                uint32_t high, uint32_t pixel)
{
    const uint32_t left = inside(x, wide, layer->width);
    const uint32_t top = inside(y, high, layer->height);
    for (uint32_t j = top; j < top + high && j < layer->height; j++)
        for (uint32_t i = left; i < left + wide && i < layer->width; i++)
            layer->pixels[(size_t)j * layer->stride + i] = pixel;
}

static void draw_dots(plot_layer *layer, const plot_data *data,
                      const plot_axes *axes, const band *bands)
{
    const double bursts = (double)(data->end - data->begin);
    const uint32_t wide =
        dot_pixels(fmax(axes->width / bursts, 0.8), layer->scale);
    for (uint64_t i = 0; i < data->n_spikes; i++) {
        const uint32_t a = plot_data_area(data, data->neurons[i]);
        const plot_area *area = &data->areas[a];
        const double line = bands[a].height / area->n_neurons;
        const double x = ((double)(data->bursts[i] - data->begin)) / bursts *
                         axes->width * layer->scale;
        const double y =
            (bands[a].y - axes->y + line * (data->neurons[i] - area->first)) *
            layer->scale;
        dot(layer, x, y, wide, dot_pixels(fmax(line, 0.5), layer->scale),
            pixel_of(plot_area_colour(a)));
    }
}

static void draw_rates(plot_figure *figure, const plot_data *data,
                       const plot_axes *axes, const band *bands)
{
    double highest = 0;
    plot_axes bars = *axes;
    for (uint32_t a = 0; a < data->n_areas; a++)
        highest =
            fmax(highest, (double)data->areas[a].n_spikes /
                              fmax(plot_area_neurons(&data->areas[a]), 1) /
                              plot_data_seconds(data));
    bars.x = axes->x + axes->width + bar_gap;
    bars.width = bar_width;
    bars.x_lo = 0;
    /* room for the number beside the longest bar */
    bars.x_hi = plot_round_up(highest * 1.02);
    bars.x_label = "rate (Hz)";
    bars.y_label = NULL;
    bars.y_bare = true;
    for (uint32_t a = 0; a < data->n_areas; a++) {
        const plot_area *area = &data->areas[a];
        const double rate = (double)area->n_spikes /
                            fmax(plot_area_neurons(area), 1) /
                            plot_data_seconds(data);
        const double high = fmin(bands[a].height * 0.8, 14);
        const double middle = bands[a].y + bands[a].height / 2;
        char text[32];
        plot_set_colour(figure, plot_area_colour(a));
        cairo.rectangle(figure->cairo, bars.x, middle - high / 2,
                        plot_at_x(&bars, rate) - bars.x, high);
        cairo.fill(figure->cairo);
        plot_set_colour(figure, (plot_colour){0, 0, 0});
        snprintf(text, sizeof text, rate < 1000 ? "%.3g" : "%.0f", rate);
        if (bands[a].height >= 7)
            plot_text(figure, bars.x + bars.width + 4, middle, PLOT_LEFT, 8, 0,
                      text);
    }
    plot_axes_draw(figure, &bars);
}

/* Does a name fit? If bands are lower than a name, only names that do not touch
 * the previous name or the next higher band are drawn. */
static bool has_name(const band *bands, uint32_t a, uint32_t n_areas,
                     double before, double points)
{
    const double middle = bands[a].y + bands[a].height / 2;
    if (bands[a].height >= points - gap)
        return true;
    if (middle - before < points)
        return false;
    return a + 1 == n_areas || bands[a + 1].height < points - gap ||
           bands[a + 1].y + bands[a + 1].height / 2 - middle >= points;
}

/* A small font if every area gets its name that way. */
static double points_of(const band *bands, uint32_t n_areas)
{
    double lowest = name_points;
    for (uint32_t a = 0; a < n_areas; a++)
        lowest = fmin(lowest, bands[a].height + gap);
    return lowest < name_points ? small_points : name_points;
}

static void draw_names(plot_figure *figure, const plot_data *data,
                       const plot_axes *axes, const band *bands,
                       const plot_names *names)
{
    double before = -names->points;
    for (uint32_t a = 0; a < data->n_areas; a++) {
        if (a > 0) {
            plot_set_colour(figure, (plot_colour){0.8, 0.8, 0.8});
            cairo.set_line_width(figure->cairo, 0.5);
            cairo.move_to(figure->cairo, axes->x, bands[a].y - gap / 2);
            cairo.line_to(figure->cairo, axes->x + axes->width,
                          bands[a].y - gap / 2);
            cairo.stroke(figure->cairo);
        }
        if (!has_name(bands, a, data->n_areas, before, names->points))
            continue;
        before = bands[a].y + bands[a].height / 2;
        plot_set_colour(figure, plot_area_colour(a));
        plot_text(figure, axes->x - 5, bands[a].y + bands[a].height / 2,
                  PLOT_RIGHT, names->points, 0, names->shown[a]);
    }
}

static void note_text(const plot_data *data, char *text, size_t n)
{
    char lacks[224];
    plot_data_lacks(data, lacks, sizeof lacks);
    snprintf(text, n, "%s neurons, %s spikes in %.6g ms%s",
             tool_thousands(plot_data_neurons(data)),
             tool_thousands(data->n_spikes), plot_data_seconds(data) * 1000,
             lacks);
}

vly_status plot_raster(plot_figure *figure, const plot_data *data,
                       vly_error *error)
{
    char note[320];
    plot_names names = {0};
    plot_layer layer = {0};
    vly_status status = VLY_OK;
    band *bands = vly_calloc(data->n_areas + 1, sizeof *bands);
    if (!bands)
        return vly_fail_nomem(error, data->n_areas * sizeof *bands, "bands");
    note_text(data, note, sizeof note);
    plot_axes axes = {.y = plot_heading(figure, data->title, note),
                      .x_lo = (double)data->begin * data->dt_ms,
                      .x_hi = (double)data->end * data->dt_ms,
                      .y_hi = 1,
                      .y_bare = true,
                      .x_label = "time (ms)"};
    axes.height = figure->height - axes.y - 34;
    place_bands(data, &axes, bands);
    VLY_TRY(plot_area_names(&names, figure, points_of(bands, data->n_areas),
                            figure->width / 5, data, error));
    axes.x = PLOT_MARGIN + 16 + fmax(names.widest, 20) + 6;
    axes.width =
        figure->width - axes.x - bar_width - bar_gap - 34 - PLOT_MARGIN;
    VLY_TRY(plot_layer_init(&layer, figure, axes.x, axes.y, axes.width,
                            axes.height, error));
    draw_dots(&layer, data, &axes, bands);
    plot_axes_draw(figure, &axes); /* would cover dots at the edges */
    plot_layer_draw(&layer, figure);
    draw_names(figure, data, &axes, bands, &names);
    plot_set_colour(figure, (plot_colour){0, 0, 0});
    plot_text_upwards(figure, PLOT_MARGIN + 6, axes.y + axes.height / 2, 9, 0,
                      "neurons, by area");
    draw_rates(figure, data, &axes, bands);
out:
    plot_layer_deinit(&layer);
    plot_names_deinit(&names);
    vly_free(bands);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0
 * The activity of an area of voxels as a map: x to the right, y upwards, the
 * mean over z and over the neurons of a voxel; one map, or one for each part of
 * the time shown, all with the same colours.
 */
#include "tools/plot/plot.h"

#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"

static const double bar_room = 62;

/* [frames][x][y] mean rate of a recorded neuron in Hz; -1: no recorded neuron.
 * Returns the highest. */
static double maps_of(const plot_data *data, uint32_t n_frames, double *maps)
{
    const plot_area *area = &data->areas[0];
    const uint32_t *size = area->voxels;
    const uint64_t length = data->end - data->begin;
    const size_t n = (size_t)size[0] * size[1];
    double highest = 0;
    for (uint64_t i = 0; i < data->n_spikes; i++) {
        const uint32_t column =
            data->neurons[i] / area->neurons_per_voxel / size[2];
        const uint64_t frame =
            (data->bursts[i] - data->begin) * n_frames / length;
        maps[frame * n + column]++;
    }
    const uint32_t per_column = size[2] * area->neurons_per_voxel;
    for (uint32_t f = 0; f < n_frames; f++) {
        /* frame f holds bursts b with b * n_frames / length == f */
        const uint64_t first = (f * length + n_frames - 1) / n_frames;
        const uint64_t last = ((f + 1) * length + n_frames - 1) / n_frames;
        const double seconds = (double)(last - first) * data->dt_ms / 1000;
        for (size_t v = 0; v < n; v++) {
            uint32_t neurons = area->recorded ? 0 : per_column;
            for (uint32_t i = 0; i < per_column && area->recorded; i++)
                neurons +=
                    plot_area_records(area, (uint32_t)v * per_column + i);
            maps[f * n + v] =
                neurons > 0 ? maps[f * n + v] / (neurons * seconds) : -1;
            highest = fmax(highest, maps[f * n + v]);
        }
    }
    return highest;
}

static vly_status draw_map(plot_figure *figure, const plot_axes *axes,
                           const uint32_t *size, const double *map,
                           double highest, vly_error *error)
{
    plot_layer layer = {0};
    vly_status status = VLY_OK;
    VLY_TRY(plot_layer_init(&layer, figure, axes->x, axes->y, axes->width,
                            axes->height, error));
    for (uint32_t j = 0; j < layer.height; j++)
        for (uint32_t i = 0; i < layer.width; i++) {
            const uint32_t x = (uint32_t)((uint64_t)i * size[0] / layer.width);
            const uint32_t y =
                size[1] - 1 - (uint32_t)((uint64_t)j * size[1] / layer.height);
            const double rate = map[(size_t)x * size[1] + y];
            const plot_colour c =
                rate < 0 ? (plot_colour){0.8, 0.8, 0.8}
                         : plot_scale_colour(highest > 0 ? rate / highest : 0);
            layer.pixels[(size_t)j * layer.stride + i] =
                0xff000000u | (uint32_t)lround(c.r * 255) << 16 |
                (uint32_t)lround(c.g * 255) << 8 | (uint32_t)lround(c.b * 255);
        }
    plot_layer_draw(&layer, figure);
    plot_layer_deinit(&layer);
out:
    return status;
}

/* Panels of one shape in a rectangle, with the number of columns that makes
 * them largest. */
static uint32_t columns_of(uint32_t n, double width, double height,
                           double shape, double *scale)
{
    uint32_t best = 1;
    *scale = 0;
    for (uint32_t columns = 1; columns <= n; columns++) {
        const uint32_t rows = (n + columns - 1) / columns;
        const double w = width / columns - 10;
        const double h = height / rows - 16;
        const double panel = fmin(w, h / shape);
        if (panel > *scale) {
            *scale = panel;
            best = columns;
        }
    }
    return best;
}

static vly_status draw_panels(plot_figure *figure, const plot_data *data,
                              const double *maps, uint32_t n_frames,
                              uint32_t only, double highest, double top,
                              vly_error *error)
{
    vly_status status = VLY_OK;
    const uint32_t *size = data->areas[0].voxels;
    const uint32_t shown = only == UINT32_MAX ? n_frames : 1;
    const double room_x = figure->width - 44 - bar_room - PLOT_MARGIN;
    const double room_y = figure->height - top - 34;
    const double shape = (double)size[1] / size[0];
    double panel = 0;
    const uint32_t columns = columns_of(shown, room_x, room_y, shape, &panel);
    if (panel < 8)
        return vly_fail(error, VLY_E_INVALID,
                        "%u frames do not fit: fewer, or a larger --size",
                        shown);
    const double ms = plot_data_seconds(data) * 1000 / n_frames;
    for (uint32_t k = 0; k < shown; k++) {
        const uint32_t frame = only == UINT32_MAX ? k : only;
        const bool first = k % columns == 0;
        const bool last = k + columns >= shown;
        char text[64];
        plot_axes axes = {.x = 44 + (k % columns) * (panel + 10),
                          .y = top + 12 + (k / columns) * (panel * shape + 16),
                          .width = panel,
                          .height = panel * shape,
                          .x_hi = size[0],
                          .y_hi = size[1],
                          .x_bare = !last || panel < 40,
                          .y_bare = !first || panel * shape < 40,
                          .x_label = last && (panel >= 40 || k + 1 == shown)
                                         ? "x (voxel)"
                                         : NULL,
                          .y_label = first ? "y (voxel)" : NULL};
        VLY_TRY(draw_map(figure, &axes, size,
                         maps + (size_t)frame * size[0] * size[1], highest,
                         error));
        plot_axes_draw(figure, &axes);
        if (n_frames > 1) {
            snprintf(text, sizeof text, "%.6g ms",
                     (double)data->begin * data->dt_ms + frame * ms);
            plot_text(figure, axes.x + panel / 2, axes.y - 6, PLOT_CENTRE, 7.5,
                      panel + 8, text);
        }
    }
    const uint32_t rows = (shown + columns - 1) / columns;
    const double used = 44 + columns * (panel + 10) + 4;
    const double high = rows * (panel * shape + 16) - 16;
    plot_colour_bar(figure, used, top + 12, fmin(fmax(high, 60), 160), 0,
                    highest > 0 ? highest : 1, false, "rate (Hz)");
out:
    return status;
}

vly_status plot_voxels(plot_figure *figure, const plot_data *data,
                       uint32_t n_frames, uint32_t only, vly_error *error)
{
    char note[240];
    const uint64_t length = data->end - data->begin;
    if (data->n_areas != 1)
        return vly_fail(error, VLY_E_INVALID,
                        "a map shows one area, wanted --area NAME of %u",
                        data->n_areas);
    const plot_area *area = &data->areas[0];
    if (!area->has_voxels)
        return vly_fail(error, VLY_E_INVALID,
                        "area %s has no voxels (a run's folder or --genome "
                        "says how many)",
                        area->name);
    if (n_frames > length)
        return vly_fail(error, VLY_E_INVALID,
                        "%u frames of %llu bursts, wanted at most one a burst",
                        n_frames, (unsigned long long)length);
    const uint64_t n = (uint64_t)area->voxels[0] * area->voxels[1];
    double *maps = NULL;
    if (plot_fits(n_frames * n, sizeof *maps))
        maps = vly_calloc(n_frames * n, sizeof *maps);
    if (!maps)
        return vly_fail_nomem(error, n_frames * n * sizeof *maps, "maps");
    const double highest = maps_of(data, n_frames, maps);
    snprintf(note, sizeof note,
             "area %s, %u x %u x %u voxels, mean over z; %.6g ms%s%s",
             area->name, area->voxels[0], area->voxels[1], area->voxels[2],
             plot_data_seconds(data) * 1000 / n_frames,
             n_frames > 1 ? " a frame" : "",
             area->recorded ? "; grey: not recorded" : "");
    const double top = plot_heading(figure, data->title, note);
    vly_status status =
        draw_panels(figure, data, maps, n_frames, only, highest, top, error);
    vly_free(maps);
    return status;
}

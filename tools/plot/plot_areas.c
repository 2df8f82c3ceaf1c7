/* SPDX-License-Identifier: Apache-2.0
 * The areas of a picture: added by readers of recordings, asked by drawings.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "tools/cli/tool.h"
#include "tools/plot/plot_data.h"
#include "tools/plot/plot_rows.h"

bool plot_chosen(const tool_args *args, const char *name)
{
    const char *one = tool_text_at(args, "area", 0);
    for (uint32_t k = 0; one; one = tool_text_at(args, "area", ++k))
        if (strcmp(one, name) == 0)
            return true;
    return !tool_text_at(args, "area", 0);
}

plot_area *plot_area_add(plot_data *data, const char *name, vly_error *error)
{
    /* doubled when full: 1, 2, 4, ... */
    if ((data->n_areas & (data->n_areas - 1)) == 0) {
        const size_t n = data->n_areas > 0 ? 2 * (size_t)data->n_areas : 1;
        plot_area *more = vly_realloc(data->areas, n, sizeof *data->areas);
        if (!more) {
            (void)vly_fail_nomem(error, n * sizeof *more, "areas");
            return NULL;
        }
        data->areas = more;
    }
    plot_area *area = &data->areas[data->n_areas];
    *area = (plot_area){.name = vly_format("%s", name), .neurons_per_voxel = 1};
    if (!area->name) {
        (void)vly_fail_nomem(error, strlen(name), "a name");
        return NULL;
    }
    data->n_areas++;
    return area;
}

uint32_t plot_data_area(const plot_data *data, uint32_t neuron)
{
    uint32_t lo = 0;
    uint32_t hi = data->n_areas - 1;
    while (lo < hi) {
        const uint32_t middle = (lo + hi + 1) / 2;
        if (data->areas[middle].first <= neuron)
            lo = middle;
        else
            hi = middle - 1;
    }
    return lo;
}

double plot_data_seconds(const plot_data *data)
{
    return (double)(data->end - data->begin) * data->dt_ms / 1000;
}

bool plot_area_records(const plot_area *area, uint32_t neuron)
{
    return !area->recorded || (area->recorded[neuron / 8] >> neuron % 8 & 1);
}

uint32_t plot_area_neurons(const plot_area *area)
{
    return area->recorded ? area->n_recorded : area->n_neurons;
}

uint32_t plot_data_neurons(const plot_data *data)
{
    uint32_t n = 0;
    for (uint32_t a = 0; a < data->n_areas; a++)
        n += plot_area_neurons(&data->areas[a]);
    return n;
}

void plot_data_lacks(const plot_data *data, char *text, size_t n)
{
    char some[80] = "";
    char areas[80] = "";
    if (plot_data_neurons(data) < data->n_neurons)
        snprintf(some, sizeof some, "; the others of %s were not recorded",
                 tool_thousands(data->n_neurons));
    if (data->n_left_out == 1)
        snprintf(areas, sizeof areas, "; not recorded: %.50s", data->left_out);
    else if (data->n_left_out > 1)
        snprintf(areas, sizeof areas, "; not recorded: %.30s and %u other%s",
                 data->left_out, data->n_left_out - 1,
                 data->n_left_out > 2 ? "s" : "");
    snprintf(text, n, "%s%s%s", some, areas,
             data->sizes_known
                 ? ""
                 : "; sizes of areas by the largest id that fired");
}

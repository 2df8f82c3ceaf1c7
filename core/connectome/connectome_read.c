/* SPDX-License-Identifier: Apache-2.0
 * Synapses of a connectome as a program reads them: indices in their areas,
 * weights in the unit of the port, delays in bursts.
 */
#include "connectome/connectome.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"

uint32_t vly_connectome_projection_count(const vly_connectome *connectome)
{
    return connectome->desc.n_projections;
}

static vly_status check_index(const vly_connectome *connectome, uint32_t index,
                              vly_error *error)
{
    uint32_t n = connectome->desc.n_projections;
    if (index >= n)
        return vly_fail(error, VLY_E_INVALID,
                        "there is no projection %u, the connectome has %u",
                        index, n);
    return VLY_OK;
}

vly_status vly_connectome_projection_info(const vly_connectome *connectome,
                                          uint32_t index,
                                          vly_projection_info *info,
                                          vly_error *error)
{
    vly_status status = check_index(connectome, index, error);
    if (status == VLY_OK)
        status = vly_struct_check(info, sizeof *info, "info", error);
    if (status != VLY_OK)
        return status;
    const vly_projection_desc *desc = &connectome->desc.projections[index];
    const vly_connectome_projection *about = &connectome->projections[index];
    const vly_model_info *model = connectome->areas[desc->target_area].model;
    uint32_t port = desc->port < model->n_ports ? desc->port : 0;
    vly_projection_info made = {
        .source_area = desc->source_area,
        .target_area = desc->target_area,
        .port = desc->port,
        .n_synapses = about->n_synapses,
        .map = about->map,
        .unit_name = model->ports[port].unit,
        .unit = about->unit,
        .weight_min = about->weight_min,
        .weight_max = about->weight_max,
        .worst_rounding = about->worst_rounding,
        .share_coarse = about->share_coarse,
        .worst_coarse = about->worst_coarse,
        .mean_coarse = about->mean_coarse,
        .delay_min = desc->base_delay,
        .delay_max = desc->base_delay + desc->delay_max,
    };
    return vly_struct_fill(info, &made, sizeof made);
}

/* The row that synapse i is in: the last that begins at or before it and is not
 * empty. */
static uint32_t row_of(const vly_projection_desc *desc, uint32_t n_rows,
                       uint64_t i)
{
    uint32_t low = 0;
    uint32_t high = n_rows;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (desc->row[middle] <= i)
            low = middle;
        else
            high = middle;
    }
    return low;
}

vly_status vly_connectome_synapses(const vly_connectome *connectome,
                                   uint32_t index, uint64_t first, uint64_t n,
                                   uint32_t *sources, uint32_t *targets,
                                   double *weights, uint32_t *delays,
                                   vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(check_index(connectome, index, error));
    const vly_projection_desc *desc = &connectome->desc.projections[index];
    uint64_t have = connectome->projections[index].n_synapses;
    double unit = connectome->projections[index].unit;
    uint32_t first_target = connectome->areas[desc->target_area].first;
    uint32_t n_rows = connectome->areas[desc->source_area].n_neurons;
    if (first > have || n > have - first)
        return vly_fail(error, VLY_E_INVALID,
                        "synapses %" PRIu64 " to %" PRIu64
                        " of projection %u, which has %" PRIu64,
                        first, first + n, index, have);
    uint32_t row = n > 0 && sources ? row_of(desc, n_rows, first) : 0;
    for (uint64_t k = 0; sources && k < n; k++) {
        while (desc->row[row + (size_t)1] <= first + k)
            row++;
        sources[k] = row;
    }
    for (uint64_t k = 0; targets && k < n; k++)
        targets[k] = desc->target[first + k] - first_target;
    for (uint64_t k = 0; weights && k < n; k++)
        weights[k] = vly_weight_at(desc, first + k) * unit;
    for (uint64_t k = 0; delays && k < n; k++)
        delays[k] =
            desc->base_delay + (desc->delay ? desc->delay[first + k] : 0u);
out:
    return status;
}

/* SPDX-License-Identifier: Apache-2.0
 * A description with every weight, in one block: the net, its projections, and
 * the weights of those that have one_weight.
 */
#include "plugin/all_weights.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "plugin/registry.h"

static uint64_t synapses_of(const vly_net_desc *desc, uint32_t p)
{
    const vly_projection_desc *at = &desc->projections[p];
    return at->row[desc->areas[at->source_area].n_neurons];
}

vly_status vly_all_weights(const vly_backend *table, const vly_net_desc *desc,
                           vly_net_desc **own, vly_error *error)
{
    const uint64_t n = desc->n_projections;
    uint64_t n_weights = 0;
    bool lacks = false;
    *own = NULL;
    for (uint32_t p = 0; p < n; p++)
        if (!desc->projections[p].weight) {
            n_weights += synapses_of(desc, p);
            lacks = true;
        }
    if (!lacks || !(table->flags & VLY_BACKEND_ALL_WEIGHTS))
        return VLY_OK;
    const uint64_t bytes = sizeof(vly_net_desc) +
                           n * sizeof(vly_projection_desc) +
                           n_weights * sizeof(int16_t);
    vly_net_desc *made = vly_malloc((size_t)bytes, 1);
    if (!made)
        return vly_fail_nomem(error, bytes, "the weights for an older plugin");
    vly_projection_desc *projections =
        (vly_projection_desc *)(void *)(made + 1);
    int16_t *weight = (int16_t *)(void *)(projections + n);
    *made = *desc;
    made->projections = projections;
    memcpy(projections, desc->projections, n * sizeof *projections);
    for (uint32_t p = 0; p < n; p++) {
        if (projections[p].weight)
            continue;
        const uint64_t end = synapses_of(desc, p);
        projections[p].weight = weight;
        for (uint64_t i = 0; i < end; i++)
            weight[i] = (int16_t)projections[p].one_weight;
        projections[p].one_weight = 0;
        weight += end;
    }
    *own = made;
    return VLY_OK;
}

/* SPDX-License-Identifier: Apache-2.0
 * Which neurons a part owns, and which networks cannot be built in parts.
 */
#include "connectome/part_make.h"

#include <inttypes.h>

#include "base/error.h"
#include "connectome/ranks_cut.h"

static uint32_t index_in(const vly_area *area, uint32_t neuron)
{
    const uint32_t k = neuron > area->first ? neuron - area->first : 0;
    return k < area->n_neurons ? k : area->n_neurons;
}

void vly_part_of_area(const vly_rank_part *part, const vly_area *area,
                      uint32_t *first, uint32_t *last)
{
    *first = index_in(area, part->first);
    *last = index_in(area, part->last);
}

double vly_part_share(const vly_rank_part *part, const vly_area *area)
{
    uint32_t first;
    uint32_t last;
    vly_part_of_area(part, area, &first, &last);
    return area->n_neurons ? (double)(last - first) / area->n_neurons : 0.0;
}

static vly_status cut_check(const vly_ranks *ranks, const vly_genome *genome,
                            vly_error *error)
{
    const uint32_t *first = ranks->first;
    if (!first || ranks->rank >= ranks->n_ranks || first[0] != 0 ||
        first[ranks->n_ranks] != genome->n_neurons)
        return vly_fail(error, VLY_E_INVALID,
                        "rank %" PRIu32 " of %" PRIu32
                        ": the cut is not one of %" PRIu32 " neurons",
                        ranks->rank, ranks->n_ranks, genome->n_neurons);
    for (uint32_t r = 0, a = 0; r < ranks->n_ranks; r++) {
        if (first[r] > first[r + 1])
            return vly_fail(error, VLY_E_INVALID,
                            "rank %" PRIu32 " begins at neuron %" PRIu32
                            " and ends at %" PRIu32,
                            r, first[r], first[r + 1]);
        while (a + 1 < genome->n_areas &&
               genome->areas[a + 1].first <= first[r])
            a++;
        const uint32_t k = index_in(&genome->areas[a], first[r]);
        if (k < genome->areas[a].n_neurons && k % VLY_RANKS_BLOCK != 0)
            return vly_fail(error, VLY_E_INVALID,
                            "rank %" PRIu32 " begins at neuron %" PRIu32
                            " of area %s, wanted a multiple of 64",
                            r, k, genome->areas[a].name);
    }
    return VLY_OK;
}

static vly_status whole_only(const vly_genome *genome, vly_error *error)
{
    for (uint32_t p = 0; p < genome->n_pairs; p++) {
        const vly_pair *pair = &genome->pairs[p];
        if (pair->plasticity)
            return vly_fail(error, VLY_E_UNSUPPORTED,
                            "map %s learns: every rank holds the whole network",
                            pair->map);
        if (pair->short_term)
            return vly_fail(error, VLY_E_UNSUPPORTED,
                            "map %s has short-term plasticity: every rank "
                            "holds the whole network",
                            pair->map);
    }
    if (genome->n_memories)
        return vly_fail(error, VLY_E_UNSUPPORTED,
                        "area %s is a memory: every rank holds the whole "
                        "network",
                        genome->areas[genome->memories[0].area].name);
    if (genome->n_associations)
        return vly_fail(error, VLY_E_UNSUPPORTED,
                        "map %s is an association: every rank holds the whole "
                        "network",
                        genome->associations[0].name);
    return VLY_OK;
}

vly_status vly_part_init(vly_rank_part *part, const vly_genome *genome,
                         vly_error *error)
{
    vly_status status;
    VLY_TRY(cut_check(part->ranks, genome, error));
    VLY_TRY(whole_only(genome, error));
    part->first = part->ranks->first[part->ranks->rank];
    part->last = part->ranks->first[part->ranks->rank + 1];
out:
    return status;
}

/* SPDX-License-Identifier: Apache-2.0
 * Neurons are divided by their cost in a burst: one for each incoming synapse,
 * and NEURON_COST for the update. If one neuron in a hundred fires, an update
 * (some 2 ns of a core) takes as long as the events of about 64 synapses (4 ns
 * each).
 */
#include "connectome/ranks_cut.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "connectome/synapse_rules.h"
#include "genome/genome_end.h"

#define NEURON_COST UINT64_C(64)
/* so that the cost of 2^32 neurons is below 2^63 */
#define IN_DEGREE_MAX (UINT32_C(1) << 30)

static uint64_t cost_of(const vly_ranks_area *area)
{
    const uint32_t in_degree =
        area->in_degree < IN_DEGREE_MAX ? area->in_degree : IN_DEGREE_MAX;
    return NEURON_COST + in_degree;
}

/* The end of a block of the area, or its beginning, to which neurons of `cost`
 * lead most nearly; cost is less than that of the area. */
static uint32_t place_of(const vly_ranks_area *area, uint64_t cost)
{
    const uint64_t each = cost_of(area);
    const uint64_t low = cost / each / VLY_RANKS_BLOCK * VLY_RANKS_BLOCK;
    const uint64_t next = low + VLY_RANKS_BLOCK;
    const uint64_t high = next < area->n_neurons ? next : area->n_neurons;
    return (uint32_t)(cost - low * each <= high * each - cost ? low : high);
}

void vly_ranks_cut(const vly_ranks_area *areas, uint32_t n_areas,
                   uint32_t n_ranks, uint32_t *first)
{
    uint64_t total = 0;
    uint64_t before = 0; /* cost of the areas before area a */
    uint32_t neurons = 0;
    uint32_t a = 0;
    for (uint32_t i = 0; i < n_areas; i++)
        total += areas[i].n_neurons * cost_of(&areas[i]);
    first[0] = 0;
    for (uint32_t r = 1; r < n_ranks; r++) {
        const uint64_t cost =
            total / n_ranks * r + total % n_ranks * r / n_ranks;
        while (a < n_areas &&
               before + areas[a].n_neurons * cost_of(&areas[a]) <= cost) {
            before += areas[a].n_neurons * cost_of(&areas[a]);
            neurons += areas[a++].n_neurons;
        }
        first[r] = neurons;
        if (a < n_areas)
            first[r] += place_of(&areas[a], cost - before);
    }
    first[n_ranks] = neurons;
    for (; a < n_areas; a++)
        first[n_ranks] += areas[a].n_neurons;
}

/* ---- in-degrees --------------------------------------------------------- */

static uint32_t mean_of(double n_synapses, uint32_t n_neurons)
{
    const double mean = n_neurons ? n_synapses / n_neurons : 0.0;
    return mean < IN_DEGREE_MAX ? (uint32_t)mean : IN_DEGREE_MAX;
}

typedef struct net_sizes {
    uint32_t n_areas;
    vly_ranks_area *areas;
    double *synapses; /* [n_areas] onto each area */
} net_sizes;

static void sizes_deinit(net_sizes *sizes)
{
    vly_free(sizes->areas);
    vly_free(sizes->synapses);
}

static vly_status sizes_init(net_sizes *sizes, uint32_t n_areas,
                             uint32_t n_ranks, vly_error *error)
{
    if (n_ranks == 0)
        return vly_fail(error, VLY_E_INVALID,
                        "a network for 0 ranks, wanted at least 1");
    sizes->n_areas = n_areas;
    sizes->areas = vly_calloc(n_areas, sizeof(*sizes->areas));
    sizes->synapses = vly_calloc(n_areas, sizeof(*sizes->synapses));
    if (sizes->areas && sizes->synapses)
        return VLY_OK;
    sizes_deinit(sizes);
    return vly_fail_nomem(error, n_areas * UINT64_C(16), "ranks");
}

static void sizes_cut(net_sizes *sizes, uint32_t n_ranks, uint32_t *first)
{
    for (uint32_t a = 0; a < sizes->n_areas; a++)
        sizes->areas[a].in_degree =
            mean_of(sizes->synapses[a], sizes->areas[a].n_neurons);
    vly_ranks_cut(sizes->areas, sizes->n_areas, n_ranks, first);
    sizes_deinit(sizes);
}

vly_status vly_ranks_cut_genome(const vly_genome *genome, uint32_t n_ranks,
                                uint32_t *first, vly_error *error)
{
    vly_status status;
    net_sizes sizes = {0};
    VLY_TRY(sizes_init(&sizes, genome->n_areas, n_ranks, error));
    for (uint32_t p = 0; p < genome->n_pairs; p++) {
        const vly_pair *pair = &genome->pairs[p];
        sizes.synapses[pair->to] +=
            vly_rule_most(genome, pair) * vly_pair_share(pair);
    }
    for (uint32_t a = 0; a < genome->n_areas; a++)
        sizes.areas[a].n_neurons = genome->areas[a].n_neurons;
    sizes_cut(&sizes, n_ranks, first);
out:
    return status;
}

vly_status vly_ranks_cut_connectome(const vly_connectome *connectome,
                                    uint32_t n_ranks, uint32_t *first,
                                    vly_error *error)
{
    const vly_net_desc *desc = &connectome->desc;
    vly_status status;
    net_sizes sizes = {0};
    VLY_TRY(sizes_init(&sizes, desc->n_areas, n_ranks, error));
    for (uint32_t p = 0; p < desc->n_projections; p++)
        sizes.synapses[desc->projections[p].target_area] +=
            (double)connectome->projections[p].n_synapses;
    for (uint32_t a = 0; a < desc->n_areas; a++)
        sizes.areas[a].n_neurons = connectome->areas[a].n_neurons;
    sizes_cut(&sizes, n_ranks, first);
out:
    return status;
}

/* ---- random cuts -------------------------------------------------------- */

static uint32_t blocks_of(const vly_ranks_area *area)
{
    return area->n_neurons / VLY_RANKS_BLOCK +
           (area->n_neurons % VLY_RANKS_BLOCK != 0);
}

static int id_compare(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a;
    const uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The first neuron of block number `block`; after the last one, the end. */
static uint32_t block_first(const vly_ranks_area *areas, uint32_t n_areas,
                            uint64_t block)
{
    uint32_t neurons = 0;
    for (uint32_t a = 0; a < n_areas; a++) {
        if (block < blocks_of(&areas[a]))
            return neurons + (uint32_t)block * VLY_RANKS_BLOCK;
        block -= blocks_of(&areas[a]);
        neurons += areas[a].n_neurons;
    }
    return neurons;
}

void vly_ranks_cut_random(const vly_ranks_area *areas, uint32_t n_areas,
                          uint32_t n_ranks, uint64_t seed, uint32_t *first)
{
    uint64_t n_blocks = 0;
    for (uint32_t a = 0; a < n_areas; a++)
        n_blocks += blocks_of(&areas[a]);
    first[0] = 0;
    for (uint32_t r = 1; r < n_ranks; r++)
        first[r] = block_first(areas, n_areas,
                               vly_mix64(vly_mix64(seed) + r) % (n_blocks + 1));
    qsort(first, n_ranks, sizeof(*first), id_compare);
    first[n_ranks] = block_first(areas, n_areas, n_blocks);
}

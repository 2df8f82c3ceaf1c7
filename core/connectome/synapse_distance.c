/* SPDX-License-Identifier: Apache-2.0
 * Weights and delays that depend on the distance: value + slope * distance for
 * every synapse, stored like values from a file.
 */
#include "connectome/connectome_make.h"

#include "base/error.h"
#include "base/number.h"
#include "connectome/near_neurons.h"
#include "connectome/part_make.h"
#include "genome/genome_end.h"

#define WEIGHT_MAX 1e9

static vly_status refuse(vly_maker *maker, const vly_made_pair *made,
                         const char *what, double found, double distance,
                         const char *wanted)
{
    char place[VLY_PLACE_BYTES];
    vly_place_print(maker->genome, &made->pair->origin, place);
    return vly_fail(maker->error, VLY_E_PARSE,
                    "%smap %s: %s is %.9g at distance %.9g, wanted %s", place,
                    made->pair->map, what, found, distance, wanted);
}

/* Place of a part in its pool, less its first neuron in the area. */
static uint32_t place_of(const vly_end *end, uint32_t part)
{
    return vly_end_place(end, part) - end->parts[part].first;
}

static vly_status fill(vly_maker *maker, const vly_made_pair *made,
                       const vly_near *near, const vly_edge_list *list)
{
    const vly_genome *genome = maker->genome;
    const vly_pair *pair = made->pair;
    const vly_area *to = &genome->areas[pair->to];
    uint32_t n_rows = genome->areas[pair->from].n_neurons;
    /* from an index in the area to one of the pool; may wrap around 0 */
    uint32_t source =
        pair->pool ? place_of(&pair->pool->from, pair->from_part) : 0;
    uint32_t target = pair->pool ? place_of(&pair->pool->to, pair->to_part) : 0;
    for (uint32_t k = 0; k < n_rows; k++) {
        for (uint64_t i = made->row[k]; i < made->row[k + (size_t)1]; i++) {
            double d = vly_near_distance(near, k + source,
                                         made->target[i] - to->first + target);
            double x = pair->weight.a + pair->space.weight_slope * d;
            uint64_t bursts = 0;
            if (list->weight && !(x >= -WEIGHT_MAX && x <= WEIGHT_MAX))
                return refuse(maker, made, "weight", x, d,
                              "at most 1000000000 either way");
            if (list->weight)
                list->weight[i] = x;
            x = pair->delay_ms.a + pair->space.delay_slope_ms * d;
            if (!list->delay)
                continue;
            if (!vly_bursts_from_ms(x, genome->dt_ms, &bursts) || bursts < 1 ||
                bursts > VLY_DELAY_MAX)
                return refuse(maker, made, "delay_ms", x, d,
                              "1 to 2^24 bursts of dt_ms");
            list->delay[i] = (uint32_t)bursts;
        }
    }
    return VLY_OK;
}

/* Values that determine q: the ends, and the larger end must not become 0. A
 * slope may pass through 0, so small weights may become 0. */
static void law_of_slope(vly_made_pair *made)
{
    vly_law *law = &made->law;
    vly_given_law(made);
    law->mean = law->hi > -law->lo ? law->hi : law->lo;
}

vly_status vly_distance_values(vly_maker *maker, vly_made_pair *made,
                               const vly_near *near)
{
    const vly_space *space = &made->pair->space;
    size_t n = (size_t)made->n_synapses;
    vly_storage *storage = maker->part ? &maker->part->work : maker->storage;
    if ((space->weight_slope == 0.0 && space->delay_slope_ms == 0.0) || n == 0)
        return VLY_OK;
    vly_edge_list *list = vly_storage_alloc(storage, 1, sizeof(*list), true);
    if (!list)
        return vly_fail_nomem(maker->error, sizeof(*list), "a map");
    list->n = n;
    if (space->weight_slope != 0.0)
        list->weight =
            vly_storage_alloc(storage, n, sizeof(*list->weight), false);
    if (space->delay_slope_ms != 0.0)
        list->delay =
            vly_storage_alloc(storage, n, sizeof(*list->delay), false);
    if ((space->weight_slope != 0.0 && !list->weight) ||
        (space->delay_slope_ms != 0.0 && !list->delay))
        return vly_fail_nomem(maker->error, (uint64_t)n * 12,
                              "values by distance");
    vly_status status = VLY_OK;
    VLY_TRY(fill(maker, made, near, list));
    made->given = list;
    if (list->weight)
        law_of_slope(made);
out:
    return status;
}

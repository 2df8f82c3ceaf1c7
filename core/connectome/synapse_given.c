/* SPDX-License-Identifier: Apache-2.0
 * Weights and delays that are given for each synapse. Synapse i of the pair is
 * edge i of the list: both are sorted by source, then target.
 */
#include "connectome/connectome_make.h"

#include <math.h>

#include "base/error.h"
#include "base/number.h"
#include "connectome/part_make.h"

bool vly_weights_given(const vly_made_pair *made)
{
    return made->given && made->given->weight;
}

bool vly_delays_given(const vly_made_pair *made)
{
    return made->given && made->given->delay;
}

void vly_given_law(vly_made_pair *made)
{
    const vly_edge_list *edges = made->given;
    vly_law *law = &made->law;
    *law = (vly_law){.kind = VLY_VALUE_NUMBER, .share = 1.0};
    for (uint64_t i = 0; i < edges->n; i++) {
        double weight = edges->weight[i];
        law->lo = i == 0 || weight < law->lo ? weight : law->lo;
        law->hi = i == 0 || weight > law->hi ? weight : law->hi;
        if (weight != 0.0 &&
            (law->mean == 0.0 || fabs(weight) < fabs(law->mean)))
            law->mean = weight;
    }
    law->a = law->lo;
    law->b = law->hi;
    if (law->lo < law->hi)
        law->kind = VLY_VALUE_UNIFORM;
}

/* As vly_weight_scaled, whose scale is 2^q here: a call for each of millions of
 * weights takes longer than the rest of a loop. */
static inline double scaled(double weight, double scale)
{
    const double x = weight * scale + 0.5;
    if (!(x > -0x1p52 && x < 0x1p52))
        return x;
    const double whole = (double)(int64_t)x;
    return whole - (double)(whole > x); /* no branch: it is unpredictable */
}

/* The integer that a weight becomes; for a wide pair, the nearest int16 times
 * 2^0, 2^6 or 2^12. scale: 2^q */
static inline double given_integer(double weight, double scale, bool wide)
{
    double whole = scaled(weight, scale);
    double step = 1.0;
    for (uint32_t shift = 0;
         wide && shift < VLY_SHIFT_MAX && (whole < -32767.0 || whole > 32767.0);
         shift += VLY_SHIFT_STEP) {
        step *= (double)(1u << VLY_SHIFT_STEP);
        whole = scaled(weight, scale / step);
    }
    return whole * step;
}

/* Most quotients are far below the largest so far: a product shows it, with a
 * margin for its rounding, and is much faster than the division. */
#define SURELY 0x1.ffffp-1

double vly_given_rounding(const vly_made_pair *made, int32_t q,
                          double *mean_rounding, vly_made_pair *coarse)
{
    const vly_edge_list *edges = made->given;
    const double scale = vly_power_of_two(q);
    double unit = vly_power_of_two(-q);
    double worst = 0.0;
    double asked = 0.0;
    double stored = 0.0;
    uint64_t n_coarse = 0;
    for (uint64_t i = 0; i < edges->n; i++) {
        const double weight = edges->weight[i];
        const double got = given_integer(weight, scale, made->wide) * unit;
        const double size = fabs(weight);
        const double distance = fabs(got - weight);
        const double least = worst < 0.01 ? worst : 0.01;
        asked += size; /* a weight of 0 is stored as 0 */
        stored += fabs(got);
        if (distance == 0.0 || distance < least * SURELY * size)
            continue;
        const double off = distance / size;
        worst = off > worst ? off : worst;
        n_coarse += off > 0.01;
    }
    *mean_rounding = asked > 0.0 ? fabs(stored - asked) / asked : 0.0;
    if (coarse) {
        coarse->share_coarse =
            edges->n ? (double)n_coarse / (double)edges->n : 0.0;
        coarse->worst_coarse = n_coarse ? worst : 0.0;
        coarse->mean_coarse =
            *mean_rounding > VLY_COARSE_CONSTANT ? *mean_rounding : 0.0;
    }
    return worst;
}

int32_t vly_given_weight(const vly_made_pair *made, int32_t q, uint64_t i)
{
    return (int32_t)given_integer(made->given->weight[i], vly_power_of_two(q),
                                  made->wide);
}

/* The edges of synapses that ascend: the same numbers, or those of a part. */
#define EDGES_TOGETHER 64u
typedef struct edges_of {
    const vly_made_pair *made;
    uint64_t first; /* synapse of the next places */
    uint32_t n;
    uint32_t at;
    uint64_t places[EDGES_TOGETHER];
} edges_of;

static inline uint64_t edge_of(edges_of *edges, uint64_t i)
{
    const vly_made_pair *made = edges->made;
    if (!made->place)
        return i;
    if (edges->at == edges->n) {
        const uint64_t left = made->n_synapses - edges->first;
        edges->n = left < EDGES_TOGETHER ? (uint32_t)left : EDGES_TOGETHER;
        edges->at = 0;
        vly_part_places(made, edges->first, edges->n, edges->places);
        edges->first += edges->n;
    }
    return edges->places[edges->at++];
}

void vly_given_weights(const vly_made_pair *made, int32_t q, uint64_t first,
                       uint64_t last, int32_t *least, int32_t *most)
{
    const double scale = vly_power_of_two(q);
    edges_of part = {.made = made, .first = first};
    for (uint64_t i = first; i < last; i++) {
        const int32_t weight = (int32_t)given_integer(
            made->given->weight[edge_of(&part, i)], scale, made->wide);
        if (made->value)
            made->value[i] = weight;
        else
            made->weight[i] = (int16_t)weight;
        *least = weight < *least ? weight : *least;
        *most = weight > *most ? weight : *most;
    }
}

void vly_given_extremes(const vly_made_pair *made, int32_t q, int32_t *least,
                        int32_t *most)
{
    const double scale = vly_power_of_two(q);
    for (uint64_t i = 0; i < made->given->n; i++) {
        const int32_t weight =
            (int32_t)given_integer(made->given->weight[i], scale, made->wide);
        *least = weight < *least ? weight : *least;
        *most = weight > *most ? weight : *most;
    }
}

vly_status vly_given_delays(vly_maker *maker, vly_made_pair *made)
{
    const vly_edge_list *edges = made->given;
    uint32_t least = UINT32_MAX;
    uint32_t most = 0;
    for (uint64_t i = 0; i < edges->n; i++) {
        least = edges->delay[i] < least ? edges->delay[i] : least;
        most = edges->delay[i] > most ? edges->delay[i] : most;
    }
    if (least < 1 || most > VLY_DELAY_MAX || most - least > UINT16_MAX)
        return vly_fail(maker->error, VLY_E_PARSE,
                        "map %s: delays of %u to %u bursts, wanted 1 or more, "
                        "and at most 65536 values",
                        made->pair->map, least, most);
    made->base_delay = least;
    if (least == most)
        return VLY_OK;
    edges_of part = {.made = made};
    vly_status status = VLY_OK;
    VLY_TRY(vly_delays_memory(maker, made, most - least));
    for (uint64_t i = 0; i < made->n_synapses; i++) {
        const uint32_t delay = edges->delay[edge_of(&part, i)] - least;
        if (made->far)
            made->far[i] = (uint16_t)delay;
        else
            made->delay[i] = (uint8_t)delay;
    }
out:
    made->delay_max = most - least;
    return status;
}

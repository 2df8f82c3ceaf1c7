/* SPDX-License-Identifier: Apache-2.0
 * See second_rules.h.
 */
#include "second_rules.h"

#include "second_pools.h"
#include "second_space.h"

#include "genome/genome_map.h"
#include "genome/voxel_rule.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct place {
    int64_t at[3];
    int64_t size[3];
} place;

/* ---- voxels ------------------------------------------------------------- */

static place place_of(const vly_area *area, uint32_t neuron)
{
    uint32_t voxel = neuron / area->neurons_per_voxel;
    place p = {{voxel / area->voxels[2] / area->voxels[1],
                voxel / area->voxels[2] % area->voxels[1],
                voxel % area->voxels[2]},
               {area->voxels[0], area->voxels[1], area->voxels[2]}};
    return p;
}

static bool token_holds(int32_t token, int64_t own, int64_t other)
{
    return token == VLY_PATTERN_ANY ||
           (token == VLY_PATTERN_SAME && own == other) ||
           (token == VLY_PATTERN_OTHER && own != other) || token == own;
}

static bool pattern_fits(const vly_pattern *pattern, const place *a,
                         const place *b)
{
    bool fits = true;
    for (int i = 0; i < 3; i++)
        fits = fits && token_holds(pattern->from[i], a->at[i], b->at[i]) &&
               token_holds(pattern->to[i], b->at[i], a->at[i]);
    return fits;
}

static bool moved(const place *a, const place *b, int64_t x, int64_t y,
                  int64_t z)
{
    return b->at[0] == a->at[0] + x && b->at[1] == a->at[1] + y &&
           b->at[2] == a->at[2] + z;
}

/* Axis i of the source, axis k of the target. */
static bool projected(const place *a, int i, const place *b, int k)
{
    int64_t c = a->at[i], from = a->size[i], v = b->at[k], to = b->size[k];
    return from >= to ? v == c * to / from : v * from / to == c;
}

static bool project_all(const place *a, const place *b, int x, int y, int z)
{
    return projected(a, x, b, 0) && projected(a, y, b, 1) &&
           projected(a, z, b, 2);
}

static bool from_end(const place *a, const place *b, int end)
{
    for (int i = 0; i < 3; i++)
        if (i == end ? a->at[i] != a->size[i] - 1 || b->at[i] != 0
                     : !projected(a, i, b, i))
            return false;
    return true;
}

static bool is_origin(const place *p)
{
    return p->at[0] == 0 && p->at[1] == 0 && p->at[2] == 0;
}

static bool is_last(const place *p)
{
    return p->at[0] == p->size[0] - 1 && p->at[1] == p->size[1] - 1 &&
           p->at[2] == p->size[2] - 1;
}

static bool bit(int64_t number, int64_t k)
{
    return k < 40 && number >> k & 1;
}

static bool function_connects(vly_rule rule, const place *a, const place *b)
{
    int64_t x = a->at[0];
    switch (rule) {
    case VLY_RULE_PROJECTOR:
        return project_all(a, b, 0, 1, 2);
    case VLY_RULE_PROJECTOR_XY:
        return project_all(a, b, 1, 0, 2);
    case VLY_RULE_PROJECTOR_XZ:
        return project_all(a, b, 2, 1, 0);
    case VLY_RULE_PROJECTOR_YZ:
        return project_all(a, b, 0, 2, 1);
    case VLY_RULE_PROJECT_FROM_END_X:
    case VLY_RULE_PROJECT_FROM_END_Y:
    case VLY_RULE_PROJECT_FROM_END_Z:
        return from_end(a, b, (int)rule - VLY_RULE_PROJECT_FROM_END_X);
    case VLY_RULE_BLOCK_TO_BLOCK:
        return moved(a, b, 0, 0, 0);
    case VLY_RULE_BLOCK_CONNECTION:
        return moved(a, b, x / 10 - x, 0, 0);
    case VLY_RULE_EXPANDER_X:
        return b->at[1] == 0 && b->at[2] == 0 && bit(b->at[0], x);
    case VLY_RULE_REDUCER_X:
        return b->at[1] == 0 && b->at[2] == 0 && bit(x, b->at[0]);
    case VLY_RULE_LATERAL_PAIRS_X:
        return moved(a, b, x % 2 ? -1 : 1, 0, 0) && b->at[0] < a->size[0];
    case VLY_RULE_LAST_TO_FIRST:
        return is_last(a) && is_origin(b);
    case VLY_RULE_ORIGIN_TO_ALL:
        return is_origin(a);
    case VLY_RULE_ALL_TO_ORIGIN:
        return is_origin(b);
    default: { /* lateral: +x -x +y -y +z -z */
        int64_t by[3] = {0, 0, 0};
        int which = (int)rule - VLY_RULE_LATERAL_PLUS_X;
        by[which / 2] = which % 2 ? -1 : 1;
        return moved(a, b, by[0], by[1], by[2]);
    }
    }
}

/* The place in its tile; false: the tile is left out. */
static bool tile_place(const vly_tiles *tiles, place *a)
{
    for (int i = 0; i < 3; i++) {
        int64_t seed = tiles->seed[i], number = a->at[i] / seed;
        int64_t choose = tiles->choose[i];
        if ((number + 1) * seed > a->size[i] ||
            number % (choose + tiles->skip[i]) >= choose)
            return false;
        a->at[i] -= number * seed;
        a->size[i] = seed;
    }
    return true;
}

static bool voxels_connect(const vly_pair *pair, vly_rule rule, const place *a,
                           const place *b)
{
    bool any = false;
    if (rule == VLY_RULE_COMPOSITE) {
        place tile = *a;
        return tile_place(&pair->tiles, &tile) &&
               voxels_connect(pair, pair->mapper, &tile, b);
    }
    for (uint32_t k = 0; rule == VLY_RULE_VECTORS && k < pair->n_vectors; k++)
        any |= moved(a, b, pair->vectors[k][0], pair->vectors[k][1],
                     pair->vectors[k][2]);
    for (uint32_t k = 0; rule == VLY_RULE_PATTERNS && k < pair->n_patterns; k++)
        any |= pattern_fits(&pair->patterns[k], a, b);
    if (rule == VLY_RULE_VECTORS || rule == VLY_RULE_PATTERNS)
        return any;
    return function_connects(rule, a, b);
}

/* ---- one projection ----------------------------------------------------- */

typedef struct projection {
    const vly_pair *pair;
    const vly_area *from;
    const vly_area *to;
    const uint64_t *row;
    const uint32_t *target; /* global ids */
} projection;

static bool draws(const vly_pair *pair)
{
    return pair->rule == VLY_RULE_FIXED_TOTAL_NUMBER ||
           pair->rule == VLY_RULE_FIXED_IN_DEGREE ||
           pair->rule == VLY_RULE_FIXED_OUT_DEGREE ||
           pair->rule == VLY_RULE_PAIRWISE_BERNOULLI ||
           vly_pair_mapper(pair) == VLY_RULE_RANDOMIZER;
}

static bool connected(const projection *p, uint32_t k, uint32_t t)
{
    if (p->from == p->to && !p->pair->self && k == t)
        return false;
    if (p->pair->rule == VLY_RULE_ALL_TO_ALL)
        return true;
    if (p->pair->rule == VLY_RULE_ONE_TO_ONE)
        return k == t;
    place a = place_of(p->from, k), b = place_of(p->to, t);
    return voxels_connect(p->pair, p->pair->rule, &a, &b);
}

static bool row_exact(const projection *p, uint32_t k)
{
    uint64_t i = p->row[k];
    for (uint32_t t = 0; t < p->to->n_neurons; t++)
        if (connected(p, k, t) &&
            (i >= p->row[k + 1] || p->target[i++] != p->to->first + t))
            return false;
    return i == p->row[k + 1];
}

/* All targets in one voxel, all of that voxel but itself. */
static bool row_of_a_voxel(const projection *p, uint32_t k)
{
    uint32_t each = p->to->neurons_per_voxel;
    uint64_t n = p->row[k + 1] - p->row[k];
    bool no_self = p->from == p->to && !p->pair->self;
    place tile = place_of(p->from, k);
    if (p->pair->rule == VLY_RULE_COMPOSITE &&
        !tile_place(&p->pair->tiles, &tile))
        return n == 0;
    if (n == 0)
        return no_self && each == 1;
    uint32_t voxel = (p->target[p->row[k]] - p->to->first) / each;
    bool own = no_self && k / each == voxel;
    for (uint64_t i = p->row[k]; i < p->row[k + 1]; i++)
        if ((p->target[i] - p->to->first) / each != voxel ||
            (i > p->row[k] && p->target[i] == p->target[i - 1]))
            return false;
    return n == each - own;
}

static bool row_allowed(const projection *p, uint32_t k)
{
    bool no_self = p->from == p->to && !p->pair->self;
    for (uint64_t i = p->row[k]; i < p->row[k + 1]; i++) {
        if (p->target[i] < p->to->first ||
            p->target[i] - p->to->first >= p->to->n_neurons ||
            (no_self && p->target[i] == p->from->first + k))
            return false;
        if (i > p->row[k] &&
            (p->target[i] < p->target[i - 1] ||
             (!p->pair->multiple && p->target[i] == p->target[i - 1])))
            return false;
    }
    return p->pair->rule != VLY_RULE_FIXED_OUT_DEGREE ||
           second_degree_allowed(p->pair, p->row[k + 1] - p->row[k]);
}

static bool in_degrees_right(const projection *p)
{
    uint32_t *degrees = calloc(p->to->n_neurons, sizeof *degrees);
    bool right = degrees != NULL;
    for (uint64_t i = 0; right && i < p->row[p->from->n_neurons]; i++)
        degrees[p->target[i] - p->to->first]++;
    for (uint32_t t = 0; right && t < p->to->n_neurons; t++)
        right = second_degree_allowed(p->pair, degrees[t]);
    free(degrees);
    return right;
}

/* What was counted before anything was made. */
static bool number_right(const vly_genome *genome, const projection *p,
                         uint64_t n)
{
    double counted = vly_voxel_synapses(genome, p->pair);
    return vly_voxel_exact(p->pair) ? (double)n == counted
                                    : (double)n <= counted;
}

static bool projection_right(const vly_genome *genome, const projection *p,
                             uint32_t *k)
{
    for (*k = 0; *k < p->from->n_neurons; (*k)++) {
        if (!row_allowed(p, *k) || (!draws(p->pair) && !row_exact(p, *k)))
            return false;
        if (vly_pair_mapper(p->pair) == VLY_RULE_RANDOMIZER &&
            !row_of_a_voxel(p, *k))
            return false;
    }
    uint64_t n = p->row[p->from->n_neurons];
    if (vly_rule_of_voxels(p->pair->rule) && !number_right(genome, p, n))
        return false;
    if (p->pair->rule == VLY_RULE_FIXED_TOTAL_NUMBER)
        return n == p->pair->count;
    if (p->pair->rule == VLY_RULE_FIXED_OUT_DEGREE)
        return second_degrees_likely(p->pair, n, p->from->n_neurons);
    return p->pair->rule != VLY_RULE_FIXED_IN_DEGREE ||
           (in_degrees_right(p) &&
            second_degrees_likely(p->pair, n, p->to->n_neurons));
}

/* True: a rule of second_space.h, *why NULL if it is right. */
static bool of_space(const vly_genome *genome, const vly_connectome *connectome,
                     uint32_t index, const second_joined *joined,
                     const char **why)
{
    vly_rule rule = genome->pairs[index].rule;
    bool right = false;
    if (rule == VLY_RULE_DISTANCE)
        right = second_distance_check(genome, connectome, index, joined, why);
    else if (rule == VLY_RULE_FILE)
        right = second_file_check(genome, connectome, index, joined, why);
    else
        return false;
    if (right)
        *why = NULL;
    return true;
}

/* Checks pair i; prints differences. */
static bool pair_right(const vly_genome *genome,
                       const vly_connectome *connectome, uint32_t i,
                       const second_joined *joined)
{
    const vly_pair *pair = &genome->pairs[i];
    projection p = {pair, &genome->areas[pair->from], &genome->areas[pair->to],
                    joined->row, joined->target};
    uint32_t k = 0;
    const char *why = NULL;
    if (of_space(genome, connectome, i, joined, &why)) {
        if (why)
            fprintf(stderr, "second rules: map %s, %s -> %s: wrong %s\n",
                    pair->map, p.from->name, p.to->name, why);
        return why == NULL;
    }
    if (projection_right(genome, &p, &k))
        return true;
    fprintf(stderr,
            "second rules: map %s, %s -> %s: the %s of neuron %u are not "
            "what rule %s says\n",
            pair->map, p.from->name, p.to->name,
            k < p.from->n_neurons ? "targets" : "synapses up to that",
            (unsigned)k, vly_rules[pair->rule].name);
    return false;
}

uint32_t second_rules_check(const vly_genome *genome,
                            const vly_connectome *connectome)
{
    uint32_t n_wrong = 0;
    for (uint32_t i = 0; i < genome->n_pairs; i++) {
        second_joined joined;
        uint32_t n_sources = genome->areas[genome->pairs[i].from].n_neurons;
        if (genome->pairs[i].pool) {
            uint32_t n = 1;
            n_wrong += !second_pool_check(genome, connectome, i, &n);
            i += n - 1;
            continue;
        }
        if (!second_joined_make(connectome, i, n_sources, &joined) ||
            !pair_right(genome, connectome, i, &joined))
            n_wrong++;
        second_joined_free(&joined);
    }
    return n_wrong;
}

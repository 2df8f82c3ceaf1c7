/* SPDX-License-Identifier: Apache-2.0
 * Rules between voxels, axis by axis.
 *
 * Source of the functions: feagi-core and the legacy engine of feagi (see
 * `volley doc RULE` for each). Ratios are exact here where FEAGI has floats,
 * and the bits of expander_x and reducer_x count from the lowest: FEAGI counts
 * from the highest of the binary text of the size, which gives the first
 * source voxel no target if the size is a power of two.
 */
#include "genome/voxel_rule.h"

#define NONE ((vly_axis_set){VLY_SET_ALL, 1, 0, 0})

/* ---- functions as relations --------------------------------------------- */

#define ANY VLY_PATTERN_ANY
#define SAME VLY_PATTERN_SAME
#define KIND(name)                                                             \
    {                                                                          \
        VLY_RELATION_##name, 0, 0                                              \
    }
#define TOKENS(from, to)                                                       \
    {                                                                          \
        VLY_RELATION_TOKENS, from, to                                          \
    }
#define SHIFT(by)                                                              \
    {                                                                          \
        VLY_RELATION_SHIFT, by, 0                                              \
    }
#define UNUSED SHIFT(0)

static const vly_voxel_rule functions[VLY_RULES] = {
#define VLY_FUNCTION(id, name, text, x, y, z, from_x, from_y, from_z)          \
    [VLY_RULE_##id] = {{x, y, z}, {from_x, from_y, from_z}},
#include "genome/rules/rules.def"
};

uint32_t vly_voxel_rule_count(const vly_pair *pair)
{
    if (vly_pair_mapper(pair) == VLY_RULE_VECTORS)
        return pair->n_vectors;
    return vly_pair_mapper(pair) == VLY_RULE_PATTERNS ? pair->n_patterns : 1;
}

void vly_voxel_rule_get(const vly_pair *pair, uint32_t k, vly_voxel_rule *rule)
{
    if (vly_rule_is_function(vly_pair_mapper(pair))) {
        *rule = functions[vly_pair_mapper(pair)];
        return;
    }
    for (uint32_t i = 0; i < 3; i++) {
        rule->source_axis[i] = i;
        rule->axis[i] = vly_pair_mapper(pair) == VLY_RULE_VECTORS
                            ? (vly_relation)SHIFT(pair->vectors[k][i])
                            : (vly_relation)TOKENS(pair->patterns[k].from[i],
                                                   pair->patterns[k].to[i]);
    }
}

/* ---- one axis ----------------------------------------------------------- */

static vly_axis_set one(int64_t v, uint32_t to)
{
    if (v < 0 || v >= to)
        return NONE;
    return (vly_axis_set){VLY_SET_ALL, (uint32_t)v, (uint32_t)v + 1, 0};
}

/* Both tokens have to hold for (c, v). */
static vly_axis_set reach_tokens(int32_t mine, int32_t theirs, uint32_t c,
                                 uint32_t to)
{
    bool same = mine == VLY_PATTERN_SAME || theirs == VLY_PATTERN_SAME;
    bool other = mine == VLY_PATTERN_OTHER || theirs == VLY_PATTERN_OTHER;
    if ((mine >= 0 && (uint32_t)mine != c) || (same && other))
        return NONE;
    if (theirs >= 0) {
        bool equal = (uint32_t)theirs == c;
        return (same && !equal) || (other && equal) ? NONE : one(theirs, to);
    }
    if (same)
        return one(c, to);
    return (vly_axis_set){other ? VLY_SET_BUT : VLY_SET_ALL, 0, to, c};
}

/* Source and target cover the same length: c reaches floor(c to / from) of a
 * smaller target and all v with floor(v from / to) == c of a larger one. */
static vly_axis_set reach_project(uint32_t c, uint32_t from, uint32_t to)
{
    if (from >= to)
        return one((int64_t)((uint64_t)c * to / from), to);
    uint64_t lo = ((uint64_t)c * to + from - 1) / from;
    uint64_t hi = ((uint64_t)(c + 1) * to + from - 1) / from;
    return (vly_axis_set){VLY_SET_ALL, (uint32_t)lo, (uint32_t)hi, 0};
}

vly_axis_set vly_relation_reach(const vly_relation *relation, uint32_t c,
                                uint32_t from, uint32_t to)
{
    switch (relation->kind) {
    case VLY_RELATION_TOKENS:
        return reach_tokens(relation->from, relation->to, c, to);
    case VLY_RELATION_PROJECT:
        return reach_project(c, from, to);
    case VLY_RELATION_LAST_TO_FIRST:
        return c + 1 == from ? one(0, to) : NONE;
    case VLY_RELATION_SHIFT:
        return one((int64_t)c + relation->from, to);
    case VLY_RELATION_DIVIDE:
        return one(c / VLY_BLOCK_VOXELS, to);
    case VLY_RELATION_PAIR:
        return (c ^ 1u) < from ? one(c ^ 1u, to) : NONE;
    case VLY_RELATION_EXPAND:
        return c < 31 ? (vly_axis_set){VLY_SET_BIT, 0, to, c} : NONE;
    default:
        return (vly_axis_set){VLY_SET_MASK, 0, to < 32 ? to : 32, c};
    }
}

/* ---- numbers ------------------------------------------------------------ */

static double least(double a, double b)
{
    return a < b ? a : b;
}

static double pairs_tokens(int32_t mine, int32_t theirs, double from, double to)
{
    bool same = mine == VLY_PATTERN_SAME || theirs == VLY_PATTERN_SAME;
    bool other = mine == VLY_PATTERN_OTHER || theirs == VLY_PATTERN_OTHER;
    double n_from = mine >= 0 ? mine < from : from;
    double n_to = theirs >= 0 ? theirs < to : to;
    double equal; /* pairs (c, c) that both numbers allow */
    if (mine >= 0 && theirs >= 0)
        equal = mine == theirs && mine < least(from, to);
    else if (mine >= 0 || theirs >= 0)
        equal = (mine >= 0 ? mine : theirs) < least(from, to);
    else
        equal = least(from, to);
    if (same)
        return other ? 0 : equal;
    return n_from * n_to - (other ? equal : 0);
}

/* Numbers below n with a bit set, over the first n_bits bits. */
static double pairs_bits(uint32_t n_bits, uint32_t n)
{
    double sum = 0;
    for (uint32_t bit = 0; bit < n_bits && bit < 31; bit++) {
        uint32_t rest = n & ((2u << bit) - 1);
        sum += (double)(n >> (bit + 1)) * (1u << bit);
        sum += rest > 1u << bit ? rest - (1u << bit) : 0;
    }
    return sum;
}

double vly_relation_pairs(const vly_relation *relation, uint32_t from,
                          uint32_t to)
{
    uint32_t less = from < to ? from : to;
    double shift = relation->from;
    double first, last;
    switch (relation->kind) {
    case VLY_RELATION_TOKENS:
        return pairs_tokens(relation->from, relation->to, from, to);
    case VLY_RELATION_PROJECT:
        return from > to ? from : to;
    case VLY_RELATION_LAST_TO_FIRST:
        return 1;
    case VLY_RELATION_SHIFT:
        first = shift < 0 ? -shift : 0;
        last = least(from, to - shift);
        return last > first ? last - first : 0;
    case VLY_RELATION_DIVIDE:
        return least(from, (double)to * VLY_BLOCK_VOXELS);
    case VLY_RELATION_PAIR: /* with an odd size the last coordinate has no
                             * partner */
        return less % 2 == 0 || less < from ? less : less - 1;
    case VLY_RELATION_EXPAND:
        return pairs_bits(from, to);
    default:
        return pairs_bits(to, from);
    }
}

/* Tiles that fit wholly into size voxels and are chosen. */
static double tiles_of(const vly_tiles *tiles, int axis, uint32_t size)
{
    uint32_t n = size / tiles->seed[axis];
    uint64_t period = (uint64_t)tiles->choose[axis] + tiles->skip[axis];
    uint64_t rest = n % period;
    return (double)(n / period) * tiles->choose[axis] +
           least((double)rest, tiles->choose[axis]);
}

double vly_voxel_synapses(const vly_genome *genome, const vly_pair *pair)
{
    const vly_area *from = &genome->areas[pair->from];
    const vly_area *to = &genome->areas[pair->to];
    bool composite = pair->rule == VLY_RULE_COMPOSITE;
    const uint32_t *size = composite ? pair->tiles.seed : from->voxels;
    double each = (double)from->neurons_per_voxel * to->neurons_per_voxel;
    double sum = 0;
    for (int i = 0; composite && i < 3; i++)
        each *= tiles_of(&pair->tiles, i, from->voxels[i]);
    if (vly_pair_mapper(pair) ==
        VLY_RULE_RANDOMIZER) /* a voxel for each neuron */
        return each * size[0] * size[1] * size[2];
    for (uint32_t k = 0; k < vly_voxel_rule_count(pair); k++) {
        vly_voxel_rule rule;
        double n = each;
        vly_voxel_rule_get(pair, k, &rule);
        for (int i = 0; i < 3; i++)
            n *= vly_relation_pairs(&rule.axis[i], size[rule.source_axis[i]],
                                    to->voxels[i]);
        sum += n;
    }
    return sum;
}

bool vly_voxel_exact(const vly_pair *pair)
{
    return (pair->self || pair->from != pair->to) &&
           (vly_pair_mapper(pair) != VLY_RULE_PATTERNS ||
            pair->n_patterns == 1);
}

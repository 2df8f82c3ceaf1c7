/* SPDX-License-Identifier: Apache-2.0
 * Rules between voxels: vectors, patterns, composite and FEAGI's functions. All
 * but randomizer define for each axis separately which coordinates of the
 * target a coordinate of the source reaches; a voxel reaches the voxels that
 * are reached on all three axes. So their synapses can be counted without
 * listing them.
 */
#ifndef VOLLEY_GENOME_VOXEL_RULE_H
#define VOLLEY_GENOME_VOXEL_RULE_H

#include "genome/rule_info.h"

#define VLY_PATTERNS_MAX 64u /* those of a rule are bits of one word */
#define VLY_BLOCK_VOXELS 10u /* block_connection */

static inline bool vly_rule_is_function(vly_rule rule)
{
    return vly_rule_is(rule, VLY_TRAIT_FUNCTION);
}
/* Whether both areas need voxels. */
static inline bool vly_rule_of_voxels(vly_rule rule)
{
    return vly_rule_is(rule, VLY_TRAIT_VOXELS);
}

/* Of a composite that of its tiles; else the rule itself. */
static inline vly_rule vly_pair_mapper(const vly_pair *pair)
{
    return pair->rule == VLY_RULE_COMPOSITE ? pair->mapper : pair->rule;
}

/* Relation of one axis. */
typedef enum vly_relation_kind {
    VLY_RELATION_TOKENS,        /* a pattern: from, to */
    VLY_RELATION_PROJECT,       /* scaled from the source's size */
    VLY_RELATION_LAST_TO_FIRST, /* the last coordinate reaches 0 */
    VLY_RELATION_SHIFT,         /* c reaches c + from */
    VLY_RELATION_DIVIDE,        /* c reaches c / 10 */
    VLY_RELATION_PAIR,          /* 2k and 2k + 1 reach each other */
    VLY_RELATION_EXPAND,        /* c reaches all v with bit c set */
    VLY_RELATION_REDUCE         /* c reaches all v with bit v of c set */
} vly_relation_kind;

typedef struct vly_relation {
    vly_relation_kind kind;
    int32_t from;
    int32_t to;
} vly_relation;

/* Relations of the three axes of the target, and the axis of the source that
 * each one reads. */
typedef struct vly_voxel_rule {
    vly_relation axis[3];
    uint32_t source_axis[3];
} vly_voxel_rule;

/* The number of rules whose union is a pair's rule: one for each vector or
 * pattern, otherwise 1. */
uint32_t vly_voxel_rule_count(const vly_pair *pair);
/* Number k of them; not of randomizer. */
void vly_voxel_rule_get(const vly_pair *pair, uint32_t k, vly_voxel_rule *rule);

/* Coordinates of the target on one axis: those of [lo, hi) that `only` lets
 * through. Empty: lo >= hi. */
typedef struct vly_axis_set {
    enum { VLY_SET_ALL, VLY_SET_BUT, VLY_SET_BIT, VLY_SET_MASK } only;
    uint32_t lo;
    uint32_t hi;
    uint32_t value; /* BUT: left out; BIT: number of the bit; MASK: the bits */
} vly_axis_set;

/* The coordinates among `to` voxels that coordinate c among `from` voxels of
 * the source reaches. */
vly_axis_set vly_relation_reach(const vly_relation *relation, uint32_t c,
                                uint32_t from, uint32_t to);
/* The first coordinate of the set at or after v; at least hi: none. */
static inline uint32_t vly_axis_next(const vly_axis_set *set, uint32_t v)
{
    v = v < set->lo ? set->lo : v;
    switch (set->only) {
    case VLY_SET_BUT:
        return v == set->value ? v + 1 : v;
    case VLY_SET_BIT:
        return ((v >> set->value | 1u) << set->value) |
               (v >> set->value & 1u ? v & ((1u << set->value) - 1) : 0);
    case VLY_SET_MASK:
        while (v < set->hi && !(set->value >> v & 1u))
            v++;
        return v;
    default:
        return v;
    }
}
/* Pairs (c, v) with v reached by c < from, v < to. */
double vly_relation_pairs(const vly_relation *relation, uint32_t from,
                          uint32_t to);

/* Upper bound of the synapses of a pair; exact if no synapse is left out (self)
 * and no two rules of a union overlap. */
double vly_voxel_synapses(const vly_genome *genome, const vly_pair *pair);
/* Whether that number is exact. */
bool vly_voxel_exact(const vly_pair *pair);

#endif

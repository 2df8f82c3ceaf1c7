/* SPDX-License-Identifier: Apache-2.0
 * The tables of the connection rules (genome/rules) as data.
 */
#ifndef VOLLEY_GENOME_RULE_INFO_H
#define VOLLEY_GENOME_RULE_INFO_H

#include "genome/genome.h"

typedef enum vly_rule_trait {
    VLY_TRAIT_EQUAL_SIZES = 1, /* both areas have as many neurons */
    VLY_TRAIT_DRAWS_PAIRS = 2, /* a pair may come twice: key multiple */
    VLY_TRAIT_VOXELS = 4,      /* both areas need voxels */
    VLY_TRAIT_FUNCTION = 8     /* of voxels, as [morphology] names one */
} vly_rule_trait;

/* Which key says how many synapses. */
typedef enum vly_rule_size {
    VLY_SIZE_NONE,
    VLY_SIZE_P,
    VLY_SIZE_COUNT,
    VLY_SIZE_IN_DEGREE,
    VLY_SIZE_OUT_DEGREE
} vly_rule_size;

typedef struct vly_rule_info {
    const char *name;
    const char *keys;
    const char *text;
    const char *note;  /* NULL: none */
    const char *empty; /* NULL: a pair without synapses is not noted */
    uint32_t traits;
    vly_rule_size size;
} vly_rule_info;

extern const vly_rule_info vly_rules[VLY_RULES];

/* VLY_RULES if no rule has that name. */
vly_rule vly_rule_find(const char *name);

static inline bool vly_rule_is(vly_rule rule, vly_rule_trait trait)
{
    return rule < VLY_RULES && (vly_rules[rule].traits & (uint32_t)trait) != 0;
}

#endif

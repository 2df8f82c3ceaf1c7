/* SPDX-License-Identifier: Apache-2.0
 * SONATA's edge types: values that edges of one type have in common.
 */
#ifndef VOLLEY_GENOME_EDGE_TYPES_H
#define VOLLEY_GENOME_EDGE_TYPES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "genome/edge_list.h"

typedef enum vly_edge_type_value {
    VLY_EDGE_TYPE_WEIGHT, /* syn_weight, unit of the target's port */
    VLY_EDGE_TYPE_DELAY,  /* ms */
    VLY_EDGE_TYPE_NSYNS,
    VLY_EDGE_TYPE_VALUES
} vly_edge_type_value;

typedef struct vly_edge_type {
    int64_t id;
    bool has[VLY_EDGE_TYPE_VALUES]; /* false: NULL in the file, or no column */
    double value[VLY_EDGE_TYPE_VALUES];
} vly_edge_type;

typedef struct vly_edge_types {
    const char *name;    /* of the file, for messages; borrowed */
    vly_edge_type *list; /* ascending by id */
    uint32_t n;
    uint32_t capacity;
    bool has[VLY_EDGE_TYPE_VALUES]; /* a type has it */
    char left[VLY_EDGE_LEFT]; /* columns with values that have no effect */
} vly_edge_types;

/* Columns separated by blanks, NULL for no value (SONATA's developer guide).
 * name
 * outlives it.
 * Errors  E_PARSE with a place; E_NOMEM. deinit is legal after a failure. */
vly_status vly_edge_types_init(vly_edge_types *types, FILE *file,
                               const char *name, vly_error *error);
void vly_edge_types_deinit(vly_edge_types *types);
/* NULL: no such type */
const vly_edge_type *vly_edge_types_find(const vly_edge_types *types,
                                         int64_t id);

#endif

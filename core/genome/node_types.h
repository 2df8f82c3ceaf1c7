/* SPDX-License-Identifier: Apache-2.0
 * SONATA's node types: a value that nodes of one type have in common, in the
 * table itself or in a file of its model (dynamics_params).
 */
#ifndef VOLLEY_GENOME_NODE_TYPES_H
#define VOLLEY_GENOME_NODE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

/* Bytes of a file of dynamics_params. */
#define VLY_NODE_PARAMS_MAX ((size_t)16 << 20)

typedef struct vly_node_type {
    int64_t id;
    bool has; /* value is there */
    double value;
    char *params; /* file of dynamics_params; NULL: none, or not needed */
    char *kind;   /* model_type and model_template, with texts; NULL: none */
    char *model;
} vly_node_type;

typedef struct vly_node_types {
    const char *name;    /* of the file, for messages; borrowed */
    vly_node_type *list; /* ascending by id */
    uint32_t n;
    uint32_t capacity;
} vly_node_types;

/* Columns separated by blanks, NULL for no value (SONATA's developer guide).
 * column   the value's; NULL: texts of the model instead of a value
 * name     outlives it
 * Errors   E_PARSE with a place; E_NOMEM. deinit is legal after a failure. */
vly_status vly_node_types_init(vly_node_types *types, FILE *file,
                               const char *name, const char *column,
                               vly_error *error);
void vly_node_types_deinit(vly_node_types *types);
/* NULL: no such type */
const vly_node_type *vly_node_types_find(const vly_node_types *types,
                                         int64_t id);

/* A member of the JSON object in text[n].
 * *has     false: there is no such member
 * Errors   E_PARSE "name:line:column: ..." no JSON object, the member is no
 *          number, or stands twice; E_NOMEM */
vly_status vly_node_params_find(const char *text, size_t n, const char *name,
                                const char *member, bool *has, double *value,
                                vly_error *error);
/* Appends members of the object that are not in known[n_known], each once, to
 * the text in out, as "a, b", or "a, ..." if there is no room for more.
 * Errors  as of vly_node_params_find */
vly_status vly_node_params_others(const char *text, size_t n, const char *name,
                                  const char *const *known, uint32_t n_known,
                                  char *out, size_t size, vly_error *error);

#endif

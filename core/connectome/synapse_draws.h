/* SPDX-License-Identifier: Apache-2.0
 * Values that synapses draw: synapse i of a pair, counted row by row, draws
 * word i of the pair's sequence. A synapse is known by its place after sorting,
 * so no permutation is kept, and the values do not depend on the order in which
 * pairs were drawn.
 */
#ifndef VOLLEY_CONNECTOME_SYNAPSE_DRAWS_H
#define VOLLEY_CONNECTOME_SYNAPSE_DRAWS_H

#include <stdatomic.h>

#include "connectome/connectome_make.h"

/* One array of values. */
typedef struct vly_draw_work {
    vly_made_pair *made;
    vly_draws draws;
    vly_discrete table; /* owned; without a guide: one value */
    bool given;         /* weights that the map gives, synapse_given.c */
    int32_t q;          /* of weights */
    vly_status status;  /* of the table */
    uint64_t n;
    int16_t *weight; /* one of the four */
    int32_t *value;
    uint8_t *delay;
    uint16_t *far;
    _Atomic int32_t least;
    _Atomic int32_t most;
} vly_draw_work;

/* Arrays that are drawn together, so that threads synchronise once. */
typedef struct vly_draw_batch {
    vly_draw_work *works;
    vly_item *items;
    uint32_t n;
} vly_draw_batch;

/* Errors  E_NOMEM */
vly_status vly_batch_init(vly_draw_batch *batch, uint32_t room,
                          vly_error *error);
void vly_batch_deinit(vly_draw_batch *batch);
/* The next array, of at most room. */
vly_draw_work *vly_batch_add(vly_draw_batch *batch, vly_made_pair *made);
/* Draws all arrays. */
void vly_batch_draw(vly_maker *maker, vly_draw_batch *batch);
/* The sequence of a pair: purpose is "weight" or "delay".
 * Errors  E_NOMEM */
vly_status vly_batch_stream(vly_maker *maker, const vly_made_pair *made,
                            const char *purpose, vly_draws *draws);

/* E_PARSE at the place of the value, with the map. */
vly_status vly_synapses_refuse(vly_maker *maker, const vly_made_pair *made,
                               const vly_value *value, const char *what,
                               const char *reason);

#endif

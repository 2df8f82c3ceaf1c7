/* SPDX-License-Identifier: Apache-2.0
 * Associative memory: synapses between two areas that are made when their
 * neurons fire together, and learn by FEAGI's rule. Only those that exist take
 * memory and time.
 */
#ifndef VOLLEY_ENGINE_ASSOCIATION_H
#define VOLLEY_ENGINE_ASSOCIATION_H

#include <stdbool.h>

#include "connectome/connectome.h"

/* Spikes of one burst: global ids, ascending, and their gains. */
typedef struct vly_memory_spikes {
    const uint32_t *ids;
    const uint32_t *gains;
    uint32_t n_ids;
    uint64_t burst;
} vly_memory_spikes;

/* Index of the first spike whose id is not below `id`. */
uint32_t vly_memory_spikes_find(const vly_memory_spikes *spikes, uint32_t id);

/* A synapse at one of its ends. */
typedef struct vly_association_end {
    uint32_t other;  /* index in the area of the other end */
    uint32_t weight; /* of a row; 0 of a column */
} vly_association_end;

/* Ends of one neuron, by `other` ascending. */
typedef struct vly_association_row {
    vly_association_end *ends; /* [room] owned */
    uint32_t n;
    uint32_t room;
} vly_association_row;

/* One of the two areas. */
typedef struct vly_association_side {
    uint32_t area;
    uint32_t first; /* global id */
    uint32_t n;     /* neurons */
    /* [n] above 0: the bursts in a row, up to the last one, in which the neuron
     * fired; otherwise minus the bursts since its last spike; at most the
     * window */
    int32_t *past;
    vly_association_row *rows; /* [n] */
    uint32_t *lately;          /* [n_lately] that fired within the window */
    uint32_t n_lately;
} vly_association_side;

typedef struct vly_association_net {
    const vly_association *association;
    vly_association_side sides[2]; /* from, to; rows of from have weights */
    uint32_t n_bursts;             /* at most the window */
    uint64_t n_synapses;
    /* what a burst sends to each side: sums, and which neurons have one */
    int64_t *sums[2];
    uint32_t *reached[2];
    uint32_t n_reached[2];
    bool *is_reached[2];
} vly_association_net;

vly_status vly_association_init(vly_association_net *net,
                                const vly_association *association,
                                const vly_connectome *connectome,
                                vly_error *error);
void vly_association_deinit(vly_association_net *net);
/* Changes weights and makes synapses after a burst; then sets what its spikes
 * send: sums, reached and n_reached of both sides. Errors  E_NOMEM */
vly_status vly_association_step(vly_association_net *net,
                                const vly_memory_spikes *spikes,
                                vly_error *error);
/* A memory forgot the pattern of this neuron: its synapses are removed and its
 * past is cleared. vly_association_list must follow. */
void vly_association_forget(vly_association_net *net, uint32_t area,
                            uint32_t neuron);
/* Adds a synapse that is not there. Errors  E_NOMEM */
vly_status vly_association_add(vly_association_net *net, uint32_t from,
                               uint32_t to, uint32_t weight, vly_error *error);
/* Lists the neurons that fired within the window, after `past` was set. */
void vly_association_list(vly_association_net *net);

#endif

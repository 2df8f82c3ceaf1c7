/* SPDX-License-Identifier: Apache-2.0
 * The memories and associations of a net. They act on the host between two
 * bursts, so they are the same on every backend: a neuron of a memory fires in
 * the next burst by injected input. Exact, because patterns are compared and
 * everything has an order: areas, then cells, then bursts.
 */
#ifndef VOLLEY_ENGINE_MEMORY_NET_H
#define VOLLEY_ENGINE_MEMORY_NET_H

#include "connectome/connectome.h"
#include "engine/association.h"
#include "engine/memory_table.h"
#include "engine/pending.h"

/* One burst of the areas of a memory: of each area, in order, the number of its
 * spikes and their indexes in the area. A pattern is such frames in a row. */
typedef struct vly_memory_frame {
    uint32_t *words; /* [room] owned */
    uint64_t n_words;
    uint64_t room;
    uint64_t n_spikes;
} vly_memory_frame;

typedef struct vly_memory_area {
    const vly_memory_rule *memory;
    uint32_t first; /* global id of its first neuron */
    vly_memory_table table;
    vly_memory_frame *frames; /* [temporal_depth] a ring */
    uint32_t oldest;          /* index of the oldest frame */
    uint32_t n_frames;
    uint64_t n_spikes; /* of all frames */
    uint64_t n_made;   /* cells so far */
    uint64_t n_seen;   /* patterns seen again */
    uint64_t n_forgotten;
    uint64_t n_dropped; /* patterns for which there was no free cell */
} vly_memory_area;

typedef struct vly_memory_net {
    const vly_connectome *connectome;
    vly_memory_area *areas; /* [n_areas] in the order of the connectome */
    uint32_t n_areas;
    vly_association_net *associations; /* as of the connectome */
    uint32_t n_associations;
    uint32_t *known; /* [known_room] ids, then gains, of `associate` */
    uint64_t known_room;
    uint32_t *pattern; /* [pattern_room] the present window */
    uint64_t pattern_room;
} vly_memory_net;

/* No pattern known, no synapse. *net is NULL if the connectome has neither
 * memories nor associations.
 * Errors  E_NOMEM */
vly_status vly_memory_net_create(const vly_connectome *connectome,
                                 vly_memory_net **net, vly_error *error);
void vly_memory_net_destroy(vly_memory_net *net);
/* After a burst: adds to pending what fires in later ones.
 * Errors  E_NOMEM; the net cannot go on then */
vly_status vly_memory_net_step(vly_memory_net *net,
                               const vly_memory_spikes *spikes,
                               vly_pending *pending, vly_error *error);

/* ---- memory_words.c: as a row of words --------------------------------- */

/* The state of it all, the same words for the same state. Owned; without
 * memories and associations there are none. */
typedef struct vly_memory_words {
    uint32_t *words;
    uint64_t n_words;
} vly_memory_words;

vly_status vly_memory_words_take(const vly_memory_net *net,
                                 vly_memory_words *words, vly_error *error);
vly_status vly_memory_words_copy(const vly_memory_words *words,
                                 vly_memory_words *copy, vly_error *error);
void vly_memory_words_release(vly_memory_words *words);
/* Their part of the state digest; 0 without words. */
uint64_t vly_memory_words_digest(const vly_memory_words *words);
/* Whether they are of this connectome. Errors  E_INVALID, E_NOMEM */
vly_status vly_memory_words_fit(const vly_connectome *connectome,
                                const vly_memory_words *words,
                                vly_error *error);
/* A net of them. *net is NULL if the connectome has none.
 * Errors  E_INVALID words that do not fit the connectome; E_NOMEM */
vly_status vly_memory_net_read(const vly_connectome *connectome,
                               const vly_memory_words *words,
                               vly_memory_net **net, vly_error *error);

#endif

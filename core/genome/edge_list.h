/* SPDX-License-Identifier: Apache-2.0
 * Synapses given by a file: limits of each, and the sorted list.
 */
#ifndef VOLLEY_GENOME_EDGE_LIST_H
#define VOLLEY_GENOME_EDGE_LIST_H

#include <stdio.h>

#include "base/error.h"
#include "genome/genome.h"

#define VLY_EDGES_MAX 2147483647u

typedef enum vly_edge_part {
    VLY_EDGE_SOURCE,
    VLY_EDGE_TARGET,
    VLY_EDGE_WEIGHT,
    VLY_EDGE_DELAY,
    VLY_EDGE_PARTS
} vly_edge_part;

#define VLY_EDGE_LEFT 600 /* bytes */

/* The map's options for its file. */
typedef struct vly_edge_spec {
    const vly_area *from;
    const vly_area *to;
    const char *weight_suffix; /* of the target's port, "" without */
    const char *population;    /* of SONATA, or the map of a table with several;
                                * NULL: the only one */
    const struct vly_edge_types *types; /* SONATA; NULL: none given */
    bool self;
    bool multiple;
    bool map_weight; /* the map gives it: the file must not */
    bool map_delay;
    double dt_ms;
    char *left; /* [VLY_EDGE_LEFT] SONATA: names in the file that are not used;
                 * NULL: not wanted */
} vly_edge_spec;

typedef struct vly_edge {
    uint32_t source;
    uint32_t target;
    double weight;
    double delay;   /* ms, or bursts */
    uint64_t place; /* line or index, for messages */
} vly_edge;

#define VLY_EDGE_SENTENCE 240

#define VLY_EDGE_DELAY_BITS 8u

/* A delay, as it was written, and what it becomes; bursts 0: none yet. */
typedef struct vly_edge_delay_seen {
    uint64_t bits;
    uint32_t bursts;
    uint32_t is_rounded;
} vly_edge_delay_seen;

/* A list while it grows. */
typedef struct vly_edge_maker {
    const vly_edge_spec *spec;
    vly_error *error;
    bool has_weight;
    bool has_delay;
    bool delay_bursts; /* not milliseconds */
    bool counted;      /* places are 0, 1, ...: they are not kept */
    bool unsorted;     /* an edge came before its predecessor */
    uint32_t *source;
    uint32_t *target;
    double *weight;
    const double *lent; /* weights by place, if counted: they are not copied;
                         * NULL: weight has them */
    uint32_t *delay;
    uint32_t *place; /* cut to 32 bits */
    uint64_t n;
    uint64_t capacity;
    uint64_t n_rounded;
    /* delays of a list have few values: the last of each kind */
    vly_edge_delay_seen seen[1u << VLY_EDGE_DELAY_BITS];
} vly_edge_maker;

void vly_edges_init(vly_edge_maker *maker, const vly_edge_spec *spec,
                    vly_error *error);
void vly_edges_deinit(vly_edge_maker *maker);
/* Room for n edges, so that it need not grow; optional. Errors  E_NOMEM */
vly_status vly_edges_reserve(vly_edge_maker *maker, uint64_t n);
/* Appends an edge. *part: the part that is wrong (the message has the reason),
 * or VLY_EDGE_PARTS if none. Ids are in range already.
 * Errors  E_NOMEM */
vly_status vly_edges_add(vly_edge_maker *maker, const vly_edge *edge,
                         vly_edge_part *part, char sentence[VLY_EDGE_SENTENCE]);
/* Bursts of a delay, which is counted if it is off the grid; 0 and a sentence:
 * it is invalid. */
uint32_t vly_edge_delay(vly_edge_maker *maker, double delay,
                        char sentence[VLY_EDGE_SENTENCE]);
/* The largest size of a weight. */
double vly_edge_weight_most(const vly_edge_spec *spec);
/* Sorts. *twice: place of a duplicate edge, 0 if none; with a duplicate no list
 * is returned. The caller frees the list with vly_edges_destroy.
 * Errors  E_NOMEM */
vly_status vly_edges_finish(vly_edge_maker *maker, uint64_t *twice,
                            vly_edge_list **list);
void vly_edges_destroy(vly_edge_list *list);

/* Readers. name is for messages: "name:line:column: ...", "name: ...".
 * Errors  E_PARSE; E_NOMEM. */
vly_status vly_edges_from_table(FILE *file, const char *name,
                                const vly_edge_spec *spec, vly_edge_list **list,
                                vly_error *error);
/* E_UNSUPPORTED: this build has no HDF5. */
vly_status vly_edges_from_sonata(const char *path, const char *name,
                                 const vly_edge_spec *spec,
                                 vly_edge_list **list, vly_error *error);

#endif

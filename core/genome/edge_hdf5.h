/* SPDX-License-Identifier: Apache-2.0
 * The data that the child process sends to its parent while it reads SONATA
 * edges: frames over a pipe, each followed by its edges.
 */
#ifndef VOLLEY_GENOME_EDGE_HDF5_H
#define VOLLEY_GENOME_EDGE_HDF5_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VLY_SONATA_BLOCK 16384u /* edges read at a time */
#define VLY_SONATA_POPULATION 200
#define VLY_SONATA_GROUP 20 /* bytes of its number */

/* X(NAME, its name, 1 in the edge group or 0 in the population) */
#define VLY_SONATA_SET_TABLE(X)                                                \
    X(SOURCE, "source_node_id", 0)                                             \
    X(TARGET, "target_node_id", 0)                                             \
    X(WEIGHT, "syn_weight", 1)                                                 \
    X(DELAY, "delay", 1)                                                       \
    X(NSYNS, "nsyns", 1)                                                       \
    X(TYPE, "edge_type_id", 0)                                                 \
    X(ORDER, "edge_group_index", 0)                                            \
    X(GROUP_ID, "edge_group_id", 0)

typedef enum vly_sonata_set {
#define VLY_SONATA_SET_ENUM(NAME, name, in_group) VLY_SONATA_##NAME,
    VLY_SONATA_SET_TABLE(VLY_SONATA_SET_ENUM)
#undef VLY_SONATA_SET_ENUM
        VLY_SONATA_SETS
} vly_sonata_set;

/* The sets that are sent are the first ones. */
#define VLY_SONATA_SENT VLY_SONATA_ORDER

typedef struct vly_sonata_ask {
    const char *path;
    const char *name;             /* for messages */
    const char *population;       /* NULL: the only one */
    bool skip[VLY_SONATA_SENT];   /* the map gives it: not read */
    bool needed[VLY_SONATA_SENT]; /* no other source gives it */
} vly_sonata_ask;

typedef enum vly_sonata_kind {
    VLY_SONATA_FAILED = 1, /* text says why; the last frame */
    VLY_SONATA_BEGIN,      /* text: the population; group, has, total */
    VLY_SONATA_LEFT,       /* text: a name in the file that is not used */
    VLY_SONATA_EDGES,      /* n of them follow, set by set, of those it has */
    VLY_SONATA_TOP,        /* of vly_hdf5_about: what the file has, in top */
    VLY_SONATA_ABOUT, /* text: a population of edges; n edge groups, group, has,
                         total */
    VLY_SONATA_END
} vly_sonata_kind;

typedef struct vly_sonata_frame {
    uint32_t kind;
    uint32_t n;
    uint64_t total;
    uint32_t has[VLY_SONATA_SENT];
    uint32_t top[5];              /* spikes, report, edges, mean, nodes */
    char group[VLY_SONATA_GROUP]; /* number of the edge group */
    char text[1024];
} vly_sonata_frame;

typedef union vly_sonata_column {
    int64_t whole[VLY_SONATA_BLOCK];
    double number[VLY_SONATA_BLOCK]; /* syn_weight, delay, nsyns */
} vly_sonata_column;

typedef struct vly_sonata_block {
    vly_sonata_column sets[VLY_SONATA_SETS];
} vly_sonata_block;

/* "edge_type_id", "0/delay" */
void vly_sonata_set_name(vly_sonata_set set, const char *group, char *out,
                         size_t n_out);

/* False: this build has no HDF5. */
bool vly_hdf5_built(void);
/* Reads the file and writes frames to out, the last one FAILED or END, unless
 * HDF5 crashes or does not end: then a signal ends the process. Runs in a child
 * process; allocates no memory through the engine. */
void vly_hdf5_send(const vly_sonata_ask *ask, vly_sonata_block *block, int out);
/* The same for a description of the file, without reading its edges. */
void vly_hdf5_about(const vly_sonata_ask *ask, int out);

#endif

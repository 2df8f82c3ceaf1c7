/* SPDX-License-Identifier: Apache-2.0
 * The data that the child process sends to its parent while it reads SONATA
 * nodes: frames over a pipe, each followed by its numbers.
 */
#ifndef VOLLEY_GENOME_NODE_HDF5_H
#define VOLLEY_GENOME_NODE_HDF5_H

#include <stdint.h>

#define VLY_NODES_BLOCK 16384u /* numbers read at a time */
#define VLY_NODES_NAME 200     /* bytes of a population, of a column */
#define VLY_NODES_GROUPS 256u

/* X(NAME, its name in the population, 1: it must exist) */
#define VLY_NODES_SET_TABLE(X)                                                 \
    X(TYPE, "node_type_id", 1)                                                 \
    X(GROUP, "node_group_id", 0)                                               \
    X(INDEX, "node_group_index", 0)                                            \
    X(ID, "node_id", 0)

typedef enum vly_nodes_set {
#define VLY_NODES_SET_ENUM(NAME, name, needed) VLY_NODES_##NAME,
    VLY_NODES_SET_TABLE(VLY_NODES_SET_ENUM)
#undef VLY_NODES_SET_ENUM
        VLY_NODES_SETS
} vly_nodes_set;

typedef struct vly_nodes_ask {
    const char *path;
    const char *name;       /* for messages */
    const char *population; /* NULL: the only one */
    const char *column;     /* no slash in it */
} vly_nodes_ask;

typedef enum vly_nodes_kind {
    VLY_NODES_FAILED = 1, /* text says why; the last frame */
    VLY_NODES_BEGIN,      /* text: the population; has, total nodes */
    VLY_NODES_NODES,      /* n of them follow, set by set, of those it has */
    VLY_NODES_VALUES,     /* group has a column of total values, which follow */
    VLY_NODES_PART,       /* n of them */
    VLY_NODES_END
} vly_nodes_kind;

typedef struct vly_nodes_frame {
    uint32_t kind;
    uint32_t n;
    uint64_t total;
    uint64_t group;
    uint32_t has[VLY_NODES_SETS];
    char text[1024];
} vly_nodes_frame;

typedef struct vly_nodes_block {
    int64_t whole[VLY_NODES_SETS][VLY_NODES_BLOCK];
    double number[VLY_NODES_BLOCK];
} vly_nodes_block;

const char *vly_nodes_set_name(vly_nodes_set set);

/* Reads the file and writes frames to out, the last one FAILED or END, unless
 * HDF5 crashes or does not end: then a signal ends the process. Runs in a child
 * process; allocates no memory through the engine. */
void vly_nodes_send(const vly_nodes_ask *ask, vly_nodes_block *block, int out);

#endif

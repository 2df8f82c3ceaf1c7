/* SPDX-License-Identifier: Apache-2.0
 * What the process that reads SONATA edges hands to the one that asked: frames
 * over a pipe, each followed by its edges.
 */
#ifndef VOLLEY_GENOME_EDGE_HDF5_H
#define VOLLEY_GENOME_EDGE_HDF5_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VLY_SONATA_BLOCK 16384u /* edges read at a time */
#define VLY_SONATA_POPULATION 200

typedef struct vly_sonata_ask {
    const char *path;
    const char *name;       /* for messages */
    const char *population; /* NULL: the only one */
    bool map_weight;        /* the map gives it: not read */
    bool map_delay;
} vly_sonata_ask;

typedef enum vly_sonata_kind {
    VLY_SONATA_FAILED = 1, /* text says why; the last frame */
    VLY_SONATA_BEGIN,      /* text: the population; has_*, total */
    VLY_SONATA_EDGES,      /* n of them follow: source, target, weight, delay */
    VLY_SONATA_END
} vly_sonata_kind;

typedef struct vly_sonata_frame {
    uint32_t kind;
    uint32_t n;
    uint64_t total;
    uint32_t has_weight;
    uint32_t has_delay;
    char text[1024];
} vly_sonata_frame;

typedef struct vly_sonata_block {
    int64_t source[VLY_SONATA_BLOCK];
    int64_t target[VLY_SONATA_BLOCK];
    int64_t order[VLY_SONATA_BLOCK];
    double weight[VLY_SONATA_BLOCK];
    double delay[VLY_SONATA_BLOCK];
} vly_sonata_block;

/* False: this build has no HDF5. */
bool vly_hdf5_built(void);
/* Reads the file and writes frames to out, the last one FAILED or END, unless
 * HDF5 crashes or finds no end: then a signal takes the process. For a process
 * of its own; allocates nothing by the engine's table. */
void vly_hdf5_send(const vly_sonata_ask *ask, vly_sonata_block *block, int out);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Projections that learn, on a device. The host has the same arrays only while
 * a net is made and while a snapshot is taken (vly_common_traces).
 */
#ifndef VOLLEY_CUDA_LEARNING_H
#define VOLLEY_CUDA_LEARNING_H

#include "backends/common/common_ranks.h"
#include "cuda_base.h"
#include "cuda_own_rows.h"
#include "kernels/cuda/learning_kernels.h"

/* A projection that learns, where ranks run the net. */
typedef struct vly_cuda_rank_map {
    vly_cuda_own_rows rows;
    int32_t *master;      /* [synapses] of all ranks, as of the last refresh */
    int32_t *eligibility; /* the same, or NULL */
} vly_cuda_rank_map;

typedef struct vly_cuda_plastic {
    vly_cuda_learnings view;              /* for kernels; n 0: nothing learns */
    vly_cuda_learning *on_device;         /* view.list */
    vly_cuda_learning *list;              /* [view.n] the same on the host */
    uint32_t *projection;                 /* [view.n] */
    vly_cuda_rank_map *ranks;             /* [view.n]; NULL: without ranks */
    vly_cuda_short_term *short_on_device; /* view.short_term */
    vly_cuda_short_term *short_list;      /* [view.n_short] on the host */
    uint32_t *short_projection;           /* [view.n_short] */
    uint64_t n_synapses;   /* on this device, of all maps with plasticity */
    uint64_t bytes;        /* of these as here; a plan may have its own order */
    uint64_t flushed;      /* burst of the last flush by the host */
    uint64_t swept;        /* burst of the last change by eligibilities */
    vly_cuda_given *given; /* [given_room] on the device */
    uint64_t given_room;
    bool by_users; /* a map learns by a rule of a user; set first of all */
} vly_cuda_plastic;

/* Whether projections learn or have short-term plasticity. */
bool vly_cuda_learns(const vly_cuda_shard *shard);
/* Everything of the projections that learn, from the snapshot. */
vly_status vly_cuda_learning_create(vly_cuda_shard *shard,
                                    const vly_snapshot *snapshot,
                                    vly_error *error);
/* Before a launch at net->burst: ages must not grow beyond 31 bits, and the
 * plan gets its order of synapses back. */
vly_status vly_cuda_learning_prepare(vly_cuda_shard *shard, vly_error *error);
/* Brings all synapses up to date, in the order of their projection: what reads
 * or writes masters and traces calls it. Until the next launch. */
vly_status vly_cuda_learning_flush(vly_cuda_shard *shard, vly_error *error);
/* n synapses of this size each are on the device, in rows of n_sources. */
static inline void vly_cuda_learning_count(vly_cuda_plastic *plastic,
                                           uint64_t n, uint64_t size,
                                           uint64_t n_sources)
{
    plastic->n_synapses += n;
    plastic->bytes += n * size + (n_sources + 1) * sizeof(uint64_t);
}
/* Synapses of number i of those that learn. */
uint64_t vly_cuda_learning_synapses(const vly_cuda_shard *shard, uint32_t i);
/* cuda_learning_state.c: the weights of a snapshot. */
vly_status vly_cuda_learning_save(vly_cuda_shard *shard, uint32_t *words,
                                  vly_error *error);
/* Adds their hashes to done->digest on the device. */
vly_status vly_cuda_learning_digest(vly_cuda_shard *shard, vly_error *error);
/* The number of a projection among those that learn (it is one); the device is
 * entered and idle, and all weights are up to date. */
vly_status vly_cuda_learning_begin(vly_backend_net *net, uint32_t projection,
                                   uint32_t *i, vly_error *error);
vly_status vly_cuda_learning_write(vly_backend_net *net, uint32_t projection,
                                   uint64_t first, uint64_t count,
                                   const int32_t *masters, vly_error *error);
vly_status vly_cuda_learning_set(vly_backend_net *net, uint32_t projection,
                                 const vly_learning_desc *learning,
                                 vly_error *error);

/* ---- cuda_learning_ranks.c --------------------------------------------- */

/* From the words of a snapshot; rows belong to the map then. */
vly_status vly_cuda_rank_map_create(vly_cuda_shard *shard,
                                    const vly_cuda_own_rows *rows,
                                    const uint32_t *words, bool modulated,
                                    vly_cuda_rank_map *map, vly_error *error);
/* After a flush: this rank's synapses to the host. */
vly_status vly_cuda_learning_fetch(vly_cuda_shard *shard, vly_error *error);
/* A rank's synapses on the host, to or from a message, in the order of the CPU
 * backend. */
void vly_cuda_learning_move(const vly_cuda_shard *shard, uint32_t rank,
                            vly_common_words *w);

#endif

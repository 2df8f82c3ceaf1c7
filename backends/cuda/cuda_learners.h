/* SPDX-License-Identifier: Apache-2.0
 * Maps that learn in the plan with accumulators in shared memory: the synapses
 * of each block, made from the rows of cuda_learning and moved back to them.
 */
#ifndef VOLLEY_CUDA_LEARNERS_H
#define VOLLEY_CUDA_LEARNERS_H

#include "cuda_base.h"

#include "kernels/cuda/learner_kernels.h"

typedef struct vly_cuda_learner_set {
    vly_cuda_learners view; /* for kernels; n 0: none */
    uint32_t *cursor;       /* on the device, for moves */
    uint64_t bytes;         /* of synapses */
} vly_cuda_learner_set;

/* Why the plan cannot run the maps with plasticity, or NULL. */
const char *vly_cuda_learners_unfit(const vly_cuda_shard *shard);
/* Targets whose newest spikes a block has in shared memory, of all maps; 0 if
 * nothing learns. */
uint32_t vly_cuda_learners_newest(const vly_cuda_shard *shard,
                                  uint32_t n_blocks);
/* From what cuda_learning has, for shard->resident. A failure is cleaned up by
 * release. */
vly_status vly_cuda_learners_create(vly_cuda_shard *shard, vly_error *error);
void vly_cuda_learners_release(vly_cuda_shard *shard);
/* Enqueues a launch; a cudaError_t. */
int vly_cuda_learners_launch(const vly_cuda_shard *shard,
                             const vly_cuda_launch *launch);
/* Enqueues the way back: all weights and traces, up to date at net->burst. */
vly_status vly_cuda_learners_out(vly_cuda_shard *shard, vly_error *error);
/* Enqueues the way in: traces, which are up to date at net->burst, and, if
 * wanted, weights. Takes over the parameters of cuda_learning. */
vly_status vly_cuda_learners_in(vly_cuda_shard *shard, bool weights,
                                vly_error *error);

#endif

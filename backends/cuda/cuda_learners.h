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
    uint64_t bytes;         /* of synapses and of what blocks know of sources */
    uint64_t n_words;       /* of view.log */
    uint64_t words[VLY_CUDA_LEARNERS]; /* [n] in which a row can be sorted */
    bool by_target[VLY_CUDA_LEARNERS]; /* [n] masters have that order */
    bool is_out; /* no launch before vly_cuda_learners_in */
} vly_cuda_learner_set;

/* Why the plan cannot run the maps with plasticity, or NULL. */
const char *vly_cuda_learners_unfit(const vly_cuda_shard *shard);
/* Targets whose newest spikes a block has in shared memory, of all maps; 0 if
 * nothing learns. */
uint32_t vly_cuda_learners_newest(const vly_cuda_shard *shard,
                                  uint32_t n_blocks);
/* Numbers in the tables of both traces if one map learns, by a rule that has a
 * kernel of its own, rounded up to 16 bytes; 0 if not, or if they are many. */
uint32_t vly_cuda_learners_factors(const vly_cuda_shard *shard);
/* Memory for shard->resident. A failure is cleaned up by release. */
vly_status vly_cuda_learners_create(vly_cuda_shard *shard, vly_error *error);
/* After that, once no other plan will be made: masters by block, from what
 * cuda_learning has; frees the targets. */
vly_status vly_cuda_learners_take(vly_cuda_shard *shard, vly_error *error);
void vly_cuda_learners_release(vly_cuda_shard *shard);
/* Enqueues a launch; a cudaError_t. spliced: a kernel that the driver has
 * compiled, or NULL. */
int vly_cuda_learners_launch(const vly_cuda_shard *shard,
                             const vly_cuda_launch *launch,
                             const void *spliced);
/* As learning_out and learning_in of a plan. */
vly_status vly_cuda_learners_out(vly_cuda_shard *shard, vly_error *error);
vly_status vly_cuda_learners_in(vly_cuda_shard *shard, vly_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Maps that learn in the plan with accumulators in shared memory: structures on
 * the device and launchers.
 *
 * A block has the synapses of its neurons, and it alone changes them. What it
 * knows of sources it has for itself, so that blocks exchange nothing but ids.
 * What all blocks have of one source lies side by side: they read it in the
 * same burst, and a line of memory then serves several of them.
 */
#ifndef VOLLEY_CUDA_LEARNER_KERNELS_H
#define VOLLEY_CUDA_LEARNER_KERNELS_H

#include "learning_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a block knows of a source: burst of its last arrival, traces before, and
 * the place of its first synapse in the block. */
typedef struct vly_cuda_arrival {
    uint32_t arrived;
    float before[2]; /* 0 where the rule has no such trace */
    uint32_t at;
} vly_cuda_arrival;

/* One projection that learns. The synapses of source k in block b are [at[r],
 * at[r + 1]), r = k * n_blocks + b, targets ascending. Entry b of the source
 * has the same bounds, its own `at` and that of the next entry. */
typedef struct vly_cuda_learner {
    const uint64_t *at;       /* [n_sources * n_blocks + 1] */
    uint16_t *number;         /* of the target in its block */
    int32_t *master;          /* as vly_cuda_learning.master */
    vly_cuda_arrival *source; /* [n_sources][n_blocks + 1] */
    uint32_t newest_at;       /* in shared memory, in targets ... */
    uint32_t low;             /* ... and the number of the first of them */
    uint32_t n_newest;
    uint32_t shift;        /* 1 << shift threads are busy with a source */
    uint32_t most_fetched; /* spikes of a burst whose rows fit into the cache */
} vly_cuda_learner;

/* One argument of a kernel; each block has a copy in shared memory. */
#define VLY_CUDA_LEARNERS 8u /* projections that learn at most */
typedef struct vly_cuda_learners {
    vly_cuda_learning list[VLY_CUDA_LEARNERS];  /* [n] */
    vly_cuda_learner blocks[VLY_CUDA_LEARNERS]; /* [n] */
    uint32_t *log;     /* [n_blocks][log_mask + 1] ids of the last bursts */
    uint32_t *flushed; /* [n_blocks] burst up to which synapses are folded */
    uint32_t *full;    /* [n_blocks] 1: the next launch begins with a flush */
    uint32_t *wanted;  /* [1] burst of the last flush of a block */
    uint32_t log_mask;
    uint32_t n;
    uint32_t base_delay; /* the shortest */
    uint32_t reserved;
} vly_cuda_learners;

/* Words of shared memory of a block beside those of vly_cuda_resident. */
#define VLY_CUDA_LEARNER_WORDS 4u
#define VLY_CUDA_LEARNER_BYTES (sizeof(vly_cuda_learners) + 80u)

/* As vly_cuda_launch_resident, for a net with maps that learn. */
cudaError_t vly_cuda_launch_learners(const vly_cuda_view *view,
                                     const vly_cuda_launch *launch,
                                     const vly_cuda_resident *resident,
                                     const vly_cuda_learners *learners,
                                     cudaStream_t stream);
/* The spikes of all targets before `burst` are folded into every synapse. */
cudaError_t vly_cuda_launch_learners_flush(const vly_cuda_view *view,
                                           const vly_cuda_resident *resident,
                                           const vly_cuda_learners *learners,
                                           uint64_t burst, cudaStream_t stream);
/* burst_learner_rules.cu: both for nets in which maps learn by rules of users.
 */
cudaError_t vly_cuda_launch_learner_rules(const vly_cuda_view *view,
                                          const vly_cuda_launch *launch,
                                          const vly_cuda_resident *resident,
                                          const vly_cuda_learners *learners,
                                          cudaStream_t stream);
cudaError_t vly_cuda_launch_learner_rules_flush(
    const vly_cuda_view *view, const vly_cuda_resident *resident,
    const vly_cuda_learners *learners, uint64_t burst, cudaStream_t stream);

/* at[k * n_blocks + b + 1] += synapses of source k in block b; at is 0 before
 * and gets its sums by vly_cuda_launch_row_sums. */
cudaError_t vly_cuda_launch_learner_count(const vly_cuda_learning *learning,
                                          uint32_t n_blocks, uint64_t *at,
                                          cudaStream_t stream);
/* Moves synapses between the rows of a projection and the blocks: inwards,
 * masters and, if number is not NULL, numbers of targets; outwards, masters.
 * cursor[n_sources * n_blocks] must be 0. */
cudaError_t vly_cuda_launch_learner_move(const vly_cuda_learning *learning,
                                         const vly_cuda_learner *learner,
                                         uint32_t n_blocks, uint16_t *number,
                                         uint32_t *cursor, uint32_t outwards,
                                         cudaStream_t stream);
/* The same for what is known of sources and, outwards, the newest spikes of
 * targets and the burst of the last flush. */
cudaError_t vly_cuda_launch_learner_states(const vly_cuda_learning *learning,
                                           const vly_cuda_learner *learner,
                                           uint32_t n_blocks, uint32_t burst,
                                           uint32_t outwards,
                                           cudaStream_t stream);
/* The kernel of such a launch, whose shared memory must be allowed. */
const void *vly_cuda_learners_kernel(const vly_cuda_view *view,
                                     const vly_cuda_resident *resident);

#ifdef __cplusplus
}
#endif
#endif

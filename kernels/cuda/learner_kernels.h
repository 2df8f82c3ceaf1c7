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

/* One projection that learns. A row has two orders: by block and then by target
 * in a launch, by target where something reads or writes weights. Its place is
 * the same, so the masters are those of vly_cuda_learning. The synapses of
 * source k in block b are from `at` of its entry b to that of the next one. */
typedef struct vly_cuda_learner {
    uint16_t *number;         /* of the target in its block, always by block */
    int32_t *master;          /* vly_cuda_learning.master */
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

/* As vly_cuda_launch_resident, for a net with maps that learn; a kernel that
 * the driver has compiled (spliced, or NULL) has users' rules, too. */
cudaError_t vly_cuda_launch_learners(const vly_cuda_view *view,
                                     const vly_cuda_launch *launch,
                                     const vly_cuda_resident *resident,
                                     const vly_cuda_learners *learners,
                                     const void *spliced, cudaStream_t stream);
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

/* Memory for moves: n_warps take the rows, each with `size` words. */
typedef struct vly_cuda_learner_work {
    uint32_t *words;
    uint32_t size; /* synapses of the longest row, and one for each key: numbers
                    * of targets from `low` on, or blocks */
    uint32_t n_warps;
} vly_cuda_learner_work;

/* From rows by target: numbers, where the synapses of each source and block
 * are, and masters by block. */
cudaError_t vly_cuda_launch_learner_make(const vly_cuda_learning *learning,
                                         const vly_cuda_learner *learner,
                                         uint32_t n_blocks,
                                         const vly_cuda_learner_work *work,
                                         cudaStream_t stream);
/* Masters by target (outwards) or by block. Targets are not read: a row by
 * target is what the numbers sort stably. */
cudaError_t vly_cuda_launch_learner_move(const vly_cuda_learning *learning,
                                         const vly_cuda_learner *learner,
                                         const vly_cuda_learner_work *work,
                                         uint32_t outwards,
                                         cudaStream_t stream);
/* What is known of sources to or from the blocks; outwards, the newest spikes
 * of targets and the burst of the last flush, too, and ages are renewed. */
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

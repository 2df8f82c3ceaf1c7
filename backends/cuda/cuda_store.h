/* SPDX-License-Identifier: Apache-2.0
 * The synapses of a shard whose weights stay as they are: in rows by source,
 * from which a plan packs what its kernels read. Maps that learn are kept apart
 * (cuda_learning.h).
 */
#ifndef VOLLEY_CUDA_STORE_H
#define VOLLEY_CUDA_STORE_H

#include "cuda_base.h"

/* Rows are sent through so many slots of pinned memory of this size; larger
 * only for a row that is longer. */
#define VLY_CUDA_ROW_SLOTS 3u
#define VLY_CUDA_ROW_BYTES (UINT64_C(8) << 20)

typedef struct vly_cuda_store {
    /* The net without the projections that learn. Plans look at no other
     * description where synapses matter. */
    const vly_net_desc *fixed;
    vly_cuda_group *groups; /* [view.n_groups] as on the device */
    uint64_t n_synapses;    /* fixed ones */
} vly_cuda_store;

/* Makes the rows of the fixed projections by source, one group for each base
 * delay, unless they exist. A failure frees them. */
vly_status vly_cuda_store_create(vly_cuda_shard *shard, vly_error *error);
/* Sends the fixed projections piece by piece, those with delays in [first,
 * last], and calls take for each of them, which enqueues the kernel that reads
 * it (0 or a cudaError_t). */
typedef int (*vly_cuda_take)(vly_cuda_shard *shard, const vly_cuda_part *part,
                             const vly_projection_desc *p, void *arg);
vly_status vly_cuda_store_pieces(vly_cuda_shard *shard, uint32_t first,
                                 uint32_t last, vly_cuda_take take, void *arg,
                                 vly_error *error);
/* Frees the rows, after the plan has packed them or has failed. */
void vly_cuda_store_release(vly_cuda_shard *shard);

#endif

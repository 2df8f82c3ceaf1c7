/* SPDX-License-Identifier: Apache-2.0
 * The synapses of a shard whose weights stay as they are: in rows by source,
 * from which a plan packs what its kernels read. Maps that learn are kept apart
 * (cuda_learning.h).
 */
#ifndef VOLLEY_CUDA_STORE_H
#define VOLLEY_CUDA_STORE_H

#include "cuda_base.h"

typedef struct vly_cuda_store {
    /* The net without the projections that learn. Plans look at no other
     * description where synapses matter. */
    const vly_net_desc *fixed;
    vly_cuda_group *groups; /* [view.n_groups] as on the device */
    uint64_t n_synapses;    /* fixed ones */
} vly_cuda_store;

/* Rows of the fixed projections by source, one group for each base delay,
 * unless they are there; nothing is left of them after a failure. */
vly_status vly_cuda_store_create(vly_cuda_shard *shard, vly_error *error);
/* Frees the rows, after the plan has packed them or when it is given up. */
void vly_cuda_store_release(vly_cuda_shard *shard);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * The synapses of a shard. A projection is fixed, or mutable while the net
 * runs. Fixed ones are in rows by source, from which a plan packs the data of
 * its kernels. A mutable one would be kept whole and delivered by a further
 * pass after the plan's, which would not pack it. The host cannot request one
 * yet, so all projections are fixed.
 */
#ifndef VOLLEY_CUDA_STORE_H
#define VOLLEY_CUDA_STORE_H

#include "cuda_base.h"

typedef struct vly_cuda_store {
    /* The net without its mutable projections. For synapses, plans read only
     * this description. */
    const vly_net_desc *fixed;
    vly_cuda_group *groups; /* [view.n_groups] as on the device */
    uint64_t n_synapses;    /* fixed ones */
} vly_cuda_store;

/* Makes the rows of the fixed projections by source, one group for each base
 * delay, unless they exist. A failure frees them. */
vly_status vly_cuda_store_create(vly_cuda_shard *shard, vly_error *error);
/* Frees the rows, after the plan has packed them or has failed. */
void vly_cuda_store_release(vly_cuda_shard *shard);

#endif

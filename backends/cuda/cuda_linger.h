/* SPDX-License-Identifier: Apache-2.0
 * Launches that stay on the device between short runs.
 */
#ifndef VOLLEY_CUDA_LINGER_H
#define VOLLEY_CUDA_LINGER_H

#include "cuda_base.h"

typedef struct vly_cuda_lingering {
    vly_cuda_mailbox *mailbox; /* pinned */
    vly_cuda_answer *answer;   /* pinned */
    vly_cuda_relay *relay;     /* on the device */
    vly_cuda_linger launch;
    vly_cuda_done told; /* of the launch, in the last answer */
    uint64_t ended_ns;  /* of the last run */
    uint32_t is_on;     /* 1: the launch may be there, and was not told to go */
    uint32_t number;    /* of the last launch or command */
    uint32_t n_left;    /* bursts that the launch may still run */
    uint32_t n_quick;   /* runs in a row that followed quickly */
    uint32_t fits;      /* the plan, ... */
    uint32_t n_changes; /* ... which is the one after so many changes, plus 1 */
} vly_cuda_lingering;

/* Whether a short launch, whose inputs are from input_from on, is to be run by
 * one that stays on the device afterwards. */
int vly_cuda_linger_fits(vly_cuda_shard *shard, const vly_run *run,
                         uint64_t input_from, const vly_cuda_launch *launch);
/* Runs it, and leaves done, records, ranges and ids in the places of a short
 * launch. */
vly_status vly_cuda_linger_run(vly_cuda_shard *shard, const vly_run *run,
                               uint64_t *input_from,
                               const vly_cuda_launch *launch, vly_error *error);
/* Tells a launch that stays to go, before the net is used in another way: the
 * stream is behind it. Does not wait. */
void vly_cuda_settle(vly_cuda_shard *shard);

#endif

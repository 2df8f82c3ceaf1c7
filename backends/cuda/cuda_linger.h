/* SPDX-License-Identifier: Apache-2.0
 * Launches that stay on the device between short runs.
 */
#ifndef VOLLEY_CUDA_LINGER_H
#define VOLLEY_CUDA_LINGER_H

#include "cuda_base.h"

#include <stdbool.h>

typedef struct vly_cuda_lingering {
    vly_cuda_mailbox *mailbox; /* pinned */
    vly_cuda_answer *answer;   /* pinned */
    vly_cuda_relay *relay;     /* on the device */
    vly_cuda_linger launch;
    vly_cuda_done told; /* results of the launch in the last answer */
    uint64_t ended_ns;  /* end of the last run */
    uint32_t is_on;     /* 1: the launch may be running and was not told to
                         * end */
    uint32_t number;    /* number of the last launch or command */
    uint32_t n_left;    /* bursts that the launch may still run */
    uint32_t n_quick;   /* successive runs at short intervals */
    uint32_t fits;      /* result for the plan ... */
    uint32_t n_changes; /* ... with this count of changes, plus 1 */
} vly_cuda_lingering;

/* Should a short run, whose inputs are from input_from on, be done by a launch
 * that stays on the device afterwards? */
bool vly_cuda_linger_fits(vly_cuda_shard *shard, const vly_run *run,
                          uint64_t input_from, const vly_cuda_launch *launch);
/* Runs it, and stores done, records, ranges and ids in the places of a short
 * launch. */
vly_status vly_cuda_linger_run(vly_cuda_shard *shard, const vly_run *run,
                               uint64_t *input_from,
                               const vly_cuda_launch *launch, vly_error *error);
/* Tells a staying launch to end, before any other use of the net, whose work
 * waits in the stream. Does not wait. */
void vly_cuda_settle(vly_cuda_shard *shard);

#endif

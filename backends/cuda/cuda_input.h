/* SPDX-License-Identifier: Apache-2.0
 * Input of the host for a launch.
 */
#ifndef VOLLEY_CUDA_INPUT_H
#define VOLLEY_CUDA_INPUT_H

#include "cuda_base.h"

/* Input of the host for one launch: the first index of each burst, then the
 * inputs. One allocation, so that one copy is enough. */
typedef struct vly_cuda_inputs {
    uint32_t *words;    /* on the device */
    uint32_t *words_at; /* pinned */
    uint64_t room;      /* words */
} vly_cuda_inputs;

/* Number of inputs of a launch; *from is advanced to the first of them. */
uint64_t vly_cuda_inputs_find(const vly_run *run, uint64_t *from,
                              const vly_cuda_launch *launch);
/* Enqueues their copy; *from is advanced to the first. */
vly_status vly_cuda_inputs_send(vly_cuda_shard *shard, const vly_run *run,
                                uint64_t *from, vly_cuda_launch *launch,
                                vly_error *error);

#endif

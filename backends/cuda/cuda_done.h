/* SPDX-License-Identifier: Apache-2.0
 * Results of a launch: counters and flags on the device.
 */
#ifndef VOLLEY_CUDA_DONE_H
#define VOLLEY_CUDA_DONE_H

#include "cuda_base.h"

/* Allocates memory for the results of launches. */
vly_status vly_cuda_done_create(vly_cuda_shard *shard, vly_error *error);
/* Sets shard->done to results that are 0 when their launch begins. */
vly_status vly_cuda_done_next(vly_cuda_shard *shard, vly_error *error);

#endif

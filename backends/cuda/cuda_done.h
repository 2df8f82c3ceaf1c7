/* SPDX-License-Identifier: Apache-2.0
 * What a launch leaves of itself.
 */
#ifndef VOLLEY_CUDA_DONE_H
#define VOLLEY_CUDA_DONE_H

#include "cuda_base.h"

/* Room for what launches leave. */
vly_status vly_cuda_done_create(vly_cuda_shard *shard, vly_error *error);
/* shard->done: one that is 0 when its launch begins */
vly_status vly_cuda_done_next(vly_cuda_shard *shard, vly_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Maps that learn by a rule of windows, on a device.
 */
#ifndef VOLLEY_CUDA_WINDOW_H
#define VOLLEY_CUDA_WINDOW_H

#include "backends/common/common_traces.h"
#include "cuda_shard.h"

/* The runs of both sides, as of `burst`. */
vly_status vly_cuda_window_put(vly_cuda_shard *shard,
                               const vly_common_window *from, uint32_t burst,
                               vly_cuda_learning *l, vly_error *error);
vly_status vly_cuda_window_get(vly_cuda_shard *shard,
                               const vly_cuda_learning *l,
                               vly_common_window *to, vly_error *error);

#endif

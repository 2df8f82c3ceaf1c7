/* SPDX-License-Identifier: Apache-2.0
 * Stimuli on the device.
 */
#ifndef VOLLEY_CUDA_STIMULUS_H
#define VOLLEY_CUDA_STIMULUS_H

#include "cuda_base.h"

vly_status vly_cuda_stimulus_create(vly_cuda_shard *shard, vly_error *error);
vly_status vly_cuda_stimulus_write(vly_backend_net *net, uint32_t index,
                                   const vly_stimulus_desc *desc,
                                   vly_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * State in and out.
 */
#ifndef VOLLEY_CUDA_SNAPSHOT_H
#define VOLLEY_CUDA_SNAPSHOT_H

#include "cuda_base.h"

vly_status vly_cuda_snapshot_read(vly_backend_net *net, vly_snapshot *snapshot,
                                  vly_error *error);
/* Of synapses [first, first + count) of a projection that learns. */
vly_status vly_cuda_weights_read(vly_backend_net *net, uint32_t projection,
                                 uint64_t first, uint64_t count,
                                 int32_t *masters, vly_error *error);
vly_status vly_cuda_field_read(vly_backend_net *net, uint32_t area,
                               uint32_t field, uint32_t first, uint32_t count,
                               uint32_t *words, vly_error *error);
vly_status vly_cuda_field_write(vly_backend_net *net, uint32_t area,
                                uint32_t field, uint32_t first, uint32_t count,
                                const uint32_t *words, vly_error *error);
vly_status vly_cuda_state_digest(vly_backend_net *net, uint64_t *digest,
                                 vly_error *error);

#endif

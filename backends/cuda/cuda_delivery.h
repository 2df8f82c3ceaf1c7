/* SPDX-License-Identifier: Apache-2.0
 * Rows by source on the device.
 */
#ifndef VOLLEY_CUDA_DELIVERY_H
#define VOLLEY_CUDA_DELIVERY_H

#include "cuda_base.h"

/* Rows by source, one group for each base delay, from the projections; nothing
 * is left of them after a failure. */
vly_status vly_cuda_delivery_create(vly_cuda_shard *shard, vly_error *error);
void vly_cuda_delivery_release(vly_cuda_shard *shard);

#endif

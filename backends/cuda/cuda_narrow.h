/* SPDX-License-Identifier: Apache-2.0
 * Proves whether sums of 16 bits are enough for a net.
 */
#ifndef VOLLEY_CUDA_NARROW_H
#define VOLLEY_CUDA_NARROW_H

#include "cuda_base.h"

/* *holds: 1 if sums of 16 bits are enough for all events of a burst; all delays
 * must be equal. shard->divisors are set then. */
vly_status vly_cuda_narrow_prove(vly_cuda_shard *shard, uint32_t *holds,
                                 vly_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Shifts of weights in the resident plan.
 */
#ifndef VOLLEY_CUDA_SHIFTS_H
#define VOLLEY_CUDA_SHIFTS_H

#include "cuda_base.h"

#include <stdbool.h>

/* Limit of additional synapses of the resident plan: one in so many of the
 * net's synapses. */
#define VLY_CUDA_SHIFT_SHARE 4u
/* Sets resident->step, by its slice. Synapses outside their class are split
 * into several; returns 0 if there would be too many. */
bool vly_cuda_shifts_fit(const vly_cuda_shard *shard,
                         vly_cuda_resident *resident);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Shifts of weights in the resident plan.
 */
#ifndef VOLLEY_CUDA_SHIFTS_H
#define VOLLEY_CUDA_SHIFTS_H

#include "cuda_base.h"

/* More synapses of the resident plan at most: one in so many of a net's. */
#define VLY_CUDA_SHIFT_SHARE 4u
/* Sets resident->step, by its slice; 0 if synapses, with those beyond their
 * class as several of them, would become too many. */
int vly_cuda_shifts_fit(const vly_cuda_shard *shard,
                        vly_cuda_resident *resident);

#endif

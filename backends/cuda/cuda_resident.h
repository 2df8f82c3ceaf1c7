/* SPDX-License-Identifier: Apache-2.0
 * The plan with accumulators in shared memory.
 */
#ifndef VOLLEY_CUDA_RESIDENT_H
#define VOLLEY_CUDA_RESIDENT_H

#include "cuda_plan.h"

extern const vly_cuda_plan vly_cuda_plan_resident;

#endif

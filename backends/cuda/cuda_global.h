/* SPDX-License-Identifier: Apache-2.0
 * The plan for every net.
 */
#ifndef VOLLEY_CUDA_GLOBAL_H
#define VOLLEY_CUDA_GLOBAL_H

#include "cuda_plan.h"

extern const vly_cuda_plan vly_cuda_plan_global;

#endif

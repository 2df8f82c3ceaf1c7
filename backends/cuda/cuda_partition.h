/* SPDX-License-Identifier: Apache-2.0
 * The plan with rows by slice of targets.
 */
#ifndef VOLLEY_CUDA_PARTITION_H
#define VOLLEY_CUDA_PARTITION_H

#include "cuda_plan.h"

extern const vly_cuda_plan vly_cuda_plan_partitioned;

#endif

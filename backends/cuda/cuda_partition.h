/* SPDX-License-Identifier: Apache-2.0
 * The plan with rows by slice of targets.
 */
#ifndef VOLLEY_CUDA_PARTITION_H
#define VOLLEY_CUDA_PARTITION_H

#include "cuda_plan.h"

extern const vly_cuda_plan vly_cuda_plan_partitioned;

/* Words of 32 bits of the gate and of the mail of all blocks, on one device. */
uint64_t vly_cuda_partition_gate_words(const vly_cuda_partition *partition);
uint64_t vly_cuda_partition_mail_words(const vly_cuda_partition *partition);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Rules of plasticity of users on a device: their operations as steps of an
 * interpreter (kernels/cuda/users_rule.cuh), in plans `global` and `resident`.
 */
#ifndef VOLLEY_CUDA_RULES_H
#define VOLLEY_CUDA_RULES_H

#include "cuda_base.h"
#include "kernels/cuda/learning_kernels.h"

/* Whether a map learns by a rule of a user: plastic.by_users, made once. */
bool vly_cuda_has_rules(const vly_net_desc *desc);
/* The steps and the numbers of a rule of a user on the device, and what l says
 * of them in place of coefficients (vly_cuda_users_rule; all 0 before the first
 * time, which allocates). */
vly_status vly_cuda_rules_put(vly_cuda_shard *shard,
                              const vly_learning_desc *learning,
                              vly_cuda_learning *l, vly_error *error);
/* Enqueues what brings all synapses up to net->burst, by whichever rules; a
 * cudaError_t. */
int vly_cuda_rules_launch_flush(const vly_cuda_shard *shard);

#endif

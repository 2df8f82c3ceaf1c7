/* SPDX-License-Identifier: Apache-2.0
 * The list of plans, and which one a shard runs by.
 */
#ifndef VOLLEY_CUDA_PLANS_H
#define VOLLEY_CUDA_PLANS_H

#include "cuda_plan.h"

#define VLY_CUDA_N_PLANS 3u

/* Plan i of the list, the one that is preferred first. */
const vly_cuda_plan *vly_cuda_plan_at(uint32_t i);
/* Chooses a plan by what the caller asked for and by sizes. */
vly_status vly_cuda_plan_choose(vly_cuda_shard *shard, vly_error *error);
/* Rows, and what the plan keeps for events that are under way. Not asked for, a
 * plan that does not fit whole makes room for the next one, which is logged.
 * Errors  E_NOMEM  none fits; what was made is freed with the net */
vly_status vly_cuda_plan_create(vly_cuda_shard *shard, vly_error *error);
/* Puts events that are under way where the plan has them, and waits. */
vly_status vly_cuda_plan_restore(vly_cuda_shard *shard, vly_error *error);
/* After a launch, between bursts. 1: another plan is to be made, as the events
 * of the bursts so far say that it would have been worth making by now. */
int vly_cuda_plan_review(vly_cuda_shard *shard, uint32_t n_bursts,
                         uint64_t n_events);
/* Makes the other plan. No launch may stay on the device. */
vly_status vly_cuda_plan_change(vly_cuda_shard *shard, vly_error *error);

#endif

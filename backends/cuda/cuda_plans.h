/* SPDX-License-Identifier: Apache-2.0
 * The list of plans, and which one a shard runs by.
 */
#ifndef VOLLEY_CUDA_PLANS_H
#define VOLLEY_CUDA_PLANS_H

#include "cuda_plan.h"

#include <stdbool.h>

#define VLY_CUDA_N_PLANS 3u

/* Plan i of the list, in order of preference. */
const vly_cuda_plan *vly_cuda_plan_at(uint32_t i);
/* Chooses a plan by the option of the caller and by sizes. */
vly_status vly_cuda_plan_choose(vly_cuda_shard *shard, vly_error *error);
/* Makes the rows and the plan's structures for events in transit. If a plan was
 * not requested and does not fit completely, the next one is tried, which is
 * logged.
 * Errors  E_NOMEM none fits; the data is freed with the net */
vly_status vly_cuda_plan_create(vly_cuda_shard *shard, vly_error *error);
/* Moves events in transit to the structures of the plan, and waits. */
vly_status vly_cuda_plan_restore(vly_cuda_shard *shard, vly_error *error);
/* Called after a launch, between bursts. 1: change to the other plan, because
 * by the events of the bursts so far the change would already have paid off. */
bool vly_cuda_plan_review(vly_cuda_shard *shard, uint32_t n_bursts,
                          uint64_t n_events);
/* Makes the other plan. No launch may be staying on the device. */
vly_status vly_cuda_plan_change(vly_cuda_shard *shard, vly_error *error);

#endif

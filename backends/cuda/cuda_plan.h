/* SPDX-License-Identifier: Apache-2.0
 * Plans: ways in which a net runs on a device. Each is a table of functions in
 * a file of its own; cuda_plans.c lists and chooses them. The rest of the
 * backend calls the table of the plan at hand and never asks which one it is.
 */
#ifndef VOLLEY_CUDA_PLAN_H
#define VOLLEY_CUDA_PLAN_H

#include "cuda_base.h"

/* How a net fits a plan. */
typedef struct vly_cuda_fit {
    const char *why;  /* it does not fit; NULL: it fits */
    uint32_t is_poor; /* 1: another plan that fits is better */
} vly_cuda_fit;

/* Functions that may be NULL say so. int: a cudaError_t. */
typedef struct vly_cuda_plan {
    const char *name; /* of the option plan= */
    /* 1: E_UNSUPPORTED of create means that rows are too large for the plan,
     * and another plan may be made instead */
    uint32_t has_limits;
    /* Chooses sizes. Nothing of the plan is allocated. */
    vly_status (*fit)(vly_cuda_shard *shard, vly_cuda_fit *fit,
                      vly_error *error);
    /* What is allocated before all else of the net. NULL: nothing */
    vly_status (*reserve)(vly_cuda_shard *shard, vly_error *error);
    /* What the plan keeps, from the rows by source, which it may free.
     * *is_made: 0 if that is not worth its memory. What was made before a
     * failure is freed by release. */
    vly_status (*create)(vly_cuda_shard *shard, uint32_t *is_made,
                         vly_error *error);
    /* Enqueues what puts events that are under way where the plan has them. */
    vly_status (*restore)(vly_cuda_shard *shard, vly_error *error);
    /* Enqueues a launch. */
    int (*launch)(vly_cuda_shard *shard, const vly_cuda_launch *launch);
    /* After the launch has run so many bursts. NULL: nothing to do */
    void (*ran)(vly_cuda_shard *shard, uint32_t n_bursts);
    /* *fits: whether launches can stay between runs. NULL: never */
    int (*linger_fit)(vly_cuda_shard *shard, int *fits);
    /* Enqueues a launch that stays for n_bursts at most. NULL as linger_fit */
    int (*linger)(vly_cuda_shard *shard, const vly_cuda_launch *launch,
                  const vly_cuda_linger *linger, uint32_t n_bursts);
    /* Nanoseconds of a burst with so many events. NULL: not known, so no
     * review changes to the plan, which must be the last of the list */
    double (*cost_ns)(double n_events);
    /* Fills info->plan. synapses: of the net, at least 1 */
    void (*say)(const vly_cuda_shard *shard, double synapses,
                vly_net_info *info);
    /* Frees what reserve and create made. */
    void (*release)(vly_cuda_shard *shard);
} vly_cuda_plan;

#endif

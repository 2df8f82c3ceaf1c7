/* SPDX-License-Identifier: Apache-2.0
 * Plans: ways to run a net on a device. Each is a table of functions in a
 * separate file; cuda_plans.c lists and chooses them. The rest of the backend
 * calls the table of the present plan and never checks which plan it is.
 */
#ifndef VOLLEY_CUDA_PLAN_H
#define VOLLEY_CUDA_PLAN_H

#include "cuda_base.h"

/* The result of a check whether a net fits a plan. */
typedef struct vly_cuda_fit {
    const char *why;  /* reason why it does not fit; NULL: it fits */
    uint32_t is_poor; /* 1: any other plan that fits is better */
} vly_cuda_fit;

/* "NULL:" marks functions that may be NULL. int: a cudaError_t. */
typedef struct vly_cuda_plan {
    const char *name; /* of the option plan= */
    /* 1: if create returns E_UNSUPPORTED, rows are too large for the plan, or
     * the driver has not compiled users' models, and another plan may be used
     * instead */
    uint32_t has_limits;
    uint32_t has_ranks; /* 1: it runs the part of one rank */
    /* Chooses sizes. Nothing of the plan is allocated. */
    vly_status (*fit)(vly_cuda_shard *shard, vly_cuda_fit *fit,
                      vly_error *error);
    /* Allocates memory before the rest of the net. NULL: none */
    vly_status (*reserve)(vly_cuda_shard *shard, vly_error *error);
    /* Makes the data of the plan from the rows by source, which it may free.
     * *is_made: 0 if the plan is not worth its memory. After a failure, release
     * frees all data. */
    vly_status (*create)(vly_cuda_shard *shard, uint32_t *is_made,
                         vly_error *error);
    /* Enqueues work that moves events in transit to the structures of the
     * plan. */
    vly_status (*restore)(vly_cuda_shard *shard, vly_error *error);
    /* Enqueues a launch. */
    int (*launch)(vly_cuda_shard *shard, const vly_cuda_launch *launch);
    /* Called after a launch has run so many bursts. NULL: nothing to do */
    void (*ran)(vly_cuda_shard *shard, uint32_t n_bursts);
    /* *fits: can launches stay between runs? NULL: never */
    int (*linger_fit)(vly_cuda_shard *shard, int *fits);
    /* Enqueues a launch that stays for n_bursts at most. NULL as linger_fit */
    int (*linger)(vly_cuda_shard *shard, const vly_cuda_launch *launch,
                  const vly_cuda_linger *linger, uint32_t n_bursts);
    /* Nanoseconds of a burst with so many events. NULL: not known, so no
     * review changes to the plan, which must be the last of the list */
    double (*cost_ns)(double n_events);
    /* For a plan with an order of its own of the synapses that learn; otherwise
     * NULL. out: masters and traces are as cuda_learning has them, up to date
     * at net->burst and with ages renewed. in, before a launch: as the plan has
     * them, with parameters that changed. Both enqueue work, or none if it is
     * so already. Nets that learn keep their plan, which may free what plan
     * global needs: no other plan that runs them has a cost. */
    vly_status (*learning_out)(vly_cuda_shard *shard, vly_error *error);
    vly_status (*learning_in)(vly_cuda_shard *shard, vly_error *error);
    /* Fills info->plan. synapses: number of the net's synapses, at least 1 */
    void (*say)(const vly_cuda_shard *shard, double synapses,
                vly_net_info *info);
    /* Frees the data of reserve and create. */
    void (*release)(vly_cuda_shard *shard);
} vly_cuda_plan;

#endif

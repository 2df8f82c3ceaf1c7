/* SPDX-License-Identifier: Apache-2.0
 * Projections whose synapses all have one weight and one delay, without gains:
 * a row is its targets only, 4 bytes a synapse, and an event adds a constant to
 * one slot. Weights are looked at once, when the net is made.
 *
 * A copy of the targets in 2 bytes each, counted from the first neuron of the
 * area, would read less, but takes memory beside the rows that are read in
 * place; README.md has what it gains.
 */
#include "cpu_one_weight.h"

#include <stdatomic.h>

#include "cpu_prefetch.h"

#define BLOCK 64u /* weights compared without a branch */

/* ---- create ------------------------------------------------------------ */

typedef struct weights_job {
    const int16_t *weight;
    uint64_t n;
    uint32_t n_tasks;
    atomic_uint differ;
} weights_job;

static void compare_weights(void *arg, uint32_t task)
{
    weights_job *job = arg;
    const int16_t *weight = job->weight;
    const uint64_t begin = job->n / job->n_tasks * task;
    const uint64_t end =
        task + 1 < job->n_tasks ? job->n / job->n_tasks * (task + 1) : job->n;
    for (uint64_t j = begin; j < end; j += BLOCK) {
        const uint64_t stop = j + BLOCK < end ? j + BLOCK : end;
        uint32_t differ = 0;
        for (uint64_t i = j; i < stop; i++)
            differ |= weight[i] != weight[0];
        if (differ != 0) {
            atomic_store_explicit(&job->differ, 1, memory_order_relaxed);
            return;
        }
    }
}

vly_status vly_cpu_one_weight_create(vly_backend_net *net,
                                     vly_cpu_projection *projection,
                                     vly_error *error)
{
    const vly_projection_desc *desc = projection->desc;
    const uint32_t other = VLY_PROJECTION_GAIN | VLY_PROJECTION_PLASTIC |
                           VLY_PROJECTION_SHORT_TERM;
    weights_job job = {.weight = desc->weight,
                       .n = desc->row[net->areas[desc->source_area].n],
                       .n_tasks = net->n_own};
    if (job.n == 0 || desc->delay_max > 0 || (desc->flags & other) != 0)
        return VLY_OK;
    const vly_status status = vly_support_host->parallel_for(
        vly_support_host->context, job.n_tasks, compare_weights, &job);
    if (status != VLY_OK)
        return vly_support_fail(error, status,
                                "%u threads could not be started", job.n_tasks);
    if (atomic_load(&job.differ) != 0)
        return VLY_OK;
    const int32_t weight = desc->weight[0];
    const bool by_sign = vly_common_by_sign(net->desc, desc);
    projection->port = by_sign ? weight < 0 : desc->port;
    projection->value = (uint32_t)weight << vly_common_shift(net->desc, desc);
    projection->one_weight = 1;
    return VLY_OK;
}

/* ---- rows -------------------------------------------------------------- */

INLINE void prefetch_range(const uint32_t *target, vly_cpu_range range)
{
    const uint64_t n = vly_cpu_ahead(range);
    if (n > 0)
        vly_cpu_prefetch(target + range.begin, n, sizeof *target);
}

INLINE void deliver_range(const uint32_t *target, vly_cpu_range range,
                          uint32_t first, uint32_t value, uint32_t *input)
{
    for (uint64_t j = range.begin; j < range.end; j++)
        input[target[j] - first] += value;
}

void vly_cpu_one_weight_deliver(const vly_backend_net *net,
                                const vly_cpu_thread *thread,
                                const vly_cpu_projection *projection,
                                const uint32_t *ids, uint32_t n)
{
    const vly_projection_desc *desc = projection->desc;
    const vly_cpu_area *to = &net->areas[desc->target_area];
    const uint32_t *target = desc->target;
    const uint32_t source_first = net->areas[desc->source_area].first;
    const uint32_t part = thread->index - projection->first_slice;
    uint32_t *input = to->slot[to->now] + projection->port * to->stride;
    vly_cpu_range ranges[VLY_CPU_BATCH];
    for (uint32_t at = 0; at < n; at += VLY_CPU_BATCH) {
        const uint32_t m = n - at < VLY_CPU_BATCH ? n - at : VLY_CPU_BATCH;
        for (uint32_t i = 0; i < m; i++)
            ranges[i] =
                vly_cpu_row_part(projection, ids[at + i] - source_first, part);
        for (uint32_t i = 0; i < m && i < VLY_CPU_AHEAD; i++)
            prefetch_range(target, ranges[i]);
        for (uint32_t i = 0; i < m; i++) {
            if (i + VLY_CPU_AHEAD < m)
                prefetch_range(target, ranges[i + VLY_CPU_AHEAD]);
            deliver_range(target, ranges[i], to->first, projection->value,
                          input);
        }
    }
}

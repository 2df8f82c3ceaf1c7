/* SPDX-License-Identifier: Apache-2.0
 * Projections whose synapses all have one weight and one delay, without gains:
 * a row is its targets only, and an event adds a constant. If the target area
 * has at most 65,536 neurons, a copy of the targets takes 2 bytes a synapse,
 * counted from the first neuron of the area; otherwise the 4 bytes of the
 * description are read in place. Weights are looked at once, with the net.
 */
#include "cpu_one_weight.h"

#include <stdatomic.h>

#define BATCH 64u
#define AHEAD 8u
#define AHEAD_BYTES 512u /* of a row at most; then the hardware follows */

#if defined(__GNUC__)
#define PREFETCH(address) __builtin_prefetch(address)
#define INLINE static inline __attribute__((always_inline))
#else
#define PREFETCH(address) ((void)(address))
#define INLINE static inline
#endif

/* ---- create ------------------------------------------------------------ */

typedef struct one_job {
    const vly_projection_desc *desc;
    uint64_t n;     /* synapses */
    uint32_t first; /* neuron of the target area */
    uint32_t n_tasks;
    uint16_t *place; /* to fill; NULL: compare the weights */
    atomic_uint differs;
} one_job;

static void look(void *arg, uint32_t task)
{
    one_job *job = arg;
    const int16_t *weight = job->desc->weight;
    const uint32_t *target = job->desc->target;
    const uint64_t begin = job->n / job->n_tasks * task;
    const uint64_t end =
        task + 1 < job->n_tasks ? job->n / job->n_tasks * (task + 1) : job->n;
    const uint16_t first = (uint16_t)job->first;
    uint16_t *place = job->place;
    if (place) {
        for (uint64_t j = begin; j < end; j++)
            place[j] = (uint16_t)(target[j] - first);
        return;
    }
    for (uint64_t j = begin; j < end; j += BATCH) {
        const uint64_t stop = j + BATCH < end ? j + BATCH : end;
        uint32_t differ = 0;
        for (uint64_t i = j; i < stop; i++)
            differ |= weight[i] != weight[0];
        if (differ != 0) {
            atomic_store_explicit(&job->differs, 1, memory_order_relaxed);
            return;
        }
    }
}

static vly_status look_at_all(one_job *job, vly_error *error)
{
    const vly_status status = vly_support_host->parallel_for(
        vly_support_host->context, job->n_tasks, look, job);
    if (status == VLY_OK)
        return VLY_OK;
    return vly_support_fail(error, status, "no %u threads could be started",
                            job->n_tasks);
}

vly_status vly_cpu_one_weight_create(vly_backend_net *net,
                                     vly_cpu_projection *projection,
                                     vly_error *error)
{
    const vly_projection_desc *desc = projection->desc;
    const vly_cpu_area *target = &net->areas[desc->target_area];
    one_job job = {.desc = desc,
                   .n = desc->row[net->areas[desc->source_area].n],
                   .first = target->first,
                   .n_tasks = net->n_own};
    const uint32_t other = VLY_PROJECTION_GAIN | VLY_PROJECTION_PLASTIC |
                           VLY_PROJECTION_SHORT_TERM;
    vly_status status = VLY_OK;
    if (job.n == 0 || desc->delay_max > 0 || (desc->flags & other) != 0)
        return VLY_OK;
    VLY_TRY(look_at_all(&job, error));
    if (atomic_load(&job.differs) != 0)
        return VLY_OK;
    const int32_t weight = desc->weight[0];
    const bool by_sign = vly_common_by_sign(net->desc, desc);
    projection->port = by_sign ? weight < 0 : desc->port;
    projection->value = (uint32_t)weight << vly_common_shift(net->desc, desc);
    projection->one_weight = 1;
    if (target->n > UINT16_MAX + 1u)
        return VLY_OK;
    VLY_TRY(vly_common_alloc(&net->heap, job.n, sizeof *projection->place,
                             &projection->place, error));
    job.place = projection->place;
    VLY_TRY(look_at_all(&job, error));
out:
    return status;
}

/* ---- rows -------------------------------------------------------------- */

INLINE void prefetch_range(const void *targets, size_t size,
                           vly_cpu_range range)
{
    const char *begin = (const char *)targets + range.begin * size;
    uint64_t n = (range.end - range.begin) * size;
    n = n < AHEAD_BYTES ? n : AHEAD_BYTES;
    for (uint64_t at = 0; at < n; at += 64)
        PREFETCH(begin + at);
    if (n > 0)
        PREFETCH(begin + n - 1);
}

/* One of place and target is NULL: a constant where it is called. */
INLINE void deliver_ranges(const uint16_t *place, const uint32_t *target,
                           uint32_t first, uint32_t *input, uint32_t value,
                           const vly_cpu_range *ranges, uint32_t n)
{
    const void *read = place ? (const void *)place : (const void *)target;
    const size_t size = place ? sizeof *place : sizeof *target;
    for (uint32_t i = 0; i < n && i < AHEAD; i++)
        prefetch_range(read, size, ranges[i]);
    for (uint32_t i = 0; i < n; i++) {
        if (i + AHEAD < n)
            prefetch_range(read, size, ranges[i + AHEAD]);
        for (uint64_t j = ranges[i].begin; j < ranges[i].end; j++)
            input[place ? place[j] : target[j] - first] += value;
    }
}

void vly_cpu_one_weight_deliver(const vly_backend_net *net,
                                const vly_cpu_thread *thread,
                                const vly_cpu_projection *projection,
                                const uint32_t *ids, uint32_t n)
{
    const vly_projection_desc *desc = projection->desc;
    const vly_cpu_area *area = &net->areas[desc->target_area];
    const uint32_t first = net->areas[desc->source_area].first;
    const uint32_t part = thread->index - projection->first_slice;
    uint32_t *input = area->slot[area->now] + projection->port * area->stride;
    vly_cpu_range ranges[BATCH];
    for (uint32_t at = 0; at < n; at += BATCH) {
        const uint32_t m = n - at < BATCH ? n - at : BATCH;
        for (uint32_t i = 0; i < m; i++)
            ranges[i] = vly_cpu_row_part(projection, ids[at + i] - first, part);
        if (projection->place)
            deliver_ranges(projection->place, NULL, 0, input, projection->value,
                           ranges, m);
        else
            deliver_ranges(NULL, desc->target, area->first, input,
                           projection->value, ranges, m);
    }
}

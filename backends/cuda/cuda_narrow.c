/* SPDX-License-Identifier: Apache-2.0
 * Proves that sums of 16 bits hold all input of a neuron by synapses in one
 * burst (kernels/cuda/narrow_sums.h). A neuron fires once a burst at most
 * and all delays are the same, so each synapse counts once: the sum of their
 * magnitudes over the divisor of all weights of the area must be at most
 * 32,767, and each of them at most 16,383. Threads have the synapses of a range
 * of targets each, so that they share no sum; targets ascend in a row, where a
 * search finds the range.
 */
#include "cuda_narrow.h"

#include "kernels/cuda/narrow_sums.h"

#include "cuda_memory.h"
#include "cuda_shard.h"

#define TASKS 16u
#define ALONE UINT64_C(1000000) /* fewer synapses are proved by one task */
/* Largest sum of a port, by the numeric contract. */
#define MOST_LOAD (UINT32_C(1) << 30)

/* Of the weights of an area. */
typedef struct weights {
    uint32_t divisor;
    uint32_t most; /* greatest magnitude */
} weights;

typedef struct proof {
    const vly_net_desc *desc;
    uint32_t n_tasks;
    uint32_t *load; /* [n_neurons] */
    weights *found; /* [TASKS][n_areas] */
    uint32_t fails[TASKS];
} proof;

/* The likely place in [from, to) of target n of an area of `of` neurons, if
 * targets are spread evenly: a search from there reads 1 or 2 cache lines. */
static uint64_t guess(uint64_t from, uint64_t to, uint32_t n, uint32_t of)
{
    return from + (uint64_t)((double)(to - from) * n / of);
}

/* The first synapse of [from, to) whose target is not below `target`; `at`: its
 * estimated position. */
static uint64_t find_target(const uint32_t *targets, uint64_t from, uint64_t to,
                            uint64_t at, uint32_t target)
{
    uint64_t step = 8;
    if (from == to)
        return to;
    at = at < to ? at : to - 1;
    if (targets[at] < target) {
        for (from = at + 1; to - from > step && targets[from + step] < target;
             step *= 2)
            from += step + 1;
        to = to - from > step ? from + step : to;
    } else {
        for (to = at; to - from > step && targets[to - step] >= target;
             step *= 2)
            to -= step;
        from = to - from > step ? to - step : from;
    }
    while (from < to) {
        uint64_t middle = from + (to - from) / 2;
        if (targets[middle] < target)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static uint32_t magnitude(int32_t weight)
{
    return (uint32_t)(weight < 0 ? -weight : weight);
}

/* Adds synapses of one projection into [first, end). Weights repeat, so a
 * divisor is seldom computed. Returns 1 if a sum is too large for the
 * contract. */
static uint32_t add_rows(const proof *of, const vly_projection_desc *p,
                         uint32_t first, uint32_t end, weights *found)
{
    const vly_area_desc *area = vly_cuda_area_desc(of->desc, p->target_area);
    uint32_t n = vly_cuda_area_desc(of->desc, p->source_area)->n_neurons;
    uint32_t g = found->divisor;
    uint32_t last = 0;
    for (uint32_t source = 0; source < n; source++) {
        uint64_t to = p->row[source + 1];
        uint64_t i = p->row[source];
        i = find_target(p->target, i, to,
                        guess(i, to, first - area->first, area->n_neurons),
                        first);
        for (; i < to && p->target[i] < end; i++) {
            uint32_t weight = magnitude(vly_weight_at(p, i));
            uint32_t *load = &of->load[p->target[i]];
            if (weight != last) {
                g = g != 1 ? vly_narrow_divisor(g, weight) : 1;
                found->most = weight > found->most ? weight : found->most;
            }
            last = weight;
            *load += weight;
            if (*load > MOST_LOAD)
                return 1;
        }
    }
    found->divisor = g;
    return 0;
}

static void prove_task(void *arg, uint32_t task)
{
    proof *of = arg;
    weights *found = of->found + (uint64_t)task * of->desc->n_areas;
    for (uint32_t i = 0; i < of->desc->n_projections; i++) {
        const vly_projection_desc *p = vly_cuda_projection_desc(of->desc, i);
        const vly_area_desc *area =
            vly_cuda_area_desc(of->desc, p->target_area);
        uint64_t n = area->n_neurons;
        uint32_t first = area->first + (uint32_t)(n * task / of->n_tasks);
        uint32_t end = area->first + (uint32_t)(n * (task + 1) / of->n_tasks);
        of->fails[task] |=
            first < end ? add_rows(of, p, first, end, &found[p->target_area])
                        : 0;
        if (of->fails[task] != 0)
            return;
    }
}

static void run_tasks(proof *of)
{
    of->n_tasks = of->desc->n_synapses < ALONE ? 1 : TASKS;
    if (of->n_tasks > 1 &&
        vly_cuda_host->parallel_for(vly_cuda_host->context, of->n_tasks,
                                    prove_task, of) == VLY_OK)
        return;
    of->n_tasks = 1; /* also used if no threads could be created */
    prove_task(of, 0);
}

/* Divisors of areas, 1 for areas without incoming synapses. Returns true if
 * all sums fit. */
static bool judge(const proof *of, uint32_t *divisors)
{
    for (uint32_t t = 0; t < of->n_tasks; t++)
        if (of->fails[t] != 0)
            return false;
    for (uint32_t a = 0; a < of->desc->n_areas; a++) {
        const vly_area_desc *area = vly_cuda_area_desc(of->desc, a);
        uint32_t g = 0;
        uint32_t most = 0;
        for (uint32_t t = 0; t < of->n_tasks; t++) {
            const weights *found =
                &of->found[(uint64_t)t * of->desc->n_areas + a];
            g = vly_narrow_divisor(g, found->divisor);
            most = found->most > most ? found->most : most;
        }
        if (!vly_narrow_holds(most, g))
            return false;
        for (uint32_t i = 0; i < area->n_neurons; i++)
            if (!vly_narrow_fits(of->load[area->first + i], g))
                return false;
        divisors[a] = g > 0 ? g : 1;
    }
    return true;
}

vly_status vly_cuda_narrow_prove(vly_cuda_shard *shard, uint32_t *holds,
                                 vly_error *error)
{
    proof of = {.desc = shard->store.fixed};
    uint32_t n_areas = shard->store.fixed->n_areas;
    vly_status status = VLY_OK;
    *holds = 0;
    if (!shard->divisors)
        VLY_TRY(vly_cuda_alloc(shard, n_areas, sizeof *shard->divisors,
                               &shard->divisors, error));
    VLY_TRY(vly_cuda_alloc(shard, shard->store.fixed->n_neurons,
                           sizeof *of.load, &of.load, error));
    VLY_TRY(vly_cuda_alloc(shard, n_areas, TASKS * sizeof *of.found, &of.found,
                           error));
    run_tasks(&of);
    *holds = judge(&of, shard->divisors);
out:
    vly_cuda_release(shard, of.load);
    vly_cuda_release(shard, of.found);
    return status;
}

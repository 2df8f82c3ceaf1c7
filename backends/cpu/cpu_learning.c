/* SPDX-License-Identifier: Apache-2.0
 * Sources and targets of projections that learn: their traces, and the rings of
 * the targets' spikes.
 */
#include "cpu_learning.h"

#include <string.h>

/* ---- create ------------------------------------------------------------- */

static vly_status create_decay(vly_backend_net *net,
                               const vly_learning_trace *trace,
                               vly_cpu_decay *decay, vly_error *error)
{
    vly_status status = VLY_OK;
    float *factor = NULL;
    *decay = (vly_cpu_decay){.bursts = trace->bursts, .rate = trace->rate};
    if (trace->bursts == 0)
        return VLY_OK;
    decay->n =
        trace->bursts < VLY_CPU_DECAY_MAX ? trace->bursts : VLY_CPU_DECAY_MAX;
    VLY_TRY(vly_common_alloc(&net->heap, (uint64_t)decay->n + 1, sizeof *factor,
                             &factor, error));
    for (uint32_t k = 0; k < decay->n; k++)
        factor[k] = vly_trace_at(1.0f, k, trace->rate, trace->bursts);
    decay->factor = factor; /* factor[n] is 0 */
out:
    return status;
}

static vly_status create_sources(vly_backend_net *net, vly_cpu_learning *l,
                                 vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_alloc(&net->heap, l->n_sources, sizeof(uint32_t),
                             &l->arrived, error));
    for (uint32_t t = 0; t < 2; t++) {
        VLY_TRY(create_decay(net, &l->desc->source[t], &l->source[t], error));
        VLY_TRY(vly_common_alloc(&net->heap, l->n_sources, sizeof(float),
                                 &l->before[t], error));
        if (l->source[t].bursts > l->reach)
            l->reach = l->source[t].bursts;
    }
out:
    return status;
}

static vly_status create_targets(vly_backend_net *net, vly_cpu_learning *l,
                                 vly_error *error)
{
    vly_status status = VLY_OK;
    uint64_t n = l->n_targets;
    uint64_t entries = vly_common_power_of_two(l->lag + VLY_CPU_POSTS);
    l->mask = (uint32_t)(entries - 1);
    VLY_TRY(
        vly_common_alloc(&net->heap, n, sizeof(uint32_t), &l->count, error));
    VLY_TRY(vly_common_alloc(&net->heap, n, sizeof(uint32_t), &l->last, error));
    VLY_TRY(vly_common_alloc(&net->heap, n * entries, sizeof(uint32_t),
                             &l->post, error));
    for (uint32_t t = 0; t < 2; t++) {
        VLY_TRY(create_decay(net, &l->desc->target[t], &l->target[t], error));
        VLY_TRY(
            vly_common_alloc(&net->heap, n, sizeof(float), &l->y[t], error));
        if (l->target[t].bursts != 0)
            VLY_TRY(vly_common_alloc(&net->heap, n * entries, sizeof(float),
                                     &l->post_before[t], error));
    }
    VLY_TRY(vly_common_alloc(&net->heap, net->n_threads, sizeof(uint32_t),
                             &l->flushed, error));
    VLY_TRY(vly_common_alloc(&net->heap, net->n_threads, 64, &l->full, error));
out:
    return status;
}

static vly_status create_one(vly_backend_net *net, uint32_t projection,
                             vly_cpu_learning *l, vly_error *error)
{
    const vly_projection_desc *desc =
        vly_common_projection_desc(net->desc, projection);
    vly_status status = VLY_OK;
    l->desc = vly_common_learning(net->desc, projection);
    l->projection = desc;
    l->rule = vly_common_rule_find(l->desc->rule);
    l->index = projection;
    l->flags = l->desc->flags;
    l->shift = vly_common_shift(net->desc, desc);
    l->lag =
        (l->flags & VLY_LEARNING_DENDRITIC) != 0 ? 2 * desc->base_delay : 0;
    l->n_sources = net->areas[desc->source_area].n;
    l->n_targets = net->areas[desc->target_area].n;
    VLY_TRY(vly_common_alloc(&net->heap, l->desc->n_coefs, sizeof(uint32_t),
                             &l->coefs, error));
    memcpy(l->coefs, l->desc->coefs, l->desc->n_coefs * sizeof(uint32_t));
    VLY_TRY(vly_common_alloc(&net->heap, desc->row[l->n_sources],
                             sizeof(int32_t), &l->master, error));
    VLY_TRY(create_sources(net, l, error));
    VLY_TRY(create_targets(net, l, error));
out:
    return status;
}

vly_status vly_cpu_learning_create(vly_backend_net *net, vly_error *error)
{
    vly_status status = VLY_OK;
    uint32_t at = 0;
    for (uint32_t i = 0; i < net->n_projections; i++)
        net->n_learning += vly_common_learning(net->desc, i) != NULL;
    if (net->n_learning == 0)
        return VLY_OK;
    VLY_TRY(vly_common_alloc(&net->heap, net->n_learning, sizeof *net->learning,
                             &net->learning, error));
    for (uint32_t i = 0; i < net->n_projections; i++) {
        if (vly_common_learning(net->desc, i) == NULL)
            continue;
        net->projections[i].learning = &net->learning[at++];
        VLY_TRY(create_one(net, i, net->projections[i].learning, error));
    }
out:
    return status;
}

/* ---- spikes of targets -------------------------------------------------- */

static void push(vly_cpu_learning *l, uint32_t i, uint32_t burst)
{
    uint32_t slot = l->count[i]++ & l->mask;
    uint64_t at = (uint64_t)i * (l->mask + 1) + slot;
    uint32_t k = burst - l->last[i];
    for (uint32_t t = 0; t < 2; t++) {
        if (l->target[t].bursts == 0)
            continue;
        float y = l->y[t][i] * vly_cpu_decayed(&l->target[t], k);
        l->post_before[t][at] = y;
        l->y[t][i] = (l->flags & VLY_LEARNING_NEAREST) != 0 ? 1.0f : y + 1.0f;
    }
    l->post[at] = burst;
    l->last[i] = burst;
}

/* Whether the second oldest spike of a ring is not folded in yet: the oldest is
 * overwritten next, and one that is older than `flushed` must remain. */
static uint32_t is_full(const vly_cpu_learning *l, uint32_t i, uint32_t flushed)
{
    uint32_t slot = (l->count[i] + 2) & l->mask;
    uint32_t burst = l->post[(uint64_t)i * (l->mask + 1) + slot];
    return (int32_t)(burst - flushed) >= 0;
}

void vly_cpu_learning_fired(vly_backend_net *net, const vly_cpu_thread *thread)
{
    uint32_t burst = (uint32_t)net->burst;
    for (uint32_t n = 0; n < net->n_learning; n++) {
        vly_cpu_learning *l = &net->learning[n];
        uint32_t a = l->projection->target_area;
        uint32_t first = net->areas[a].first;
        uint32_t full = 0;
        for (uint32_t f = a > 0 ? thread->area_end[a - 1] : 0;
             f < thread->area_end[a]; f++) {
            uint32_t i = thread->fired[f] - first;
            push(l, i, burst + l->lag);
            full |= is_full(l, i, l->flushed[thread->index]);
        }
        if (full != 0)
            l->full[(size_t)thread->index * 64] = 1;
    }
}

/* ---- arrivals ----------------------------------------------------------- */

static void arrive(vly_cpu_learning *l, uint32_t k, uint32_t burst)
{
    for (uint32_t t = 0; t < 2; t++) {
        float after = (l->flags & VLY_LEARNING_NEAREST) != 0
                          ? 1.0f
                          : l->before[t][k] + 1.0f;
        l->before[t][k] =
            after * vly_cpu_decayed(&l->source[t], burst - l->arrived[k]);
    }
    l->arrived[k] = burst;
}

void vly_cpu_learning_arrived(vly_backend_net *net)
{
    uint32_t burst = (uint32_t)net->burst;
    bool renew = ((burst + 1) & (VLY_CPU_AGE_PERIOD - 1)) == 0;
    for (uint32_t n = 0; n < net->n_learning; n++) {
        vly_cpu_learning *l = &net->learning[n];
        uint32_t a = l->projection->source_area;
        const uint32_t *ids;
        const uint32_t *gains;
        const uint32_t *row =
            vly_cpu_history_set(net, l->projection->base_delay, &ids, &gains);
        for (uint32_t i = row[a]; i < row[a + 1]; i++)
            arrive(l, ids[i] - net->areas[a].first, burst);
        for (uint32_t k = 0; renew && k < l->n_sources; k++)
            if (burst - l->arrived[k] > VLY_CPU_AGE_PERIOD)
                l->arrived[k] = burst - VLY_CPU_AGE_NEVER;
    }
}

/* ---- from a snapshot ---------------------------------------------------- */

/* The traces of n neurons: after the last event, and how long ago. */
static const uint32_t *load_traces(const vly_cpu_learning *l,
                                   const vly_cpu_decay *decay, uint32_t n,
                                   const uint32_t *words, uint32_t burst,
                                   uint32_t *last, float **trace, float less)
{
    (void)l;
    for (uint32_t i = 0; i < n; i++)
        last[i] = burst - VLY_CPU_AGE_NEVER;
    for (uint32_t t = 0; t < 2; t++) {
        const uint32_t *ages = words + n;
        if (decay[t].bursts == 0)
            continue;
        for (uint32_t i = 0; i < n; i++) {
            if (ages[i] == UINT32_MAX)
                continue;
            trace[t][i] = vly_float(words[i]) - less;
            last[i] = burst - ages[i];
        }
        words += 2 * (uint64_t)n;
    }
    return words;
}

static void load_posts(vly_backend_net *net, vly_cpu_learning *l)
{
    uint32_t a = l->projection->target_area;
    uint32_t burst = (uint32_t)net->burst;
    uint64_t size = l->mask + UINT64_C(1);
    for (uint64_t i = 0; i < l->n_targets * size; i++)
        l->post[i] = burst - VLY_CPU_AGE_NEVER;
    for (uint32_t i = 0; i < l->n_targets; i++) {
        l->count[i] = 1;
        l->post[i * size] = l->last[i];
        for (uint32_t t = 0; t < 2; t++)
            if (l->target[t].bursts != 0)
                l->post_before[t][i * size] = l->y[t][i] - 1.0f;
    }
    /* those on their way in dendrites */
    uint32_t age = net->burst < l->lag ? (uint32_t)net->burst : l->lag;
    for (; age > 0; age--) {
        const uint32_t *ids;
        const uint32_t *gains;
        const uint32_t *row = vly_cpu_history_set(net, age, &ids, &gains);
        for (uint32_t i = row[a]; i < row[a + 1]; i++)
            push(l, ids[i] - net->areas[a].first, burst - age + l->lag);
    }
}

void vly_cpu_learning_load(vly_backend_net *net, const vly_snapshot *snapshot)
{
    const uint32_t *words = snapshot->weights;
    uint32_t burst = (uint32_t)net->burst;
    for (uint32_t n = 0; n < net->n_learning; n++) {
        vly_cpu_learning *l = &net->learning[n];
        uint64_t n_synapses = l->projection->row[l->n_sources];
        if (n_synapses > 0)
            memcpy(l->master, words, n_synapses * sizeof *words);
        words += n_synapses;
        /* before + 1 is what was stored, exactly: it is at least 1 */
        words = load_traces(l, l->source, l->n_sources, words, burst,
                            l->arrived, l->before, 1.0f);
        words = load_traces(l, l->target, l->n_targets, words, burst, l->last,
                            l->y, 0.0f);
        load_posts(net, l);
        for (uint32_t j = 0; j < net->n_threads; j++)
            l->flushed[j] = burst;
    }
}

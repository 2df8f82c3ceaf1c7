/* SPDX-License-Identifier: Apache-2.0
 * Traces of projections that learn: see common_traces.h.
 */
#include "common_traces.h"

#include "kernels/rules/rule.h"

/* ---- create ------------------------------------------------------------- */

static vly_status create_sources(vly_common_heap *heap, vly_common_traces *t,
                                 vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_alloc(heap, t->n_sources, sizeof(uint32_t), &t->arrived,
                             error));
    for (uint32_t k = 0; k < 2; k++) {
        if (t->desc->source[k].bursts > t->reach)
            t->reach = t->desc->source[k].bursts;
        if (t->desc->source[k].bursts != 0)
            VLY_TRY(vly_common_alloc(heap, t->n_sources, sizeof(float),
                                     &t->before[k], error));
    }
out:
    return status;
}

static vly_status create_targets(vly_common_heap *heap, vly_common_traces *t,
                                 vly_error *error)
{
    vly_status status = VLY_OK;
    uint64_t n = t->n_targets;
    uint64_t posts = vly_common_traces_posts(t);
    VLY_TRY(vly_common_alloc(heap, n, sizeof(uint32_t), &t->count, error));
    VLY_TRY(vly_common_alloc(heap, n, sizeof *t->newest, &t->newest, error));
    VLY_TRY(vly_common_alloc(heap, posts, sizeof(uint32_t), &t->post, error));
    for (uint32_t k = 0; k < 2; k++) {
        if (t->desc->target[k].bursts == 0)
            continue;
        VLY_TRY(vly_common_alloc(heap, n, sizeof(float), &t->newest_before[k],
                                 error));
        VLY_TRY(vly_common_alloc(heap, posts, sizeof(float), &t->post_before[k],
                                 error));
    }
out:
    return status;
}

uint64_t vly_common_traces_posts(const vly_common_traces *t)
{
    return (t->mask + UINT64_C(1)) * t->n_targets;
}

vly_status vly_common_traces_create(vly_common_heap *heap,
                                    const vly_net_desc *desc,
                                    uint32_t projection, vly_common_traces *t,
                                    vly_error *error)
{
    vly_status status = VLY_OK;
    const vly_projection_desc *p = vly_common_projection_desc(desc, projection);
    const vly_learning_desc *learning = vly_common_learning(desc, projection);
    bool dendritic = (learning->flags & VLY_LEARNING_DENDRITIC) != 0;
    uint32_t lag = dendritic ? 2 * p->base_delay : 0;
    *t = (vly_common_traces){
        .desc = learning,
        .projection = p,
        .flags = learning->flags,
        .lag = lag,
        .n_sources = vly_common_area_desc(desc, p->source_area)->n_neurons,
        .n_targets = vly_common_area_desc(desc, p->target_area)->n_neurons,
        .mask = (uint32_t)vly_common_power_of_two(lag + VLY_COMMON_POSTS) - 1,
    };
    VLY_TRY(create_sources(heap, t, error));
    VLY_TRY(create_targets(heap, t, error));
out:
    return status;
}

/* ---- events ------------------------------------------------------------- */

static float decayed(const vly_learning_trace *trace, float x, uint32_t age)
{
    return vly_trace_at(x, age, trace->rate, trace->bursts);
}

static float after(const vly_common_traces *t, float before)
{
    return (t->flags & VLY_LEARNING_NEAREST) != 0 ? 1.0f : before + 1.0f;
}

void vly_common_traces_push(vly_common_traces *t, uint32_t i, uint32_t burst)
{
    vly_common_newest *newest = &t->newest[i];
    uint32_t slot = t->count[i]++ & t->mask;
    uint64_t at = (uint64_t)i * (t->mask + UINT64_C(1)) + slot;
    for (uint32_t k = 0; k < 2; k++) {
        if (t->desc->target[k].bursts == 0)
            continue;
        float y = decayed(&t->desc->target[k], newest->after[k],
                          burst - newest->last);
        t->post_before[k][at] = y;
        t->newest_before[k][i] = y;
        newest->after[k] = after(t, y);
    }
    t->post[at] = burst;
    newest->prev = newest->last;
    newest->last = burst;
}

void vly_common_traces_arrive(vly_common_traces *t, uint32_t k, uint32_t burst)
{
    for (uint32_t n = 0; n < 2; n++)
        if (t->desc->source[n].bursts != 0)
            t->before[n][k] =
                decayed(&t->desc->source[n], after(t, t->before[n][k]),
                        burst - t->arrived[k]);
    t->arrived[k] = burst;
}

/* ---- from a snapshot ---------------------------------------------------- */

/* Trace of neuron i, and the age of its last event, if it is known. */
static bool stored(const uint32_t *words, uint32_t n, uint32_t i, float *trace,
                   uint32_t *age)
{
    if (words[(uint64_t)n + i] == UINT32_MAX)
        return false;
    *trace = vly_float(words[i]);
    *age = words[(uint64_t)n + i];
    return true;
}

static const uint32_t *load_sources(vly_common_traces *t, const uint32_t *words,
                                    uint32_t burst)
{
    uint32_t n = t->n_sources;
    for (uint32_t i = 0; i < n; i++)
        t->arrived[i] = burst - VLY_COMMON_AGE_NEVER;
    for (uint32_t k = 0; k < 2; k++) {
        if (t->desc->source[k].bursts == 0)
            continue;
        for (uint32_t i = 0; i < n; i++) {
            float x;
            uint32_t age;
            if (!stored(words, n, i, &x, &age))
                continue;
            /* plus 1 it is x again, exactly: that is at least 1 */
            t->before[k][i] = x - 1.0f;
            t->arrived[i] = burst - age;
        }
        words += 2 * (uint64_t)n;
    }
    return words;
}

static const uint32_t *load_targets(vly_common_traces *t, const uint32_t *words,
                                    uint32_t burst)
{
    uint32_t n = t->n_targets;
    uint64_t size = t->mask + UINT64_C(1);
    for (uint32_t i = 0; i < n; i++) {
        t->newest[i].last = burst - VLY_COMMON_AGE_NEVER;
        t->newest[i].prev = burst - VLY_COMMON_AGE_NEVER;
        t->count[i] = 1;
    }
    for (uint64_t at = 0; at < n * size; at++)
        t->post[at] = burst - VLY_COMMON_AGE_NEVER;
    for (uint32_t k = 0; k < 2; k++) {
        if (t->desc->target[k].bursts == 0)
            continue;
        for (uint32_t i = 0; i < n; i++) {
            float y = 0.0f;
            uint32_t age = VLY_COMMON_AGE_NEVER;
            (void)stored(words, n, i, &y, &age);
            t->newest[i].after[k] = y;
            t->newest_before[k][i] = y - 1.0f;
            t->post_before[k][i * size] = y - 1.0f;
            if (age != VLY_COMMON_AGE_NEVER) {
                t->newest[i].last = burst - age;
                t->post[i * size] = burst - age;
            }
        }
        words += 2 * (uint64_t)n;
    }
    return words;
}

const uint32_t *vly_common_traces_load(vly_common_traces *t,
                                       const uint32_t *words, uint32_t burst)
{
    words = load_sources(t, words, burst);
    return load_targets(t, words, burst);
}

void vly_common_traces_dendrites(vly_common_traces *t, const vly_net_desc *desc,
                                 const vly_snapshot *snapshot)
{
    const vly_area_desc *target =
        vly_common_area_desc(desc, t->projection->target_area);
    uint32_t n = snapshot->n_fired_bursts;
    uint32_t from = n > t->lag ? n - t->lag : 0;
    for (uint32_t j = from; j < n; j++) {
        uint32_t burst = (uint32_t)snapshot->burst - n + j;
        for (uint64_t i = snapshot->fired_row[j];
             i < snapshot->fired_row[j + 1]; i++)
            if (snapshot->fired[i] - target->first < target->n_neurons)
                vly_common_traces_push(t, snapshot->fired[i] - target->first,
                                       burst + t->lag);
    }
}

/* ---- to a snapshot ------------------------------------------------------ */

/* A trace after its last event, and how long ago; expired: 0, UINT32_MAX. */
static void store(const vly_learning_trace *trace, float x, uint32_t age,
                  uint32_t n, uint32_t i, uint32_t *words)
{
    bool known = age < trace->bursts;
    words[i] = known ? vly_bits(x) : 0;
    words[(uint64_t)n + i] = known ? age : UINT32_MAX;
}

/* The newest spike that the synapses have seen. */
static uint64_t seen(const vly_common_traces *t, uint32_t burst, uint32_t i)
{
    uint64_t ring = (uint64_t)i * (t->mask + UINT64_C(1));
    uint32_t at = t->count[i] - 1;
    while ((int32_t)(burst - t->post[ring + (at & t->mask)]) < 1)
        at--;
    return ring + (at & t->mask);
}

uint32_t *vly_common_traces_save(const vly_common_traces *t, uint32_t burst,
                                 uint32_t *words)
{
    for (uint32_t k = 0; k < 2; k++) {
        if (t->desc->source[k].bursts == 0)
            continue;
        for (uint32_t i = 0; i < t->n_sources; i++)
            store(&t->desc->source[k], after(t, t->before[k][i]),
                  burst - t->arrived[i], t->n_sources, i, words);
        words += 2 * (uint64_t)t->n_sources;
    }
    for (uint32_t k = 0; k < 2; k++) {
        if (t->desc->target[k].bursts == 0)
            continue;
        for (uint32_t i = 0; i < t->n_targets; i++) {
            uint64_t at = seen(t, burst, i);
            store(&t->desc->target[k], after(t, t->post_before[k][at]),
                  burst - t->post[at], t->n_targets, i, words);
        }
        words += 2 * (uint64_t)t->n_targets;
    }
    return words;
}

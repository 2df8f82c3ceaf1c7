/* SPDX-License-Identifier: Apache-2.0
 * Sources and targets of projections that learn: their traces, and the rings of
 * the targets' spikes.
 */
#include "cpu_learning.h"
#include "cpu_short_term.h"

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

static vly_status create_one(vly_backend_net *net, uint32_t projection,
                             vly_cpu_learning *l, vly_error *error)
{
    const vly_projection_desc *desc =
        vly_common_projection_desc(net->desc, projection);
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_traces_create(&net->heap, net->desc, projection, &l->t,
                                     error));
    l->rule = vly_common_rule_find(l->t.desc->rule);
    l->index = projection;
    l->shift = vly_common_shift(net->desc, desc);
    VLY_TRY(vly_common_alloc(&net->heap, l->t.desc->n_coefs, sizeof(uint32_t),
                             &l->coefs, error));
    memcpy(l->coefs, l->t.desc->coefs, l->t.desc->n_coefs * sizeof(uint32_t));
    VLY_TRY(vly_common_alloc(&net->heap, desc->row[l->t.n_sources],
                             sizeof(int32_t), &l->master, error));
    if (vly_common_modulated(l->t.desc)) {
        VLY_TRY(vly_common_alloc(&net->heap, desc->row[l->t.n_sources],
                                 sizeof(int32_t), &l->eligibility, error));
        VLY_TRY(
            vly_common_alloc(&net->heap, l->t.n_targets, 1, &l->recent, error));
    }
    for (uint32_t k = 0; k < 2 && !vly_cpu_has_window(l); k++) {
        VLY_TRY(create_decay(net, &l->t.desc->source[k], &l->source[k], error));
        VLY_TRY(create_decay(net, &l->t.desc->target[k], &l->target[k], error));
    }
    if (vly_cpu_has_window(l))
        VLY_TRY(vly_cpu_window_create(net, l, error));
    VLY_TRY(vly_common_alloc(&net->heap, net->n_threads, sizeof(uint32_t),
                             &l->flushed, error));
    VLY_TRY(vly_common_alloc(&net->heap, net->n_threads, 64, &l->full, error));
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
        if (!vly_common_learning(net->desc, i))
            continue;
        net->projections[i].learning = &net->learning[at++];
        VLY_TRY(create_one(net, i, net->projections[i].learning, error));
    }
out:
    return status;
}

/* ---- spikes of targets -------------------------------------------------- */

/* Whether the third oldest spike of a ring is not folded in yet: the oldest is
 * overwritten next, and one that all synapses have seen must remain. */
static uint32_t is_full(const vly_cpu_learning *l, uint32_t i, uint32_t flushed)
{
    uint32_t slot = (l->t.count[i] + 2) & l->t.mask;
    uint32_t burst = l->t.post[(uint64_t)i * (l->t.mask + 1) + slot];
    return (int32_t)(burst - flushed) >= 0;
}

void vly_cpu_learning_fired(vly_backend_net *net, const vly_cpu_thread *thread,
                            uint64_t in_burst)
{
    uint32_t burst = (uint32_t)in_burst;
    for (uint32_t n = 0; n < net->n_learning; n++) {
        vly_cpu_learning *l = &net->learning[n];
        uint32_t a = l->t.projection->target_area;
        uint32_t first = net->areas[a].first;
        uint32_t full = 0;
        if (vly_cpu_has_window(l))
            continue;
        for (uint32_t f = a > 0 ? thread->area_end[a - 1] : 0;
             f < thread->area_end[a]; f++) {
            uint32_t i = thread->fired[f] - first;
            vly_common_traces_push(&l->t, i, burst + l->t.lag);
            full |= is_full(l, i, l->flushed[thread->index]);
        }
        if (full != 0)
            l->full[(size_t)thread->index * 64] = 1;
    }
}

/* ---- arrivals ----------------------------------------------------------- */

void vly_cpu_learning_arrived(vly_backend_net *net)
{
    uint32_t burst = (uint32_t)net->burst;
    bool renew = ((burst + 1) & (VLY_COMMON_AGE_PERIOD - 1)) == 0;
    for (uint32_t n = 0; n < net->n_learning; n++) {
        vly_cpu_learning *l = &net->learning[n];
        uint32_t a = l->t.projection->source_area;
        const uint32_t *ids;
        const uint32_t *gains;
        if (vly_cpu_has_window(l))
            continue;
        const uint32_t *row =
            vly_cpu_history_set(net, l->t.projection->base_delay, &ids, &gains);
        for (uint32_t i = row[a]; i < row[a + 1]; i++)
            vly_common_traces_arrive(&l->t, ids[i] - net->areas[a].first,
                                     burst);
        for (uint32_t k = 0; renew && k < l->t.n_sources; k++)
            /* not before the flush of the period has folded in all spikes
             * that meet its trace */
            if (burst - l->t.arrived[k] > VLY_COMMON_AGE_PERIOD + l->t.reach)
                l->t.arrived[k] = burst - VLY_COMMON_AGE_NEVER;
    }
}

/* ---- from a snapshot ---------------------------------------------------- */

void vly_cpu_learning_load(vly_backend_net *net, const vly_snapshot *snapshot)
{
    static const uint32_t none; /* where all areas are empty */
    const uint32_t *words = snapshot->weights ? snapshot->weights : &none;

    uint32_t burst = (uint32_t)net->burst;
    for (uint32_t p = 0; p < net->n_projections; p++) {
        vly_cpu_learning *l = net->projections[p].learning;
        if (net->projections[p].short_term)
            words = vly_cpu_short_term_load(net, net->projections[p].short_term,
                                            words);
        if (!l)
            continue;
        uint64_t n_synapses = l->t.projection->row[l->t.n_sources];
        if (n_synapses > 0)
            memcpy(l->master, words, n_synapses * sizeof *words);
        words += n_synapses;
        if (l->eligibility && n_synapses > 0)
            memcpy(l->eligibility, words, n_synapses * sizeof *words);
        words += l->eligibility ? n_synapses : 0;
        words = vly_common_traces_load(&l->t, words, burst);
        if (l->eligibility) {
            vly_common_modulator_load(&l->modulator, words);
            words += VLY_COMMON_MODULATOR_WORDS;
        }
        vly_common_traces_dendrites(&l->t, net->desc, snapshot);
        if (vly_cpu_has_window(l))
            vly_cpu_window_load(l);
        for (uint32_t j = 0; j < net->n_threads; j++)
            l->flushed[j] = burst;
    }
}

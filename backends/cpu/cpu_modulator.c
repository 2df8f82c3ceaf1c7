/* SPDX-License-Identifier: Apache-2.0
 * Projections whose synapses have an eligibility: the sweeps, and the
 * modulator.
 *
 * A sweep reads and writes every synapse. Between two of them the rows of the
 * sources that fired are read, as without a modulator.
 */
#include "cpu_learning.h"

bool vly_cpu_modulator_recent(const vly_backend_net *net,
                              const vly_cpu_learning *l, uint32_t thread)
{
    uint32_t a = l->t.projection->target_area;
    uint32_t low = net->threads[thread].low[a];
    uint32_t high = net->threads[thread].high[a];
    int32_t oldest = (int32_t)((uint32_t)net->burst - l->flushed[thread]);
    uint32_t n = 0;
    if (!l->recent)
        return false;
    for (uint32_t i = low; i < high; i++) {
        int32_t age = (int32_t)((uint32_t)net->burst - l->t.newest[i].last);
        l->recent[i] = age <= oldest;
        n += age <= oldest;
    }
    return n < (high - low) / 8;
}

static void sweep(const vly_backend_net *net, const vly_cpu_learning *l,
                  float d, vly_cpu_range range)
{
    net->kernels->learning->sweep[l->rule->index](
        l->coefs, d, l->master + range.begin, l->eligibility + range.begin,
        range.end - range.begin);
}

void vly_cpu_modulator_sweep(vly_backend_net *net,
                             const vly_cpu_projection *projection,
                             uint32_t thread)
{
    const vly_cpu_learning *l = projection->learning;
    uint32_t part = thread - projection->first_slice;
    if (!vly_common_modulator_due(l->t.desc, net->burst) ||
        (l->t.flags & VLY_LEARNING_FROZEN) != 0)
        return;
    vly_cpu_learning_flush_slice(net, projection, thread);
    float d = vly_common_modulator_at(&l->modulator, l->t.desc);
    vly_cpu_range all = {0, 0}; /* one thread has whole rows: one piece */
    for (uint32_t k = 0; k < l->t.n_sources; k++) {
        vly_cpu_range row = vly_cpu_row_part(projection, k, part);
        if (row.begin != all.end) {
            sweep(net, l, d, all);
            all.begin = row.begin;
        }
        all.end = row.end;
    }
    sweep(net, l, d, all);
}

/* Spikes of the area in this burst. */
static uint32_t spikes_of(const vly_backend_net *net, uint32_t area)
{
    uint32_t n = 0;
    for (uint32_t j = 0; area < net->n_areas && j < net->n_threads; j++) {
        const vly_cpu_thread *thread = &net->threads[j];
        n += thread->area_end[area] -
             (area > 0 ? thread->area_end[area - 1] : 0);
    }
    return n;
}

void vly_cpu_modulators_end(vly_backend_net *net, const vly_run *run)
{
    for (uint32_t n = 0; n < net->n_learning; n++) {
        vly_cpu_learning *l = &net->learning[n];
        if (!l->eligibility)
            continue;
        vly_common_modulator_end(
            &l->modulator, l->t.desc, l->coefs,
            spikes_of(net, l->t.desc->modulator_area),
            vly_common_modulation(run, net->burst, l->index));
    }
}

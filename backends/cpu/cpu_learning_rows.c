/* SPDX-License-Identifier: Apache-2.0
 * Rows of projections that learn: arrivals, and flushes.
 */
#include "cpu_learning.h"

static vly_cpu_rows rows_of(const vly_backend_net *net,
                            const vly_cpu_learning *l)
{
    const vly_cpu_area *area = &net->areas[l->t.projection->target_area];
    vly_cpu_rows rows = {
        .target = l->t.projection->target,
        .master = l->eligibility ? l->eligibility : l->master,
        .weight = l->master,
        .recent = l->recent,
        .coefs = l->coefs,
        .posts = {.mask = l->t.mask,
                  .newest = l->t.newest,
                  .count = l->t.count,
                  .burst = l->t.post},
        .first = area->first,
        .burst = (uint32_t)net->burst,
        .dendritic = (l->t.flags & VLY_LEARNING_DENDRITIC) != 0,
        .nearest = (l->t.flags & VLY_LEARNING_NEAREST) != 0,
        .input = area->slot[area->now] + l->t.projection->port * area->stride,
        .sign = (l->t.flags & VLY_LEARNING_NEGATIVE) != 0 ? UINT32_MAX : 1,
        .shift = l->shift,
    };
    for (uint32_t t = 0; t < 2; t++) {
        rows.posts.newest_before[t] = l->t.newest_before[t];
        rows.posts.before[t] = l->t.post_before[t];
        rows.source[t] = l->source[t];
        rows.target_decay[t] = l->target[t];
    }
    return rows;
}

/* The row of source k. youngest: age of the last spike of a target that counts
 */
static vly_cpu_learning_row row_of(const vly_cpu_learning *l,
                                   const vly_cpu_rows *rows, uint32_t k,
                                   vly_cpu_range range, uint32_t flushed,
                                   int32_t youngest)
{
    uint32_t arrived = rows->burst - l->t.arrived[k];
    int32_t since = (int32_t)(arrived - rows->dendritic);
    int32_t oldest = (int32_t)(rows->burst - flushed);
    /* later spikes of targets meet no trace of this source */
    int32_t least = (int32_t)arrived - (int32_t)l->t.reach + 1;
    vly_cpu_learning_row row = {
        .begin = range.begin,
        .end = range.end,
        .arrived = arrived,
        .youngest = youngest > least ? youngest : least,
        .oldest = oldest < since ? oldest : since,
    };
    for (uint32_t t = 0; t < 2; t++) {
        row.before[t] = l->t.before[t] ? l->t.before[t][k] : 0.0f;
        row.after[t] = rows->nearest ? 1.0f : row.before[t] + 1.0f;
    }
    return row;
}

/* ---- arrivals ----------------------------------------------------------- */

void vly_cpu_learning_deliver(vly_backend_net *net,
                              const vly_cpu_thread *thread,
                              const vly_cpu_projection *projection)
{
    const vly_cpu_learning *l = projection->learning;
    const vly_cpu_learning_kernels *kernels = net->kernels->learning;
    if (vly_cpu_has_window(l)) {
        vly_cpu_window_deliver(net, thread, projection);
        return;
    }
    uint32_t a = l->t.projection->source_area;
    uint32_t part = thread->index - projection->first_slice;
    bool frozen = (l->t.flags & VLY_LEARNING_FROZEN) != 0;
    vly_cpu_rows rows = rows_of(net, l);
    const uint32_t *ids;
    const uint32_t *gains;
    const uint32_t *set =
        vly_cpu_history_set(net, l->t.projection->base_delay, &ids, &gains);
    for (uint32_t n = set[a]; n < set[a + 1]; n++) {
        uint32_t k = ids[n] - net->areas[a].first;
        vly_cpu_learning_row row =
            row_of(l, &rows, k, vly_cpu_row_part(projection, k, part),
                   l->flushed[thread->index], rows.dendritic ? 0 : 1);
        float x[2];
        for (uint32_t t = 0; t < 2; t++)
            x[t] = row.after[t] * vly_cpu_decayed(&l->source[t], row.arrived);
        if (frozen)
            kernels->deliver(&rows, &row);
        else
            kernels->arrive[l->rule->index](&rows, &row, x);
    }
}

/* ---- flushes ------------------------------------------------------------ */

void vly_cpu_learning_flush_slice(vly_backend_net *net,
                                  const vly_cpu_projection *projection,
                                  uint32_t thread)
{
    const vly_cpu_learning_kernels *kernels = net->kernels->learning;
    vly_cpu_learning *l = projection->learning;
    if (vly_cpu_has_window(l)) {
        vly_cpu_window_step(net, thread, projection);
        return;
    }
    uint32_t part = thread - projection->first_slice;
    bool frozen = (l->t.flags & VLY_LEARNING_FROZEN) != 0;
    vly_cpu_rows rows = rows_of(net, l);
    vly_cpu_fold *fold = vly_cpu_modulator_recent(net, l, thread)
                             ? kernels->fold_recent[l->rule->index]
                             : kernels->fold[l->rule->index];
    for (uint32_t k = 0; k < l->t.n_sources && !frozen; k++) {
        vly_cpu_learning_row row =
            row_of(l, &rows, k, vly_cpu_row_part(projection, k, part),
                   l->flushed[thread], 1);
        if (row.youngest <= row.oldest)
            fold(&rows, &row);
    }
    l->flushed[thread] = rows.burst;
    l->full[(size_t)thread * 64] = 0;
}

/* Spikes of targets that are too old to matter get an age that does not grow
 * beyond 31 bits. */
static void renew(const vly_backend_net *net, vly_cpu_learning *l,
                  const vly_cpu_thread *thread)
{
    uint32_t a = l->t.projection->target_area;
    uint32_t burst = (uint32_t)net->burst;
    uint64_t size = l->t.mask + UINT64_C(1);
    for (uint32_t i = thread->low[a]; i < thread->high[a]; i++) {
        uint32_t *spikes[2] = {&l->t.newest[i].last, &l->t.newest[i].prev};
        for (int k = 0; k < 2; k++)
            if ((int32_t)(burst - *spikes[k]) > (int32_t)VLY_COMMON_AGE_PERIOD)
                *spikes[k] = burst - VLY_COMMON_AGE_NEVER;
        for (uint64_t at = i * size; at < (i + 1) * size; at++)
            if ((int32_t)(burst - l->t.post[at]) >
                (int32_t)VLY_COMMON_AGE_PERIOD)
                l->t.post[at] = burst - VLY_COMMON_AGE_NEVER;
    }
}

/* Neurons of other ranks, whose spikes every rank keeps. */
static void renew_others(const vly_backend_net *net, vly_cpu_learning *l)
{
    for (uint32_t j = 0; j < net->n_threads && !vly_cpu_has_window(l); j++)
        if (!vly_cpu_is_own(net, j))
            renew(net, l, &net->threads[j]);
}

void vly_cpu_learning_begin(vly_backend_net *net, const vly_cpu_thread *thread)
{
    bool period = ((uint32_t)net->burst & (VLY_COMMON_AGE_PERIOD - 1)) == 0;
    for (uint32_t n = 0; n < net->n_learning; n++) {
        vly_cpu_learning *l = &net->learning[n];
        uint32_t a = l->t.projection->target_area;
        if (period && thread->index == net->first_own)
            renew_others(net, l);
        if (thread->low[a] >= thread->high[a])
            continue;
        if (vly_cpu_has_window(l)) {
            vly_cpu_window_step(net, thread->index,
                                &net->projections[l->index]);
            continue;
        }
        if (period || l->full[(size_t)thread->index * 64] != 0)
            vly_cpu_learning_flush_slice(net, &net->projections[l->index],
                                         thread->index);
        vly_cpu_modulator_sweep(net, &net->projections[l->index],
                                thread->index);
        if (period)
            renew(net, l, thread);
    }
}

static void flush_task(void *arg, uint32_t task)
{
    vly_backend_net *net = arg;
    const uint32_t slice = net->first_own + task;
    const vly_cpu_thread *thread = &net->threads[slice];
    for (uint32_t n = 0; n < net->n_learning; n++) {
        uint32_t a = net->learning[n].t.projection->target_area;
        if (thread->low[a] < thread->high[a])
            vly_cpu_learning_flush_slice(
                net, &net->projections[net->learning[n].index], slice);
    }
}

void vly_cpu_learning_flush(vly_backend_net *net)
{
    vly_status status = VLY_E_NOMEM;
    if (net->n_learning == 0)
        return;
    if (net->n_own > 1)
        status = vly_support_host->parallel_for(vly_support_host->context,
                                                net->n_own, flush_task, net);
    if (status != VLY_OK) /* no threads: one after the other */
        for (uint32_t j = 0; j < net->n_own; j++)
            flush_task(net, j);
}

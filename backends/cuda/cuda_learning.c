/* SPDX-License-Identifier: Apache-2.0
 * Projections that learn: their arrays on the device, and the way of weights
 * and traces there and back. The kernels are in kernels/cuda/learning_rows.cuh.
 */
#include "cuda_learning.h"

#include <assert.h>
#include <string.h>

#include "backends/common/common_modulator.h"
#include "backends/common/common_traces.h"
#include "backends/common/common_weights.h"
#include "cuda_device.h"
#include "cuda_error.h"
#include "cuda_linger.h"
#include "cuda_memory.h"
#include "cuda_modulator.h"
#include "cuda_net.h"
#include "cuda_rules.h"
#include "cuda_short.h"
#include "cuda_short_term.h"
#include "cuda_window.h"
#include "kernels/rules/rule.h"

/* bursts after which the host flushes, so that ages are renewed */
#define PERIOD (UINT64_C(1) << 28)

static_assert(sizeof(vly_cuda_newest) == 64, "four reads of 16 bytes");
static_assert(
    (uint32_t)VLY_CUDA_LEARNING_DENDRITIC == (uint32_t)VLY_LEARNING_DENDRITIC &&
        (uint32_t)VLY_CUDA_LEARNING_NEAREST == (uint32_t)VLY_LEARNING_NEAREST &&
        (uint32_t)VLY_CUDA_LEARNING_FROZEN == (uint32_t)VLY_LEARNING_FROZEN,
    "flags of the ABI");
static_assert(VLY_CUDA_AGE_NEVER == VLY_COMMON_AGE_NEVER &&
                  VLY_CUDA_AGE_PERIOD == VLY_COMMON_AGE_PERIOD,
              "what traces are filled with");

bool vly_cuda_learns(const vly_cuda_shard *shard)
{
    return shard->store.fixed->n_projections != shard->net->desc->n_projections;
}

/* ---- create ------------------------------------------------------------ */

/* The last spikes of each target: those of its ring. */
static vly_status put_newest(vly_cuda_shard *shard, const vly_common_traces *t,
                             vly_cuda_learning *l, vly_error *error)
{
    vly_cuda_newest *made = NULL;
    uint64_t size = t->mask + UINT64_C(1);
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_alloc(shard, t->n_targets, sizeof *made, &made, error));
    for (uint32_t i = 0; i < t->n_targets; i++) {
        for (uint32_t n = 0; n < VLY_CUDA_NEWEST; n++)
            made[i].burst[n] =
                t->post[i * size + ((t->count[i] - 1 - n) & t->mask)];
        for (uint32_t k = 0; k < 2; k++)
            made[i].after[k] = t->newest[i].after[k];
        made[i].count = t->count[i];
    }
    VLY_TRY(vly_cuda_put(shard, t->n_targets, sizeof *made, made, &l->newest,
                         error));
out:
    vly_cuda_release(shard, made);
    return status;
}

static vly_status put_factors(vly_cuda_shard *shard,
                              const vly_learning_trace *trace,
                              vly_cuda_trace *made, vly_error *error)
{
    uint32_t n =
        trace->bursts < VLY_CUDA_FACTORS ? trace->bursts + 1 : VLY_CUDA_FACTORS;
    float *factor = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_alloc(shard, n, sizeof *factor, &factor, error));
    for (uint32_t k = 0; k < n; k++)
        factor[k] = vly_trace_at(1.0f, k, trace->rate, trace->bursts);
    VLY_TRY(
        vly_cuda_put(shard, n, sizeof *factor, factor, &made->factor, error));
    made->last = n - 1;
    made->rate = trace->rate;
    made->bursts = trace->bursts;
out:
    vly_cuda_release(shard, factor);
    return status;
}

static vly_status put_traces(vly_cuda_shard *shard, const vly_common_traces *t,
                             vly_cuda_learning *l, vly_error *error)
{
    uint64_t posts = vly_common_traces_posts(t);
    vly_status status = VLY_OK;
    if ((t->flags & VLY_LEARNING_WINDOW) != 0)
        return vly_cuda_window_put(shard, &t->window,
                                   (uint32_t)shard->net->burst, l, error);
    VLY_TRY(vly_cuda_put(shard, t->n_sources, sizeof *l->arrived, t->arrived,
                         &l->arrived, error));
    VLY_TRY(put_newest(shard, t, l, error));
    VLY_TRY(
        vly_cuda_put(shard, posts, sizeof *l->post, t->post, &l->post, error));
    for (uint32_t k = 0; k < 2; k++) {
        VLY_TRY(vly_cuda_put(shard, t->n_sources, sizeof(float), t->before[k],
                             &l->before[k], error));
        VLY_TRY(vly_cuda_put(shard, posts, sizeof(float), t->post_before[k],
                             &l->post_before[k], error));
        VLY_TRY(put_factors(shard, &t->desc->source[k], &l->source[k], error));
        VLY_TRY(put_factors(shard, &t->desc->target[k], &l->target_trace[k],
                            error));
    }
out:
    return status;
}

static vly_status put_synapses(vly_cuda_shard *shard,
                               const vly_cuda_own_rows *rows,
                               const uint32_t *words, vly_cuda_learning *l,
                               vly_error *error)
{
    const uint32_t flags[2] = {(uint32_t)shard->net->burst, UINT32_MAX};
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_put(shard, rows->n_sources + UINT64_C(1),
                         sizeof *rows->row, rows->row, &l->row, error));
    VLY_TRY(vly_cuda_own_put(shard, rows, sizeof *l->target, rows->map->target,
                             &l->target, error));
    VLY_TRY(
        vly_cuda_own_put(shard, rows, sizeof *words, words, &l->master, error));
    VLY_TRY(vly_cuda_put(shard, 2, sizeof *flags, flags, &l->flushed, error));
    /* a burst with this number begins with a flush of nothing */
    l->full = l->flushed + 1;
out:
    return status;
}

static void describe(const vly_cuda_shard *shard, const vly_common_traces *t,
                     vly_cuda_learning *l)
{
    const vly_net_desc *desc = shard->net->desc;
    const vly_projection_desc *map = t->projection;
    l->rule = vly_common_rule_find(t->desc->rule)->index;
    l->flags =
        t->flags |
        ((map->flags & VLY_PROJECTION_GAIN) != 0 ? VLY_CUDA_LEARNING_GAIN : 0);
    l->source_first = vly_cuda_area_desc(desc, map->source_area)->first;
    l->n_sources = t->n_sources;
    l->target_first = vly_cuda_area_desc(desc, map->target_area)->first;
    l->n_targets = t->n_targets;
    l->base_delay = map->base_delay;
    l->lag = t->lag;
    l->reach = t->reach;
    l->mask = t->mask;
    l->port = map->port;
    l->sign = (t->flags & VLY_LEARNING_NEGATIVE) != 0 ? UINT32_MAX : 1;
    l->shift = vly_common_shift(desc, map);
}

/* Coefficients of a built-in rule, or the program of a user's. */
static vly_status put_rule(vly_cuda_shard *shard,
                           const vly_learning_desc *learning,
                           vly_cuda_learning *l, vly_error *error)
{
    if (l->rule == VLY_CUDA_RULE_USERS)
        return vly_cuda_rules_put(shard, learning, l, error);
    memcpy(l->coefs, learning->coefs, learning->n_coefs * sizeof *l->coefs);
    return VLY_OK;
}

/* Number i of those that learn. */
static vly_status create_one(vly_cuda_shard *shard, uint32_t i,
                             const vly_snapshot *snapshot,
                             const uint32_t *words, vly_error *error)
{
    const vly_net_desc *desc = shard->net->desc;
    const uint32_t projection = shard->plastic.projection[i];
    vly_cuda_learning *l = &shard->plastic.list[i];
    vly_common_heap heap = {.bytes = 0};
    vly_cuda_own_rows rows;
    vly_common_traces t;
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_traces_create(&heap, desc, projection, &t, error));
    uint64_t n = t.projection->row[t.n_sources];
    bool modulated = vly_common_modulated(t.desc);
    const uint32_t *end = vly_common_traces_load(
        &t, words + (modulated ? 2 : 1) * n, (uint32_t)snapshot->burst);
    vly_common_traces_dendrites(&t, desc, snapshot);
    VLY_TRY(vly_cuda_own_rows_create(shard, t.projection, t.n_sources, &rows,
                                     error));
    if (shard->plastic.ranks)
        VLY_TRY(vly_cuda_rank_map_create(shard, &rows, words, modulated,
                                         &shard->plastic.ranks[i], error));
    describe(shard, &t, l);
    l->most_parts = vly_cuda_own_parts(&rows);
    VLY_TRY(put_rule(shard, t.desc, l, error));
    VLY_TRY(put_synapses(shard, &rows, words, l, error));
    vly_cuda_learning_count(&shard->plastic, vly_cuda_own_synapses(&rows),
                            sizeof *l->target +
                                (modulated ? 2 : 1) * sizeof *l->master,
                            t.n_sources);
    VLY_TRY(put_traces(shard, &t, l, error));
    VLY_TRY(vly_cuda_modulator_create(shard, projection, &rows, words + n, end,
                                      l, error));
out:
    vly_common_release_all(&heap);
    return status;
}

static vly_status put_list(vly_cuda_shard *shard, vly_error *error)
{
    vly_cuda_plastic *plastic = &shard->plastic;
    if (plastic->view.n == 0)
        return VLY_OK;
    return vly_cuda_upload(shard, plastic->on_device, plastic->list,
                           plastic->view.n * sizeof *plastic->list, error);
}

/* Room for n projections that learn and n_short with short-term plasticity. */
static vly_status reserve(vly_cuda_shard *shard, uint32_t n, uint32_t n_short,
                          vly_error *error)
{
    vly_cuda_plastic *plastic = &shard->plastic;
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_short_term_reserve(shard, n_short, error));
    if (n == 0)
        return VLY_OK;
    VLY_TRY(
        vly_cuda_alloc(shard, n, sizeof *plastic->list, &plastic->list, error));
    VLY_TRY(vly_cuda_alloc(shard, n, sizeof *plastic->projection,
                           &plastic->projection, error));
    if (vly_common_ranks(shard->net->desc))
        VLY_TRY(vly_cuda_alloc(shard, n, sizeof *plastic->ranks,
                               &plastic->ranks, error));
    VLY_TRY(vly_cuda_device_alloc(shard, n, sizeof *plastic->on_device,
                                  &plastic->on_device, error));
    plastic->view.list = plastic->on_device;
out:
    return status;
}

vly_status vly_cuda_learning_create(vly_cuda_shard *shard,
                                    const vly_snapshot *snapshot,
                                    vly_error *error)
{
    const vly_net_desc *desc = shard->net->desc;
    vly_cuda_plastic *plastic = &shard->plastic;
    static const uint32_t none; /* where all areas are empty */
    const uint32_t *words = snapshot->weights ? snapshot->weights : &none;
    uint32_t n = 0;
    vly_status status = VLY_OK;
    if (!vly_cuda_learns(shard))
        return VLY_OK;
    for (uint32_t p = 0; p < desc->n_projections; p++)
        n += vly_common_learning(desc, p) != NULL;
    VLY_TRY(reserve(shard, n,
                    desc->n_projections - shard->store.fixed->n_projections - n,
                    error));
    for (uint32_t p = 0; p < desc->n_projections; p++) {
        if (vly_common_short_term_of(desc, p)) {
            VLY_TRY(vly_cuda_short_term_create(shard, p, words, error));
        } else if (vly_common_learning(desc, p)) {
            uint32_t at = plastic->view.n++;
            plastic->projection[at] = p;
            VLY_TRY(create_one(shard, at, snapshot, words, error));
        }
        words += vly_common_learning_words(desc, p);
    }
    plastic->flushed = snapshot->burst;
    VLY_TRY(put_list(shard, error));
    VLY_TRY(vly_cuda_short_term_put(shard, error));
out:
    return status;
}

/* ---- flushes ----------------------------------------------------------- */

/* All weights and traces are those of net->burst, in the order of the
 * projection. */
vly_status vly_cuda_learning_flush(vly_cuda_shard *shard, vly_error *error)
{
    vly_cuda_plastic *plastic = &shard->plastic;
    vly_status status = VLY_OK;
    plastic->flushed = shard->net->burst;
    if (plastic->view.n == 0)
        return VLY_OK;
    if (shard->plan->learning_out)
        return shard->plan->learning_out(shard, error);
    VLY_TRY(vly_cuda_check(vly_cuda_rules_launch_flush(shard),
                           "bringing weights up to date", error));
out:
    return status;
}

vly_status vly_cuda_learning_prepare(vly_cuda_shard *shard, vly_error *error)
{
    vly_status status = VLY_OK;
    if (!vly_cuda_learns(shard))
        return VLY_OK;
    if (shard->net->burst - shard->plastic.flushed >= PERIOD) {
        VLY_TRY(vly_cuda_short_term_renew(shard, error));
        VLY_TRY(vly_cuda_learning_flush(shard, error));
    }
    if (shard->plan->learning_in)
        VLY_TRY(shard->plan->learning_in(shard, error));
out:
    return status;
}

/* ---- weights ----------------------------------------------------------- */

uint64_t vly_cuda_learning_synapses(const vly_cuda_shard *shard, uint32_t i)
{
    const vly_projection_desc *map = vly_cuda_projection_desc(
        shard->net->desc, shard->plastic.projection[i]);
    return map->row[shard->plastic.list[i].n_sources];
}

vly_status vly_cuda_learning_begin(vly_backend_net *net, uint32_t projection,
                                   uint32_t *i, vly_error *error)
{
    vly_cuda_shard *shard = &net->shards[0];
    vly_status status = VLY_OK;
    *i = 0;
    while (shard->plastic.projection[*i] != projection)
        ++*i;
    VLY_TRY(vly_cuda_enter(shard->device, error));
    vly_cuda_short_forget(shard);
    vly_cuda_settle(shard);
    VLY_TRY(vly_cuda_learning_flush(shard, error));
out:
    return status;
}

static vly_status write_masters(vly_cuda_shard *shard, uint32_t i,
                                uint64_t first, uint64_t count,
                                const int32_t *masters, vly_error *error)
{
    int32_t *to = shard->plastic.list[i].master;
    if (!shard->plastic.ranks)
        return vly_cuda_upload(shard, to + first, masters,
                               count * sizeof *masters, error);
    vly_cuda_rank_map *map = &shard->plastic.ranks[i];
    memcpy(map->master + first, masters, (size_t)count * sizeof *masters);
    return vly_cuda_own_write(shard, &map->rows, first, count, masters, to,
                              error);
}

vly_status vly_cuda_learning_write(vly_backend_net *net, uint32_t projection,
                                   uint64_t first, uint64_t count,
                                   const int32_t *masters, vly_error *error)
{
    vly_cuda_shard *shard = &net->shards[0];
    uint32_t i = 0;
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_check_masters(net->desc, projection, first, count,
                                     masters, error));
    VLY_TRY(vly_cuda_learning_begin(net, projection, &i, error));
    if (count > 0)
        VLY_TRY(write_masters(shard, i, first, count, masters, error));
out:
    return status;
}

vly_status vly_cuda_learning_set(vly_backend_net *net, uint32_t projection,
                                 const vly_learning_desc *learning,
                                 vly_error *error)
{
    vly_cuda_shard *shard = &net->shards[0];
    uint32_t i = 0;
    vly_status status = VLY_OK;
    VLY_TRY(
        vly_common_check_learning_set(net->desc, projection, learning, error));
    VLY_TRY(vly_cuda_learning_begin(net, projection, &i, error));
    vly_cuda_learning *l = &shard->plastic.list[i];
    VLY_TRY(put_rule(shard, learning, l, error));
    l->flags = (l->flags & ~VLY_CUDA_LEARNING_FROZEN) |
               (learning->flags & VLY_CUDA_LEARNING_FROZEN);
    VLY_TRY(put_list(shard, error));
out:
    return status;
}

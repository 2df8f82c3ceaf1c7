/* SPDX-License-Identifier: Apache-2.0
 * Projections that learn: their arrays on the device, and the way of weights
 * and traces there and back. The kernels are in kernels/cuda/learning_rows.cuh.
 */
#include "cuda_learning.h"

#include <assert.h>
#include <string.h>

#include "backends/common/common_modulator.h"
#include "backends/common/common_traces.h"
#include "cuda_device.h"
#include "cuda_error.h"
#include "cuda_linger.h"
#include "cuda_memory.h"
#include "cuda_modulator.h"
#include "cuda_net.h"
#include "cuda_short.h"

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

/* ---- what does not learn ----------------------------------------------- */

vly_status vly_cuda_learning_fixed(vly_cuda_shard *shard,
                                   const vly_net_desc **fixed, vly_error *error)
{
    const vly_net_desc *desc = shard->net->desc;
    vly_net_desc *made = NULL;
    unsigned char *kept = NULL;
    uint32_t n = 0;
    for (uint32_t p = 0; p < desc->n_projections; p++)
        n += vly_common_learning(desc, p) != NULL;
    *fixed = desc;
    if (n == 0)
        return VLY_OK;
    vly_status status = vly_cuda_alloc(shard, 1, sizeof *made, &made, error);
    if (status == VLY_OK)
        status = vly_cuda_alloc(shard, desc->n_projections,
                                desc->projection_size, &kept, error);
    if (status != VLY_OK)
        return status;
    *made = *desc;
    made->projections = (const vly_projection_desc *)(const void *)kept;
    made->n_projections = 0;
    made->n_synapses = 0;
    for (uint32_t p = 0; p < desc->n_projections; p++) {
        const vly_projection_desc *map = vly_cuda_projection_desc(desc, p);
        if (vly_common_learning(desc, p) != NULL)
            continue;
        memcpy(kept + (size_t)made->n_projections * desc->projection_size, map,
               desc->projection_size);
        made->n_projections++;
        made->n_synapses +=
            map->row[vly_cuda_area_desc(desc, map->source_area)->n_neurons];
    }
    *fixed = made;
    return VLY_OK;
}

bool vly_cuda_learns(const vly_cuda_shard *shard)
{
    return shard->store.fixed->n_projections != shard->net->desc->n_projections;
}

/* ---- create ------------------------------------------------------------ */

/* count elements on the device, filled from the host. */
static vly_status put(vly_cuda_shard *shard, uint64_t count, uint64_t size,
                      const void *from, void *out, vly_error *error)
{
    void *made = NULL;
    if (from == NULL && count > 0)
        return VLY_OK;
    vly_status status = vly_cuda_device_alloc(shard, count, size, &made, error);
    if (status == VLY_OK && count > 0)
        status = vly_cuda_upload(shard, made, from, count * size, error);
    if (status == VLY_OK)
        memcpy(out, &made, sizeof made);
    return status;
}

/* The last spikes of each target: those of its ring. */
static vly_status put_newest(vly_cuda_shard *shard, const vly_common_traces *t,
                             vly_cuda_learning *l, vly_error *error)
{
    vly_cuda_newest *made = NULL;
    uint64_t size = t->mask + UINT64_C(1);
    vly_status status =
        vly_cuda_alloc(shard, t->n_targets, sizeof *made, &made, error);
    for (uint32_t i = 0; i < t->n_targets && status == VLY_OK; i++) {
        for (uint32_t n = 0; n < VLY_CUDA_NEWEST; n++)
            made[i].burst[n] =
                t->post[i * size + ((t->count[i] - 1 - n) & t->mask)];
        for (uint32_t k = 0; k < 2; k++)
            made[i].after[k] = t->newest[i].after[k];
        made[i].count = t->count[i];
    }
    if (status == VLY_OK)
        status =
            put(shard, t->n_targets, sizeof *made, made, &l->newest, error);
    vly_cuda_release(shard, made);
    return status;
}

static vly_status put_traces(vly_cuda_shard *shard, const vly_common_traces *t,
                             vly_cuda_learning *l, vly_error *error)
{
    uint64_t posts = vly_common_traces_posts(t);
    vly_status status = VLY_OK;
    VLY_TRY(put(shard, t->n_sources, sizeof *l->arrived, t->arrived,
                &l->arrived, error));
    VLY_TRY(put_newest(shard, t, l, error));
    VLY_TRY(put(shard, posts, sizeof *l->post, t->post, &l->post, error));
    for (uint32_t k = 0; k < 2; k++) {
        VLY_TRY(put(shard, t->n_sources, sizeof(float), t->before[k],
                    &l->before[k], error));
        VLY_TRY(put(shard, posts, sizeof(float), t->post_before[k],
                    &l->post_before[k], error));
        l->source[k].rate = t->desc->source[k].rate;
        l->source[k].bursts = t->desc->source[k].bursts;
        l->target_trace[k].rate = t->desc->target[k].rate;
        l->target_trace[k].bursts = t->desc->target[k].bursts;
    }
out:
    return status;
}

static vly_status put_synapses(vly_cuda_shard *shard,
                               const vly_common_traces *t,
                               const uint32_t *words, vly_cuda_learning *l,
                               vly_error *error)
{
    const vly_projection_desc *map = t->projection;
    const uint32_t flags[2] = {(uint32_t)shard->net->burst, UINT32_MAX};
    uint64_t n = map->row[t->n_sources];
    vly_status status = VLY_OK;
    VLY_TRY(put(shard, t->n_sources + UINT64_C(1), sizeof *map->row, map->row,
                &l->row, error));
    VLY_TRY(put(shard, n, sizeof *map->target, map->target, &l->target, error));
    VLY_TRY(put(shard, n, sizeof *words, words, &l->master, error));
    VLY_TRY(put(shard, 2, sizeof *flags, flags, &l->flushed, error));
    /* a burst with this number begins with a flush of nothing */
    l->full = l->flushed + 1;
out:
    return status;
}

/* Spikes of targets that are on their way in dendrites. */
static void push_dendrites(const vly_net_desc *desc,
                           const vly_snapshot *snapshot, vly_common_traces *t)
{
    const vly_area_desc *target =
        vly_cuda_area_desc(desc, t->projection->target_area);
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

static void describe(const vly_cuda_shard *shard, const vly_common_traces *t,
                     vly_cuda_learning *l)
{
    const vly_net_desc *desc = shard->net->desc;
    const vly_projection_desc *map = t->projection;
    l->rule = vly_common_rule_find(t->desc->rule)->index;
    l->flags = t->flags;
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
    /* a mean row has 32 synapses a part */
    uint64_t mean =
        t->n_sources > 0 ? map->row[t->n_sources] / t->n_sources : 0;
    l->most_parts = (uint32_t)(mean / 32 + 1);

    memcpy(l->coefs, t->desc->coefs, t->desc->n_coefs * sizeof *l->coefs);
}

static vly_status create_one(vly_cuda_shard *shard, uint32_t projection,
                             const vly_snapshot *snapshot,
                             const uint32_t *words, vly_cuda_learning *l,
                             vly_error *error)
{
    const vly_net_desc *desc = shard->net->desc;
    vly_common_heap heap = {.bytes = 0};
    vly_common_traces t;
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_traces_create(&heap, desc, projection, &t, error));
    uint64_t n = t.projection->row[t.n_sources];
    bool modulated = vly_common_modulated(t.desc);
    const uint32_t *end = vly_common_traces_load(
        &t, words + (modulated ? 2 : 1) * n, (uint32_t)snapshot->burst);
    push_dendrites(desc, snapshot, &t);
    describe(shard, &t, l);
    VLY_TRY(put_synapses(shard, &t, words, l, error));
    VLY_TRY(put_traces(shard, &t, l, error));
    VLY_TRY(vly_cuda_modulator_create(shard, projection, n, words + n, end, l,
                                      error));
out:
    vly_common_release_all(&heap);
    return status;
}

static vly_status put_list(vly_cuda_shard *shard, vly_error *error)
{
    vly_cuda_plastic *plastic = &shard->plastic;
    return vly_cuda_upload(shard, plastic->on_device, plastic->list,
                           plastic->view.n * sizeof *plastic->list, error);
}

vly_status vly_cuda_learning_create(vly_cuda_shard *shard,
                                    const vly_snapshot *snapshot,
                                    vly_error *error)
{
    const vly_net_desc *desc = shard->net->desc;
    vly_cuda_plastic *plastic = &shard->plastic;
    static const uint32_t none; /* where all areas are empty */
    const uint32_t *words = snapshot->weights ? snapshot->weights : &none;
    uint32_t n = desc->n_projections - shard->store.fixed->n_projections;
    uint32_t at = 0;
    vly_status status = VLY_OK;
    if (n == 0)
        return VLY_OK;
    VLY_TRY(
        vly_cuda_alloc(shard, n, sizeof *plastic->list, &plastic->list, error));
    VLY_TRY(vly_cuda_alloc(shard, n, sizeof *plastic->projection,
                           &plastic->projection, error));
    VLY_TRY(vly_cuda_device_alloc(shard, n, sizeof *plastic->on_device,
                                  &plastic->on_device, error));
    for (uint32_t p = 0; p < desc->n_projections; p++) {
        if (vly_common_learning(desc, p) == NULL)
            continue;
        plastic->projection[at] = p;
        VLY_TRY(
            create_one(shard, p, snapshot, words, &plastic->list[at++], error));
        words += vly_common_learning_words(desc, p);
    }
    plastic->view = (vly_cuda_learnings){.list = plastic->on_device, .n = n};
    plastic->flushed = snapshot->burst;
    VLY_TRY(put_list(shard, error));
out:
    return status;
}

/* ---- flushes ----------------------------------------------------------- */

static vly_status flush(vly_cuda_shard *shard, vly_error *error)
{
    vly_cuda_plastic *plastic = &shard->plastic;
    plastic->flushed = shard->net->burst;
    return vly_cuda_check((int)vly_cuda_launch_learning_flush(
                              &plastic->view, shard->net->burst,
                              shard->n_blocks, (cudaStream_t)shard->stream),
                          "bringing weights up to date", error);
}

vly_status vly_cuda_learning_prepare(vly_cuda_shard *shard, vly_error *error)
{
    if (shard->plastic.view.n == 0 ||
        shard->net->burst - shard->plastic.flushed < PERIOD)
        return VLY_OK;
    return flush(shard, error);
}

/* ---- out --------------------------------------------------------------- */

static vly_status get(vly_cuda_shard *shard, void *to, const void *from,
                      uint64_t bytes, vly_error *error)
{
    if (to == NULL || bytes == 0)
        return VLY_OK;
    return vly_cuda_download(shard, to, from, bytes, error);
}

static vly_status get_counts(vly_cuda_shard *shard, const vly_cuda_learning *l,
                             vly_common_traces *t, vly_error *error)
{
    vly_cuda_newest *newest = NULL;
    vly_status status =
        vly_cuda_alloc(shard, t->n_targets, sizeof *newest, &newest, error);
    if (status == VLY_OK)
        status =
            get(shard, newest, l->newest, t->n_targets * sizeof *newest, error);
    for (uint32_t i = 0; i < t->n_targets && status == VLY_OK; i++)
        t->count[i] = newest[i].count;
    vly_cuda_release(shard, newest);
    return status;
}

/* Traces of projection number i of those that learn, after a flush. */
static vly_status get_traces(vly_cuda_shard *shard, uint32_t i,
                             vly_common_traces *t, vly_error *error)
{
    const vly_cuda_learning *l = &shard->plastic.list[i];
    uint64_t posts = vly_common_traces_posts(t);
    vly_status status = VLY_OK;
    VLY_TRY(get(shard, t->arrived, l->arrived,
                t->n_sources * sizeof *t->arrived, error));
    VLY_TRY(get_counts(shard, l, t, error));
    VLY_TRY(get(shard, t->post, l->post, posts * sizeof *t->post, error));
    for (uint32_t k = 0; k < 2; k++) {
        VLY_TRY(get(shard, t->before[k], l->before[k],
                    t->n_sources * sizeof(float), error));
        VLY_TRY(get(shard, t->post_before[k], l->post_before[k],
                    posts * sizeof(float), error));
    }
out:
    return status;
}

/* Words of the traces; returns their end by *end. */
static vly_status save_traces(vly_cuda_shard *shard, uint32_t i,
                              uint32_t *words, uint32_t **end, vly_error *error)
{
    vly_common_heap heap = {.bytes = 0};
    vly_common_traces t;
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_traces_create(&heap, shard->net->desc,
                                     shard->plastic.projection[i], &t, error));
    VLY_TRY(get_traces(shard, i, &t, error));
    *end = vly_common_traces_save(&t, (uint32_t)shard->net->burst, words);
    const vly_cuda_learning *l = &shard->plastic.list[i];
    if (l->interval != 0) {
        VLY_TRY(get(shard, *end, l->modulator, sizeof *l->modulator, error));
        *end += VLY_COMMON_MODULATOR_WORDS;
    }
out:
    vly_common_release_all(&heap);
    return status;
}

static uint64_t synapses_of(const vly_cuda_shard *shard, uint32_t i)
{
    const vly_projection_desc *map = vly_cuda_projection_desc(
        shard->net->desc, shard->plastic.projection[i]);
    return map->row[shard->plastic.list[i].n_sources];
}

vly_status vly_cuda_learning_save(vly_cuda_shard *shard, uint32_t *words,
                                  vly_error *error)
{
    vly_status status = VLY_OK;
    if (shard->plastic.view.n == 0)
        return VLY_OK;
    VLY_TRY(flush(shard, error));
    for (uint32_t i = 0; i < shard->plastic.view.n; i++) {
        uint64_t n = synapses_of(shard, i);
        VLY_TRY(get(shard, words, shard->plastic.list[i].master,
                    n * sizeof *words, error));
        words += n;
        if (shard->plastic.list[i].interval != 0) {
            VLY_TRY(get(shard, words, shard->plastic.list[i].eligibility,
                        n * sizeof *words, error));
            words += n;
        }
        VLY_TRY(save_traces(shard, i, words, &words, error));
    }
out:
    return status;
}

static uint64_t trace_words(const vly_cuda_shard *shard)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < shard->plastic.view.n; i++) {
        const vly_cuda_learning *l = &shard->plastic.list[i];
        uint64_t n = 4 * ((uint64_t)l->n_sources + l->n_targets) +
                     VLY_COMMON_MODULATOR_WORDS;
        most = n > most ? n : most;
    }
    return most;
}

static vly_status digest_one(vly_cuda_shard *shard, uint32_t i,
                             uint32_t *traces, uint32_t *copy, uint64_t *at,
                             vly_error *error)
{
    cudaStream_t stream = (cudaStream_t)shard->stream;
    uint64_t *sum = &shard->done->digest;
    uint64_t n = synapses_of(shard, i);
    uint32_t *end = traces;
    vly_status status = VLY_OK;
    VLY_TRY(save_traces(shard, i, traces, &end, error));
    VLY_TRY(vly_cuda_check((int)vly_cuda_launch_weights_digest(
                               (const uint32_t *)shard->plastic.list[i].master,
                               n, *at, sum, stream),
                           "digest of weights", error));
    *at += n;
    if (shard->plastic.list[i].interval != 0) {
        VLY_TRY(vly_cuda_check(
            (int)vly_cuda_launch_weights_digest(
                (const uint32_t *)shard->plastic.list[i].eligibility, n, *at,
                sum, stream),
            "digest of eligibilities", error));
        *at += n;
    }
    n = (uint64_t)(end - traces);
    VLY_TRY(vly_cuda_upload(shard, copy, traces, n * sizeof *copy, error));
    VLY_TRY(vly_cuda_check(
        (int)vly_cuda_launch_weights_digest(copy, n, *at, sum, stream),
        "digest of traces", error));
    VLY_TRY(vly_cuda_synchronize(shard, "digest of weights", error));
    *at += n;
out:
    return status;
}

vly_status vly_cuda_learning_digest(vly_cuda_shard *shard, vly_error *error)
{
    uint32_t *traces = NULL;
    uint32_t *copy = NULL;
    uint64_t at = 0;
    vly_status status = VLY_OK;
    if (shard->plastic.view.n == 0)
        return VLY_OK;
    VLY_TRY(flush(shard, error));
    VLY_TRY(vly_cuda_alloc(shard, trace_words(shard), sizeof *traces, &traces,
                           error));
    VLY_TRY(vly_cuda_device_alloc(shard, trace_words(shard), sizeof *copy,
                                  &copy, error));
    for (uint32_t i = 0; i < shard->plastic.view.n; i++)
        VLY_TRY(digest_one(shard, i, traces, copy, &at, error));
out:
    vly_cuda_device_release(shard, copy);
    vly_cuda_release(shard, traces);
    return status;
}

/* ---- weights ----------------------------------------------------------- */

/* The number of a projection among those that learn; the device is entered and
 * idle, and all weights are up to date. */
static vly_status begin(vly_backend_net *net, uint32_t projection,
                        uint64_t first, uint64_t count, uint32_t *i,
                        vly_error *error)
{
    vly_cuda_shard *shard = &net->shards[0];
    vly_status status = VLY_OK;
    uint32_t n = shard->plastic.view.n;
    *i = 0;
    while (*i < n && shard->plastic.projection[*i] != projection)
        ++*i;
    if (*i == n)
        return vly_cuda_fail(error, VLY_E_INVALID,
                             "projection %u does not learn", projection);
    if (first > synapses_of(shard, *i) ||
        count > synapses_of(shard, *i) - first)
        return vly_cuda_fail(
            error, VLY_E_INVALID, "%llu weights from %llu, but there are %llu",
            (unsigned long long)count, (unsigned long long)first,
            (unsigned long long)synapses_of(shard, *i));
    VLY_TRY(vly_cuda_enter(shard->device, error));
    vly_cuda_short_forget(shard);
    vly_cuda_settle(shard);
    VLY_TRY(flush(shard, error));
out:
    return status;
}

vly_status vly_cuda_learning_read(vly_backend_net *net, uint32_t projection,
                                  uint64_t first, uint64_t count,
                                  int32_t *masters, vly_error *error)
{
    uint32_t i = 0;
    vly_status status = VLY_OK;
    VLY_TRY(begin(net, projection, first, count, &i, error));
    VLY_TRY(get(&net->shards[0], masters,
                net->shards[0].plastic.list[i].master + first,
                count * sizeof *masters, error));
out:
    return status;
}

vly_status vly_cuda_learning_write(vly_backend_net *net, uint32_t projection,
                                   uint64_t first, uint64_t count,
                                   const int32_t *masters, vly_error *error)
{
    uint32_t i = 0;
    vly_status status = VLY_OK;
    VLY_TRY(begin(net, projection, first, count, &i, error));
    const vly_learning_desc *learning =
        vly_common_learning(net->desc, projection);
    for (uint64_t j = 0; j < count; j++)
        if (masters[j] < 0 || (uint32_t)masters[j] > learning->most)
            return vly_cuda_fail(error, VLY_E_INVALID,
                                 "weight %d of synapse %llu, wanted 0 to %u",
                                 masters[j], (unsigned long long)(first + j),
                                 learning->most);
    if (count > 0)
        VLY_TRY(vly_cuda_upload(&net->shards[0],
                                net->shards[0].plastic.list[i].master + first,
                                masters, count * sizeof *masters, error));
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
    VLY_TRY(begin(net, projection, 0, 0, &i, error));
    vly_cuda_learning *l = &shard->plastic.list[i];
    const vly_learning_desc *was = vly_common_learning(net->desc, projection);
    if (learning->n_coefs != was->n_coefs)
        return vly_cuda_fail(error, VLY_E_INVALID,
                             "%u coefficients of a rule, wanted %u",
                             learning->n_coefs, was->n_coefs);
    memcpy(l->coefs, learning->coefs, learning->n_coefs * sizeof *l->coefs);
    l->flags = (l->flags & ~VLY_CUDA_LEARNING_FROZEN) |
               (learning->flags & VLY_CUDA_LEARNING_FROZEN);
    VLY_TRY(put_list(shard, error));
out:
    return status;
}

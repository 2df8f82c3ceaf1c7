/* SPDX-License-Identifier: Apache-2.0
 * Weights, traces and states of projections with plasticity as the words of a
 * snapshot, and their digest.
 */
#include "cuda_learning.h"

#include <string.h>

#include "backends/common/common_modulator.h"
#include "backends/common/common_traces.h"
#include "backends/common/common_weights.h"
#include "cuda_error.h"
#include "cuda_memory.h"
#include "cuda_net.h"
#include "cuda_short_term.h"
#include "cuda_window.h"

/* of all ranks, that are copied to the device at a time: 4 MB */
#define RANK_WORDS (UINT64_C(1) << 20)

static vly_status get(vly_cuda_shard *shard, void *to, const void *from,
                      uint64_t bytes, vly_error *error)
{
    if (!to || bytes == 0)
        return VLY_OK;
    return vly_cuda_download(shard, to, from, bytes, error);
}

static vly_status get_counts(vly_cuda_shard *shard, const vly_cuda_learning *l,
                             vly_common_traces *t, vly_error *error)
{
    vly_cuda_newest *newest = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(
        vly_cuda_alloc(shard, t->n_targets, sizeof *newest, &newest, error));
    VLY_TRY(
        get(shard, newest, l->newest, t->n_targets * sizeof *newest, error));
    for (uint32_t i = 0; i < t->n_targets; i++)
        t->count[i] = newest[i].count;
out:
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
    if ((t->flags & VLY_LEARNING_WINDOW) != 0)
        return vly_cuda_window_get(shard, l, &t->window, error);
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

/* Whether short-term plasticity k comes before number i of those that learn. */
static bool comes_next(const vly_cuda_plastic *plastic, uint32_t i, uint32_t k)
{
    return k < plastic->view.n_short &&
           (i == plastic->view.n ||
            plastic->short_projection[k] < plastic->projection[i]);
}

/* Weights or eligibilities of map i as words; of_ranks: those of all ranks. */
static vly_status save_synapses(vly_cuda_shard *shard, uint32_t i,
                                const int32_t *on_device,
                                const int32_t *of_ranks, uint32_t **words,
                                vly_error *error)
{
    const uint64_t n = vly_cuda_learning_synapses(shard, i);
    uint32_t *to = *words;
    *words += n;
    if (!of_ranks)
        return get(shard, to, on_device, n * sizeof *to, error);
    if (n > 0)
        memcpy(to, of_ranks, (size_t)n * sizeof *to);
    return VLY_OK;
}

static const vly_cuda_rank_map *rank_map(const vly_cuda_shard *shard,
                                         uint32_t i)
{
    static const vly_cuda_rank_map none;
    return shard->plastic.ranks ? &shard->plastic.ranks[i] : &none;
}

vly_status vly_cuda_learning_save(vly_cuda_shard *shard, uint32_t *words,
                                  vly_error *error)
{
    const vly_cuda_plastic *plastic = &shard->plastic;
    uint32_t i = 0;
    uint32_t k = 0;
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_learning_flush(shard, error));
    while (i < plastic->view.n || k < plastic->view.n_short) {
        if (comes_next(plastic, i, k)) {
            VLY_TRY(vly_cuda_short_term_save(shard, k++, words, &words, error));
            continue;
        }
        const vly_cuda_rank_map *map = rank_map(shard, i);
        VLY_TRY(save_synapses(shard, i, plastic->list[i].master, map->master,
                              &words, error));
        if (plastic->list[i].interval != 0)
            VLY_TRY(save_synapses(shard, i, plastic->list[i].eligibility,
                                  map->eligibility, &words, error));
        VLY_TRY(save_traces(shard, i++, words, &words, error));
    }
out:
    return status;
}

/* Of words that are on the host; copy: room for them on the device. */
static vly_status digest_words(vly_cuda_shard *shard, const uint32_t *words,
                               uint64_t n, uint32_t *copy, uint64_t *at,
                               vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_upload(shard, copy, words, n * sizeof *copy, error));
    VLY_TRY(vly_cuda_check(
        (int)vly_cuda_launch_weights_digest(copy, n, *at, &shard->done->digest,
                                            (cudaStream_t)shard->stream),
        "digest of traces", error));
    VLY_TRY(vly_cuda_synchronize(shard, "digest of weights", error));
    *at += n;
out:
    return status;
}

/* Weights or eligibilities of map i; of_ranks: those of all ranks. */
static vly_status digest_synapses(vly_cuda_shard *shard, uint32_t i,
                                  const int32_t *on_device,
                                  const int32_t *of_ranks, uint32_t *copy,
                                  uint64_t *at, vly_error *error)
{
    const uint64_t n = vly_cuda_learning_synapses(shard, i);
    vly_status status = VLY_OK;
    if (!of_ranks) {
        VLY_TRY(vly_cuda_check(
            (int)vly_cuda_launch_weights_digest((const uint32_t *)on_device, n,
                                                *at, &shard->done->digest,
                                                (cudaStream_t)shard->stream),
            "digest of weights", error));
        *at += n;
    }
    for (uint64_t k = 0; of_ranks && k < n; k += RANK_WORDS)
        VLY_TRY(digest_words(shard, (const uint32_t *)of_ranks + k,
                             n - k < RANK_WORDS ? n - k : RANK_WORDS, copy, at,
                             error));
out:
    return status;
}

static vly_status digest_one(vly_cuda_shard *shard, uint32_t i,
                             uint32_t *traces, uint32_t *copy, uint64_t *at,
                             vly_error *error)
{
    const vly_cuda_learning *l = &shard->plastic.list[i];
    const vly_cuda_rank_map *map = rank_map(shard, i);
    uint32_t *end = traces;
    vly_status status = VLY_OK;
    VLY_TRY(save_traces(shard, i, traces, &end, error));
    VLY_TRY(digest_synapses(shard, i, l->master, map->master, copy, at, error));
    if (l->interval != 0)
        VLY_TRY(digest_synapses(shard, i, l->eligibility, map->eligibility,
                                copy, at, error));
    VLY_TRY(
        digest_words(shard, traces, (uint64_t)(end - traces), copy, at, error));
out:
    return status;
}

vly_status vly_cuda_learning_digest(vly_cuda_shard *shard, vly_error *error)
{
    const vly_cuda_plastic *plastic = &shard->plastic;
    const uint64_t most = vly_common_trace_words_most(shard->net->desc);
    const uint64_t least = plastic->ranks ? RANK_WORDS : 0;
    uint32_t *traces = NULL;
    uint32_t *copy = NULL;
    uint32_t *end = NULL;
    uint32_t i = 0;
    uint32_t k = 0;
    uint64_t at = 0;
    vly_status status = VLY_OK;
    if (!vly_cuda_learns(shard))
        return VLY_OK;
    VLY_TRY(vly_cuda_learning_flush(shard, error));
    VLY_TRY(vly_cuda_alloc(shard, most, sizeof *traces, &traces, error));
    VLY_TRY(vly_cuda_device_alloc(shard, most > least ? most : least,
                                  sizeof *copy, &copy, error));
    while (i < plastic->view.n || k < plastic->view.n_short) {
        if (!comes_next(plastic, i, k)) {
            VLY_TRY(digest_one(shard, i++, traces, copy, &at, error));
            continue;
        }
        VLY_TRY(vly_cuda_short_term_save(shard, k++, traces, &end, error));
        VLY_TRY(digest_words(shard, traces, (uint64_t)(end - traces), copy, &at,
                             error));
    }
out:
    vly_cuda_device_release(shard, copy);
    vly_cuda_release(shard, traces);
    return status;
}

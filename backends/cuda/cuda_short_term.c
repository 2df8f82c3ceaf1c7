/* SPDX-License-Identifier: Apache-2.0
 * Projections with short-term plasticity, on a device. The kernels are in
 * kernels/cuda/short_term.cuh.
 */
#include "cuda_short_term.h"

#include <assert.h>
#include <string.h>

#include "backends/common/common_short_term.h"
#include "cuda_device.h"
#include "cuda_error.h"
#include "cuda_linger.h"
#include "cuda_memory.h"
#include "cuda_net.h"
#include "cuda_own_rows.h"
#include "cuda_short.h"

static_assert(sizeof(vly_cuda_source) == 16, "one read");

/* ---- create ------------------------------------------------------------ */

vly_status vly_cuda_short_term_reserve(vly_cuda_shard *shard, uint32_t n,
                                       vly_error *error)
{
    vly_cuda_plastic *plastic = &shard->plastic;
    vly_status status = VLY_OK;
    if (n == 0)
        return VLY_OK;
    VLY_TRY(vly_cuda_alloc(shard, n, sizeof *plastic->short_list,
                           &plastic->short_list, error));
    VLY_TRY(vly_cuda_alloc(shard, n, sizeof *plastic->short_projection,
                           &plastic->short_projection, error));
    VLY_TRY(vly_cuda_device_alloc(shard, n, sizeof *plastic->short_on_device,
                                  &plastic->short_on_device, error));
    plastic->view.short_term = plastic->short_on_device;
out:
    return status;
}

static vly_status put_rows(vly_cuda_shard *shard,
                           const vly_common_short_term *t,
                           vly_cuda_short_term *s, vly_error *error)
{
    const vly_projection_desc *map = t->projection;
    const vly_common_port to = vly_common_port_of(shard->net->desc, map);
    uint64_t n = map->row[t->n_sources];
    vly_cuda_own_rows rows = {.made = NULL};
    uint32_t *targets = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_own_rows_create(shard, map, t->n_sources, &rows, error));
    VLY_TRY(vly_cuda_put(shard, t->n_sources + UINT64_C(1), sizeof *rows.row,
                         rows.row, &s->row, error));
    if (to.plane != 0) {
        VLY_TRY(vly_cuda_alloc(shard, n, sizeof *targets, &targets, error));
        for (uint64_t j = 0; j < n; j++)
            targets[j] = map->target[j] + to.plane;
    }
    VLY_TRY(vly_cuda_own_put(shard, &rows, sizeof *map->target,
                             targets ? targets : map->target, &s->target,
                             error));
    if (map->weight)
        VLY_TRY(vly_cuda_own_put(shard, &rows, sizeof *map->weight, map->weight,
                                 &s->weight, error));
    else
        s->one_weight = map->one_weight;
    if (map->delay && map->delay_max > 0)
        VLY_TRY(
            vly_cuda_own_put(shard, &rows, 1, map->delay, &s->delay, error));
    s->port = to.port;
    s->most_parts = vly_cuda_own_parts(&rows);
    vly_cuda_learning_count(&shard->plastic, vly_cuda_own_synapses(&rows),
                            sizeof *s->target +
                                (s->weight ? sizeof *s->weight : 0) +
                                (s->delay ? sizeof *s->delay : 0),
                            rows.n_sources);
out:
    vly_cuda_own_rows_release(shard, &rows);
    vly_cuda_release(shard, targets);
    return status;
}

static vly_status put_sources(vly_cuda_shard *shard,
                              const vly_common_short_term *t,
                              const vly_common_sources *sources,
                              vly_cuda_short_term *s, vly_error *error)
{
    uint32_t *words = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(
        vly_cuda_alloc(shard, t->n_sources, sizeof *s->tail, &words, error));
    vly_common_sources_pack(t, sources, words);
    VLY_TRY(vly_cuda_put(shard, t->n_sources, sizeof *s->tail, words, &s->tail,
                         error));
    VLY_TRY(vly_cuda_put(shard, t->n_sources, sizeof *s->head, words, &s->head,
                         error));
out:
    vly_cuda_release(shard, words);
    return status;
}

static void describe(const vly_cuda_shard *shard,
                     const vly_common_short_term *t, vly_cuda_short_term *s)
{
    const vly_projection_desc *map = t->projection;
    *s = (vly_cuda_short_term){
        .rule = t->rule->index,
        .bursts = t->desc->bursts,
        .source_first =
            vly_cuda_area_desc(shard->net->desc, map->source_area)->first,
        .n_sources = t->n_sources,
        .base_delay = map->base_delay,
        .reach = vly_common_short_term_reach(t),
        .shift = vly_common_shift(shard->net->desc, map)};
    memcpy(s->coefs, t->coefs, t->desc->n_coefs * sizeof *s->coefs);
}

vly_status vly_cuda_short_term_create(vly_cuda_shard *shard,
                                      uint32_t projection,
                                      const uint32_t *words, vly_error *error)
{
    vly_cuda_plastic *plastic = &shard->plastic;
    vly_cuda_short_term *s = &plastic->short_list[plastic->view.n_short];
    vly_common_heap heap = {.bytes = 0};
    vly_common_short_term t;
    vly_common_sources sources;
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_short_term_create(&heap, shard->net->desc, projection,
                                         &t, error));
    VLY_TRY(vly_common_sources_create(&heap, &t, &sources, error));
    (void)vly_common_sources_load(&t, &sources, words, shard->net->burst);
    describe(shard, &t, s);
    VLY_TRY(put_rows(shard, &t, s, error));
    VLY_TRY(put_sources(shard, &t, &sources, s, error));
    plastic->short_projection[plastic->view.n_short++] = projection;
out:
    vly_common_release_all(&heap);
    return status;
}

vly_status vly_cuda_short_term_put(vly_cuda_shard *shard, vly_error *error)
{
    vly_cuda_plastic *plastic = &shard->plastic;
    if (plastic->view.n_short == 0)
        return VLY_OK;
    return vly_cuda_upload(shard, plastic->short_on_device, plastic->short_list,
                           plastic->view.n_short * sizeof *plastic->short_list,
                           error);
}

/* ---- events under way -------------------------------------------------- */

/* Brings the head from the tail to this burst, and delivers what is under way
 * for later ones (sign 1), or takes it away (-1). */
static vly_status replay(vly_cuda_shard *shard, uint32_t i, uint32_t sign,
                         vly_error *error)
{
    const vly_cuda_short_term *s = &shard->plastic.short_list[i];
    cudaStream_t stream = (cudaStream_t)shard->stream;
    uint64_t burst = shard->net->burst;
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_check((int)vly_cuda_launch_short_term_reset(s, stream),
                           "restoring states", error));
    for (uint32_t age = s->reach; age > s->base_delay; age--)
        if (age <= burst)
            VLY_TRY(vly_cuda_check(
                (int)vly_cuda_launch_short_term_again(
                    &shard->view, s, burst, burst - age, sign, stream),
                "restoring events", error));
out:
    return status;
}

vly_status vly_cuda_short_term_restore(vly_cuda_shard *shard, vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < shard->plastic.view.n_short; i++)
        VLY_TRY(replay(shard, i, 1, error));
out:
    return status;
}

vly_status vly_cuda_short_term_renew(vly_cuda_shard *shard, vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < shard->plastic.view.n_short; i++)
        VLY_TRY(vly_cuda_check(
            (int)vly_cuda_launch_short_term_renew(&shard->plastic.short_list[i],
                                                  shard->net->burst,
                                                  (cudaStream_t)shard->stream),
            "renewing ages", error));
out:
    return status;
}

vly_status vly_cuda_short_term_set(vly_backend_net *net, uint32_t projection,
                                   const vly_short_term_desc *short_term,
                                   vly_error *error)
{
    vly_cuda_shard *shard = &net->shards[0];
    uint32_t i = 0;
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_check_short_term_set(net->desc, projection, short_term,
                                            error));
    while (shard->plastic.short_projection[i] != projection)
        i++;
    vly_cuda_short_term *s = &shard->plastic.short_list[i];
    VLY_TRY(vly_cuda_enter(shard->device, error));
    vly_cuda_short_forget(shard);
    vly_cuda_settle(shard);
    VLY_TRY(replay(shard, i, UINT32_MAX, error));
    memcpy(s->coefs, short_term->coefs, short_term->n_coefs * sizeof *s->coefs);
    VLY_TRY(replay(shard, i, 1, error));
    VLY_TRY(vly_cuda_short_term_put(shard, error));
out:
    return status;
}

/* ---- out --------------------------------------------------------------- */

vly_status vly_cuda_short_term_save(vly_cuda_shard *shard, uint32_t i,
                                    uint32_t *words, uint32_t **end,
                                    vly_error *error)
{
    const vly_cuda_short_term *s = &shard->plastic.short_list[i];
    uint32_t *tail = NULL;
    vly_common_heap heap = {.bytes = 0};
    vly_common_short_term t;
    vly_common_sources sources;
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_short_term_create(&heap, shard->net->desc,
                                         shard->plastic.short_projection[i], &t,
                                         error));
    VLY_TRY(vly_common_sources_create(&heap, &t, &sources, error));
    VLY_TRY(vly_cuda_alloc(shard, s->n_sources, sizeof *s->tail, &tail, error));
    if (s->n_sources > 0)
        VLY_TRY(vly_cuda_download(shard, tail, s->tail,
                                  s->n_sources * sizeof *s->tail, error));
    vly_common_sources_unpack(&t, &sources, tail);
    *end = vly_common_sources_save(&t, &sources, shard->net->burst, words);
out:
    vly_cuda_release(shard, tail);
    vly_common_release_all(&heap);
    return status;
}

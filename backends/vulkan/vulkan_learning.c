/* SPDX-License-Identifier: Apache-2.0
 * Projections that learn: their dispatches in a burst, flushes, and the way of
 * weights and traces to the host and back. A burst with them is
 *     flush | inputs, delivery, rows that learn | update | arrivals, spikes |
 *     modulators |
 * with a barrier at each |; nearly always no ring is full, and the flush reads
 * one word. The shaders are kernels/vulkan/learn_*.comp.
 */
#include "vulkan_learning.h"

#include <string.h>

#include "backends/common/common_modulator.h"
#include "backends/common/common_traces.h"
#include "backends/common/common_weights.h"
#include "vulkan_blocks.h"
#include "vulkan_modulator.h"
#include "vulkan_rule.h"
#include "vulkan_short_term.h"

/* bursts after which the host flushes, so that ages are renewed */
#define PERIOD (UINT64_C(1) << 28)

uint32_t vly_vulkan_learning_find(const vly_backend_net *net,
                                  uint32_t projection)
{
    uint32_t i = 0;
    while (i < net->plastic.n && net->plastic.map[i].projection != projection)
        i++;
    return i;
}

/* ---- dispatches -------------------------------------------------------- */

static uint32_t count_of(const vly_backend_net *net, uint32_t rule)
{
    return net->plastic.first[rule + 1] - net->plastic.first[rule];
}

/* Whether the rule has a modulator, and a map of the net learns by it. */
static bool is_modulated(const vly_backend_net *net, uint32_t rule)
{
    return count_of(net, rule) > 0 &&
           net->plastic.map[net->plastic.first[rule]].modulator;
}

bool vly_vulkan_learning_uses(const vly_backend_net *net, uint32_t shader)
{
    if (shader >= VLY_VULKAN_LEARN && shader < VLY_VULKAN_FLUSH)
        return count_of(net, shader - VLY_VULKAN_LEARN) > 0;
    if (shader >= VLY_VULKAN_FLUSH && shader < VLY_VULKAN_MODULATE)
        return count_of(net, shader - VLY_VULKAN_FLUSH) > 0;
    if (shader >= VLY_VULKAN_MODULATE && shader < VLY_VULKAN_EVENTS)
        return is_modulated(net, shader - VLY_VULKAN_MODULATE);
    return shader == VLY_VULKAN_EVENTS && net->plastic.n > 0;
}

enum { ROWS, EVENTS, RENEWING }; /* of vly_vulkan_plastic_map.groups */

/* Projections [first, end) by one shader: in one dispatch, or on a processor
 * each in its own (choose_groups of vulkan_plastic.c). */
static void dispatch_maps(vly_backend_net *net, VkCommandBuffer commands,
                          VkPipeline pipeline, vly_vulkan_push push,
                          uint32_t end, uint32_t work)
{
    while (push.first < end) {
        push.count = net->device->is_cpu ? 1 : end - push.first;
        vly_vulkan_dispatch(net, commands, pipeline, push,
                            net->plastic.map[push.first].groups[work]);
        push.first += push.count;
    }
}

/* All rows; shader: that of the first rule. */
static void dispatch_rules(vly_backend_net *net, VkCommandBuffer commands,
                           const VkPipeline *pipelines, uint32_t shader,
                           uint32_t k, uint32_t all)
{
    const uint32_t *first = net->plastic.first;
    const uint32_t n_rules = vly_vulkan_rules_all(net);
    for (uint32_t rule = 0; rule < n_rules; rule++)
        dispatch_maps(
            net, commands,
            rule < VLY_VULKAN_N_RULES
                ? pipelines[shader + rule]
                : vly_vulkan_rule_pipeline(net, rule,
                                           shader == VLY_VULKAN_FLUSH),
            (vly_vulkan_push){.k = k, .first = first[rule], .all = all},
            first[rule + 1], ROWS);
}

void vly_vulkan_learning_flush(vly_backend_net *net, VkCommandBuffer commands,
                               const VkPipeline *pipelines, uint32_t k)
{
    dispatch_rules(net, commands, pipelines, VLY_VULKAN_FLUSH, k, 0);
}

void vly_vulkan_learning_deliver(vly_backend_net *net, VkCommandBuffer commands,
                                 const VkPipeline *pipelines, uint32_t k)
{
    dispatch_rules(net, commands, pipelines, VLY_VULKAN_LEARN, k, 0);
}

void vly_vulkan_learning_events(vly_backend_net *net, VkCommandBuffer commands,
                                const VkPipeline *pipelines, uint32_t k)
{
    dispatch_maps(net, commands, pipelines[VLY_VULKAN_EVENTS],
                  (vly_vulkan_push){.k = k}, net->plastic.n, EVENTS);
}

void vly_vulkan_learning_modulate(vly_backend_net *net,
                                  VkCommandBuffer commands,
                                  const VkPipeline *pipelines, uint32_t k)
{
    for (uint32_t rule = 0; rule < VLY_VULKAN_N_RULES; rule++) {
        const uint32_t n = count_of(net, rule); /* an invocation each */
        if (is_modulated(net, rule))
            vly_vulkan_dispatch(
                net, commands, pipelines[VLY_VULKAN_MODULATE + rule],
                (vly_vulkan_push){
                    .k = k, .first = net->plastic.first[rule], .count = n},
                (n - 1) / net->shape.size + 1);
    }
}

/* ---- flushes ----------------------------------------------------------- */

/* All synapses are brought up to date at net->burst. */
static vly_status flush(vly_backend_net *net, vly_error *error)
{
    VkPipeline pipelines[VLY_VULKAN_N_SHADERS] = {VK_NULL_HANDLE};
    vly_status status = VLY_OK;
    for (uint32_t i = VLY_VULKAN_FLUSH; i <= VLY_VULKAN_RENEW; i++)
        if (i == VLY_VULKAN_RENEW ||
            (i < VLY_VULKAN_MODULATE && vly_vulkan_learning_uses(net, i)))
            VLY_TRY(vly_vulkan_pipeline_get(net->device, &net->pipelines,
                                            &net->shape, i, &pipelines[i],
                                            error));
    *net->launch = (vly_vulkan_launch){.burst = net->burst};
    VLY_TRY(vly_vulkan_once(net, error));
    dispatch_rules(net, net->once, pipelines, VLY_VULKAN_FLUSH, 0, 1);
    vly_vulkan_barrier(net->once);
    dispatch_maps(net, net->once, pipelines[VLY_VULKAN_RENEW],
                  (vly_vulkan_push){.k = 0}, net->plastic.n, RENEWING);
    VLY_TRY(vly_vulkan_once_end(net, "bringing weights up to date", error));
    net->plastic.flushed = net->burst;
out:
    return status;
}

vly_status vly_vulkan_learning_prepare(vly_backend_net *net, vly_error *error)
{
    vly_status status = VLY_OK;
    if (net->plastic.n_short > 0 &&
        net->burst - net->plastic.short_renewed >= PERIOD)
        VLY_TRY(vly_vulkan_short_term_renew(net, error));
    if (net->plastic.n > 0 && net->burst - net->plastic.flushed >= PERIOD)
        status = flush(net, error);
out:
    return status;
}

/* ---- snapshot ---------------------------------------------------------- */

/* n elements of a buffer; NULL: there is nothing to read */
static vly_status get(vly_backend_net *net, void *to,
                      const vly_vulkan_buffer *from, uint64_t bytes,
                      vly_error *error)
{
    if (!to || bytes == 0)
        return VLY_OK;
    return vly_vulkan_download(net, to, from, 0, bytes, error);
}

static vly_status get_counts(vly_backend_net *net,
                             const vly_vulkan_plastic_map *map,
                             vly_common_traces *t, vly_error *error)
{
    vly_vulkan_newest *newest = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_alloc(&net->heap, t->n_targets, sizeof *newest, &newest,
                             error));
    VLY_TRY(
        get(net, newest, map->newest, t->n_targets * sizeof *newest, error));
    for (uint32_t i = 0; i < t->n_targets; i++)
        t->count[i] = newest[i].count;
out:
    vly_common_release(&net->heap, newest);
    return status;
}

/* The runs of both sides. */
static vly_status get_window(vly_backend_net *net,
                             const vly_vulkan_plastic_map *map,
                             vly_common_window *to, vly_error *error)
{
    vly_status status = VLY_OK;
    for (int side = 0; side < 2 && status == VLY_OK; side++) {
        uint64_t n = to->n[side];
        uint32_t *pairs = NULL;
        status =
            vly_common_alloc(&net->heap, n, 2 * sizeof *pairs, &pairs, error);
        if (status == VLY_OK)
            status =
                get(net, pairs, map->runs[side], n * 2 * sizeof *pairs, error);
        if (status == VLY_OK)
            vly_common_window_unpack(to, side, pairs);
        vly_common_release(&net->heap, pairs);
    }
    return status;
}

static vly_status get_traces(vly_backend_net *net,
                             const vly_vulkan_plastic_map *map,
                             vly_common_traces *t, vly_error *error)
{
    uint64_t posts = vly_common_traces_posts(t);
    vly_status status = VLY_OK;
    VLY_TRY(get(net, t->arrived, map->arrived,
                t->n_sources * sizeof *t->arrived, error));
    VLY_TRY(get_counts(net, map, t, error));
    VLY_TRY(get(net, t->post, map->post, posts * sizeof *t->post, error));
    for (uint32_t k = 0; k < 2; k++) {
        VLY_TRY(get(net, t->before[k], map->before[k],
                    t->n_sources * sizeof(float), error));
        VLY_TRY(get(net, t->post_before[k], map->post_before[k],
                    posts * sizeof(float), error));
    }
out:
    return status;
}

/* Words of the traces, after a flush. */
static vly_status save_traces(vly_backend_net *net,
                              const vly_vulkan_plastic_map *map,
                              uint32_t *words, vly_error *error)
{
    vly_common_heap heap = {.bytes = 0};
    vly_common_traces t;
    vly_status status = VLY_OK;
    VLY_TRY(
        vly_common_traces_create(&heap, net->desc, map->projection, &t, error));
    if ((t.flags & VLY_LEARNING_WINDOW) != 0)
        VLY_TRY(get_window(net, map, &t.window, error));
    else
        VLY_TRY(get_traces(net, map, &t, error));
    (void)vly_common_traces_save(&t, (uint32_t)net->burst, words);
out:
    vly_common_release_all(&heap);
    return status;
}

/* Weights, eligibilities, traces, modulator. */
static vly_status save_map(vly_backend_net *net, uint32_t i, uint32_t *words,
                           vly_error *error)
{
    const vly_vulkan_plastic_map *map = &net->plastic.map[i];
    const uint64_t n = map->blocks.n_synapses;
    uint32_t *end =
        words + vly_common_learning_words(net->desc, map->projection);
    vly_status status = VLY_OK;
    VLY_TRY(
        vly_vulkan_blocks_get(net, map->blocks.weights, 0, n, words, error));
    words += n;
    if (map->modulator) {
        VLY_TRY(vly_vulkan_blocks_get(net, map->blocks.eligibilities, 0, n,
                                      words, error));
        words += n;
        VLY_TRY(vly_vulkan_modulator_save(
            net, map, end - VLY_COMMON_MODULATOR_WORDS, error));
    }
    status = save_traces(net, map, words, error);
out:
    return status;
}

vly_status vly_vulkan_learning_save(vly_backend_net *net, uint32_t *words,
                                    vly_error *error)
{
    vly_status status = VLY_OK;
    if (net->plastic.n > 0)
        VLY_TRY(flush(net, error));
    for (uint32_t p = 0; p < net->desc->n_projections; p++) {
        uint32_t i = vly_vulkan_learning_find(net, p);
        uint32_t s = vly_vulkan_short_term_find(net, p);
        if (i < net->plastic.n)
            VLY_TRY(save_map(net, i, words, error));
        if (s < net->plastic.n_short)
            VLY_TRY(vly_vulkan_short_term_save(net, s, words, error));
        words += vly_common_learning_words(net->desc, p);
    }
out:
    return status;
}

/* ---- weights ------------------------------------------------------------ */

/* All weights are up to date. */
static vly_status begin(vly_backend_net *net, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_vulkan_enter(net->device, error));
    VLY_TRY(flush(net, error));
out:
    return status;
}

static vly_vulkan_buffer *const *weights_of(const vly_backend_net *net,
                                            uint32_t projection)
{
    return net->plastic.map[vly_vulkan_learning_find(net, projection)]
        .blocks.weights;
}

vly_status vly_vulkan_learning_read(vly_backend_net *net, uint32_t projection,
                                    uint64_t first, uint64_t count,
                                    int32_t *masters, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_check_range(net->desc, projection, first, count, error));
    VLY_TRY(begin(net, error));
    status = vly_vulkan_blocks_get(net, weights_of(net, projection), first,
                                   count, masters, error);
out:
    return status;
}

vly_status vly_vulkan_learning_write(vly_backend_net *net, uint32_t projection,
                                     uint64_t first, uint64_t count,
                                     const int32_t *masters, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_check_masters(net->desc, projection, first, count,
                                     masters, error));
    VLY_TRY(begin(net, error));
    status = vly_vulkan_blocks_set(net, weights_of(net, projection), first,
                                   count, masters, error);
out:
    return status;
}

vly_status vly_vulkan_learning_set(vly_backend_net *net, uint32_t projection,
                                   const vly_learning_desc *learning,
                                   vly_error *error)
{
    uint32_t i = 0;
    vly_status status = VLY_OK;
    VLY_TRY(
        vly_common_check_learning_set(net->desc, projection, learning, error));
    VLY_TRY(begin(net, error));
    i = vly_vulkan_learning_find(net, projection);
    vly_vulkan_learning *l = &net->plastic.list[i];
    if (net->plastic.map[i].words)
        VLY_TRY(
            vly_vulkan_rule_set(net, &net->plastic.map[i], learning, l, error));
    else
        memcpy(l->coefs, learning->coefs, learning->n_coefs * sizeof *l->coefs);
    l->flags = (l->flags & ~VLY_VULKAN_LEARNING_FROZEN) |
               (learning->flags & VLY_VULKAN_LEARNING_FROZEN);
    status = vly_vulkan_upload(net, net->plastic.table, i * sizeof *l, l,
                               sizeof *l, error);
out:
    return status;
}

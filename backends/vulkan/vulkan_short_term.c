/* SPDX-License-Identifier: Apache-2.0
 * Projections with short-term plasticity: see vulkan_short_term.h. In a burst
 * their rows are delivered beside the other ones, and the states of sources
 * advance beside the update. A second copy of the states, the tail, lags: it
 * has only the spikes whose events have all arrived. A snapshot holds the tail.
 */
#include "vulkan_short_term.h"

#include <string.h>

#include "backends/common/common_short_term.h"
#include "backends/common/common_traces.h"
#include "kernels/rules/short_term_rules.h"
#include "vulkan_blocks.h"

_Static_assert(VLY_SHORT_TERM_MAX_COEFS <= VLY_VULKAN_RULE_COEFS,
               "coefficients of a rule");

enum { ROWS, STATES }; /* of vly_vulkan_short_map.groups */

/* ---- which have it ------------------------------------------------------ */

static uint32_t rule_of(const vly_backend_net *net, uint32_t projection)
{
    const vly_short_term_desc *t =
        vly_common_short_term_of(net->desc, projection);
    return t ? vly_common_short_rule_find(t->rule)->index : UINT32_MAX;
}

vly_status vly_vulkan_short_term_count(vly_backend_net *net, vly_error *error)
{
    vly_vulkan_plastic *plastic = &net->plastic;
    const uint32_t n_projections = net->desc->n_projections;
    uint32_t next[VLY_VULKAN_N_SHORT_RULES];
    vly_status status = VLY_OK;
    for (uint32_t p = 0; p < n_projections; p++)
        if (rule_of(net, p) < VLY_VULKAN_N_SHORT_RULES)
            plastic->short_first[rule_of(net, p) + 1]++;
    for (uint32_t r = 0; r < VLY_VULKAN_N_SHORT_RULES; r++)
        plastic->short_first[r + 1] += plastic->short_first[r];
    plastic->n_short = plastic->short_first[VLY_VULKAN_N_SHORT_RULES];
    memcpy(next, plastic->short_first, sizeof next);
    VLY_TRY(vly_common_alloc(&net->heap, plastic->n_short,
                             sizeof *plastic->short_list, &plastic->short_list,
                             error));
    VLY_TRY(vly_common_alloc(&net->heap, plastic->n_short,
                             sizeof *plastic->short_map, &plastic->short_map,
                             error));
    for (uint32_t p = 0; p < n_projections; p++)
        if (rule_of(net, p) < VLY_VULKAN_N_SHORT_RULES)
            plastic->short_map[next[rule_of(net, p)]++].projection = p;
out:
    return status;
}

uint32_t vly_vulkan_short_term_find(const vly_backend_net *net,
                                    uint32_t projection)
{
    const vly_vulkan_plastic *plastic = &net->plastic;
    uint32_t i = 0;
    while (i < plastic->n_short &&
           plastic->short_map[i].projection != projection)
        i++;
    return i;
}

/* ---- create ------------------------------------------------------------ */

static vly_status put_sources(vly_backend_net *net,
                              const vly_common_short_term *t,
                              const vly_common_sources *sources,
                              vly_vulkan_short_map *map, vly_error *error)
{
    const uint64_t size = sizeof(vly_vulkan_source);
    uint32_t *words = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_alloc(&net->heap, t->n_sources, size, &words, error));
    vly_common_sources_pack(t, sources, words);
    VLY_TRY(vly_vulkan_put(net, t->n_sources, size, words, &map->tail, error));
    VLY_TRY(vly_vulkan_put(net, t->n_sources, size, words, &map->head, error));
out:
    vly_common_release(&net->heap, words);
    return status;
}

/* The targets and the second words of the synapses: weight, delay and port. */
static vly_status put_rows(vly_backend_net *net, const vly_common_short_term *t,
                           vly_vulkan_short_map *map, uint64_t *blocks,
                           vly_error *error)
{
    const vly_projection_desc *p = t->projection;
    const vly_common_port to = vly_common_port_of(net->desc, p);
    uint64_t n = map->blocks.n_synapses;
    uint32_t *words = NULL;
    uint32_t *targets = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_alloc(&net->heap, n, sizeof *words, &words, error));
    if (to.plane != 0)
        VLY_TRY(
            vly_common_alloc(&net->heap, n, sizeof *targets, &targets, error));
    for (uint64_t j = 0; j < n; j++) {
        const int32_t weight = vly_weight_at(p, j);
        uint32_t delay = p->delay ? p->delay[j] : 0;
        uint32_t port =
            to.port == VLY_PORT_BY_SIGN ? (uint32_t)(weight < 0) : to.port;
        uint32_t flags = port != 0 ? VLY_VULKAN_SYNAPSE_PORT : 0;
        words[j] = (uint16_t)weight | delay << 16 | flags << 24;
        if (targets)
            targets[j] = p->target[j] + to.plane;
    }
    status = vly_vulkan_blocks_create(net, &map->blocks,
                                      targets ? targets : p->target, words,
                                      NULL, blocks, error);
out:
    vly_common_release(&net->heap, targets);
    vly_common_release(&net->heap, words);
    return status;
}

static void describe(const vly_backend_net *net, const vly_common_short_term *t,
                     const vly_vulkan_short_map *map, vly_vulkan_short *s)
{
    const vly_projection_desc *p = t->projection;
    memcpy(s->coefs, t->coefs, t->desc->n_coefs * sizeof *s->coefs);
    s->head = map->head->address;
    s->tail = map->tail->address;
    s->bursts = t->desc->bursts;
    s->source_first = vly_common_area_desc(net->desc, p->source_area)->first;
    s->n_sources = t->n_sources;
    s->base_delay = p->base_delay;
    s->reach = vly_common_short_term_reach(t);
    s->shift = vly_common_shift(net->desc, p);
    s->block_shift = net->plastic.block_shift;
}

/* A synapse is an iteration; the states of both copies advance. */
static vly_status choose_groups(const vly_backend_net *net,
                                const vly_projection_desc *p,
                                vly_vulkan_short_map *map, uint32_t *n_parts,
                                vly_error *error)
{
    uint64_t events = 2 * (uint64_t)net->desc->n_neurons;
    if (vly_vulkan_work_rows(net, p, 1, n_parts, &map->groups[ROWS]) ==
            VLY_OK &&
        vly_vulkan_work_loops(net, events, &map->groups[STATES]) == VLY_OK)
        return VLY_OK;
    return vly_vulkan_work_fail(net, p, 0, error);
}

vly_status vly_vulkan_short_term_create(vly_backend_net *net, uint32_t i,
                                        uint64_t burst, const uint32_t *words,
                                        vly_error *error)
{
    vly_vulkan_short_map *map = &net->plastic.short_map[i];
    vly_vulkan_short *s = &net->plastic.short_list[i];
    vly_common_heap heap = {.bytes = 0};
    vly_common_short_term t;
    vly_common_sources sources;
    vly_vulkan_buffer *row = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_short_term_create(&heap, net->desc, map->projection, &t,
                                         error));
    VLY_TRY(vly_common_sources_create(&heap, &t, &sources, error));
    (void)vly_common_sources_load(&t, &sources, words, burst);
    const vly_projection_desc *p = t.projection;
    map->blocks.n_synapses = p->row[t.n_sources];
    map->delay_max = p->delay_max;
    VLY_TRY(choose_groups(net, p, map, &s->n_parts, error));
    VLY_TRY(vly_vulkan_put(net, t.n_sources + UINT64_C(1), sizeof *p->row,
                           p->row, &row, error));
    VLY_TRY(put_rows(net, &t, map, &s->blocks, error));
    VLY_TRY(put_sources(net, &t, &sources, map, error));
    describe(net, &t, map, s);
    s->row = row->address;
out:
    vly_common_release_all(&heap);
    return status;
}

/* ---- dispatches -------------------------------------------------------- */

bool vly_vulkan_short_term_uses(const vly_backend_net *net, uint32_t shader)
{
    if (shader < VLY_VULKAN_ROWS ||
        shader >= VLY_VULKAN_STATES + VLY_VULKAN_N_SHORT_RULES)
        return false;
    const uint32_t *first =
        net->plastic.short_first +
        (shader - VLY_VULKAN_ROWS) % VLY_VULKAN_N_SHORT_RULES;
    return first[1] > first[0];
}

/* Burst k of all maps, by rule; on a processor each map in its own dispatch
 * (vulkan_blocks.c, work groups). */
static void dispatch(vly_backend_net *net, VkCommandBuffer commands,
                     const VkPipeline *pipelines, uint32_t shader, uint32_t k,
                     uint32_t work)
{
    const vly_vulkan_plastic *plastic = &net->plastic;
    for (uint32_t rule = 0; rule < VLY_VULKAN_N_SHORT_RULES; rule++) {
        uint32_t end = plastic->short_first[rule + 1];
        for (uint32_t i = plastic->short_first[rule]; i < end;) {
            uint32_t n = net->device->is_cpu ? 1 : end - i;
            vly_vulkan_dispatch(
                net, commands, pipelines[shader + rule],
                (vly_vulkan_push){.k = k, .first = i, .count = n},
                plastic->short_map[i].groups[work]);
            i += n;
        }
    }
}

void vly_vulkan_short_term_deliver(vly_backend_net *net,
                                   VkCommandBuffer commands,
                                   const VkPipeline *pipelines, uint32_t k)
{
    dispatch(net, commands, pipelines, VLY_VULKAN_ROWS, k, ROWS);
}

void vly_vulkan_short_term_states(vly_backend_net *net,
                                  VkCommandBuffer commands,
                                  const VkPipeline *pipelines, uint32_t k)
{
    dispatch(net, commands, pipelines, VLY_VULKAN_STATES, k, STATES);
}

/* ---- events under way -------------------------------------------------- */

static vly_status get_pipelines(vly_backend_net *net, uint32_t i,
                                VkPipeline *rows, VkPipeline *states,
                                vly_error *error)
{
    uint32_t rule = rule_of(net, net->plastic.short_map[i].projection);
    vly_status status = VLY_OK;
    VLY_TRY(vly_vulkan_pipeline_get(net->device, &net->pipelines, &net->shape,
                                    VLY_VULKAN_ROWS + rule, rows, error));
    VLY_TRY(vly_vulkan_pipeline_get(net->device, &net->pipelines, &net->shape,
                                    VLY_VULKAN_STATES + rule, states, error));
out:
    return status;
}

/* Brings the head from the tail to this burst, and delivers what is under way
 * for later ones (all: AGAIN), or takes it away (AWAY). */
static vly_status replay(vly_backend_net *net, uint32_t i, uint32_t all,
                         vly_error *error)
{
    const vly_vulkan_short_map *map = &net->plastic.short_map[i];
    vly_vulkan_push push = {
        .first = i, .count = 1, .all = VLY_VULKAN_SHORT_RESET};
    VkPipeline rows = VK_NULL_HANDLE;
    VkPipeline states = VK_NULL_HANDLE;
    vly_status status = VLY_OK;
    *net->launch = (vly_vulkan_launch){.burst = net->burst};
    VLY_TRY(get_pipelines(net, i, &rows, &states, error));
    VLY_TRY(vly_vulkan_once(net, error));
    vly_vulkan_dispatch(net, net->once, states, push, map->groups[STATES]);
    for (push.k = map->delay_max; push.k > 0; push.k--) {
        if (net->plastic.short_list[i].base_delay + (uint64_t)push.k >
            net->burst)
            continue;
        vly_vulkan_barrier(net->once);
        push.all = all;
        vly_vulkan_dispatch(net, net->once, rows, push, map->groups[ROWS]);
        vly_vulkan_barrier(net->once);
        push.all = VLY_VULKAN_SHORT_AGAIN;
        vly_vulkan_dispatch(net, net->once, states, push, map->groups[STATES]);
    }
    status = vly_vulkan_once_end(net, "restoring events", error);
out:
    return status;
}

vly_status vly_vulkan_short_term_restore(vly_backend_net *net, vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < net->plastic.n_short; i++)
        VLY_TRY(replay(net, i, VLY_VULKAN_SHORT_AGAIN, error));
out:
    return status;
}

vly_status vly_vulkan_short_term_renew(vly_backend_net *net, vly_error *error)
{
    vly_status status = VLY_OK;
    *net->launch = (vly_vulkan_launch){.burst = net->burst};
    for (uint32_t i = 0; i < net->plastic.n_short; i++) {
        VkPipeline rows = VK_NULL_HANDLE;
        VkPipeline states = VK_NULL_HANDLE;
        VLY_TRY(get_pipelines(net, i, &rows, &states, error));
        VLY_TRY(vly_vulkan_once(net, error));
        vly_vulkan_dispatch(net, net->once, states,
                            (vly_vulkan_push){.first = i,
                                              .count = 1,
                                              .all = VLY_VULKAN_SHORT_RENEW},
                            net->plastic.short_map[i].groups[STATES]);
        VLY_TRY(vly_vulkan_once_end(net, "renewing ages", error));
    }
    net->plastic.short_renewed = net->burst;
out:
    return status;
}

vly_status vly_vulkan_short_term_set(vly_backend_net *net, uint32_t projection,
                                     const vly_short_term_desc *short_term,
                                     vly_error *error)
{
    uint32_t i = 0;
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_check_short_term_set(net->desc, projection, short_term,
                                            error));
    VLY_TRY(vly_vulkan_enter(net->device, error));
    i = vly_vulkan_short_term_find(net, projection);
    vly_vulkan_short *s = &net->plastic.short_list[i];
    VLY_TRY(replay(net, i, VLY_VULKAN_SHORT_AWAY, error));
    memcpy(s->coefs, short_term->coefs, short_term->n_coefs * sizeof *s->coefs);
    VLY_TRY(vly_vulkan_upload(net, net->plastic.short_table, i * sizeof *s, s,
                              sizeof *s, error));
    VLY_TRY(replay(net, i, VLY_VULKAN_SHORT_AGAIN, error));
out:
    return status;
}

/* ---- out --------------------------------------------------------------- */

vly_status vly_vulkan_short_term_save(vly_backend_net *net, uint32_t i,
                                      uint32_t *words, vly_error *error)
{
    const vly_vulkan_short_map *map = &net->plastic.short_map[i];
    const uint64_t size = sizeof(vly_vulkan_source);
    uint32_t *tail = NULL;
    vly_common_heap heap = {.bytes = 0};
    vly_common_short_term t;
    vly_common_sources sources;
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_short_term_create(&heap, net->desc, map->projection, &t,
                                         error));
    VLY_TRY(vly_common_sources_create(&heap, &t, &sources, error));
    VLY_TRY(vly_common_alloc(&heap, t.n_sources, size, &tail, error));
    if (t.n_sources > 0)
        VLY_TRY(vly_vulkan_download(net, tail, map->tail, 0, t.n_sources * size,
                                    error));
    vly_common_sources_unpack(&t, &sources, tail);
    (void)vly_common_sources_save(&t, &sources, net->burst, words);
out:
    vly_common_release_all(&heap);
    return status;
}

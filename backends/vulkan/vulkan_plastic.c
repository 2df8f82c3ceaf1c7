/* SPDX-License-Identifier: Apache-2.0
 * Projections that learn: which there are, and their arrays on the device, from
 * a snapshot.
 */
#include <string.h>

#include "backends/common/common_traces.h"
#include "kernels/rules/plasticity_rules.h"
#include "vulkan_blocks.h"
#include "vulkan_learning.h"
#include "vulkan_modulator.h"
#include "vulkan_rule.h"
#include "vulkan_short_term.h"

_Static_assert((uint32_t)VLY_VULKAN_LEARNING_DENDRITIC ==
                       (uint32_t)VLY_LEARNING_DENDRITIC &&
                   (uint32_t)VLY_VULKAN_LEARNING_NEAREST ==
                       (uint32_t)VLY_LEARNING_NEAREST &&
                   (uint32_t)VLY_VULKAN_LEARNING_FROZEN ==
                       (uint32_t)VLY_LEARNING_FROZEN &&
                   (uint32_t)VLY_VULKAN_LEARNING_WINDOW ==
                       (uint32_t)VLY_LEARNING_WINDOW,
               "flags of the ABI");
_Static_assert(VLY_VULKAN_AGE_NEVER == VLY_COMMON_AGE_NEVER &&
                   VLY_VULKAN_AGE_PERIOD == VLY_COMMON_AGE_PERIOD,
               "what traces are filled with");
_Static_assert(VLY_PLASTICITY_MAX_COEFS <= VLY_VULKAN_RULE_COEFS,
               "coefficients of a rule");

/* ---- which learn ------------------------------------------------------- */

/* The number of projections of each rule, then where each rule begins. */
static void count_rules(vly_backend_net *net)
{
    vly_vulkan_plastic *plastic = &net->plastic;
    const uint32_t n_rules = vly_vulkan_rules_all(net);
    for (uint32_t p = 0; p < net->desc->n_projections; p++) {
        const vly_learning_desc *learning = vly_common_learning(net->desc, p);
        if (learning)
            plastic->first[vly_vulkan_rule_of(net, learning) + 1]++;
    }
    for (uint32_t r = 0; r < n_rules; r++)
        plastic->first[r + 1] += plastic->first[r];
    plastic->n = plastic->first[n_rules];
}

vly_status vly_vulkan_learning_count(vly_backend_net *net, vly_error *error)
{
    vly_vulkan_plastic *plastic = &net->plastic;
    uint32_t *next = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_vulkan_blocks_choose(net, error));
    VLY_TRY(vly_vulkan_rules_count(net, error));
    const uint32_t n_ends = vly_vulkan_rules_all(net) + 1;
    VLY_TRY(vly_common_alloc(&net->heap, n_ends, sizeof *plastic->first,
                             &plastic->first, error));
    VLY_TRY(vly_common_alloc(&net->heap, n_ends, sizeof *next, &next, error));
    count_rules(net);
    memcpy(next, plastic->first, n_ends * sizeof *next);
    VLY_TRY(vly_common_alloc(&net->heap, plastic->n, sizeof *plastic->list,
                             &plastic->list, error));
    VLY_TRY(vly_common_alloc(&net->heap, plastic->n, sizeof *plastic->map,
                             &plastic->map, error));
    for (uint32_t p = 0; p < net->desc->n_projections; p++) {
        const vly_learning_desc *learning = vly_common_learning(net->desc, p);
        if (learning)
            plastic->map[next[vly_vulkan_rule_of(net, learning)]++].projection =
                p;
    }
out:
    vly_common_release(&net->heap, next);
    return status;
}

/* ---- arrays ------------------------------------------------------------ */

static vly_status put_newest(vly_backend_net *net, const vly_common_traces *t,
                             vly_vulkan_plastic_map *map, vly_error *error)
{
    vly_vulkan_newest *made = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(
        vly_common_alloc(&net->heap, t->n_targets, sizeof *made, &made, error));
    for (uint32_t i = 0; i < t->n_targets; i++)
        made[i] = (vly_vulkan_newest){
            .last = t->newest[i].last,
            .count = t->count[i],
            .after = {t->newest[i].after[0], t->newest[i].after[1]}};
    VLY_TRY(vly_vulkan_put(net, t->n_targets, sizeof *made, made, &map->newest,
                           error));
out:
    vly_common_release(&net->heap, made);
    return status;
}

static vly_status put_traces(vly_backend_net *net, const vly_common_traces *t,
                             vly_vulkan_plastic_map *map, vly_error *error)
{
    uint64_t posts = vly_common_traces_posts(t);
    vly_status status = VLY_OK;
    VLY_TRY(vly_vulkan_put(net, t->n_sources, sizeof *t->arrived, t->arrived,
                           &map->arrived, error));
    VLY_TRY(put_newest(net, t, map, error));
    VLY_TRY(vly_vulkan_put(net, posts, sizeof *t->post, t->post, &map->post,
                           error));
    for (uint32_t k = 0; k < 2; k++) {
        VLY_TRY(vly_vulkan_put(net, t->n_sources, sizeof(float), t->before[k],
                               &map->before[k], error));
        VLY_TRY(vly_vulkan_put(net, posts, sizeof(float), t->post_before[k],
                               &map->post_before[k], error));
    }
out:
    return status;
}

/* ---- rules of windows --------------------------------------------------- */

/* A side's pairs; *recent: the burst of its newest spike. */
static vly_status put_side(vly_backend_net *net, const vly_common_window *from,
                           int side, uint32_t burst,
                           vly_vulkan_plastic_map *map, uint32_t *recent,
                           vly_error *error)
{
    uint64_t n = from->n[side];
    uint32_t *pairs = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_alloc(&net->heap, n, 2 * sizeof *pairs, &pairs, error));
    *recent = vly_common_window_pack(from, side, burst, pairs);
    status = vly_vulkan_put(net, n, 2 * sizeof *pairs, pairs, &map->runs[side],
                            error);
out:
    vly_common_release(&net->heap, pairs);
    return status;
}

static vly_status put_window(vly_backend_net *net, const vly_common_traces *t,
                             uint32_t burst, vly_vulkan_plastic_map *map,
                             vly_vulkan_learning *l, vly_error *error)
{
    vly_vulkan_buffer *made = NULL;
    uint32_t recent[2];
    vly_status status = VLY_OK;
    for (int side = 0; side < 2; side++)
        VLY_TRY(
            put_side(net, &t->window, side, burst, map, &recent[side], error));
    VLY_TRY(vly_vulkan_put(net, 2, sizeof *recent, recent, &made, error));
    l->window = t->window.bursts;
    l->recent = made->address;
out:
    return status;
}

/* ---- work groups -------------------------------------------------------- */

#define RING_MOST 8192u

/* Each synapse folds a full ring: there and back through it, and to the newest
 * spike that counts. */
static vly_status choose_groups(const vly_backend_net *net,
                                const vly_common_traces *t,
                                vly_vulkan_plastic_map *map,
                                vly_vulkan_learning *l, vly_error *error)
{
    uint64_t ring = t->mask + UINT64_C(1);
    uint64_t events = 2 * (uint64_t)net->desc->n_neurons; /* both ends */
    uint64_t posts = ring * t->n_targets + t->n_sources;
    if (vly_vulkan_work_rows(net, t->projection, 3 * ring + 2, &l->n_parts,
                             &map->groups[0]) == VLY_OK &&
        vly_vulkan_work_loops(net, events, &map->groups[1]) == VLY_OK &&
        vly_vulkan_work_loops(net, posts, &map->groups[2]) == VLY_OK &&
        (ring <= RING_MOST || !net->device->is_cpu))
        return VLY_OK;
    return vly_vulkan_work_fail(net, t->projection, ring, error);
}

/* ---- create ------------------------------------------------------------ */

static void describe_traces(const vly_common_traces *t,
                            const vly_vulkan_plastic_map *map,
                            vly_vulkan_learning *l)
{
    l->arrived = vly_vulkan_address(map->arrived);
    l->newest = vly_vulkan_address(map->newest);
    l->post = vly_vulkan_address(map->post);
    for (uint32_t k = 0; k < 2; k++) {
        l->before[k] = vly_vulkan_address(map->before[k]);
        l->post_before[k] = vly_vulkan_address(map->post_before[k]);
        l->runs[k] = vly_vulkan_address(map->runs[k]);
        l->source[k].rate = t->desc->source[k].rate;
        l->source[k].bursts = t->desc->source[k].bursts;
        l->target[k].rate = t->desc->target[k].rate;
        l->target[k].bursts = t->desc->target[k].bursts;
    }
    l->lag = t->lag;
    l->reach = t->reach;
    l->mask = t->mask;
}

static void describe(const vly_backend_net *net, const vly_common_traces *t,
                     const vly_vulkan_plastic_map *map, vly_vulkan_learning *l)
{
    const vly_net_desc *desc = net->desc;
    const vly_projection_desc *p = t->projection;
    const bool gained = (p->flags & VLY_PROJECTION_GAIN) != 0;
    describe_traces(t, map, l);
    if (!map->words) /* a built-in rule */
        memcpy(l->coefs, t->desc->coefs, t->desc->n_coefs * sizeof *l->coefs);
    l->flags = t->flags | (gained ? VLY_VULKAN_LEARNING_GAIN : 0);
    l->source_first = vly_common_area_desc(desc, p->source_area)->first;
    l->n_sources = t->n_sources;
    l->target_first = vly_common_area_desc(desc, p->target_area)->first;
    l->n_targets = t->n_targets;
    l->base_delay = p->base_delay;
    l->port = p->port;
    l->sign = (t->flags & VLY_LEARNING_NEGATIVE) != 0 ? UINT32_MAX : 1;
    l->shift = vly_common_shift(desc, p);
    l->block_shift = net->plastic.block_shift;
}

/* words: of the projection in the snapshot */
static vly_status put_arrays(vly_backend_net *net, vly_common_traces *t,
                             vly_vulkan_plastic_map *map,
                             vly_vulkan_learning *l,
                             const vly_snapshot *snapshot,
                             const uint32_t *words, vly_error *error)
{
    const vly_projection_desc *p = t->projection;
    const uint32_t *masters = words;
    const uint32_t *eligibilities = NULL;
    uint32_t burst = (uint32_t)snapshot->burst;
    vly_status status = VLY_OK;
    words += map->blocks.n_synapses;
    if (vly_common_modulated(t->desc)) {
        eligibilities = words;
        words += map->blocks.n_synapses;
    }
    words = vly_common_traces_load(t, words, burst);
    vly_common_traces_dendrites(t, net->desc, snapshot);
    VLY_TRY(vly_vulkan_blocks_create(net, &map->blocks, p->target, masters,
                                     eligibilities, &l->blocks, error));
    VLY_TRY(vly_vulkan_modulator_create(net, t->desc, words, map, l, error));
    status = (t->flags & VLY_LEARNING_WINDOW) != 0
                 ? put_window(net, t, burst, map, l, error)
                 : put_traces(net, t, map, error);
out:
    return status;
}

static vly_status create_one(vly_backend_net *net, uint32_t i,
                             const vly_snapshot *snapshot,
                             const uint32_t *words, vly_error *error)
{
    vly_vulkan_plastic_map *map = &net->plastic.map[i];
    vly_vulkan_learning *l = &net->plastic.list[i];
    /* a burst with this number begins with a flush of nothing */
    const uint32_t flushed[2] = {(uint32_t)snapshot->burst, UINT32_MAX};
    vly_common_heap heap = {.bytes = 0};
    vly_common_traces t;
    vly_vulkan_buffer *row = NULL;
    vly_vulkan_buffer *flush = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(
        vly_common_traces_create(&heap, net->desc, map->projection, &t, error));
    map->blocks.n_synapses = t.projection->row[t.n_sources];
    VLY_TRY(choose_groups(net, &t, map, l, error));
    VLY_TRY(vly_vulkan_put(net, t.n_sources + UINT64_C(1),
                           sizeof *t.projection->row, t.projection->row, &row,
                           error));
    VLY_TRY(vly_vulkan_put(net, 2, sizeof *flushed, flushed, &flush, error));
    VLY_TRY(put_arrays(net, &t, map, l, snapshot, words, error));
    VLY_TRY(vly_vulkan_rule_put(net, t.desc, map, l, error));
    describe(net, &t, map, l);
    l->row = row->address;
    l->flushed = flush->address;
out:
    vly_common_release_all(&heap);
    return status;
}

static vly_status put_tables(vly_backend_net *net, vly_error *error)
{
    vly_vulkan_plastic *plastic = &net->plastic;
    vly_status status = VLY_OK;
    if (plastic->n > 0) {
        VLY_TRY(vly_vulkan_put(net, plastic->n, sizeof *plastic->list,
                               plastic->list, &plastic->table, error));
        net->view->learnings = plastic->table->address;
    }
    if (plastic->n_short > 0) {
        VLY_TRY(vly_vulkan_put(net, plastic->n_short,
                               sizeof *plastic->short_list, plastic->short_list,
                               &plastic->short_table, error));
        net->view->shorts = plastic->short_table->address;
    }
out:
    return status;
}

vly_status vly_vulkan_learning_create(vly_backend_net *net,
                                      const vly_snapshot *snapshot,
                                      vly_error *error)
{
    vly_vulkan_plastic *plastic = &net->plastic;
    static const uint32_t none; /* where all areas are empty */
    const uint32_t *words = snapshot->weights ? snapshot->weights : &none;
    vly_status status = VLY_OK;
    plastic->flushed = snapshot->burst;
    plastic->short_renewed = snapshot->burst;
    for (uint32_t p = 0; p < net->desc->n_projections; p++) {
        uint64_t n = vly_common_learning_words(net->desc, p);
        uint32_t i = vly_vulkan_learning_find(net, p);
        uint32_t s = vly_vulkan_short_term_find(net, p);
        if (i < plastic->n)
            VLY_TRY(create_one(net, i, snapshot, words, error));
        if (s < plastic->n_short)
            VLY_TRY(vly_vulkan_short_term_create(net, s, snapshot->burst, words,
                                                 error));
        words += n;
    }
    VLY_TRY(vly_vulkan_modulations_create(net, error));
    status = put_tables(net, error);
out:
    return status;
}

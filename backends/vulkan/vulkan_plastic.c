/* SPDX-License-Identifier: Apache-2.0
 * Projections that learn: which there are, and their arrays on the device, from
 * a snapshot. Synapses are in blocks of a power of two, targets and weights
 * apart, so that weights are copied as they are and an array may be larger than
 * a block of memory.
 */
#include <string.h>

#include "backends/common/common_traces.h"
#include "kernels/rules/plasticity_rules.h"
#include "vulkan_learning.h"

#define BLOCK_BYTES (UINT64_C(1) << 30)

_Static_assert((uint32_t)VLY_VULKAN_LEARNING_DENDRITIC ==
                       (uint32_t)VLY_LEARNING_DENDRITIC &&
                   (uint32_t)VLY_VULKAN_LEARNING_NEAREST ==
                       (uint32_t)VLY_LEARNING_NEAREST &&
                   (uint32_t)VLY_VULKAN_LEARNING_FROZEN ==
                       (uint32_t)VLY_LEARNING_FROZEN,
               "flags of the ABI");
_Static_assert(VLY_VULKAN_AGE_NEVER == VLY_COMMON_AGE_NEVER &&
                   VLY_VULKAN_AGE_PERIOD == VLY_COMMON_AGE_PERIOD,
               "what traces are filled with");
_Static_assert(VLY_PLASTICITY_MAX_COEFS <= VLY_VULKAN_RULE_COEFS,
               "coefficients of a rule");

/* ---- which learn ------------------------------------------------------- */

static vly_status choose_block(vly_backend_net *net, vly_error *error)
{
    vly_vulkan_plastic *plastic = &net->plastic;
    uint64_t most = net->device->allocation_max;
    uint64_t bytes = 4 * (uint64_t)plastic->block_wanted;
    most = most < BLOCK_BYTES ? most : BLOCK_BYTES;
    if (!vly_support_is_power(plastic->block_wanted) || bytes > most)
        return vly_support_fail(error, VLY_E_INVALID,
                                "vulkan option block=%u: wanted a power of "
                                "two up to %llu",
                                plastic->block_wanted,
                                (unsigned long long)(most / 4));
    most = bytes > 0 ? bytes : most;
    while (UINT64_C(8) << plastic->block_shift <= most)
        plastic->block_shift++;
    return VLY_OK;
}

/* The number of projections of each rule, then where each rule begins. */
static void count_rules(vly_backend_net *net)
{
    vly_vulkan_plastic *plastic = &net->plastic;
    for (uint32_t p = 0; p < net->desc->n_projections; p++) {
        const vly_learning_desc *learning = vly_common_learning(net->desc, p);
        if (learning != NULL)
            plastic->first[vly_common_rule_find(learning->rule)->index + 1]++;
    }
    for (uint32_t r = 0; r < VLY_VULKAN_N_RULES; r++)
        plastic->first[r + 1] += plastic->first[r];
    plastic->n = plastic->first[VLY_VULKAN_N_RULES];
}

vly_status vly_vulkan_learning_count(vly_backend_net *net, vly_error *error)
{
    vly_vulkan_plastic *plastic = &net->plastic;
    uint32_t next[VLY_VULKAN_N_RULES];
    vly_status status = VLY_OK;
    VLY_TRY(choose_block(net, error));
    count_rules(net);
    memcpy(next, plastic->first, sizeof next);
    VLY_TRY(vly_common_alloc(&net->heap, plastic->n, sizeof *plastic->list,
                             &plastic->list, error));
    VLY_TRY(vly_common_alloc(&net->heap, plastic->n, sizeof *plastic->map,
                             &plastic->map, error));
    for (uint32_t p = 0; p < net->desc->n_projections; p++) {
        const vly_learning_desc *learning = vly_common_learning(net->desc, p);
        if (learning != NULL)
            plastic->map[next[vly_common_rule_find(learning->rule)->index]++]
                .projection = p;
    }
out:
    return status;
}

/* ---- arrays ------------------------------------------------------------ */

/* count elements on the device, filled from the host; from NULL: none. */
static vly_status put(vly_backend_net *net, uint64_t count, uint64_t size,
                      const void *from, vly_vulkan_buffer **made,
                      vly_error *error)
{
    vly_status status = VLY_OK;
    if (from == NULL && count > 0)
        return VLY_OK;
    VLY_TRY(vly_vulkan_buffer_create(net, VLY_VULKAN_ON_DEVICE, count, size,
                                     made, error));
    if (count > 0)
        status = vly_vulkan_upload(net, *made, 0, from, count * size, error);
out:
    return status;
}

static uint64_t address_of(const vly_vulkan_buffer *buffer)
{
    return buffer != NULL ? buffer->address : 0;
}

static vly_status put_newest(vly_backend_net *net, const vly_common_traces *t,
                             vly_vulkan_plastic_map *map, vly_error *error)
{
    vly_vulkan_newest *made = NULL;
    vly_status status =
        vly_common_alloc(&net->heap, t->n_targets, sizeof *made, &made, error);
    for (uint32_t i = 0; i < t->n_targets && status == VLY_OK; i++)
        made[i] = (vly_vulkan_newest){
            .last = t->newest[i].last,
            .count = t->count[i],
            .after = {t->newest[i].after[0], t->newest[i].after[1]}};
    if (status == VLY_OK)
        status =
            put(net, t->n_targets, sizeof *made, made, &map->newest, error);
    vly_common_release(&net->heap, made);
    return status;
}

static vly_status put_traces(vly_backend_net *net, const vly_common_traces *t,
                             vly_vulkan_plastic_map *map, vly_error *error)
{
    uint64_t posts = vly_common_traces_posts(t);
    vly_status status = VLY_OK;
    VLY_TRY(put(net, t->n_sources, sizeof *t->arrived, t->arrived,
                &map->arrived, error));
    VLY_TRY(put_newest(net, t, map, error));
    VLY_TRY(put(net, posts, sizeof *t->post, t->post, &map->post, error));
    for (uint32_t k = 0; k < 2; k++) {
        VLY_TRY(put(net, t->n_sources, sizeof(float), t->before[k],
                    &map->before[k], error));
        VLY_TRY(put(net, posts, sizeof(float), t->post_before[k],
                    &map->post_before[k], error));
    }
out:
    return status;
}

/* ---- synapses ---------------------------------------------------------- */

/* Synapses [first, first + n) of a block. */
static vly_status put_block(vly_backend_net *net, vly_vulkan_plastic_map *map,
                            const uint32_t *targets, const uint32_t *words,
                            uint32_t block, vly_error *error)
{
    uint64_t first = (uint64_t)block << net->plastic.block_shift;
    uint64_t n = map->n_synapses - first;
    uint64_t most = UINT64_C(1) << net->plastic.block_shift;
    vly_status status = VLY_OK;
    n = n < most ? n : most;
    VLY_TRY(put(net, n, sizeof *targets, targets + first, &map->targets[block],
                error));
    VLY_TRY(
        put(net, n, sizeof *words, words + first, &map->weights[block], error));
out:
    return status;
}

/* Their blocks, and *table: the addresses of these. */
static vly_status put_synapses(vly_backend_net *net, const uint32_t *targets,
                               const uint32_t *words,
                               vly_vulkan_plastic_map *map,
                               vly_vulkan_buffer **table, vly_error *error)
{
    uint64_t size = UINT64_C(1) << net->plastic.block_shift;
    uint32_t n = (uint32_t)((map->n_synapses + size - 1) / size);
    uint64_t *addresses = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_alloc(&net->heap, n, sizeof(void *),
                             (void *)&map->targets, error));
    VLY_TRY(vly_common_alloc(&net->heap, n, sizeof(void *),
                             (void *)&map->weights, error));
    VLY_TRY(vly_common_alloc(&net->heap, n, 2 * sizeof *addresses, &addresses,
                             error));
    for (uint32_t block = 0; block < n; block++) {
        VLY_TRY(put_block(net, map, targets, words, block, error));
        addresses[2 * (size_t)block] = map->targets[block]->address;
        addresses[2 * (size_t)block + 1] = map->weights[block]->address;
    }
    VLY_TRY(put(net, n, 2 * sizeof *addresses, addresses, table, error));
out:
    vly_common_release(&net->heap, addresses);
    return status;
}

/* ---- work groups -------------------------------------------------------- */

/* On a processor a work group has so little to do that no invocation comes near
 * the driver's limit, whatever fires. VLY_VULKAN_ITERATIONS go to ITEMS parts
 * of rows, of which each synapse folds a full ring, and as many to the spikes
 * of the whole net, among which the parts are found: such a driver enters the
 * loops of learn_rows.comp, six of them, for spikes of other areas too. */
#define ITERATIONS VLY_VULKAN_ITERATIONS
#define ITEMS UINT64_C(8)
#define LOOPS UINT64_C(8)
#define RING_MOST 8192u

static uint32_t longest_row(const vly_common_traces *t)
{
    uint64_t longest = 0;
    for (uint32_t k = 0; k < t->n_sources; k++) {
        uint64_t n = t->projection->row[k + 1] - t->projection->row[k];
        longest = n > longest ? n : longest;
    }
    return longest < UINT32_MAX ? (uint32_t)longest : UINT32_MAX;
}

static uint64_t divide_up(uint64_t n, uint64_t by)
{
    return (n + by - 1) / by;
}

/* Work groups for n invocations' work; false: more than a dispatch can have. */
static bool groups_for(const vly_backend_net *net, uint64_t n, uint32_t *groups)
{
    uint64_t wanted = divide_up(n, net->shape.size);
    *groups = wanted > net->shape.groups ? (uint32_t)wanted : net->shape.groups;
    return wanted <= 65535;
}

static vly_status choose_groups(const vly_backend_net *net,
                                const vly_common_traces *t,
                                vly_vulkan_plastic_map *map,
                                vly_vulkan_learning *l, vly_error *error)
{
    uint64_t lanes = net->shape.lanes;
    uint64_t ring = t->mask + UINT64_C(1);
    l->n_parts = 1;
    for (uint32_t i = 0; i < 3; i++)
        map->groups[i] = net->shape.groups;
    if (!net->device->is_cpu)
        return VLY_OK;
    /* there and back through a ring, and to the newest spike that counts */
    uint64_t synapses = ITERATIONS / ITEMS / (3 * ring + 2);
    uint64_t items = synapses > 0 ? ITEMS : 1;
    synapses = synapses > 0 ? synapses : 1;
    uint64_t parts = divide_up(longest_row(t), lanes * synapses);
    l->n_parts = parts > 1 ? (uint32_t)parts : 1;
    uint64_t rows =
        divide_up((uint64_t)t->n_sources * l->n_parts * lanes, items);
    uint64_t spikes = divide_up(
        LOOPS * net->desc->n_neurons * l->n_parts * lanes, ITERATIONS);
    uint64_t events = 2 * (uint64_t)net->desc->n_neurons; /* both ends */
    uint64_t posts = ring * t->n_targets + t->n_sources;
    if (ring <= RING_MOST &&
        groups_for(net, rows > spikes ? rows : spikes, &map->groups[0]) &&
        groups_for(net, divide_up(events, ITERATIONS), &map->groups[1]) &&
        groups_for(net, divide_up(posts, ITERATIONS), &map->groups[2]))
        return VLY_OK;
    return vly_support_fail(
        error, VLY_E_UNSUPPORTED,
        "map %s: %u sources of %u neurons, rows of up to %u synapses and rings "
        "of %llu spikes are too many for the vulkan backend on a processor",
        t->projection->map, t->n_sources, net->desc->n_neurons, longest_row(t),
        (unsigned long long)ring);
}

/* ---- create ------------------------------------------------------------ */

static void describe(const vly_backend_net *net, const vly_common_traces *t,
                     const vly_vulkan_plastic_map *map, vly_vulkan_learning *l)
{
    const vly_net_desc *desc = net->desc;
    const vly_projection_desc *p = t->projection;
    l->arrived = map->arrived->address;
    l->newest = map->newest->address;
    l->post = map->post->address;
    for (uint32_t k = 0; k < 2; k++) {
        l->before[k] = address_of(map->before[k]);
        l->post_before[k] = address_of(map->post_before[k]);
        l->source[k].rate = t->desc->source[k].rate;
        l->source[k].bursts = t->desc->source[k].bursts;
        l->target[k].rate = t->desc->target[k].rate;
        l->target[k].bursts = t->desc->target[k].bursts;
    }
    memcpy(l->coefs, t->desc->coefs, t->desc->n_coefs * sizeof *l->coefs);
    l->flags = t->flags;
    l->source_first = vly_common_area_desc(desc, p->source_area)->first;
    l->n_sources = t->n_sources;
    l->target_first = vly_common_area_desc(desc, p->target_area)->first;
    l->n_targets = t->n_targets;
    l->base_delay = p->base_delay;
    l->lag = t->lag;
    l->reach = t->reach;
    l->mask = t->mask;
    l->port = p->port;
    l->sign = (t->flags & VLY_LEARNING_NEGATIVE) != 0 ? UINT32_MAX : 1;
    l->shift = vly_common_shift(desc, p);
    l->block_shift = net->plastic.block_shift;
}

/* words: of the projection in the snapshot */
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
    vly_vulkan_buffer *blocks = NULL;
    vly_vulkan_buffer *flush = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(
        vly_common_traces_create(&heap, net->desc, map->projection, &t, error));
    const vly_projection_desc *p = t.projection;
    map->n_synapses = p->row[t.n_sources];
    (void)vly_common_traces_load(&t, words + map->n_synapses,
                                 (uint32_t)snapshot->burst);
    vly_common_traces_dendrites(&t, net->desc, snapshot);
    VLY_TRY(choose_groups(net, &t, map, l, error));
    VLY_TRY(put(net, t.n_sources + UINT64_C(1), sizeof *p->row, p->row, &row,
                error));
    VLY_TRY(put_synapses(net, p->target, words, map, &blocks, error));
    VLY_TRY(put(net, 2, sizeof *flushed, flushed, &flush, error));
    VLY_TRY(put_traces(net, &t, map, error));
    describe(net, &t, map, l);
    l->row = row->address;
    l->blocks = blocks->address;
    l->flushed = flush->address;
out:
    vly_common_release_all(&heap);
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
    if (plastic->n == 0)
        return VLY_OK;
    plastic->flushed = snapshot->burst;
    for (uint32_t p = 0; p < net->desc->n_projections; p++) {
        uint64_t n = vly_common_learning_words(net->desc, p);
        uint32_t i = vly_vulkan_learning_find(net, p);
        if (i < plastic->n)
            VLY_TRY(create_one(net, i, snapshot, words, error));
        words += n;
    }
    VLY_TRY(put(net, plastic->n, sizeof *plastic->list, plastic->list,
                &plastic->table, error));
    net->view->learnings = plastic->table->address;
out:
    return status;
}

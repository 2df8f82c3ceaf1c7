/* SPDX-License-Identifier: Apache-2.0
 * Values that synapses draw: see synapse_draws.h.
 */
#include "connectome/synapse_draws.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "connectome/draw_words.h"
#include "connectome/part_make.h"

#define CHUNK (UINT64_C(64) * VLY_WORDS) /* synapses a task */

/* ---- messages --------------------------------------------------------- */

vly_status vly_synapses_refuse(vly_maker *maker, const vly_made_pair *made,
                               const vly_value *value, const char *what,
                               const char *reason)
{
    const vly_genome *genome = maker->genome;
    const vly_pair *pair = made->pair;
    char place[VLY_PLACE_BYTES];
    vly_place_print(genome, value->origin.line ? &value->origin : &pair->origin,
                    place);
    return vly_fail(maker->error, VLY_E_PARSE, "%smap %s (%s -> %s): %s: %s",
                    place, pair->map, genome->areas[pair->from].name,
                    genome->areas[pair->to].name, what, reason);
}

/* ---- draws ------------------------------------------------------------ */

vly_status vly_batch_init(vly_draw_batch *batch, uint32_t room,
                          vly_error *error)
{
    *batch = (vly_draw_batch){0};
    batch->works = vly_calloc(room, sizeof(*batch->works));
    batch->items = vly_calloc(room, sizeof(*batch->items));
    if (!batch->works || !batch->items)
        return vly_fail_nomem(error, room * sizeof(*batch->works), "draws");
    return VLY_OK;
}

void vly_batch_deinit(vly_draw_batch *batch)
{
    for (uint32_t i = 0; i < batch->n; i++)
        vly_discrete_deinit(&batch->works[i].table);
    vly_free(batch->works);
    vly_free(batch->items);
}

vly_draw_work *vly_batch_add(vly_draw_batch *batch, vly_made_pair *made)
{
    vly_draw_work *work = &batch->works[batch->n++];
    work->made = made;
    work->n = made->n_synapses;
    atomic_init(&work->least, INT32_MAX);
    atomic_init(&work->most, INT32_MIN);
    return work;
}

static void note_extremes(vly_draw_work *work, int32_t least, int32_t most)
{
    int32_t seen = atomic_load_explicit(&work->least, memory_order_relaxed);
    while (least < seen &&
           !atomic_compare_exchange_weak(&work->least, &seen, least))
        ;
    seen = atomic_load_explicit(&work->most, memory_order_relaxed);
    while (most > seen &&
           !atomic_compare_exchange_weak(&work->most, &seen, most))
        ;
}

typedef struct value_range {
    int32_t least;
    int32_t most;
} value_range;

/* Extremes in the stored type, for which there are vector instructions. */
static void store_weights(int16_t *weight, const int32_t *values, uint32_t n,
                          value_range *range)
{
    int16_t least = INT16_MAX;
    int16_t most = INT16_MIN;
    for (uint32_t j = 0; j < n; j++)
        weight[j] = (int16_t)values[j];
    for (uint32_t j = 0; j < n; j++) {
        least = weight[j] < least ? weight[j] : least;
        most = weight[j] > most ? weight[j] : most;
    }
    range->least = least < range->least ? least : range->least;
    range->most = most > range->most ? most : range->most;
}

static void store_values(int32_t *value, const int32_t *values, uint32_t n,
                         value_range *range)
{
    for (uint32_t j = 0; j < n; j++) {
        value[j] = values[j];
        range->least = values[j] < range->least ? values[j] : range->least;
        range->most = values[j] > range->most ? values[j] : range->most;
    }
}

static void store_delays(uint8_t *delay, const int32_t *values, uint32_t n,
                         value_range *range)
{
    uint8_t least = UINT8_MAX;
    uint8_t most = 0;
    for (uint32_t j = 0; j < n; j++)
        delay[j] = (uint8_t)values[j];
    for (uint32_t j = 0; j < n; j++) {
        least = delay[j] < least ? delay[j] : least;
        most = delay[j] > most ? delay[j] : most;
    }
    range->least = least < range->least ? least : range->least;
    range->most = most > range->most ? most : range->most;
}

static void store_far(uint16_t *far, const int32_t *values, uint32_t n,
                      value_range *range)
{
    for (uint32_t j = 0; j < n; j++) {
        far[j] = (uint16_t)values[j];
        range->least = values[j] < range->least ? values[j] : range->least;
        range->most = values[j] > range->most ? values[j] : range->most;
    }
}

/* One loop for each step, so that all but the look-up are vectorised.
 * (Gathering sixteen words at a time with AVX-512 took twice as long as the
 * look-up loop.) */
static void draw_block(const vly_draw_work *work, uint64_t i, uint32_t n,
                       value_range *range)
{
    const vly_discrete table = work->table;
    int32_t last = (int32_t)table.n_thresholds;
    uint32_t words[VLY_WORDS];
    int32_t values[VLY_WORDS];
    if (work->made->place)
        vly_part_words(work->made, &work->draws, i, n, words);
    else
        vly_draws_fill(&work->draws, i, n, words);
    for (uint32_t j = 0; j < n; j++)
        values[j] = (int32_t)vly_discrete_look(&table, words[j]);
    for (uint32_t j = 0; j < n; j++)
        values[j] = values[j] < last ? values[j] : last;
    for (uint32_t j = 0; j < n && !table.values; j++)
        values[j] += table.first;
    for (uint32_t j = 0; j < n && table.values; j++)
        values[j] = table.values[values[j]];
    if (work->value)
        store_values(work->value + i, values, n, range);
    else if (work->weight)
        store_weights(work->weight + i, values, n, range);
    else if (work->far)
        store_far(work->far + i, values, n, range);
    else
        store_delays(work->delay + i, values, n, range);
}

static void constant_block(const vly_draw_work *work, uint64_t i, uint64_t last)
{
    int16_t value = (int16_t)work->table.first;
    int16_t *weight = work->weight;
    for (; i < last; i++)
        weight[i] = value;
}

static void draw_task(void *arg, uint32_t slot, uint64_t task)
{
    vly_draw_work *work = arg;
    value_range range = {INT32_MAX, INT32_MIN};
    uint64_t last = (task + 1) * CHUNK;
    (void)slot;
    if (last > work->n)
        last = work->n;
    if (work->given) {
        vly_given_weights(work->made, work->q, task * CHUNK, last, &range.least,
                          &range.most);
        note_extremes(work, range.least, range.most);
        return;
    }
    if (!work->table.guide) {
        constant_block(work, task * CHUNK, last);
        return;
    }
    for (uint64_t i = task * CHUNK; i < last; i += VLY_WORDS)
        draw_block(work, i,
                   last - i < VLY_WORDS ? (uint32_t)(last - i) : VLY_WORDS,
                   &range);
    note_extremes(work, range.least, range.most);
}

/* The one array that a work writes. */
static vly_item touch_item(const vly_draw_work *work)
{
    if (work->value)
        return vly_touch_item(work->value, work->n * sizeof(*work->value));
    if (work->weight)
        return vly_touch_item(work->weight, work->n * sizeof(*work->weight));
    if (work->far)
        return vly_touch_item(work->far, work->n * sizeof(*work->far));
    return vly_touch_item(work->delay, work->n * sizeof(*work->delay));
}

void vly_batch_draw(vly_maker *maker, vly_draw_batch *batch)
{
    for (uint32_t i = 0; i < batch->n; i++)
        batch->items[i] = touch_item(&batch->works[i]);
    vly_items_loop(maker->n_threads, batch->items, batch->n);
    for (uint32_t i = 0; i < batch->n; i++)
        batch->items[i] =
            (vly_item){.body = draw_task,
                       .arg = &batch->works[i],
                       .n_tasks = (batch->works[i].n + CHUNK - 1) / CHUNK};
    vly_items_loop(maker->n_threads, batch->items, batch->n);
}

vly_status vly_batch_stream(vly_maker *maker, const vly_made_pair *made,
                            const char *purpose, vly_draws *draws)
{
    vly_status status =
        vly_draws_init(draws, maker->genome->seed_network,
                       "map:", made->pair->stream, ":", purpose);
    if (status != VLY_OK)
        return vly_fail_nomem(maker->error, strlen(made->pair->stream) + 16,
                              "a name");
    return VLY_OK;
}

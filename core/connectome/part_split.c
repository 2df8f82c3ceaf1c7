/* SPDX-License-Identifier: Apache-2.0
 * Which parts a wide pair has in the whole, and the longest delay in each: a
 * rank must have the same projections as all others. Alone it repeats the draws
 * of all synapses.
 */
#include "connectome/part_make.h"

#include <stdatomic.h>

#include "base/error.h"
#include "connectome/draw_words.h"

#define CHUNK (UINT64_C(64) * VLY_WORDS)

/* Of the whole pair; a table without a guide draws nothing. */
typedef struct split_scan {
    const vly_made_pair *made;
    vly_draws weight_draws;
    vly_draws delay_draws;
    vly_discrete weights;
    vly_discrete delays;
    _Atomic uint64_t longest[VLY_SPLIT_PARTS];
} split_scan;

static void note(_Atomic uint64_t *largest, uint64_t value)
{
    uint64_t seen = atomic_load_explicit(largest, memory_order_relaxed);
    while (value > seen && !atomic_compare_exchange_weak(largest, &seen, value))
        ;
}

static uint32_t value_of_word(const vly_discrete *table, uint32_t word)
{
    const uint32_t k = vly_discrete_look(table, word);
    return k < table->n_thresholds ? k : table->n_thresholds;
}

static void scan_block(split_scan *scan, uint64_t first, uint32_t n,
                       uint64_t *longest)
{
    const vly_made_pair *made = scan->made;
    uint32_t weights[VLY_WORDS];
    uint32_t delays[VLY_WORDS];
    if (scan->weights.guide)
        vly_draws_fill(&scan->weight_draws, first, n, weights);
    if (scan->delays.guide)
        vly_draws_fill(&scan->delay_draws, first, n, delays);
    for (uint32_t i = 0; i < n; i++) {
        const int32_t value =
            scan->weights.guide
                ? scan->weights
                      .values[value_of_word(&scan->weights, weights[i])]
                : vly_given_weight(made, made->q_drawn, first + i);
        uint64_t delay = 1;
        if (scan->delays.guide)
            delay += value_of_word(&scan->delays, delays[i]);
        else if (vly_delays_given(made))
            delay += made->given->delay[first + i] - made->base_delay;
        uint64_t *most = &longest[vly_split_part(value)];
        *most = delay > *most ? delay : *most;
    }
}

static void scan_task(void *arg, uint32_t slot, uint64_t task)
{
    split_scan *scan = arg;
    uint64_t longest[VLY_SPLIT_PARTS] = {0};
    uint64_t last = (task + 1) * CHUNK;
    (void)slot;
    last = last < scan->made->n_whole ? last : scan->made->n_whole;
    for (uint64_t i = task * CHUNK; i < last; i += VLY_WORDS)
        scan_block(scan, i,
                   last - i < VLY_WORDS ? (uint32_t)(last - i) : VLY_WORDS,
                   longest);
    for (uint32_t s = 0; s < VLY_SPLIT_PARTS; s++)
        note(&scan->longest[s], longest[s]);
}

/* The tables that the build has used; they were made there without an error. */
static vly_status tables_make(vly_maker *maker, split_scan *scan)
{
    const vly_made_pair *made = scan->made;
    const uint64_t seed = maker->genome->seed_network;
    const double dt = maker->genome->dt_ms;
    const char *stream = made->pair->stream;
    const char *reason;
    vly_status status = VLY_OK;
    vly_law law;
    if (!vly_weights_given(made))
        status = vly_discrete_init_wide(&scan->weights, &made->law,
                                        vly_power_of_two(-made->q_drawn));
    if (status == VLY_OK && made->delay && !vly_delays_given(made) &&
        vly_law_init(&law, &made->pair->delay_ms, &reason))
        status = vly_discrete_init(
            &scan->delays, &law, dt,
            vly_law_integers(&law, dt, VLY_ROUND_VALUES, 1.0));
    if (status == VLY_OK)
        status = vly_draws_init(&scan->weight_draws, seed, "map:", stream, ":",
                                "weight");
    if (status == VLY_OK)
        status = vly_draws_init(&scan->delay_draws, seed, "map:", stream, ":",
                                "delay");
    return status == VLY_OK
               ? VLY_OK
               : vly_fail_nomem(maker->error, 65536 * 8, "a table of weights");
}

vly_status vly_part_split(vly_maker *maker, const vly_made_pair *made,
                          uint64_t *longest)
{
    vly_status status = VLY_OK;
    split_scan scan = {.made = made};
    if (maker->part->ranks->gather)
        return vly_part_gather_largest(maker, longest, VLY_SPLIT_PARTS);
    for (uint32_t s = 0; s < VLY_SPLIT_PARTS; s++)
        atomic_init(&scan.longest[s], longest[s]);
    VLY_TRY(tables_make(maker, &scan));
    vly_slot_loop(maker->n_threads, (made->n_whole + CHUNK - 1) / CHUNK,
                  scan_task, &scan);
    for (uint32_t s = 0; s < VLY_SPLIT_PARTS; s++)
        longest[s] = atomic_load(&scan.longest[s]);
out:
    vly_discrete_deinit(&scan.weights);
    vly_discrete_deinit(&scan.delays);
    return status;
}

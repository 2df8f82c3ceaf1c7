/* SPDX-License-Identifier: Apache-2.0
 * Weights and delays of the synapses of a pair: synapse i of the projection,
 * counted row by row, draws word i of the pair's ":weight" and ":delay"
 * sequences. A synapse is known by its place after sorting, so no permutation
 * is kept, and the values do not depend on the order in which pairs were drawn.
 */
#include "connectome/connectome_make.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/thread.h"
#include "connectome/draw_words.h"
#include "connectome/learning_make.h"
#include "connectome/part_make.h"

#define CHUNK (UINT64_C(64) * VLY_WORDS) /* synapses a task */

/* ---- messages --------------------------------------------------------- */

static vly_status refuse(vly_maker *maker, const vly_made_pair *made,
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

/* One array of values. */
typedef struct draw_work {
    vly_made_pair *made;
    vly_draws draws;
    vly_discrete table; /* owned; without a guide: one value */
    bool given;         /* weights that the map gives, synapse_given.c */
    int32_t q;          /* of weights */
    vly_status status;  /* of the table */
    uint64_t n;
    int16_t *weight; /* one of the four */
    int32_t *value;
    uint8_t *delay;
    uint16_t *far;
    _Atomic int32_t least;
    _Atomic int32_t most;
} draw_work;

/* Arrays that are drawn together, so that threads synchronise once. */
typedef struct draw_batch {
    draw_work *works;
    vly_item *items;
    uint32_t n;
} draw_batch;

static vly_status batch_init(draw_batch *batch, uint32_t room, vly_error *error)
{
    *batch = (draw_batch){0};
    batch->works = vly_calloc(room, sizeof(*batch->works));
    batch->items = vly_calloc(room, sizeof(*batch->items));
    if (!batch->works || !batch->items)
        return vly_fail_nomem(error, room * sizeof(*batch->works), "draws");
    return VLY_OK;
}

static void batch_deinit(draw_batch *batch)
{
    for (uint32_t i = 0; i < batch->n; i++)
        vly_discrete_deinit(&batch->works[i].table);
    vly_free(batch->works);
    vly_free(batch->items);
}

static draw_work *batch_add(draw_batch *batch, vly_made_pair *made)
{
    draw_work *work = &batch->works[batch->n++];
    work->made = made;
    work->n = made->n_synapses;
    atomic_init(&work->least, INT32_MAX);
    atomic_init(&work->most, INT32_MIN);
    return work;
}

static void note_extremes(draw_work *work, int32_t least, int32_t most)
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
static void draw_block(const draw_work *work, uint64_t i, uint32_t n,
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

static void constant_block(const draw_work *work, uint64_t i, uint64_t last)
{
    int16_t value = (int16_t)work->table.first;
    int16_t *weight = work->weight;
    for (; i < last; i++)
        weight[i] = value;
}

static void draw_task(void *arg, uint32_t slot, uint64_t task)
{
    draw_work *work = arg;
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

static void batch_draw(vly_maker *maker, draw_batch *batch)
{
    for (uint32_t i = 0; i < batch->n; i++)
        batch->items[i] =
            (vly_item){.body = draw_task,
                       .arg = &batch->works[i],
                       .n_tasks = (batch->works[i].n + CHUNK - 1) / CHUNK};
    vly_items_loop(maker->n_threads, batch->items, batch->n);
}

static vly_status draws_of(vly_maker *maker, const vly_made_pair *made,
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

/* ---- weights ---------------------------------------------------------- */

static bool feagi_target(const vly_maker *maker, const vly_made_pair *made)
{
    const vly_area *to = &maker->genome->areas[made->pair->to];
    return to->model->flags & VLY_AREA_FEAGI;
}

vly_status vly_weights_check(vly_maker *maker, vly_made_pair *made)
{
    const vly_value *value = &made->pair->weight;
    const char *reason = "";
    bool given = vly_weights_given(made);
    if (given)
        vly_given_law(made);
    if (!given && !vly_law_init(&made->law, value, &reason))
        return refuse(maker, made, value, "weight", reason);
    if (!feagi_target(maker, made))
        return VLY_OK;
    const vly_law *law = &made->law;
    char text[160];
    vly_integers range = vly_law_integers(law, 1.0, VLY_ROUND_INSIDE, -1e300);
    if (!(range.first >= -255.0) || !(range.last <= 255.0) ||
        (law->kind == VLY_VALUE_NUMBER && vly_floor(law->a) != law->a)) {
        snprintf(text, sizeof(text),
                 "%.9g to %.9g, wanted whole numbers from -255 to 255 "
                 "(target model feagi)",
                 law->lo, law->hi);
        return refuse(maker, made, value, "weight", text);
    }
    return VLY_OK;
}

static double relative(double stored, double asked)
{
    double off = stored > asked ? stored - asked : asked - stored;
    if (asked == 0.0)
        return 0.0;
    return off / (asked < 0.0 ? -asked : asked);
}

/* Relative error of the mean of a distribution: the table against the request.
 * 0 if the mean cancels to 0 within the resolution of a word. */
static double mean_rounding(const vly_law *law, const vly_discrete *table,
                            double unit)
{
    double asked = vly_law_mean(law);
    if ((asked < 0.0 ? -asked : asked) <= (law->hi - law->lo) * 0x1p-32)
        return 0.0;
    return relative(vly_discrete_mean(table) * unit, asked);
}

/* An integer k represents values within half a unit: up to k = 49 the error may
 * be more than 1%. */
#define COARSE_UNITS 49

/* Relative error of the smallest weights that are expected among n: if the law
 * begins below the first integer, all of these become that integer. */
static double lifted(const vly_law *law, double n, double first)
{
    double u = 0.5 / (n > 1.0 ? n : 1.0);
    double asked =
        law->hi < 0.0 ? -vly_law_value(law, 1.0 - u) : vly_law_value(law, u);
    return asked > 0.0 && asked < first ? first / asked - 1.0 : 0.0;
}

/* The share of drawn weights with such an error, and the largest error, over
 * the integers with an expected number of at least half a synapse. */
static void note_coarse(vly_made_pair *made, const vly_discrete *table,
                        double unit)
{
    double n = (double)made->n_whole;
    double share = vly_discrete_share(table, 0.0, COARSE_UNITS);
    if (made->worst_rounding > VLY_COARSE_CONSTANT && n > 0.0)
        made->mean_coarse = made->worst_rounding;
    if (share * n < 0.5)
        return;
    int least = 0;
    while (vly_discrete_share(table, 0.0, least) * n < 0.5)
        least++;
    made->share_coarse = share;
    made->worst_coarse = 1.0;
    if (least > 0) {
        double low = lifted(&made->law, n, least * unit);
        made->worst_coarse = low > 0.5 / least ? low : 0.5 / least;
    }
}

/* With a constant weight every synapse has the same error: reported if it
 * exceeds the limit for a mean. */
static void note_constant(vly_made_pair *made, double off)
{
    const bool coarse = off > VLY_COARSE_CONSTANT;
    made->worst_rounding = off;
    made->share_coarse = coarse ? 1.0 : 0.0;
    made->worst_coarse = coarse ? off : 0.0;
}

static void weight_table_task(void *arg, uint32_t slot, uint64_t task)
{
    draw_work *work = arg;
    vly_made_pair *made = work->made;
    const vly_law *law = &made->law;
    double unit = vly_power_of_two(-work->q);
    double mean;
    (void)slot;
    (void)task;
    made->share_coarse = made->worst_coarse = made->mean_coarse = 0.0;
    if (work->given) {
        made->worst_rounding = vly_given_rounding(made, work->q, &mean, made);
        return;
    }
    if (law->kind == VLY_VALUE_NUMBER) {
        work->table.first = (int32_t)vly_weight_scaled(law->a, work->q);
        note_constant(
            made, relative(vly_weight_scaled(law->a, work->q) * unit, law->a));
        return;
    }
    if (made->wide)
        work->status = vly_discrete_init_wide(&work->table, law, unit);
    else
        work->status = vly_discrete_init(
            &work->table, law, unit,
            vly_law_integers(law, unit, VLY_ROUND_INSIDE, -1e300));
    if (work->status == VLY_OK) {
        made->worst_rounding = mean_rounding(law, &work->table, unit);
        note_coarse(made, &work->table, unit);
    }
}

/* Memory for the draws of a pair: values if it is wide, otherwise weights. */
static vly_status weights_memory(vly_maker *maker, vly_made_pair *made)
{
    uint64_t n = made->n_synapses;
    if (made->wide) {
        vly_storage_release(maker->storage, made->weight, n * 2);
        made->weight = NULL;
        if (!made->value)
            made->value = vly_storage_alloc(maker->storage, n,
                                            sizeof(*made->value), false);
    } else {
        vly_storage_release(maker->storage, made->value, n * 4);
        made->value = NULL;
        if (!made->weight)
            made->weight = vly_storage_alloc(maker->storage, n,
                                             sizeof(*made->weight), false);
    }
    if (!made->weight && !made->value)
        return vly_fail_nomem(maker->error, n * (made->wide ? 4 : 2),
                              "weights of a map");
    return VLY_OK;
}

/* Memory, tables and names of the sequences. */
static vly_status weights_prepare(vly_maker *maker, draw_batch *batch)
{
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < batch->n; i++)
        batch->items[i] = (vly_item){
            .body = weight_table_task, .arg = &batch->works[i], .n_tasks = 1};
    vly_items_loop(maker->n_threads, batch->items, batch->n);
    for (uint32_t i = 0; i < batch->n; i++) {
        draw_work *work = &batch->works[i];
        vly_made_pair *made = work->made;
        if (work->status == VLY_E_NOMEM)
            VLY_TRY(
                vly_fail_nomem(maker->error, 65536 * 8, "a table of weights"));
        if (work->status != VLY_OK)
            VLY_TRY(refuse(maker, made, &made->pair->weight, "weight",
                           "its clip leaves nothing of it"));
        VLY_TRY(draws_of(maker, made, "weight", &work->draws));
        VLY_TRY(weights_memory(maker, made));
        work->weight = made->weight;
        work->value = made->value;
    }
out:
    return status;
}

/* Weights of a file or with a slope are known only here. */
static vly_status check_sign(vly_maker *maker, const vly_made_pair *made,
                             const int32_t *q)
{
    const vly_area *to = &maker->genome->areas[made->pair->to];
    char text[160];
    if (made->by_sign ||
        (vly_port_takes(to->model, made->port, made->weight_min) &&
         vly_port_takes(to->model, made->port, made->weight_max)))
        return VLY_OK;
    double unit = vly_power_of_two((int32_t)made->shift - q[made->port]);
    snprintf(text, sizeof(text),
             "%.9g to %.9g at port %u, wanted 0 or %s: %.32s has %s",
             made->weight_min * unit, made->weight_max * unit,
             (unsigned)made->port,
             vly_port_takes(to->model, made->port, 1) ? "more" : "less",
             to->model->id, vly_port_why(to->model));
    return refuse(maker, made, &made->pair->weight, "weight", text);
}

bool vly_weights_fit(const vly_made_pair *made, int32_t q)
{
    /* a given weight becomes the nearest integer, which may be outside the
     * bounds */
    vly_integers range = vly_law_integers(
        &made->law, vly_power_of_two(-q),
        vly_weights_given(made) ? VLY_ROUND_VALUES : VLY_ROUND_INSIDE, -1e300);
    if (made->pair->plasticity && !vly_learning_fits(made, q))
        return false;
    return range.first >= -32768.0 && range.last <= 32767.0;
}

static bool values_coarse(const vly_made_pair *made, int32_t q)
{
    const vly_law *law = &made->law;
    double unit = vly_power_of_two(-q);
    double mean;
    if (vly_weights_given(made))
        return vly_given_rounding(made, q, &mean, NULL) > 0.01 || mean > 0.001;
    if (law->kind == VLY_VALUE_NUMBER)
        return relative(vly_weight_scaled(law->a, q) * unit, law->a) >
               VLY_COARSE_CONSTANT;
    double least = (COARSE_UNITS + 0.5) * unit;
    double share = vly_law_below(law, least) - vly_law_below(law, -least);
    return share > 0.02 * law->share;
}

bool vly_weights_coarse(const vly_made_pair *made, int32_t q)
{
    if (!made->pair->plasticity)
        return values_coarse(made, q);
    /* by other maps, not by its own w_max */
    return vly_learning_coarse(made, q) ||
           (vly_weights_fit(made, q + 1) && values_coarse(made, q));
}

/* The unit of a pair that may have its own: the finest in which 16 bits hold
 * its weights, or several units if none does. */
static void choose_shift(vly_made_pair *made, int32_t q)
{
    int32_t own = q;
    made->shift = 0;
    made->wide = false;
    while (!vly_weights_fit(made, own))
        own--;
    if (own == q)
        return;
    /* without synapses there is nothing to split */
    made->wide = made->n_whole > 0 && !made->pair->plasticity &&
                 vly_weights_coarse(made, own);
    while (!made->wide && !vly_weights_fit(made, q - (int32_t)made->shift))
        made->shift += VLY_SHIFT_STEP;
}

static uint64_t magnitude(int64_t x)
{
    return (uint64_t)(x < 0 ? -x : x);
}

/* Of every weight that the pair may have. */
static uint64_t size_most(const draw_work *work)
{
    const vly_made_pair *made = work->made;
    const vly_discrete *table = &work->table;
    int64_t low = made->weight_min;
    int64_t high = made->weight_max;
    if (table->guide) {
        low = table->values ? table->values[0] : table->first;
        high = table->values ? table->values[table->n_thresholds]
                             : table->first + (int64_t)table->n_thresholds;
    }
    return (magnitude(low) > magnitude(high) ? magnitude(low) : magnitude(high))
           << made->shift;
}

vly_status vly_weights_draw(vly_maker *maker, uint32_t area, const int32_t *q,
                            bool refined)
{
    vly_status status;
    draw_batch batch;
    VLY_TRY(batch_init(&batch, maker->genome->n_pairs, maker->error));
    for (uint32_t p = 0; p < maker->genome->n_pairs; p++) {
        vly_made_pair *made = &maker->pairs[p];
        if (made->pair->to != area)
            continue;
        draw_work *work = batch_add(&batch, made);
        work->q = q[made->by_sign ? 0 : made->port];
        if (refined)
            choose_shift(made, work->q);
        work->q -= (int32_t)made->shift;
        made->q_drawn = work->q;
        work->given = vly_weights_given(made);
    }
    VLY_TRY(weights_prepare(maker, &batch));
    batch_draw(maker, &batch);
    for (uint32_t i = 0; i < batch.n; i++) {
        draw_work *work = &batch.works[i];
        bool drawn = (work->table.guide || work->given) && work->n;
        int32_t value = work->table.guide ? 0 : work->table.first;
        work->made->weight_min = drawn ? atomic_load(&work->least) : value;
        work->made->weight_max = drawn ? atomic_load(&work->most) : value;
        if (work->given && work->made->place && work->made->n_whole)
            vly_given_extremes(work->made, work->q, &work->made->weight_min,
                               &work->made->weight_max);
        work->made->size_most = size_most(work);
        if (work->made->pair->plasticity) {
            vly_learning_clamp(work->made, work->q);
            work->made->delivered = vly_learning_delivered(work->made, work->q);
        }
        VLY_TRY(check_sign(maker, work->made, q));
    }
out:
    batch_deinit(&batch);
    return status;
}

/* ---- delays ----------------------------------------------------------- */

bool vly_delays_vary(const vly_pair *pair)
{
    vly_law law;
    const char *reason;
    if (pair->edges ? pair->edges->delay != NULL
                    : pair->space.delay_slope_ms != 0.0)
        return true;
    return vly_law_init(&law, &pair->delay_ms, &reason) &&
           law.kind != VLY_VALUE_NUMBER;
}

static vly_status delay_constant(vly_maker *maker, vly_made_pair *made,
                                 double ms)
{
    uint64_t bursts = 0;
    char text[120];
    if (!vly_bursts_from_ms(ms, maker->genome->dt_ms, &bursts) || bursts < 1 ||
        bursts > VLY_DELAY_MAX) {
        snprintf(text, sizeof(text),
                 "%.9g ms, wanted 1 to %u bursts of %.9g ms", ms,
                 (unsigned)VLY_DELAY_MAX, maker->genome->dt_ms);
        return refuse(maker, made, &made->pair->delay_ms, "delay", text);
    }
    made->base_delay = (uint32_t)bursts;
    return VLY_OK;
}

/* The table of a distribution of delays; base_delay is its smallest. */
static vly_status delay_table(vly_maker *maker, vly_made_pair *made,
                              const vly_law *law, vly_discrete *table)
{
    double dt = maker->genome->dt_ms;
    char text[160];
    vly_integers range = vly_law_integers(law, dt, VLY_ROUND_VALUES, 1.0);
    if (!(range.last <= VLY_DELAY_MAX)) {
        snprintf(text, sizeof(text), "up to %.9g bursts, wanted at most %u",
                 range.last, (unsigned)VLY_DELAY_MAX);
        return refuse(maker, made, &made->pair->delay_ms, "delay", text);
    }
    if (range.last - range.first > UINT16_MAX) {
        snprintf(text, sizeof(text),
                 "spread over %.0f to %.0f bursts, wanted at most 65536 values "
                 "(give a clip)",
                 range.first, range.last);
        return refuse(maker, made, &made->pair->delay_ms, "delay", text);
    }
    vly_status status = vly_discrete_init(table, law, dt, range);
    if (status == VLY_E_NOMEM)
        return vly_fail_nomem(maker->error, 65536 * 8, "a table of delays");
    if (status != VLY_OK)
        return refuse(maker, made, &made->pair->delay_ms, "delay",
                      "nothing of it is at least one burst");
    made->base_delay = (uint32_t)table->first;
    table->first = 0;
    return VLY_OK;
}

vly_status vly_delays_memory(vly_maker *maker, vly_made_pair *made,
                             uint32_t most)
{
    const uint64_t n = made->n_synapses;
    if (most > UINT8_MAX && maker->part)
        return vly_fail(maker->error, VLY_E_UNSUPPORTED,
                        "map %s has delays that differ by more than %d bursts: "
                        "every rank holds the whole network",
                        made->pair->map, UINT8_MAX);
    if (most > UINT8_MAX)
        made->far = vly_storage_alloc(maker->storage, (size_t)n,
                                      sizeof(*made->far), false);
    else
        made->delay = vly_storage_alloc(maker->storage, (size_t)n,
                                        sizeof(*made->delay), false);
    return made->far || made->delay
               ? VLY_OK
               : vly_fail_nomem(maker->error, 2 * n, "delays of a map");
}

static vly_status delay_prepare(vly_maker *maker, draw_batch *batch,
                                vly_made_pair *made)
{
    vly_law law;
    const char *reason = "";
    draw_work *work;
    vly_status status;
    if (vly_delays_given(made))
        return vly_given_delays(maker, made);
    if (!vly_law_init(&law, &made->pair->delay_ms, &reason))
        return refuse(maker, made, &made->pair->delay_ms, "delay", reason);
    if (law.kind == VLY_VALUE_NUMBER)
        return delay_constant(maker, made, law.a);
    work = batch_add(batch, made);
    VLY_TRY(delay_table(maker, made, &law, &work->table));
    if (work->table.n_thresholds == 0 || made->n_whole == 0) {
        vly_discrete_deinit(&work->table);
        batch->n--;
        goto out;
    }
    VLY_TRY(vly_delays_memory(maker, made, work->table.n_thresholds));
    work->delay = made->delay;
    work->far = made->far;
    VLY_TRY(draws_of(maker, made, "delay", &work->draws));
out:
    return status;
}

vly_status vly_delays_draw(vly_maker *maker, vly_made_pair *made, uint32_t n)
{
    vly_status status;
    draw_batch batch;
    VLY_TRY(batch_init(&batch, n, maker->error));
    for (uint32_t i = 0; i < n; i++)
        VLY_TRY(delay_prepare(maker, &batch, &made[i]));
    batch_draw(maker, &batch);
    for (uint32_t i = 0; i < batch.n; i++) {
        draw_work *work = &batch.works[i];
        work->made->delay_max =
            work->n ? (uint32_t)atomic_load(&work->most) : 0;
        if (maker->part)
            VLY_TRY(vly_part_largest(maker, work->made, &work->draws,
                                     &work->table, work->made->delay_max,
                                     &work->made->delay_max));
    }
out:
    batch_deinit(&batch);
    return status;
}

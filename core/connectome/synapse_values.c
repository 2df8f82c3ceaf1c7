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

#define CHUNK (UINT64_C(1) << 16) /* synapses a task; a multiple of 4 */

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

typedef struct draw_work {
    vly_draws draws;
    const vly_discrete *table;
    uint64_t n;
    int16_t *weight; /* one of the two */
    uint8_t *delay;
    _Atomic int32_t least;
    _Atomic int32_t most;
} draw_work;

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

static void draw_task(void *arg, uint64_t task)
{
    draw_work *work = arg;
    const vly_discrete *table = work->table;
    int32_t least = INT32_MAX;
    int32_t most = INT32_MIN;
    uint64_t last = (task + 1) * CHUNK;
    if (last > work->n)
        last = work->n;
    for (uint64_t i = task * CHUNK; i < last; i += 4) {
        vly_philox words = vly_draws_block(&work->draws, i >> 2);
        uint32_t n = last - i < 4 ? (uint32_t)(last - i) : 4;
        for (uint32_t k = 0; k < n; k++) {
            int32_t x = vly_discrete_draw(table, words.w[k]);
            least = x < least ? x : least;
            most = x > most ? x : most;
            if (work->weight)
                work->weight[i + k] = (int16_t)x;
            else
                work->delay[i + k] = (uint8_t)x;
        }
    }
    note_extremes(work, least, most);
}

static void constant_task(void *arg, uint64_t task)
{
    draw_work *work = arg;
    int16_t value = (int16_t)atomic_load(&work->least);
    uint64_t last = (task + 1) * CHUNK;
    if (last > work->n)
        last = work->n;
    for (uint64_t i = task * CHUNK; i < last; i++)
        work->weight[i] = value;
}

static void draw_all(vly_maker *maker, draw_work *work)
{
    uint64_t n_tasks = (work->n + CHUNK - 1) / CHUNK;
    atomic_init(&work->least, INT32_MAX);
    atomic_init(&work->most, INT32_MIN);
    vly_thread_loop(maker->n_threads, n_tasks, draw_task, work);
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
    if (!vly_law_init(&made->law, value, &reason))
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

/* Of the mean of a distribution: of the table against what was asked. A mean
 * that cancels to 0 within what a word resolves has none. */
static double mean_rounding(const vly_law *law, const vly_discrete *table,
                            double unit)
{
    double asked = vly_law_mean(law);
    if ((asked < 0.0 ? -asked : asked) <= (law->hi - law->lo) * 0x1p-32)
        return 0.0;
    return relative(vly_discrete_mean(table) * unit, asked);
}

vly_status vly_weights_draw(vly_maker *maker, vly_made_pair *made, int32_t q)
{
    vly_status status;
    const vly_law *law = &made->law;
    double unit = vly_power_of_two(-q);
    vly_discrete table = {0};
    draw_work work = {.n = made->n_synapses, .table = &table};
    if (!made->weight)
        made->weight = vly_storage_alloc(maker->storage, made->n_synapses,
                                         sizeof(*made->weight), false);
    if (!made->weight)
        return vly_fail_nomem(maker->error, made->n_synapses * 2,
                              "weights of a map");
    work.weight = made->weight;
    if (law->kind == VLY_VALUE_NUMBER) {
        made->worst_rounding =
            relative(vly_weight_scaled(law->a, q) * unit, law->a);
        int32_t value = (int32_t)vly_weight_scaled(law->a, q);
        atomic_init(&work.least, value);
        vly_thread_loop(maker->n_threads, (work.n + CHUNK - 1) / CHUNK,
                        constant_task, &work);
        made->weight_min = made->weight_max = value;
        return VLY_OK;
    }
    VLY_TRY(draws_of(maker, made, "weight", &work.draws));
    status = vly_discrete_init(
        &table, law, unit,
        vly_law_integers(law, unit, VLY_ROUND_INSIDE, -1e300));
    if (status == VLY_E_NOMEM)
        VLY_TRY(vly_fail_nomem(maker->error, 65536 * 8, "a table of weights"));
    if (status != VLY_OK)
        VLY_TRY(refuse(maker, made, &made->pair->weight, "weight",
                       "its clip leaves nothing of it"));
    made->worst_rounding = mean_rounding(law, &table, unit);
    draw_all(maker, &work);
    made->weight_min = work.n ? atomic_load(&work.least) : 0;
    made->weight_max = work.n ? atomic_load(&work.most) : 0;
out:
    vly_discrete_deinit(&table);
    return status;
}

/* ---- delays ----------------------------------------------------------- */

bool vly_delays_vary(const vly_pair *pair)
{
    vly_law law;
    const char *reason;
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
    if (range.last - range.first > 1000.0) {
        snprintf(text, sizeof(text),
                 "spread over %.0f to %.0f bursts, wanted at most 256 values "
                 "(give a clip)",
                 range.first, range.last);
        return refuse(maker, made, &made->pair->delay_ms, "delay", text);
    }
    vly_status status = vly_discrete_init(table, law, dt, range);
    if (status == VLY_E_NOMEM)
        return vly_fail_nomem(maker->error, 16384, "a table of delays");
    if (status != VLY_OK)
        return refuse(maker, made, &made->pair->delay_ms, "delay",
                      "nothing of it is at least one burst");
    if (table->n_thresholds > 255) {
        snprintf(text, sizeof(text),
                 "spread over %d to %d bursts, wanted at most 256 values "
                 "(give a clip)",
                 (int)table->first,
                 (int)table->first + (int)table->n_thresholds);
        return refuse(maker, made, &made->pair->delay_ms, "delay", text);
    }
    made->base_delay = (uint32_t)table->first;
    table->first = 0;
    return VLY_OK;
}

vly_status vly_delays_draw(vly_maker *maker, vly_made_pair *made)
{
    vly_status status;
    vly_law law;
    const char *reason = "";
    vly_discrete table = {0};
    draw_work work = {.n = made->n_synapses, .table = &table};
    if (!vly_law_init(&law, &made->pair->delay_ms, &reason))
        return refuse(maker, made, &made->pair->delay_ms, "delay", reason);
    if (law.kind == VLY_VALUE_NUMBER)
        return delay_constant(maker, made, law.a);
    VLY_TRY(delay_table(maker, made, &law, &table));
    if (table.n_thresholds == 0 || made->n_synapses == 0)
        goto out;
    made->delay = vly_storage_alloc(maker->storage, made->n_synapses,
                                    sizeof(*made->delay), false);
    if (!made->delay)
        VLY_TRY(
            vly_fail_nomem(maker->error, made->n_synapses, "delays of a map"));
    work.delay = made->delay;
    VLY_TRY(draws_of(maker, made, "delay", &work.draws));
    draw_all(maker, &work);
    made->delay_max = (uint32_t)atomic_load(&work.most);
out:
    vly_discrete_deinit(&table);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0
 * Weights of the synapses of a pair, from its ":weight" sequence
 * (synapse_draws.h).
 */
#include <stdio.h>

#include "base/error.h"
#include "base/number.h"
#include "connectome/learning_make.h"
#include "connectome/part_make.h"
#include "connectome/synapse_draws.h"
#include "connectome/synapse_rules.h"

bool vly_weights_vary(const vly_pair *pair)
{
    vly_law law;
    const char *reason;
    if (pair->plasticity)
        return true;
    if (pair->edges ? pair->edges->weight != NULL
                    : pair->space.weight_slope != 0.0)
        return true;
    return vly_law_init(&law, &pair->weight, &reason) &&
           law.kind != VLY_VALUE_NUMBER;
}

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
        return vly_synapses_refuse(maker, made, value, "weight", reason);
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
        return vly_synapses_refuse(maker, made, value, "weight", text);
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
    vly_draw_work *work = arg;
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

/* Whether all synapses have the one value of the table; those that learn keep
 * their weights. */
static bool has_one_weight(const vly_draw_work *work)
{
    return !work->given && !work->table.guide && !work->made->pair->plasticity;
}

/* Memory for the draws of a pair: values if it is wide, otherwise weights,
 * unless all are one. */
static vly_status weights_memory(vly_maker *maker, vly_made_pair *made,
                                 bool one)
{
    uint64_t n = made->n_synapses;
    if (made->wide || one) {
        vly_storage_release(maker->storage, made->weight, n * 2);
        made->weight = NULL;
    }
    if (!made->wide) {
        vly_storage_release(maker->storage, made->value, n * 4);
        made->value = NULL;
    }
    if (made->wide && !made->value)
        made->value =
            vly_storage_alloc(maker->storage, n, sizeof(*made->value), false);
    else if (!made->wide && !one && !made->weight)
        made->weight =
            vly_storage_alloc(maker->storage, n, sizeof(*made->weight), false);
    if (!made->weight && !made->value && !one)
        return vly_fail_nomem(maker->error, n * (made->wide ? 4 : 2),
                              "weights of a map");
    return VLY_OK;
}

/* Memory, tables and names of the sequences. */
static vly_status weights_prepare(vly_maker *maker, vly_draw_batch *batch)
{
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < batch->n; i++)
        batch->items[i] = (vly_item){
            .body = weight_table_task, .arg = &batch->works[i], .n_tasks = 1};
    vly_items_loop(maker->n_threads, batch->items, batch->n);
    for (uint32_t i = 0; i < batch->n; i++) {
        vly_draw_work *work = &batch->works[i];
        vly_made_pair *made = work->made;
        if (work->status == VLY_E_NOMEM)
            VLY_TRY(
                vly_fail_nomem(maker->error, 65536 * 8, "a table of weights"));
        if (work->status != VLY_OK)
            VLY_TRY(vly_synapses_refuse(maker, made, &made->pair->weight,
                                        "weight",
                                        "its clip leaves nothing of it"));
        VLY_TRY(vly_batch_stream(maker, made, "weight", &work->draws));
        const bool one = has_one_weight(work);
        VLY_TRY(weights_memory(maker, made, one));
        if (one)
            work->n = 0;
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
    return vly_synapses_refuse(maker, made, &made->pair->weight, "weight",
                               text);
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
static uint64_t size_most(const vly_draw_work *work)
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
    vly_draw_batch batch;
    VLY_TRY(vly_batch_init(&batch, maker->genome->n_pairs, maker->error));
    for (uint32_t p = 0; p < maker->genome->n_pairs; p++) {
        vly_made_pair *made = &maker->pairs[p];
        if (made->pair->to != area)
            continue;
        vly_draw_work *work = vly_batch_add(&batch, made);
        work->q = q[made->by_sign ? 0 : made->port];
        if (refined)
            choose_shift(made, work->q);
        work->q -= (int32_t)made->shift;
        made->q_drawn = work->q;
        work->given = vly_weights_given(made);
    }
    VLY_TRY(weights_prepare(maker, &batch));
    vly_batch_draw(maker, &batch);
    for (uint32_t i = 0; i < batch.n; i++) {
        vly_draw_work *work = &batch.works[i];
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
    vly_batch_deinit(&batch);
    return status;
}

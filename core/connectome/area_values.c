/* SPDX-License-Identifier: Apache-2.0
 * One parameter or field of the neurons of an area, as given or drawn.
 */
#include "connectome/connectome_make.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/thread.h"

/* One inverse of the normal distribution takes 200 ns; the task is small enough
 * that areas of a few thousand neurons keep all threads busy. */
#define NEURONS_PER_TASK 512
#define TWO_32_INVERSE (1.0 / 4294967296.0)

typedef struct value_work {
    const vly_value *value;
    vly_law law;
    vly_law *laws; /* of a mixture, [n_parts]; owned */
    vly_draws draws;
    vly_draws choice; /* which part of a mixture */
    bool whole;
    double *values;
    uint32_t n;
} value_work;

/* The first part of a mixture that the shares up to it reach. */
static uint32_t part_of(const value_work *work, uint32_t neuron)
{
    const vly_value *value = work->value;
    double u =
        ((double)vly_draws_word(&work->choice, neuron) + 0.5) * TWO_32_INVERSE;
    double sum = value->shares[0];
    uint32_t k = 0;
    while (k + 1 < value->n_parts && u >= sum)
        sum += value->shares[++k];
    return k;
}

static double value_one(const value_work *work, uint32_t neuron)
{
    const vly_value *value = work->value;
    if (value->kind == VLY_VALUE_ARRAY)
        return value->array[neuron];
    double u =
        ((double)vly_draws_word(&work->draws, neuron) + 0.5) * TWO_32_INVERSE;
    if (value->kind == VLY_VALUE_DRAW)
        return value->base + value->scale * vly_pow(u, value->power);
    if (value->kind == VLY_VALUE_MIXTURE)
        return vly_law_value(&work->laws[part_of(work, neuron)], u);
    return vly_law_value(&work->law, u);
}

static void value_task(void *arg, uint64_t task)
{
    value_work *work = arg;
    uint64_t last = (task + 1) * NEURONS_PER_TASK;
    if (last > work->n)
        last = work->n;
    for (uint64_t i = task * NEURONS_PER_TASK; i < last; i++) {
        double x = value_one(work, (uint32_t)i);
        work->values[i] = work->whole ? vly_floor(x + 0.5) : x;
    }
}

static vly_status value_range(const vly_maker *maker,
                              const vly_value_target *target,
                              const vly_value *value, const double *values,
                              uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (values[i] >= target->lo && values[i] <= target->hi)
            continue;
        char place[VLY_PLACE_BYTES];
        vly_place_print(maker->genome, &value->origin, place);
        return vly_fail(maker->error, VLY_E_PARSE,
                        "%sarea %s: %s of neuron %" PRIu32
                        " is %.9g, wanted %.9g to %.9g",
                        place, target->area->name, target->name, i, values[i],
                        target->lo, target->hi);
    }
    return VLY_OK;
}

/* The laws of the parts of a mixture, and the sequence that chooses. */
static vly_status mixture_prepare(const vly_maker *maker,
                                  const vly_value_target *target,
                                  const vly_value *value, value_work *work,
                                  const char **reason, bool *good)
{
    work->laws = vly_calloc(value->n_parts, sizeof(*work->laws));
    if (!work->laws || vly_draws_init(&work->choice, maker->genome->seed_state,
                                      "choice:", target->area->name, "|",
                                      target->name) != VLY_OK)
        return vly_fail_nomem(
            maker->error, value->n_parts * sizeof(*work->laws), "a mixture");
    for (uint32_t i = 0; i < value->n_parts && *good; i++)
        *good = vly_law_init(&work->laws[i], &value->parts[i], reason);
    return VLY_OK;
}

static vly_status value_prepare(const vly_maker *maker,
                                const vly_value_target *target,
                                const vly_value *value, value_work *work)
{
    const vly_area *area = target->area;
    const char *reason = "wanted one value a neuron";
    bool good = true;
    bool drawn = value->kind == VLY_VALUE_DRAW;
    if (value->kind == VLY_VALUE_MIXTURE) {
        vly_status made =
            mixture_prepare(maker, target, value, work, &reason, &good);
        if (made != VLY_OK)
            return made;
    } else if (value->kind == VLY_VALUE_ARRAY) {
        good = value->n_array == area->n_neurons;
    } else if (!drawn) {
        good = vly_law_init(&work->law, value, &reason);
    }
    if (!good) {
        char place[VLY_PLACE_BYTES];
        vly_place_print(maker->genome, &value->origin, place);
        return vly_fail(maker->error, VLY_E_PARSE, "%sarea %s: %s: %s", place,
                        area->name, target->name, reason);
    }
    vly_status status = vly_draws_init(&work->draws, maker->genome->seed_state,
                                       drawn ? "draw:" : "area:", area->name,
                                       "|", drawn ? value->draw : target->name);
    if (status != VLY_OK)
        return vly_fail_nomem(maker->error, 256, "a name");
    work->whole = vly_unit_is_whole(target->unit);
    work->value = value;
    return VLY_OK;
}

vly_status vly_value_column(const vly_maker *maker, vly_storage *storage,
                            const vly_value_target *target,
                            const vly_value *value, vly_param_column *column)
{
    vly_status status;
    value_work work = {0};
    VLY_TRY(value_prepare(maker, target, value, &work));
    bool uniform =
        value->kind != VLY_VALUE_ARRAY && value->kind != VLY_VALUE_DRAW &&
        value->kind != VLY_VALUE_MIXTURE && work.law.kind == VLY_VALUE_NUMBER;
    work.n = uniform ? 1 : target->area->n_neurons;
    work.values =
        vly_storage_alloc(storage, work.n, sizeof(*work.values), false);
    if (!work.values)
        VLY_TRY(
            vly_fail_nomem(maker->error, (uint64_t)work.n * 8, "a parameter"));
    vly_thread_loop(maker->n_threads,
                    (work.n + (uint64_t)NEURONS_PER_TASK - 1) /
                        NEURONS_PER_TASK,
                    value_task, &work);
    VLY_TRY(value_range(maker, target, value, work.values, work.n));
    *column = (vly_param_column){.values = work.values, .uniform = uniform};
out:
    vly_free(work.laws);
    return status;
}

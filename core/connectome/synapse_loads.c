/* SPDX-License-Identifier: Apache-2.0
 * The most that the synapses can add to each neuron in one burst: the sums for
 * the check of the bound of 2^30. Every slot sums into its own memory; integer
 * sums do not depend on the order.
 */
#include "connectome/connectome_make.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "connectome/part_make.h"
#include "genome/rule_info.h"
#include "kernels/models/feagi.h"

#define ROWS_PER_TASK 64

/* What each synapse adds at gain 1 if all add as much: one that learns may
 * reach the bound. */
static uint64_t even_size(const vly_made_pair *made)
{
    const int32_t weight =
        made->pair->plasticity ? made->delivered : made->weight_min;
    return (uint64_t)(weight < 0 ? -weight : weight) << made->shift;
}

typedef struct load_work {
    const vly_made_pair *made;
    uint32_t *gains; /* one a source; NULL: 1 */
    uint32_t n_rows;
    uint32_t first; /* of the target area */
    uint32_t n_to;
    size_t n_sums; /* a slot */
    uint64_t *sums;
} load_work;

/* Synapses [first, last) of a row. of_values is a constant at each call: a test
 * for the array in every synapse would cost as much as the sum. */
static inline void load_row(const load_work *work, uint64_t *sums,
                            uint64_t gain, uint64_t first, uint64_t last,
                            bool of_values)
{
    const vly_made_pair *made = work->made;
    bool by_sign = made->by_sign;
    gain <<= made->shift;
    for (uint64_t i = first; i < last; i++) {
        int32_t weight = of_values ? made->value[i] : made->weight[i];
        uint32_t size = (uint32_t)(weight < 0 ? -weight : weight);
        size_t at = made->target[i] - work->first;
        if (by_sign && weight < 0)
            at += work->n_to;
        sums[at] += gain * size;
    }
}

/* The same where all synapses add as much. */
static void even_row(const load_work *work, uint64_t *sums, uint64_t size,
                     uint64_t first, uint64_t last)
{
    const vly_made_pair *made = work->made;
    for (uint64_t i = first; i < last; i++)
        sums[made->target[i] - work->first] += size;
}

static void load_task(void *arg, uint32_t slot, uint64_t task)
{
    load_work *work = arg;
    const vly_made_pair *made = work->made;
    const bool learns = made->pair->plasticity;
    const bool even = learns || (!made->value && !made->weight);
    uint64_t *sums = work->sums + slot * work->n_sums;
    if (!made->by_sign)
        sums += (size_t)made->port * work->n_to;
    else if (!learns && even && made->weight_min < 0)
        sums += work->n_to;
    uint64_t last = (task + 1) * ROWS_PER_TASK;
    if (last > work->n_rows)
        last = work->n_rows;
    for (uint64_t k = task * ROWS_PER_TASK; k < last; k++) {
        uint64_t gain = work->gains ? work->gains[k] : 1;
        if (even)
            even_row(work, sums, gain * even_size(made), made->row[k],
                     made->row[k + 1]);
        else if (made->value)
            load_row(work, sums, gain, made->row[k], made->row[k + 1], true);
        else
            load_row(work, sums, gain, made->row[k], made->row[k + 1], false);
    }
}

static uint32_t coef_word(const vly_maker *maker, uint32_t area,
                          vly_model_role role, uint32_t neuron)
{
    const vly_model_info *model = maker->genome->areas[area].model;
    const vly_column *column =
        &maker->areas[area].coefs[vly_model_with(model, role)];
    return column->words[column->uniform ? 0 : neuron];
}

uint32_t vly_gain_largest(const vly_maker *maker, uint32_t area,
                          uint32_t neuron, uint32_t feagi_q)
{
    const vly_area *from = &maker->genome->areas[area];
    if (!(from->model->flags & VLY_AREA_FEAGI))
        return UINT32_C(1) << feagi_q;
    uint32_t psp = coef_word(maker, area, VLY_ROLE_GAIN, neuron);
    if (coef_word(maker, area, VLY_ROLE_GAIN_DRIVEN, neuron) || psp > 255)
        psp = 255;
    return vly_feagi_gain(psp,
                          coef_word(maker, area, VLY_ROLE_GAIN_UNIFORM, neuron),
                          feagi_q, maker->out_degree[from->first + neuron]);
}

static bool feagi_area(const vly_maker *maker, uint32_t area)
{
    return maker->genome->areas[area].model->flags & VLY_AREA_FEAGI;
}

/* One pair; its gains are owned by it. */
static vly_status pair_prepare(vly_maker *maker, load_work *work,
                               uint32_t feagi_q)
{
    const vly_made_pair *made = work->made;
    work->n_rows = maker->genome->areas[made->pair->from].n_neurons;
    if (!feagi_area(maker, made->pair->to))
        return VLY_OK;
    work->gains = vly_malloc(work->n_rows, sizeof(*work->gains));
    if (!work->gains)
        return vly_fail_nomem(maker->error, (uint64_t)work->n_rows * 4,
                              "gains");
    for (uint32_t k = 0; k < work->n_rows; k++)
        work->gains[k] = vly_gain_largest(maker, made->pair->from, k, feagi_q);
    return VLY_OK;
}

/* Whether every neuron of the target area has as many synapses of the pair as
 * every other, all of one size: then *sum is what the pair adds to each. Adding
 * one by one misses the caches once a synapse where the area is large (4 M
 * neurons: 20 ns). */
static bool pair_even(const vly_maker *maker, const vly_made_pair *made,
                      uint64_t *sum)
{
    const vly_pair *pair = made->pair;
    if (vly_rules[pair->rule].size != VLY_SIZE_IN_DEGREE || pair->pool ||
        pair->degree.kind != VLY_VALUE_NUMBER || feagi_area(maker, pair->to))
        return false;
    if (!pair->plasticity &&
        (made->law.kind != VLY_VALUE_NUMBER || vly_weights_given(made)))
        return false;
    *sum = pair->in_degree * even_size(made);
    return true;
}

/* Such a pair, onto the neurons whose synapses are there. */
static void even_add(const vly_maker *maker, const vly_made_pair *made,
                     uint64_t sum, uint64_t *sums)
{
    const vly_area *to = &maker->genome->areas[made->pair->to];
    uint32_t first = 0;
    uint32_t last = to->n_neurons;
    if (maker->part)
        vly_part_of_area(maker->part, to, &first, &last);
    if (!made->by_sign)
        sums += (size_t)made->port * to->n_neurons;
    else if (!made->pair->plasticity && made->weight_min < 0)
        sums += to->n_neurons;
    for (uint32_t i = first; i < last; i++)
        sums[i] += sum;
}

typedef struct load_batch {
    load_work *works;
    vly_item *items;
    uint32_t n;
} load_batch;

/* The pairs onto the area; even ones are added to sums at once. */
static vly_status batch_init(vly_maker *maker, const load_work *like,
                             uint32_t area, uint32_t feagi_q, uint64_t *sums,
                             load_batch *batch)
{
    vly_status status = VLY_OK;
    uint64_t each;
    uint32_t n_pairs = maker->genome->n_pairs;
    *batch = (load_batch){0};
    batch->works = vly_calloc(n_pairs, sizeof(*batch->works));
    batch->items = vly_calloc(n_pairs, sizeof(*batch->items));
    if (!batch->works || !batch->items)
        return vly_fail_nomem(maker->error, n_pairs * sizeof(*batch->works),
                              "sums of weights");
    for (uint32_t p = 0; p < n_pairs; p++) {
        if (maker->pairs[p].pair->to != area)
            continue;
        if (pair_even(maker, &maker->pairs[p], &each)) {
            even_add(maker, &maker->pairs[p], each, sums);
            continue;
        }
        load_work *work = &batch->works[batch->n];
        *work = *like;
        work->made = &maker->pairs[p];
        VLY_TRY(pair_prepare(maker, work, feagi_q));
        uint64_t n_tasks =
            (work->n_rows + (uint64_t)ROWS_PER_TASK - 1) / ROWS_PER_TASK;
        batch->items[batch->n++] =
            (vly_item){.body = load_task, .arg = work, .n_tasks = n_tasks};
    }
out:
    return status;
}

static void batch_deinit(load_batch *batch)
{
    for (uint32_t i = 0; i < batch->n; i++)
        vly_free(batch->works[i].gains);
    vly_free(batch->works);
    vly_free(batch->items);
}

static uint64_t targets_bytes(const vly_maker *maker, uint32_t area)
{
    uint64_t bytes = 0;
    for (uint32_t p = 0; p < maker->genome->n_pairs; p++) {
        const vly_made_pair *made = &maker->pairs[p];
        if (made->pair->to == area)
            bytes +=
                made->row[maker->genome->areas[made->pair->from].n_neurons] *
                sizeof(*made->target);
    }
    return bytes;
}

#define SUMS_PER_TASK 4096
typedef struct gather_work {
    uint64_t *sums;
    const uint64_t *slots; /* [n_slots][n] */
    size_t n;
    uint32_t n_slots;
} gather_work;

static void gather_task(void *arg, uint64_t task)
{
    const gather_work *work = arg;
    const size_t first = (size_t)task * SUMS_PER_TASK;
    size_t n = work->n - first;
    if (n > SUMS_PER_TASK)
        n = SUMS_PER_TASK;
    for (uint32_t slot = 0; slot < work->n_slots; slot++)
        for (size_t i = first; i < first + n; i++)
            work->sums[i] += work->slots[slot * work->n + i];
}

vly_status vly_loads_sum(vly_maker *maker, uint32_t area, uint32_t feagi_q,
                         uint64_t *sums)
{
    vly_status status = VLY_OK;
    const vly_area *to = &maker->genome->areas[area];
    load_batch batch = {0};
    load_work work = {.first = to->first, .n_to = to->n_neurons};
    work.n_sums = (size_t)to->n_neurons * to->model->n_ports;
    uint32_t n_slots =
        vly_slots_beside(maker->n_threads, work.n_sums * sizeof(*sums),
                         targets_bytes(maker, area));
    memset(sums, 0, work.n_sums * sizeof(*sums));
    VLY_TRY(batch_init(maker, &work, area, feagi_q, sums, &batch));
    if (batch.n == 0)
        goto out;
    work.sums = vly_calloc(n_slots * work.n_sums, sizeof(*work.sums));
    if (!work.sums)
        VLY_TRY(vly_fail_nomem(maker->error, n_slots * work.n_sums * 8,
                               "sums of weights"));
    for (uint32_t i = 0; i < batch.n; i++)
        batch.works[i].sums = work.sums;
    vly_items_loop(n_slots, batch.items, batch.n);
    gather_work gather = {sums, work.sums, work.n_sums, n_slots};
    vly_thread_loop(maker->n_threads,
                    (work.n_sums + SUMS_PER_TASK - 1) / SUMS_PER_TASK,
                    gather_task, &gather);
out:
    batch_deinit(&batch);
    vly_free(work.sums);
    return status;
}

uint64_t vly_loads_bound(const vly_maker *maker, uint32_t area, uint32_t port,
                         uint32_t feagi_q)
{
    uint64_t sum = 0;
    for (uint32_t p = 0; p < maker->genome->n_pairs; p++) {
        const vly_made_pair *made = &maker->pairs[p];
        uint64_t gain = 1;
        if (made->pair->to != area || (made->port != port && !made->by_sign))
            continue;
        for (uint32_t k = 0; feagi_area(maker, area) && k < made->n_from; k++) {
            const uint64_t one =
                vly_gain_largest(maker, made->pair->from, k, feagi_q);
            gain = one > gain ? one : gain;
        }
        /* each factor is below 2^32 */
        const uint64_t size = gain * made->size_most;
        const uint64_t most = size && made->in_most > UINT64_MAX / 2 / size
                                  ? UINT64_MAX / 2
                                  : size * made->in_most;
        sum = sum + most < UINT64_MAX / 2 ? sum + most : UINT64_MAX / 2;
    }
    return sum;
}

/* Only for a message: one pass over all synapses of the area. */
const vly_made_pair *vly_loads_largest(vly_maker *maker, uint32_t area,
                                       uint32_t feagi_q, uint32_t port,
                                       uint32_t neuron, uint64_t *share)
{
    const vly_genome *genome = maker->genome;
    const vly_made_pair *largest = NULL;
    uint32_t target = genome->areas[area].first + neuron;
    *share = 0;
    for (uint32_t p = 0; p < genome->n_pairs; p++) {
        const vly_made_pair *made = &maker->pairs[p];
        uint64_t sum = 0;
        if (made->pair->to != area)
            continue;
        uint32_t n_rows = genome->areas[made->pair->from].n_neurons;
        for (uint32_t k = 0; k < n_rows; k++) {
            for (uint64_t i = made->row[k]; i < made->row[k + 1]; i++) {
                int64_t weight = vly_made_weight(made, i);
                if (made->pair->plasticity)
                    weight = (int64_t)made->delivered << made->shift;
                uint32_t at =
                    made->by_sign ? (weight < 0 ? 1u : 0u) : made->port;
                if (made->target[i] != target || at != port)
                    continue;
                uint64_t gain =
                    feagi_area(maker, area)
                        ? vly_gain_largest(maker, made->pair->from, k, feagi_q)
                        : 1;
                sum += gain * (uint64_t)(weight < 0 ? -weight : weight);
            }
        }
        if (sum > *share) {
            *share = sum;
            largest = made;
        }
    }
    return largest;
}

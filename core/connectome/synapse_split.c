/* SPDX-License-Identifier: Apache-2.0
 * Makes the projections of a connectome from the pairs of a genome. A pair
 * whose weights do not fit in 16 bits in one unit becomes up to three
 * projections, one for each shift: weights still take 2 bytes, and a backend
 * adds a whole projection with one shift. A synapse goes to the smallest shift
 * that holds its weight. A pair whose delays differ by more than 255 bursts
 * becomes a projection for each 256 bursts, so a delay takes one byte. Weights
 * and delays are drawn before, by the synapse's place in the pair. Rows keep
 * their order.
 */
#include "connectome/connectome_make.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "connectome/part_make.h"

#define SHIFTS VLY_SPLIT_PARTS
#define BAND 256u /* bursts */
#define BANDS ((UINT16_MAX + 1) / BAND)
#define ROWS_PER_TASK 256

typedef struct split_part {
    vly_made_pair made;
    uint64_t *row;
    uint32_t *target;
} split_part;

typedef struct split_work {
    const vly_made_pair *from;
    split_part *parts; /* [n_parts] of each shift its bands */
    uint32_t n_bands;
    uint32_t n_parts;
    uint32_t n_rows;
} split_work;

uint32_t vly_split_part(int32_t value)
{
    int32_t most = 32767;
    uint32_t shift = 0;
    while (value < -most || value > most) {
        most <<= VLY_SHIFT_STEP;
        shift++;
    }
    return shift;
}

static uint32_t part_of(const split_work *work, uint64_t i)
{
    const vly_made_pair *from = work->from;
    const uint32_t shift = from->wide ? vly_split_part(from->value[i]) : 0;
    return shift * work->n_bands + (from->far ? from->far[i] / BAND : 0);
}

static uint64_t last_row(const split_work *work, uint64_t task)
{
    uint64_t last = (task + 1) * ROWS_PER_TASK;
    return last < work->n_rows ? last : work->n_rows;
}

/* row[k + 1] of each part: the length of its row k */
static void count_task(void *arg, uint32_t slot, uint64_t task)
{
    split_work *work = arg;
    const vly_made_pair *from = work->from;
    uint64_t last = last_row(work, task);
    (void)slot;
    for (uint64_t k = task * ROWS_PER_TASK; k < last; k++)
        for (uint64_t i = from->row[k]; i < from->row[k + 1]; i++)
            work->parts[part_of(work, i)].row[k + 1]++;
}

/* Synapse i of the pair becomes number `to` of the part. */
static void fill_one(const vly_made_pair *from, uint64_t i, split_part *part,
                     uint64_t to)
{
    vly_made_pair *made = &part->made;
    part->target[to] = from->target[i];
    if (from->wide) /* the value is a multiple of the step */
        made->weight[to] = (int16_t)(from->value[i] / (1 << made->shift));
    else if (from->weight)
        made->weight[to] = from->weight[i];
    if (from->far)
        made->delay[to] = (uint8_t)(from->far[i] % BAND);
    else if (from->delay)
        made->delay[to] = from->delay[i];
}

static void fill_task(void *arg, uint32_t slot, uint64_t task)
{
    split_work *work = arg;
    const vly_made_pair *from = work->from;
    uint64_t last = last_row(work, task);
    (void)slot;
    for (uint64_t k = task * ROWS_PER_TASK; k < last; k++) {
        uint64_t at[SHIFTS * BANDS];
        for (uint32_t s = 0; s < work->n_parts; s++)
            at[s] = work->parts[s].row[k];
        for (uint64_t i = from->row[k]; i < from->row[k + 1]; i++) {
            uint32_t s = part_of(work, i);
            fill_one(from, i, &work->parts[s], at[s]++);
        }
    }
}

static vly_status part_memory(vly_maker *maker, const split_work *work,
                              split_part *part)
{
    vly_made_pair *made = &part->made;
    vly_storage *storage = maker->storage;
    const bool weights = work->from->wide || work->from->weight;
    const bool delays = work->from->delay || work->from->far;
    for (uint32_t k = 0; k < work->n_rows; k++)
        part->row[k + 1] += part->row[k];
    uint64_t n = part->row[work->n_rows];
    part->target = vly_storage_alloc(storage, n, sizeof(*part->target), false);
    if (weights)
        made->weight =
            vly_storage_alloc(storage, n, sizeof(*made->weight), false);
    if (delays)
        made->delay =
            vly_storage_alloc(storage, n, sizeof(*made->delay), false);
    if (!part->target || (weights && !made->weight) || (delays && !made->delay))
        return vly_fail_nomem(maker->error, n * 7, "a part of a map");
    made->row = part->row;
    made->target = part->target;
    made->n_synapses = n;
    return VLY_OK;
}

static void part_extremes(vly_made_pair *part)
{
    const int32_t one = part->weight_min; /* without weights */
    part->weight_min = part->n_synapses ? INT32_MAX : 0;
    part->weight_max = part->n_synapses ? INT32_MIN : 0;
    part->delay_max = 0;
    for (uint64_t i = 0; i < part->n_synapses; i++) {
        int32_t weight = part->weight ? part->weight[i] : one;
        part->weight_min =
            weight < part->weight_min ? weight : part->weight_min;
        part->weight_max =
            weight > part->weight_max ? weight : part->weight_max;
        if (part->delay && part->delay[i] > part->delay_max)
            part->delay_max = part->delay[i];
    }
}

/* Weights that are all one need no memory, unless they learn. */
static void one_weight_keep(vly_maker *maker, vly_made_pair *made)
{
    if (made->pair->plasticity || made->weight_min != made->weight_max)
        return;
    vly_storage_release(maker->storage, made->weight, made->n_synapses * 2);
    made->weight = NULL;
}

/* A part that has synapses becomes a projection. A rank also keeps one that has
 * synapses of other ranks only; it has no bands (vly_delays_memory). */
static vly_status parts_keep(vly_maker *maker, split_work *work)
{
    vly_status status = VLY_OK;
    uint64_t longest[SHIFTS * BANDS];
    for (uint32_t s = 0; s < work->n_parts; s++) {
        vly_made_pair *made = &work->parts[s].made;
        part_extremes(made);
        longest[s] = made->n_synapses ? 1 + made->delay_max : 0;
    }
    if (maker->part)
        VLY_TRY(vly_part_split(maker, work->from, longest));
    for (uint32_t s = 0; s < work->n_parts; s++) {
        if (longest[s] == 0) {
            vly_storage_release(maker->storage, work->parts[s].row,
                                (work->n_rows + UINT64_C(1)) * 8);
            continue;
        }
        work->parts[s].made.delay_max = (uint32_t)(longest[s] - 1);
        one_weight_keep(maker, &work->parts[s].made);
        maker->projections[maker->n_projections++] = work->parts[s].made;
    }
out:
    return status;
}

static vly_status parts_make(vly_maker *maker, split_work *work)
{
    const vly_made_pair *from = work->from;
    work->parts = vly_calloc(work->n_parts, sizeof(*work->parts));
    if (!work->parts)
        return vly_fail_nomem(maker->error,
                              work->n_parts * sizeof(*work->parts),
                              "the parts of a map");
    for (uint32_t s = 0; s < work->n_parts; s++) {
        split_part *part = &work->parts[s];
        part->made = *from;
        part->made.value = NULL;
        part->made.wide = false;
        if (from->wide)
            part->made.shift = s / work->n_bands * VLY_SHIFT_STEP;
        part->made.base_delay += s % work->n_bands * BAND;
        part->made.delay = NULL;
        part->made.far = NULL;
        part->row =
            vly_storage_alloc(maker->storage, work->n_rows + UINT64_C(1),
                              sizeof(*part->row), true);
        if (!part->row)
            return vly_fail_nomem(maker->error, work->n_rows * UINT64_C(8),
                                  "rows of a map");
    }
    return VLY_OK;
}

static uint32_t bands_of(const vly_made_pair *made)
{
    return made->far ? made->delay_max / BAND + 1 : 1;
}

static uint32_t parts_of(const vly_made_pair *made)
{
    return (made->wide ? SHIFTS : 1) * bands_of(made);
}

/* What the parts have taken over. */
static void pair_release(vly_maker *maker, vly_made_pair *from)
{
    const uint64_t n = from->n_synapses;
    vly_storage_release(maker->storage, from->value, n * 4);
    vly_storage_release(maker->storage, from->weight, n * 2);
    vly_storage_release(maker->storage, from->target, n * 4);
    vly_storage_release(maker->storage, from->delay, n);
    vly_storage_release(maker->storage, from->far, n * 2);
    from->value = NULL;
    from->weight = NULL;
    from->target = NULL;
    from->delay = NULL;
    from->far = NULL;
}

static vly_status pair_split(vly_maker *maker, vly_made_pair *from)
{
    vly_status status;
    split_work work = {.from = from,
                       .n_bands = bands_of(from),
                       .n_parts = parts_of(from),
                       .n_rows =
                           maker->genome->areas[from->pair->from].n_neurons};
    uint64_t n_tasks = (work.n_rows + ROWS_PER_TASK - 1) / ROWS_PER_TASK;
    VLY_TRY(parts_make(maker, &work));
    vly_slot_loop(maker->n_threads, n_tasks, count_task, &work);
    for (uint32_t s = 0; s < work.n_parts; s++)
        VLY_TRY(part_memory(maker, &work, &work.parts[s]));
    vly_slot_loop(maker->n_threads, n_tasks, fill_task, &work);
    VLY_TRY(parts_keep(maker, &work));
    pair_release(maker, from);
out:
    vly_free(work.parts);
    return status;
}

vly_status vly_pairs_split(vly_maker *maker)
{
    vly_status status = VLY_OK;
    uint32_t n_pairs = maker->genome->n_pairs;
    uint32_t room = n_pairs;
    for (uint32_t p = 0; p < n_pairs; p++)
        room += parts_of(&maker->pairs[p]) - 1;
    maker->projections = vly_storage_alloc(maker->storage, room,
                                           sizeof(*maker->projections), true);
    if (!maker->projections)
        return vly_fail_nomem(maker->error, room * sizeof(vly_made_pair),
                              "projections");
    for (uint32_t p = 0; p < n_pairs; p++) {
        vly_made_pair *made = &maker->pairs[p];
        if (made->wide || made->far) {
            VLY_TRY(pair_split(maker, made));
            continue;
        }
        one_weight_keep(maker, made);
        maker->projections[maker->n_projections++] = *made;
    }
out:
    return status;
}

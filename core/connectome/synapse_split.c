/* SPDX-License-Identifier: Apache-2.0
 * Makes the projections of a connectome from the pairs of a genome. A pair
 * whose weights do not fit in 16 bits in one unit becomes up to three
 * projections, one for each shift: weights still take 2 bytes, and a backend
 * adds a whole projection with one shift. A synapse goes to the smallest shift
 * that holds its weight; rows keep their order.
 */
#include "connectome/connectome_make.h"

#include <string.h>

#include "base/error.h"
#include "connectome/part_make.h"

#define SHIFTS VLY_SPLIT_PARTS
#define ROWS_PER_TASK 256

typedef struct split_work {
    const vly_made_pair *from;
    vly_made_pair parts[SHIFTS];
    uint64_t *row[SHIFTS];
    uint32_t *target[SHIFTS];
    uint32_t n_rows;
} split_work;

uint32_t vly_split_part(int32_t value)
{
    int32_t most = 32767;
    uint32_t part = 0;
    while (value < -most || value > most) {
        most <<= VLY_SHIFT_STEP;
        part++;
    }
    return part;
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
            work->row[vly_split_part(from->value[i])][k + 1]++;
}

static void fill_task(void *arg, uint32_t slot, uint64_t task)
{
    split_work *work = arg;
    const vly_made_pair *from = work->from;
    uint64_t last = last_row(work, task);
    (void)slot;
    for (uint64_t k = task * ROWS_PER_TASK; k < last; k++) {
        uint64_t at[SHIFTS];
        for (uint32_t s = 0; s < SHIFTS; s++)
            at[s] = work->row[s][k];
        for (uint64_t i = from->row[k]; i < from->row[k + 1]; i++) {
            uint32_t s = vly_split_part(from->value[i]);
            uint64_t to = at[s]++;
            work->target[s][to] = from->target[i];
            /* whole: the value is a multiple of the step */
            work->parts[s].weight[to] =
                (int16_t)(from->value[i] / (1 << (s * VLY_SHIFT_STEP)));
            if (from->delay)
                work->parts[s].delay[to] = from->delay[i];
        }
    }
}

static vly_status part_memory(vly_maker *maker, split_work *work, uint32_t s)
{
    vly_made_pair *part = &work->parts[s];
    vly_storage *storage = maker->storage;
    for (uint32_t k = 0; k < work->n_rows; k++)
        work->row[s][k + 1] += work->row[s][k];
    uint64_t n = work->row[s][work->n_rows];
    work->target[s] =
        vly_storage_alloc(storage, n, sizeof(*work->target[s]), false);
    part->weight = vly_storage_alloc(storage, n, sizeof(*part->weight), false);
    if (work->from->delay)
        part->delay =
            vly_storage_alloc(storage, n, sizeof(*part->delay), false);
    if (!work->target[s] || !part->weight ||
        (work->from->delay && !part->delay))
        return vly_fail_nomem(maker->error, n * 7, "a part of a map");
    part->row = work->row[s];
    part->target = work->target[s];
    part->n_synapses = n;
    return VLY_OK;
}

static void part_extremes(vly_made_pair *part)
{
    part->weight_min = part->n_synapses ? INT32_MAX : 0;
    part->weight_max = part->n_synapses ? INT32_MIN : 0;
    part->delay_max = 0;
    for (uint64_t i = 0; i < part->n_synapses; i++) {
        int32_t weight = part->weight[i];
        part->weight_min =
            weight < part->weight_min ? weight : part->weight_min;
        part->weight_max =
            weight > part->weight_max ? weight : part->weight_max;
        if (part->delay && part->delay[i] > part->delay_max)
            part->delay_max = part->delay[i];
    }
}

/* A part that has synapses becomes a projection. A rank also keeps one that has
 * synapses of other ranks only. */
static vly_status parts_keep(vly_maker *maker, split_work *work)
{
    vly_status status = VLY_OK;
    uint64_t longest[SHIFTS];
    for (uint32_t s = 0; s < SHIFTS; s++) {
        const vly_made_pair *part = &work->parts[s];
        part_extremes(&work->parts[s]);
        longest[s] = part->n_synapses ? 1 + part->delay_max : 0;
    }
    if (maker->part)
        VLY_TRY(vly_part_split(maker, work->from, longest));
    for (uint32_t s = 0; s < SHIFTS; s++) {
        if (longest[s] == 0)
            continue;
        work->parts[s].delay_max = (uint32_t)(longest[s] - 1);
        maker->projections[maker->n_projections++] = work->parts[s];
    }
out:
    return status;
}

static vly_status pair_split(vly_maker *maker, vly_made_pair *from)
{
    vly_status status = VLY_OK;
    split_work work = {.from = from,
                       .n_rows =
                           maker->genome->areas[from->pair->from].n_neurons};
    uint64_t n_tasks = (work.n_rows + ROWS_PER_TASK - 1) / ROWS_PER_TASK;
    for (uint32_t s = 0; s < SHIFTS; s++) {
        work.parts[s] = *from;
        work.parts[s].value = NULL;
        work.parts[s].wide = false;
        work.parts[s].shift = s * VLY_SHIFT_STEP;
        work.parts[s].delay = NULL;
        work.row[s] =
            vly_storage_alloc(maker->storage, work.n_rows + UINT64_C(1),
                              sizeof(*work.row[s]), true);
        if (!work.row[s])
            VLY_TRY(vly_fail_nomem(maker->error, work.n_rows * UINT64_C(8),
                                   "rows of a map"));
    }
    vly_slot_loop(maker->n_threads, n_tasks, count_task, &work);
    for (uint32_t s = 0; s < SHIFTS; s++)
        VLY_TRY(part_memory(maker, &work, s));
    vly_slot_loop(maker->n_threads, n_tasks, fill_task, &work);
    VLY_TRY(parts_keep(maker, &work));
    vly_storage_release(maker->storage, from->value, from->n_synapses * 4);
    vly_storage_release(maker->storage, from->target, from->n_synapses * 4);
    vly_storage_release(maker->storage, from->delay, from->n_synapses);
    from->value = NULL;
    from->target = NULL;
    from->delay = NULL;
out:
    return status;
}

vly_status vly_pairs_split(vly_maker *maker)
{
    vly_status status = VLY_OK;
    uint32_t n_pairs = maker->genome->n_pairs;
    uint32_t room = n_pairs;
    for (uint32_t p = 0; p < n_pairs; p++)
        room += maker->pairs[p].wide ? SHIFTS - 1 : 0;
    maker->projections = vly_storage_alloc(maker->storage, room,
                                           sizeof(*maker->projections), true);
    if (!maker->projections)
        return vly_fail_nomem(maker->error, room * sizeof(vly_made_pair),
                              "projections");
    for (uint32_t p = 0; p < n_pairs; p++) {
        if (maker->pairs[p].wide)
            VLY_TRY(pair_split(maker, &maker->pairs[p]));
        else
            maker->projections[maker->n_projections++] = maker->pairs[p];
    }
out:
    return status;
}

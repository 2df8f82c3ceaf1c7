/* SPDX-License-Identifier: Apache-2.0
 * Rows of a part: the synapses of each source onto own neurons, and where they
 * are in the whole map.
 *
 * Rules between two areas give only the own synapses and count the others. The
 * rows of pools and of rule distance are made whole and then clipped, so they
 * need the memory of the whole map for that time.
 */
#include "connectome/part_make.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "connectome/near_neurons.h"
#include "connectome/synapse_rules.h"

/* Numbers of own synapses in the whole pair, from those of each source; before
 * [n_from] is turned into them. */
static vly_status places_make(vly_maker *maker, vly_made_pair *made,
                              const uint32_t *before)
{
    const uint32_t n = made->n_from;
    uint64_t sum = 0;
    made->place =
        vly_storage_alloc(&maker->part->work, n, sizeof(*made->place), false);
    if (!made->place)
        return vly_fail_nomem(maker->error, n * UINT64_C(8), "rows of a map");
    for (uint32_t k = 0; k < n; k++) {
        made->place[k] = sum + before[k];
        sum += made->total[k];
    }
    made->n_whole = sum;
    return VLY_OK;
}

static uint32_t largest_of(const uint32_t *counts, uint32_t n)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < n; i++)
        most = counts[i] > most ? counts[i] : most;
    return most;
}

static uint32_t heads_most(const vly_clip *clip, uint32_t n)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t count =
            atomic_load_explicit(&clip->heads[i], memory_order_relaxed);
        most = count > most ? count : most;
    }
    return most;
}

static vly_status counts_alloc(vly_maker *maker, vly_made_pair *made,
                               uint32_t **before)
{
    const uint32_t n = made->n_from;
    made->total =
        vly_storage_alloc(&maker->part->work, n, sizeof(*made->total), true);
    *before = vly_calloc(n, sizeof(**before));
    if (!made->total || !*before)
        return vly_fail_nomem(maker->error, n * UINT64_C(8), "counts of a map");
    return VLY_OK;
}

/* ---- rules that give a part --------------------------------------------- */

static vly_status clip_make(vly_maker *maker, vly_rows *rows,
                            vly_made_pair *made)
{
    vly_status status;
    const vly_rule_job *job = &rows->job;
    const bool by_target =
        vly_rules[job->pair->rule].size == VLY_SIZE_IN_DEGREE;
    void *heads = NULL;
    vly_clip clip = {.all_counted = !maker->part->ranks->gather};
    vly_part_of_area(maker->part, job->to, &clip.lo, &clip.hi);
    VLY_TRY(counts_alloc(maker, made, &clip.before));
    clip.total = made->total;
    if (!by_target)
        clip.heads = heads = vly_calloc(job->n_to, sizeof(*clip.heads));
    if (!by_target && !heads)
        VLY_TRY(vly_fail_nomem(maker->error, job->n_to * UINT64_C(4),
                               "counts of a map"));
    rows->job.clip = &clip;
    VLY_TRY(vly_rows_build(rows, 1, maker->n_threads, maker->storage,
                           maker->error));
    made->row = rows->row;
    made->target = rows->targets;
    made->n_synapses = rows->row[job->n_from];
    if (by_target)
        made->in_most = job->degrees ? largest_of(job->degrees, job->n_to)
                                     : job->pair->in_degree;
    else
        made->in_most = heads_most(&clip, job->n_to);
    if (by_target && !clip.all_counted)
        VLY_TRY(vly_part_count(maker, made, clip.before));
    VLY_TRY(places_make(maker, made, clip.before));
out:
    rows->job.clip = NULL;
    vly_free(clip.before);
    vly_free(heads);
    return status;
}

/* ---- whole rows, clipped ------------------------------------------------- */

/* The number of targets of a row before the own ones, and of the own. */
static void row_cut(const vly_rank_part *part, const uint64_t *row,
                    const uint32_t *target, uint32_t k, uint64_t *lo,
                    uint64_t *hi)
{
    *lo = vly_targets_find(target, row[k], row[k + (size_t)1], part->first);
    *hi = vly_targets_find(target, *lo, row[k + (size_t)1], part->last);
}

static void rows_copy(const vly_maker *maker, const vly_made_pair *made,
                      const uint64_t *row, uint32_t *targets)
{
    const uint32_t n = made->n_from;
    for (uint32_t k = 0; k < n; k++) {
        uint64_t lo;
        uint64_t hi;
        row_cut(maker->part, made->row, made->target, k, &lo, &hi);
        if (hi > lo)
            memcpy(targets + row[k], made->target + lo,
                   (size_t)(hi - lo) * sizeof(*targets));
    }
}

/* The most synapses onto one neuron. */
static vly_status heads_count(vly_maker *maker, vly_made_pair *made)
{
    const vly_area *to = &maker->genome->areas[made->pair->to];
    uint32_t *heads = vly_calloc(to->n_neurons, sizeof(*heads));
    if (!heads)
        return vly_fail_nomem(maker->error, to->n_neurons * UINT64_C(4),
                              "counts of a map");
    for (uint64_t i = 0; i < made->n_synapses; i++)
        heads[made->target[i] - to->first]++;
    made->in_most = largest_of(heads, to->n_neurons);
    vly_free(heads);
    return VLY_OK;
}

/* Replaces the whole rows of a pair by the own ones. */
static vly_status pair_clip(vly_maker *maker, vly_made_pair *made)
{
    vly_status status;
    const uint32_t n = made->n_from;
    uint32_t *before = NULL;
    VLY_TRY(counts_alloc(maker, made, &before));
    uint64_t *row =
        vly_storage_alloc(maker->storage, n + (size_t)1, sizeof(*row), true);
    if (!row)
        VLY_TRY(vly_fail_nomem(maker->error, n * UINT64_C(8), "rows of a map"));
    for (uint32_t k = 0; k < n; k++) {
        uint64_t lo;
        uint64_t hi;
        row_cut(maker->part, made->row, made->target, k, &lo, &hi);
        before[k] = (uint32_t)(lo - made->row[k]);
        made->total[k] = (uint32_t)(made->row[k + (size_t)1] - made->row[k]);
        row[k + (size_t)1] = row[k] + (hi - lo);
    }
    VLY_TRY(heads_count(maker, made));
    uint32_t *targets =
        vly_storage_alloc(maker->storage, row[n], sizeof(*targets), false);
    if (!targets)
        VLY_TRY(vly_fail_nomem(maker->error, row[n] * 4, "targets of a map"));
    rows_copy(maker, made, row, targets);
    made->row = row;
    made->target = targets;
    made->n_synapses = row[n];
    VLY_TRY(places_make(maker, made, before));
out:
    vly_free(before);
    return status;
}

static vly_status whole_make(vly_maker *maker, vly_rows *rows,
                             vly_made_pair *made, uint32_t n)
{
    vly_status status;
    vly_storage whole = {0};
    VLY_TRY(vly_rows_build(rows, 1, maker->n_threads, &whole, maker->error));
    if (made->pair->pool) {
        VLY_TRY(vly_pool_deal(maker->genome, rows->row, rows->targets, made, n,
                              &whole, maker->error));
    } else {
        made->row = rows->row;
        made->target = rows->targets;
        made->n_synapses = rows->row[rows->job.n_from];
    }
    for (uint32_t i = 0; i < n; i++) {
        if (rows->job.near)
            VLY_TRY(vly_distance_values(maker, &made[i], rows->job.near));
        VLY_TRY(pair_clip(maker, &made[i]));
    }
out:
    vly_storage_deinit(&whole);
    return status;
}

vly_status vly_part_rows(vly_maker *maker, vly_made_pair *made, uint32_t n)
{
    vly_status status;
    vly_rows rows = {0};
    VLY_TRY(vly_rule_init(&rows.job, maker->genome, made->pair, maker->error));
    if (made->pair->pool || rows.job.near)
        status = whole_make(maker, &rows, made, n);
    else
        status = clip_make(maker, &rows, made);
    vly_rule_deinit(&rows.job);
out:
    return status;
}

/* SPDX-License-Identifier: Apache-2.0
 * Rows of one pair of areas: count, prefix sum, fill, sort.
 *
 * The draws of rules that draw pairs are cut into parts, a few a thread, each
 * with its own counts: no atomics, and after the sort the rows do not depend on
 * the parts. Sorting: insertion up to 24 targets, counting where a row is
 * longer than the target area (so that scratch is never larger than one word a
 * neuron), otherwise radix sort with digits of 8 bits.
 */
#include "connectome/synapse_rules.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"

#define ROWS_PER_TASK 64
#define INSERTION_MAX 24

typedef struct rows_work {
    const vly_rule_job *job;
    uint64_t *row;
    uint32_t *targets;
    uint32_t n_rows;
    uint32_t n_to;
    uint32_t n_parts;
    uint64_t first; /* elements that the parts divide */
    uint64_t end;
    uint32_t *cursors; /* [n_parts][n_from]; with a clip [n_parts][3][n_from] */
    uint32_t *stamps;  /* [n_parts][n_stamps] or NULL */
    uint32_t n_stamps;
    uint32_t *scratch; /* [slots][n_scratch] */
    size_t n_scratch;
    uint32_t n_slots; /* that have scratch */
} rows_work;

static uint64_t n_row_tasks(const rows_work *work)
{
    return (work->n_rows + (uint64_t)ROWS_PER_TASK - 1) / ROWS_PER_TASK;
}

/* The end of the rows of a task. */
static uint64_t last_row(const rows_work *work, uint64_t task)
{
    const uint64_t last = (task + 1) * ROWS_PER_TASK;
    return last < work->n_rows ? last : work->n_rows;
}

static vly_status scratch_alloc(rows_work *work, size_t n, uint32_t n_threads,
                                const char *what, vly_error *error)
{
    const uint64_t bytes = n * sizeof(*work->scratch);
    work->n_scratch = n;
    work->n_slots = vly_slots_for(n_threads, bytes);
    work->scratch = vly_malloc(work->n_slots * n, sizeof(*work->scratch));
    if (!work->scratch)
        return vly_fail_nomem(error, work->n_slots * bytes, what);
    return VLY_OK;
}

static void insertion_sort(uint32_t *a, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        uint32_t x = a[i];
        size_t k = i;
        for (; k > 0 && a[k - 1] > x; k--)
            a[k] = a[k - 1];
        a[k] = x;
    }
}

static void counting_sort(uint32_t *a, size_t n, uint32_t limit,
                          uint32_t *counts)
{
    memset(counts, 0, limit * sizeof(*counts));
    for (size_t i = 0; i < n; i++)
        counts[a[i]]++;
    for (uint32_t value = 0; value < limit; value++)
        for (uint32_t left = counts[value]; left > 0; left--)
            *a++ = value;
}

static void radix_sort(uint32_t *a, size_t n, uint32_t limit, uint32_t *scratch)
{
    uint32_t *from = a;
    uint32_t *to = scratch;
    for (uint32_t shift = 0; shift < 32 && (limit - 1) >> shift; shift += 8) {
        uint32_t at[256] = {0};
        for (size_t i = 0; i < n; i++)
            at[from[i] >> shift & 255]++;
        uint32_t sum = 0;
        for (int digit = 0; digit < 256; digit++) {
            uint32_t count = at[digit];
            at[digit] = sum;
            sum += count;
        }
        for (size_t i = 0; i < n; i++)
            to[at[from[i] >> shift & 255]++] = from[i];
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != a)
        memcpy(a, from, n * sizeof(*a));
}

static void sort_task(void *arg, uint32_t slot, uint64_t task)
{
    rows_work *work = arg;
    uint32_t *scratch = work->scratch + (size_t)slot * work->n_scratch;
    const uint64_t last = last_row(work, task);
    for (uint64_t k = task * ROWS_PER_TASK; k < last; k++) {
        uint32_t *a = work->targets + work->row[k];
        size_t n = (size_t)(work->row[k + 1] - work->row[k]);
        if (n <= INSERTION_MAX)
            insertion_sort(a, n);
        else if (n >= work->n_to)
            counting_sort(a, n, work->n_to, scratch);
        else
            radix_sort(a, n, work->n_to, scratch);
    }
}

static vly_status rows_sort(rows_work *work, uint32_t n_threads,
                            vly_error *error)
{
    vly_status status;
    VLY_TRY(
        scratch_alloc(work, work->n_to, n_threads, "sorting of rows", error));
    vly_slot_loop(work->n_slots, n_row_tasks(work), sort_task, work);
out:
    return status;
}

/* ---- rules that give rows --------------------------------------------- */

/* With a clip: the whole row into scratch, then its part. */
static void row_part(rows_work *work, uint32_t k, uint32_t *scratch)
{
    vly_clip *clip = work->job->clip;
    const uint32_t n = vly_rule_row(work->job, k, scratch);
    const uint64_t lo = vly_targets_find(scratch, 0, n, clip->lo);
    const uint64_t hi = vly_targets_find(scratch, lo, n, clip->hi);
    if (work->targets) {
        memcpy(work->targets + work->row[k], scratch + lo,
               (size_t)(hi - lo) * sizeof(*scratch));
        return;
    }
    work->row[k + (size_t)1] = hi - lo;
    clip->before[k] = (uint32_t)lo;
    clip->total[k] = n;
    for (uint32_t i = 0; i < n; i++)
        atomic_fetch_add_explicit(&clip->heads[scratch[i]], 1,
                                  memory_order_relaxed);
}

static void row_part_task(void *arg, uint32_t slot, uint64_t task)
{
    rows_work *work = arg;
    uint32_t *scratch = work->scratch + (size_t)slot * work->n_scratch;
    const uint64_t last = last_row(work, task);
    for (uint64_t k = task * ROWS_PER_TASK; k < last; k++)
        row_part(work, (uint32_t)k, scratch);
}

static void row_task(void *arg, uint64_t task)
{
    rows_work *work = arg;
    const uint64_t last = last_row(work, task);
    for (uint64_t k = task * ROWS_PER_TASK; k < last; k++) {
        if (work->targets)
            vly_rule_row(work->job, (uint32_t)k, work->targets + work->row[k]);
        else
            work->row[k + 1] = vly_rule_row(work->job, (uint32_t)k, NULL);
    }
}

/* ---- rules that draw pairs -------------------------------------------- */

static uint64_t part_first(const rows_work *work, uint64_t part)
{
    if (part >= work->n_parts)
        return work->end;
    /* multiples of 4, so that a block of words belongs to one part */
    return work->first +
           (work->end - work->first) / 4 / work->n_parts * part * 4;
}

static void part_task(void *arg, uint64_t part)
{
    rows_work *work = arg;
    size_t at = (size_t)part * work->n_rows * (work->job->clip ? 3 : 1);
    vly_rule_part(work->job, part_first(work, part), part_first(work, part + 1),
                  work->cursors + at,
                  work->stamps ? work->stamps + (size_t)part * work->n_stamps
                               : NULL,
                  work->row, work->targets);
}

/* Turns the counts of the parts into the positions where each part begins in a
 * row. */
static void parts_prefix(rows_work *work)
{
    vly_clip *clip = work->job->clip;
    const size_t n_rows = work->n_rows;
    const size_t stride = clip ? 3 * n_rows : n_rows;
    for (size_t k = 0; k < n_rows; k++) {
        uint64_t sum = 0;
        uint64_t before = 0;
        uint64_t after = 0;
        for (uint32_t part = 0; part < work->n_parts; part++) {
            uint32_t *cursor = &work->cursors[part * stride + k];
            if (clip) {
                before += cursor[0];
                after += cursor[2 * n_rows];
                cursor += n_rows;
            }
            uint32_t count = *cursor;
            *cursor = (uint32_t)sum;
            sum += count;
        }
        work->row[k + 1] = sum;
        if (clip) {
            clip->before[k] = (uint32_t)before;
            clip->total[k] = (uint32_t)(before + sum + after);
        }
    }
}

static uint64_t synapses_of(const vly_rule_job *job)
{
    const vly_pair *pair = job->pair;
    switch (vly_rules[pair->rule].size) {
    case VLY_SIZE_IN_DEGREE:
        return (uint64_t)job->n_to * pair->in_degree;
    case VLY_SIZE_OUT_DEGREE:
        return (uint64_t)job->n_from * pair->out_degree;
    default:
        return pair->count;
    }
}

static vly_status parts_alloc(rows_work *work, uint32_t n_threads,
                              vly_error *error)
{
    const vly_clip *clip = work->job->clip;
    uint64_t n_synapses = synapses_of(work->job);
    size_t n_cursors = work->n_rows;
    if (clip) {
        n_cursors *= 3;
        n_synapses = n_synapses / work->n_to * (clip->hi - clip->lo);
    }
    work->n_stamps = vly_rule_stamps(work->job);
    uint64_t n_words = (uint64_t)n_cursors + work->n_stamps;
    work->n_parts = vly_slots_beside(n_threads, n_words * sizeof(uint32_t),
                                     n_synapses * sizeof(*work->targets));
    size_t n_parts = work->n_parts;
    work->cursors = vly_calloc(n_parts * n_cursors, sizeof(*work->cursors));
    if (work->n_stamps)
        work->stamps =
            vly_calloc(n_parts * work->n_stamps, sizeof(*work->stamps));
    if (!work->cursors || (work->n_stamps && !work->stamps))
        return vly_fail_nomem(error, n_parts * n_words * sizeof(uint32_t),
                              "counts of a map");
    return VLY_OK;
}

static void range_pass(rows_work *work, uint32_t n_threads, uint64_t first,
                       uint64_t end)
{
    work->first = first;
    work->end = end;
    vly_thread_loop(n_threads, work->n_parts, part_task, work);
}

/* A rule that draws by target: each class of targets is divided by itself, so
 * that the own ones are divided alike when they are counted and written. */
static void targets_pass(rows_work *work, uint32_t n_threads)
{
    const vly_clip *clip = work->job->clip;
    if (!work->targets && clip->all_counted) {
        range_pass(work, n_threads, 0, clip->lo);
        range_pass(work, n_threads, clip->hi, work->n_to);
    }
    range_pass(work, n_threads, clip->lo, clip->hi);
}

static void rows_pass(rows_work *work, uint32_t n_threads)
{
    const vly_rule_job *job = work->job;
    const uint64_t n_tasks = n_row_tasks(work);
    if (work->cursors && job->clip && vly_rule_ascends(job))
        targets_pass(work, n_threads);
    else if (work->cursors)
        range_pass(work, n_threads, 0, vly_rule_elements(job));
    else if (job->clip)
        vly_slot_loop(work->n_slots, n_tasks, row_part_task, work);
    else
        vly_thread_loop(n_threads, n_tasks, row_task, work);
}

/* Room for the longest row, which only a file may give more synapses than there
 * are targets. */
static vly_status rows_scratch(rows_work *work, uint32_t n_threads,
                               vly_error *error)
{
    const uint64_t *edge_row = work->job->edge_row;
    uint64_t longest = work->n_to;
    for (uint32_t k = 0; edge_row && k < work->n_rows; k++) {
        const uint64_t n = edge_row[k + (size_t)1] - edge_row[k];
        longest = n > longest ? n : longest;
    }
    return scratch_alloc(work, (size_t)longest, n_threads, "rows of a map",
                         error);
}

typedef struct shift_work {
    uint32_t *targets;
    uint64_t n;
    uint32_t first;
} shift_work;

#define SHIFT_CHUNK (UINT64_C(1) << 18)
static void shift_task(void *arg, uint64_t task)
{
    shift_work *work = arg;
    uint64_t last = (task + 1) * SHIFT_CHUNK;
    if (last > work->n)
        last = work->n;
    for (uint64_t i = task * SHIFT_CHUNK; i < last; i++)
        work->targets[i] += work->first;
}

static vly_status rows_fill(rows_work *work, uint32_t n_threads,
                            vly_storage *storage, vly_error *error)
{
    vly_status status = VLY_OK;
    uint64_t n = work->row[work->n_rows];
    uint32_t *targets = vly_storage_alloc(storage, n, sizeof(*targets), false);
    if (!targets)
        return vly_fail_nomem(error, n * sizeof(*targets), "targets of a map");
    work->targets = targets;
    if (work->stamps) /* marks of the first pass */
        memset(work->stamps, 0,
               (size_t)work->n_parts * work->n_stamps * sizeof(*work->stamps));
    rows_pass(work, n_threads);
    if (work->cursors && !vly_rule_ascends(work->job)) {
        VLY_TRY(rows_sort(work, n_threads, error));
    }
    shift_work shift = {targets, n, work->job->first};
    vly_thread_loop(n_threads, (n + SHIFT_CHUNK - 1) / SHIFT_CHUNK, shift_task,
                    &shift);
out:
    return status;
}

static vly_status pair_build(vly_rows *rows, uint32_t n_threads,
                             vly_storage *storage, vly_error *error)
{
    vly_status status;
    rows_work work = {.job = &rows->job,
                      .row = rows->row,
                      .n_rows = rows->job.n_from,
                      .n_to = rows->job.n_to};
    if (!vly_rule_by_rows(&rows->job))
        VLY_TRY(parts_alloc(&work, n_threads, error));
    else if (rows->job.clip)
        VLY_TRY(rows_scratch(&work, n_threads, error));
    rows_pass(&work, n_threads);
    if (work.cursors)
        parts_prefix(&work);
    for (uint32_t k = 0; k < work.n_rows; k++)
        work.row[k + 1] += work.row[k];
    VLY_TRY(rows_fill(&work, n_threads, storage, error));
    rows->targets = work.targets;
    status = VLY_OK;
out:
    vly_free(work.cursors);
    vly_free(work.stamps);
    vly_free(work.scratch);
    return status;
}

vly_status vly_rows_build(vly_rows *rows, uint32_t n, uint32_t n_threads,
                          vly_storage *storage, vly_error *error)
{
    for (uint32_t i = 0; i < n; i++) {
        uint64_t n_rows = (uint64_t)rows[i].job.n_from + 1;
        /* buckets write all of it */
        rows[i].row =
            vly_storage_alloc(storage, (size_t)n_rows, sizeof(*rows[i].row),
                              !vly_buckets_suit(&rows[i].job));
        if (!rows[i].row)
            return vly_fail_nomem(error, n_rows * 8, "rows of a map");
    }
    vly_status status = VLY_OK;
    VLY_TRY(vly_buckets_build(rows, n, n_threads, storage, error));
    for (uint32_t i = 0; i < n; i++)
        if (rows[i].job.near)
            VLY_TRY(vly_distance_build(&rows[i], n_threads, storage, error));
        else if (!vly_buckets_suit(&rows[i].job))
            VLY_TRY(pair_build(&rows[i], n_threads, storage, error));
out:
    return status;
}

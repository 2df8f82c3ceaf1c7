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
    uint32_t *cursors; /* [n_parts][n_from] */
    uint32_t *stamps;  /* [n_parts][n_stamps] or NULL */
    uint32_t n_stamps;
    uint32_t *scratch; /* [slots][n_to] */
} rows_work;

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
    uint32_t *scratch = work->scratch + (size_t)slot * work->n_to;
    uint64_t last = (task + 1) * ROWS_PER_TASK;
    if (last > work->n_rows)
        last = work->n_rows;
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
    uint64_t bytes = (uint64_t)work->n_to * sizeof(*work->scratch);
    uint32_t n_slots = vly_slots_for(n_threads, bytes);
    work->scratch =
        vly_malloc((size_t)n_slots * work->n_to, sizeof(*work->scratch));
    if (!work->scratch)
        return vly_fail_nomem(error, n_slots * bytes, "sorting of rows");
    uint64_t n_tasks =
        (work->n_rows + (uint64_t)ROWS_PER_TASK - 1) / ROWS_PER_TASK;
    vly_slot_loop(n_slots, n_tasks, sort_task, work);
    vly_free(work->scratch);
    work->scratch = NULL;
    return VLY_OK;
}

/* ---- rules that give rows --------------------------------------------- */

static void row_task(void *arg, uint64_t task)
{
    rows_work *work = arg;
    uint64_t last = (task + 1) * ROWS_PER_TASK;
    if (last > work->n_rows)
        last = work->n_rows;
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
    uint64_t n = vly_rule_elements(work->job);
    if (part >= work->n_parts)
        return n;
    /* multiples of 4, so that a block of words belongs to one part */
    return n / 4 / work->n_parts * part * 4;
}

static void part_task(void *arg, uint64_t part)
{
    rows_work *work = arg;
    size_t at = (size_t)part * work->n_rows;
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
    for (uint32_t k = 0; k < work->n_rows; k++) {
        uint64_t sum = 0;
        for (uint32_t part = 0; part < work->n_parts; part++) {
            uint32_t *cursor = &work->cursors[(size_t)part * work->n_rows + k];
            uint32_t count = *cursor;
            *cursor = (uint32_t)sum;
            sum += count;
        }
        work->row[k + 1] = sum;
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
    work->n_stamps = vly_rule_stamps(work->job);
    uint64_t n_words = (uint64_t)work->n_rows + work->n_stamps;
    work->n_parts =
        vly_slots_beside(n_threads, n_words * sizeof(uint32_t),
                         synapses_of(work->job) * sizeof(*work->targets));
    size_t n_parts = work->n_parts;
    work->cursors = vly_calloc(n_parts * work->n_rows, sizeof(*work->cursors));
    if (work->n_stamps)
        work->stamps =
            vly_calloc(n_parts * work->n_stamps, sizeof(*work->stamps));
    if (!work->cursors || (work->n_stamps && !work->stamps))
        return vly_fail_nomem(error, n_parts * n_words * sizeof(uint32_t),
                              "counts of a map");
    return VLY_OK;
}

static void rows_pass(rows_work *work, uint32_t n_threads)
{
    uint64_t n_tasks =
        (work->n_rows + (uint64_t)ROWS_PER_TASK - 1) / ROWS_PER_TASK;
    if (work->cursors)
        vly_thread_loop(n_threads, work->n_parts, part_task, work);
    else
        vly_thread_loop(n_threads, n_tasks, row_task, work);
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
    return status;
}

vly_status vly_rows_build(vly_rows *rows, uint32_t n, uint32_t n_threads,
                          vly_storage *storage, vly_error *error)
{
    for (uint32_t i = 0; i < n; i++) {
        uint64_t n_rows = (uint64_t)rows[i].job.n_from + 1;
        rows[i].row = vly_storage_alloc(storage, (size_t)n_rows,
                                        sizeof(*rows[i].row), true);
        if (!rows[i].row)
            return vly_fail_nomem(error, n_rows * 8, "rows of a map");
    }
    vly_status status = vly_buckets_build(rows, n, n_threads, storage, error);
    for (uint32_t i = 0; i < n && status == VLY_OK; i++)
        if (rows[i].job.near)
            status = vly_distance_build(&rows[i], n_threads, storage, error);
        else if (!vly_buckets_suit(&rows[i].job))
            status = pair_build(&rows[i], n_threads, storage, error);
    return status;
}

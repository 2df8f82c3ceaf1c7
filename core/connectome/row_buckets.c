/* SPDX-License-Identifier: Apache-2.0
 * Rows of a fixed_total_number, and of a fixed_in_degree with multiple
 * connections: synapses are distributed to buckets of 2^n neighbouring rows,
 * and each bucket is sorted in place.
 *
 * Before sorting, a synapse is one word (row in the bucket above target), so it
 * needs only the memory of the targets, and a sorted bucket is the final rows.
 * Writing directly into rows, every synapse missed the caches and the TLB; with
 * buckets, a thousand write positions stay cached, and a bucket fits in the
 * second-level cache while it is sorted. One thread, full microcircuit, without
 * the time of random words: 0.8 s to write and 1.3 s to sort instead of 4.1 s
 * and 1.4 s. (16,384 synapses a bucket: sorting 0.1 s less, writing 0.1 s more;
 * 65,536: 0.15 s more. Ordinary stores instead of whole lines: 0.65 s more.)
 *
 * Parts and buckets depend on the map alone, and the sorted result does not
 * depend on their order.
 */
#include "connectome/synapse_rules.h"

#include <string.h>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "base/error.h"
#include "base/memory.h"

#define BUCKET_SYNAPSES 32768u /* 128 KB, and as much to sort it with */
#define BUCKETS_MAX 4096u
#define ROW_BITS_MAX 10u
#define DIGIT_BITS 11u
#define DIGIT_VALUES (1u << DIGIT_BITS)
#define DIGITS_MAX 3u
#define PART_SYNAPSES (UINT64_C(1) << 18)
#define PARTS_MAX 1024u
#define COUNT_BYTES (UINT64_C(32) << 20) /* of pairs built together */

typedef struct bucket_plan {
    uint32_t row_bits; /* a bucket is 2^row_bits rows */
    uint32_t target_bits;
    uint32_t n_buckets;
} bucket_plan;

typedef struct bucket_work {
    const vly_rule_job *job;
    bucket_plan plan;
    uint64_t n;
    uint64_t part_size; /* a multiple of VLY_WORDS */
    uint64_t n_parts;
    uint64_t *at;    /* [n_parts][n_buckets] counts, then where to write */
    uint64_t *first; /* [n_buckets + 1] */
    uint64_t *row;
    uint32_t *targets;
    struct bucket_line *lines; /* [slots][n_lines] */
    size_t n_lines;
    uint32_t *scratch; /* [slots][n_scratch] */
    size_t n_scratch;
} bucket_work;

/* Of numbers below n. */
static uint32_t bits_below(uint32_t n)
{
    uint32_t bits = 0;
    while (bits < 32 && (n - 1) >> bits != 0)
        bits++;
    return bits;
}

/* False: too many buckets to write to at once, or a synapse does not fit in a
 * word. */
static bool plan_make(const vly_rule_job *job, bucket_plan *plan)
{
    uint64_t row_mean = vly_rule_draws(job) / job->n_from;
    uint32_t bits = 0;
    plan->target_bits = bits_below(job->n_to);
    while (bits < ROW_BITS_MAX && bits + plan->target_bits < 32 &&
           (row_mean << (bits + 1) <= BUCKET_SYNAPSES ||
            (job->n_from - 1) >> bits >= BUCKETS_MAX))
        bits++;
    plan->row_bits = bits;
    plan->n_buckets = ((job->n_from - 1) >> bits) + 1;
    return plan->n_buckets <= BUCKETS_MAX;
}

bool vly_buckets_suit(const vly_rule_job *job)
{
    bucket_plan plan;
    vly_rule_size size = vly_rules[job->pair->rule].size;
    bool drawn = size == VLY_SIZE_IN_DEGREE
                     ? vly_degrees_plain(job)
                     : size == VLY_SIZE_COUNT && !job->chosen;
    return drawn && !job->clip && plan_make(job, &plan);
}

/* ---- distribution ----------------------------------------------------- */

static uint64_t part_end(const bucket_work *work, uint64_t part)
{
    uint64_t end = (part + 1) * work->part_size;
    return end < work->n ? end : work->n;
}

static void count_task(void *arg, uint32_t slot, uint64_t part)
{
    bucket_work *work = arg;
    (void)slot;
    uint64_t *counts = work->at + part * work->plan.n_buckets;
    uint32_t row_bits = work->plan.row_bits;
    uint32_t sources[VLY_WORDS];
    uint64_t last = part_end(work, part);
    for (uint64_t k = part * work->part_size; k < last; k += VLY_WORDS) {
        uint32_t n = last - k < VLY_WORDS ? (uint32_t)(last - k) : VLY_WORDS;
        vly_rule_draw(work->job, k, n, sources, NULL);
        for (uint32_t i = 0; i < n; i++)
            counts[sources[i] >> row_bits]++;
    }
}

/* Turns counts into the positions where each part begins in a bucket; part by
 * part, in memory order. */
static void place_task(void *arg, uint32_t slot, uint64_t task)
{
    bucket_work *work = arg;
    (void)slot;
    (void)task;
    uint32_t n_buckets = work->plan.n_buckets;
    uint64_t *first = work->first;
    memset(first, 0, (n_buckets + (size_t)1) * sizeof(*first));
    for (uint64_t part = 0; part < work->n_parts; part++)
        for (uint32_t b = 0; b < n_buckets; b++)
            first[b] += work->at[part * n_buckets + b];
    uint64_t sum = 0;
    for (uint32_t b = 0; b <= n_buckets; b++) {
        uint64_t count = first[b];
        first[b] = sum;
        sum += count;
        if (count > work->n_scratch)
            work->n_scratch = (size_t)count;
    }
    for (uint64_t part = 0; part < work->n_parts; part++)
        for (uint32_t b = 0; b < n_buckets; b++) {
            uint64_t count = work->at[part * n_buckets + b];
            work->at[part * n_buckets + b] = first[b];
            first[b] += count;
        }
    /* each is now the end of its range, which is the beginning of the next */
    memmove(first + 1, first, n_buckets * sizeof(*first));
    first[0] = 0;
}

/* Words of one bucket until a line of the cache is full. */
#define LINE_WORDS 16u
typedef struct bucket_line {
    uint64_t at;    /* of the next word */
    uint64_t first; /* of the part's words */
    uint32_t words[LINE_WORDS];
} bucket_line;

/* Writes a whole line past the caches: it is not read soon, and an ordinary
 * store would first read the line. */
static inline void line_store(uint32_t *to, const uint32_t *words)
{
#if defined(__x86_64__)
    for (uint32_t i = 0; i < LINE_WORDS; i += 4)
        _mm_stream_si128((void *)(to + i),
                         _mm_loadu_si128((const void *)(words + i)));
#else
    memcpy(to, words, LINE_WORDS * sizeof(*to));
#endif
}

/* Writes the words before line->at, from the beginning of its line, or of the
 * part's words if that is later. */
static void line_rest(uint32_t *targets, const bucket_line *line, uint32_t skew)
{
    uint32_t end = (uint32_t)(line->at - 1 + skew) % LINE_WORDS + 1;
    uint64_t held = line->at - line->first;
    uint32_t n = held < end ? (uint32_t)held : end;
    memcpy(targets + line->at - n, line->words + end - n, n * sizeof(*targets));
}

static void deal_task(void *arg, uint32_t slot, uint64_t part)
{
    bucket_work *work = arg;
    const uint64_t *at = work->at + part * work->plan.n_buckets;
    bucket_line *lines = work->lines + (size_t)slot * work->n_lines;
    uint32_t row_bits = work->plan.row_bits;
    uint32_t row_mask = (UINT32_C(1) << row_bits) - 1;
    uint32_t target_bits = work->plan.target_bits;
    uint32_t *to = work->targets;
    uint32_t skew = (uint32_t)((uintptr_t)to / sizeof(*to)) % LINE_WORDS;
    uint32_t sources[VLY_WORDS];
    uint32_t targets[VLY_WORDS];
    uint64_t last = part_end(work, part);
    for (uint32_t b = 0; b < work->plan.n_buckets; b++)
        lines[b].at = lines[b].first = at[b];
    for (uint64_t k = part * work->part_size; k < last; k += VLY_WORDS) {
        uint32_t n = last - k < VLY_WORDS ? (uint32_t)(last - k) : VLY_WORDS;
        vly_rule_draw(work->job, k, n, sources, targets);
        if (target_bits < 32) /* otherwise a bucket is one row */
            for (uint32_t i = 0; i < n; i++)
                targets[i] |= (sources[i] & row_mask) << target_bits;
        for (uint32_t i = 0; i < n; i++) {
            bucket_line *line = &lines[sources[i] >> row_bits];
            uint32_t in_line = (uint32_t)(line->at++ + skew) % LINE_WORDS;
            line->words[in_line] = targets[i];
            if (in_line != LINE_WORDS - 1)
                continue;
            if (line->at - line->first >= LINE_WORDS)
                line_store(to + line->at - LINE_WORDS, line->words);
            else
                line_rest(to, line, skew);
        }
    }
    for (uint32_t b = 0; b < work->plan.n_buckets; b++)
        if (lines[b].at > lines[b].first &&
            (uint32_t)(lines[b].at + skew) % LINE_WORDS)
            line_rest(to, &lines[b], skew);
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

/* ---- sorting ---------------------------------------------------------- */

/* How a word is cut into digits, from the low end. */
typedef struct digit_plan {
    uint32_t n; /* at most 3: the top digit has at least 10 bits of 32 */
    uint32_t shift[DIGITS_MAX];
    uint32_t values[DIGITS_MAX]; /* a power of two */
} digit_plan;

/* The top digit holds the whole row, so that its places are the rows'. */
static void digits_make(const bucket_plan *plan, digit_plan *digits)
{
    uint32_t bits = plan->row_bits + plan->target_bits;
    uint32_t n = bits ? (bits + DIGIT_BITS - 1) / DIGIT_BITS : 1;
    uint32_t top = (bits + n - 1) / n;
    top = top > plan->row_bits ? top : plan->row_bits;
    uint32_t rest = bits - top;
    uint32_t n_low = (rest + DIGIT_BITS - 1) / DIGIT_BITS;
    for (uint32_t d = 0; d < n_low; d++) {
        digits->shift[d] = rest * d / n_low;
        digits->values[d] = UINT32_C(1)
                            << (rest * (d + 1) / n_low - digits->shift[d]);
    }
    digits->shift[n_low] = rest;
    digits->values[n_low] = UINT32_C(1) << top;
    digits->n = n_low + 1;
}

/* counts: [n][DIGIT_VALUES], finally the position where each value of a digit
 * begins */
static void digits_count(const digit_plan *digits, const uint32_t *words,
                         size_t n, uint32_t counts[][DIGIT_VALUES])
{
    for (uint32_t d = 0; d < digits->n; d++)
        memset(counts[d], 0, digits->values[d] * sizeof(counts[d][0]));
    for (size_t i = 0; i < n; i++)
        for (uint32_t d = 0; d < digits->n; d++)
            counts[d][words[i] >> digits->shift[d] & (digits->values[d] - 1)]++;
    for (uint32_t d = 0; d < digits->n; d++) {
        uint32_t sum = 0;
        for (uint32_t value = 0; value < digits->values[d]; value++) {
            uint32_t count = counts[d][value];
            counts[d][value] = sum;
            sum += count;
        }
    }
}

static void rows_place(bucket_work *work, uint64_t bucket, uint32_t shift,
                       const uint32_t *at)
{
    uint32_t row_bits = work->plan.row_bits;
    uint64_t k = bucket << row_bits;
    uint64_t last = k + (UINT64_C(1) << row_bits);
    if (last > work->job->n_from)
        last = work->job->n_from;
    for (uint32_t digit = 0; k < last; k++) {
        work->row[k] = work->first[bucket] + at[digit];
        digit += UINT32_C(1) << shift;
    }
}

static void sort_task(void *arg, uint32_t slot, uint64_t bucket)
{
    bucket_work *work = arg;
    uint32_t target_bits = work->plan.target_bits;
    uint32_t *targets = work->targets + work->first[bucket];
    size_t n = (size_t)(work->first[bucket + 1] - work->first[bucket]);
    uint32_t *from = targets;
    uint32_t *to = work->scratch + slot * work->n_scratch;
    uint32_t at[DIGITS_MAX][DIGIT_VALUES];
    digit_plan digits;
    digits_make(&work->plan, &digits);
    digits_count(&digits, targets, n, at);
    uint32_t top = digits.n - 1;
    rows_place(work, bucket, target_bits - digits.shift[top], at[top]);
    for (uint32_t d = 0; d < top; d++) {
        uint32_t shift = digits.shift[d];
        uint32_t mask = digits.values[d] - 1;
        for (size_t i = 0; i < n; i++)
            to[at[d][from[i] >> shift & mask]++] = from[i];
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    uint32_t shift = digits.shift[top];
    uint32_t mask = (uint32_t)((UINT64_C(1) << target_bits) - 1);
    uint32_t area_first = work->job->first;
    for (size_t i = 0; i < n; i++)
        to[at[top][from[i] >> shift]++] = (from[i] & mask) + area_first;
    if (to != targets)
        memcpy(targets, to, n * sizeof(*targets));
}

/* ---- all -------------------------------------------------------------- */

typedef struct bucket_batch {
    bucket_work *works;
    vly_item *items;
    uint32_t n;
    uint32_t n_threads;
    bucket_line *lines;
    uint32_t *scratch;
} bucket_batch;

static vly_status work_init(bucket_work *work, const vly_rows *rows,
                            vly_error *error)
{
    *work = (bucket_work){
        .job = &rows->job, .n = vly_rule_draws(&rows->job), .row = rows->row};
    (void)plan_make(work->job, &work->plan);
    uint64_t size = work->n / PARTS_MAX + 1;
    if (size < PART_SYNAPSES)
        size = PART_SYNAPSES;
    work->part_size = (size + VLY_WORDS - 1) / VLY_WORDS * VLY_WORDS;
    work->n_parts = (work->n + work->part_size - 1) / work->part_size;
    size_t n = (size_t)work->n_parts * work->plan.n_buckets;
    work->at = vly_calloc(n, sizeof(*work->at));
    work->first =
        vly_malloc((size_t)work->plan.n_buckets + 1, sizeof(*work->first));
    if (!work->at || !work->first)
        return vly_fail_nomem(error, n * sizeof(*work->at), "counts of a map");
    return VLY_OK;
}

/* Adds pairs while their counts fit COUNT_BYTES, at least one that suits;
 * returns the number looked at. */
static vly_status batch_fill(bucket_batch *batch, vly_rows *rows, uint32_t n,
                             vly_storage *storage, uint32_t *looked_at,
                             vly_error *error)
{
    vly_status status = VLY_OK;
    uint64_t bytes = 0;
    uint32_t i = 0;
    for (; i < n && bytes <= COUNT_BYTES; i++) {
        if (!vly_buckets_suit(&rows[i].job))
            continue;
        bucket_work *work = &batch->works[batch->n++];
        VLY_TRY(work_init(work, &rows[i], error));
        bytes += work->n_parts * work->plan.n_buckets * sizeof(*work->at);
        rows[i].targets =
            vly_storage_alloc(storage, work->n, sizeof(*work->targets), false);
        if (!rows[i].targets)
            return vly_fail_nomem(error, work->n * sizeof(*work->targets),
                                  "targets of a map");
        work->targets = rows[i].targets;
    }
    *looked_at = i;
out:
    return status;
}

static void batch_count(bucket_batch *batch)
{
    for (uint32_t i = 0; i < batch->n; i++)
        batch->items[i] = (vly_item){.body = count_task,
                                     .arg = &batch->works[i],
                                     .n_tasks = batch->works[i].n_parts};
    vly_items_loop(batch->n_threads, batch->items, batch->n);
    for (uint32_t i = 0; i < batch->n; i++)
        batch->items[i] = (vly_item){
            .body = place_task, .arg = &batch->works[i], .n_tasks = 1};
    vly_items_loop(batch->n_threads, batch->items, batch->n);
}

static vly_status batch_deal(bucket_batch *batch, vly_error *error)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < batch->n; i++)
        if (batch->works[i].plan.n_buckets > most)
            most = batch->works[i].plan.n_buckets;
    uint64_t bytes = most * sizeof(*batch->lines);
    uint32_t n_slots = vly_slots_for(batch->n_threads, bytes);
    batch->lines = vly_malloc((size_t)n_slots * most, sizeof(*batch->lines));
    if (!batch->lines)
        return vly_fail_nomem(error, n_slots * bytes, "lines of a map");
    for (uint32_t i = 0; i < batch->n; i++) {
        bucket_work *work = &batch->works[i];
        work->lines = batch->lines;
        work->n_lines = most;
        batch->items[i] = (vly_item){
            .body = deal_task, .arg = work, .n_tasks = work->n_parts};
    }
    vly_items_loop(n_slots, batch->items, batch->n);
    return VLY_OK;
}

static vly_status batch_sort(bucket_batch *batch, vly_error *error)
{
    size_t most = 0;
    for (uint32_t i = 0; i < batch->n; i++)
        if (batch->works[i].n_scratch > most)
            most = batch->works[i].n_scratch;
    uint64_t bytes = most * sizeof(*batch->scratch);
    uint32_t n_slots = vly_slots_for(batch->n_threads, bytes);
    batch->scratch = vly_malloc(n_slots * most, sizeof(*batch->scratch));
    if (!batch->scratch)
        return vly_fail_nomem(error, n_slots * bytes, "sorting of rows");
    for (uint32_t i = 0; i < batch->n; i++) {
        bucket_work *work = &batch->works[i];
        work->scratch = batch->scratch;
        work->n_scratch = most;
        work->row[work->job->n_from] = work->n;
        batch->items[i] = (vly_item){
            .body = sort_task, .arg = work, .n_tasks = work->plan.n_buckets};
    }
    vly_items_loop(n_slots, batch->items, batch->n);
    return VLY_OK;
}

static void batch_clear(bucket_batch *batch)
{
    for (uint32_t i = 0; i < batch->n; i++) {
        vly_free(batch->works[i].at);
        vly_free(batch->works[i].first);
    }
    vly_free(batch->lines);
    vly_free(batch->scratch);
    batch->lines = NULL;
    batch->scratch = NULL;
    batch->n = 0;
}

vly_status vly_buckets_build(vly_rows *rows, uint32_t n, uint32_t n_threads,
                             vly_storage *storage, vly_error *error)
{
    vly_status status = VLY_OK;
    bucket_batch batch = {.n_threads = n_threads};
    batch.works = vly_calloc(n, sizeof(*batch.works));
    batch.items = vly_calloc(n, sizeof(*batch.items));
    if (!batch.works || !batch.items)
        VLY_TRY(vly_fail_nomem(error, n * sizeof(*batch.works), "rows"));
    for (uint32_t i = 0; i < n;) {
        uint32_t looked_at = 0;
        VLY_TRY(
            batch_fill(&batch, rows + i, n - i, storage, &looked_at, error));
        batch_count(&batch);
        VLY_TRY(batch_deal(&batch, error));
        VLY_TRY(batch_sort(&batch, error));
        batch_clear(&batch);
        i += looked_at;
    }
out:
    batch_clear(&batch);
    vly_free(batch.works);
    vly_free(batch.items);
    return status;
}

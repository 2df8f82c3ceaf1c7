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
 * Parts and buckets depend on the map alone. A rule that draws target by target
 * deals each bucket its words in the order of targets, because parts and what a
 * part deals keep their order: there only rows are left to sort.
 */
#include "connectome/row_buckets.h"

#include <string.h>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "base/error.h"
#include "base/memory.h"

#define BUCKET_SYNAPSES 32768u /* 128 KB, and as much to sort it with */
/* Where targets ascend, sorting is one pass, which needs no cache for the whole
 * bucket; larger ones are fewer places to write to. Not where there would be
 * too few for many threads. */
#define BUCKET_ASCENDING 131072u
#define ASCENDING_LEAST (UINT64_C(256) * BUCKET_ASCENDING)
#define BUCKETS_BEST 4096u /* more have rows of their own, if those fit */
/* For maps of so many rows that a word has no bits for more rows a bucket:
 * lines of 8 MB a thread, which leave the second-level cache. */
#define BUCKETS_MAX 65536u
#define ROW_BITS_MAX 10u
#define PART_SYNAPSES (UINT64_C(1) << 18)
#define PARTS_MAX 1024u
#define COUNT_BYTES (UINT64_C(32) << 20) /* of pairs built together */

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
static bool plan_make(const vly_rule_job *job, vly_bucket_plan *plan)
{
    uint64_t row_mean = vly_rule_draws(job) / job->n_from;
    const bool large =
        vly_rule_ascends(job) && vly_rule_draws(job) >= ASCENDING_LEAST;
    const uint64_t most = large ? BUCKET_ASCENDING : BUCKET_SYNAPSES;
    uint32_t bits = 0;
    plan->target_bits = bits_below(job->n_to);
    while (bits < ROW_BITS_MAX && bits + plan->target_bits < 32 &&
           (row_mean << (bits + 1) <= most ||
            (job->n_from - 1) >> bits >= BUCKETS_BEST))
        bits++;
    plan->row_bits = bits;
    plan->n_buckets = ((job->n_from - 1) >> bits) + 1;
    return plan->n_buckets <= BUCKETS_MAX;
}

bool vly_buckets_suit(const vly_rule_job *job)
{
    vly_bucket_plan plan;
    vly_rule_size size = vly_rules[job->pair->rule].size;
    bool drawn = size == VLY_SIZE_IN_DEGREE
                     ? vly_degrees_plain(job)
                     : size == VLY_SIZE_COUNT && !job->chosen;
    return drawn && !job->clip && plan_make(job, &plan);
}

/* ---- distribution ----------------------------------------------------- */

static uint64_t part_end(const vly_bucket_work *work, uint64_t part)
{
    uint64_t end = (part + 1) * work->part_size;
    return end < work->n ? end : work->n;
}

static void count_task(void *arg, uint32_t slot, uint64_t part)
{
    vly_bucket_work *work = arg;
    (void)slot;
    uint64_t *counts = work->at + part * work->plan.n_buckets;
    uint32_t row_bits = work->plan.row_bits;
    uint32_t sources[VLY_WORDS];
    uint32_t some[BUCKETS_BEST]; /* 16 KB, which stay cached */
    const bool few = work->plan.n_buckets <= BUCKETS_BEST;
    uint64_t last = part_end(work, part);
    if (few)
        memset(some, 0, sizeof(some));
    else
        memset(counts, 0, work->plan.n_buckets * sizeof(*counts));
    for (uint64_t k = part * work->part_size; k < last; k += VLY_WORDS) {
        uint32_t n = last - k < VLY_WORDS ? (uint32_t)(last - k) : VLY_WORDS;
        vly_rule_draw(work->job, k, n, sources, NULL);
        for (uint32_t i = 0; i < n && few; i++)
            some[sources[i] >> row_bits]++;
        for (uint32_t i = 0; i < n && !few; i++)
            counts[sources[i] >> row_bits]++;
    }
    for (uint32_t b = 0; b < work->plan.n_buckets && few; b++)
        counts[b] = some[b];
}

/* Turns counts into the positions where each part begins in a bucket; part by
 * part, in memory order. */
static void place_task(void *arg, uint32_t slot, uint64_t task)
{
    vly_bucket_work *work = arg;
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

/* Words of one bucket until two lines of the cache are full: each store to
 * another bucket may have to look up a page. The next word of bucket b is
 * number next[b] from the beginning of the line of memory in which the part's
 * words begin: 4 bytes a bucket, which stay in the first-level cache. */
#define LINE_WORDS 32u
typedef struct vly_bucket_line {
    _Alignas(64) uint32_t words[LINE_WORDS];
} vly_bucket_line;

/* Writes a whole line past the caches: it is not read soon, and an ordinary
 * store would first read the line. `last` is its last word, just stored: to
 * load it together with earlier ones would wait for that store. */
static inline void line_store(uint32_t *to, const uint32_t *words,
                              uint32_t last)
{
#if defined(__x86_64__)
    const uint32_t *tail = words + LINE_WORDS - 4;
    __m128i end = _mm_unpacklo_epi32(_mm_cvtsi32_si128((int)tail[2]),
                                     _mm_cvtsi32_si128((int)last));
    for (uint32_t i = 0; i < LINE_WORDS - 4; i += 4)
        _mm_stream_si128((void *)(to + i),
                         _mm_load_si128((const void *)(words + i)));
    _mm_stream_si128(
        (void *)(to + LINE_WORDS - 4),
        _mm_unpacklo_epi64(_mm_loadl_epi64((const void *)tail), end));
#else
    (void)last;
    memcpy(to, words, LINE_WORDS * sizeof(*to));
#endif
}

/* Writes words of the last line before word number `end` of a bucket whose
 * words begin at `at`. */
static void line_rest(uint32_t *targets, const vly_bucket_line *line,
                      uint64_t at, uint32_t skew, uint32_t end)
{
    const uint32_t begin = (uint32_t)(at + skew) % LINE_WORDS;
    uint32_t first = (end - 1) / LINE_WORDS * LINE_WORDS;
    if (first < begin)
        first = begin;
    memcpy(targets + at + (first - begin), line->words + first % LINE_WORDS,
           (end - first) * sizeof(*targets));
}

/* Adds words to their buckets. */
static void words_deal(const vly_bucket_work *work, const uint64_t *at,
                       vly_bucket_line *lines, uint32_t *next,
                       const uint32_t *sources, const uint32_t *words,
                       uint32_t n)
{
    const uint32_t row_bits = work->plan.row_bits;
    uint32_t *to = work->targets;
    const uint32_t skew = work->skew;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t b = sources[i] >> row_bits;
        const uint32_t number = next[b]++;
        const uint32_t word = words[i];
        lines[b].words[number % LINE_WORDS] = word;
        if (number % LINE_WORDS != LINE_WORDS - 1)
            continue;
        const uint32_t begin = (uint32_t)(at[b] + skew) % LINE_WORDS;
        if (number >= LINE_WORDS || begin == 0)
            line_store(to + at[b] + number - begin - (LINE_WORDS - 1),
                       lines[b].words, word);
        else
            line_rest(to, &lines[b], at[b], skew, number + 1);
    }
}

static void deal_task(void *arg, uint32_t slot, uint64_t part)
{
    vly_bucket_work *work = arg;
    const uint64_t *at = work->at + part * work->plan.n_buckets;
    vly_bucket_line *lines = work->lines + (size_t)slot * work->n_lines;
    uint32_t *next = work->next + (size_t)slot * work->n_lines;
    uint32_t row_mask = (UINT32_C(1) << work->plan.row_bits) - 1;
    uint32_t target_bits = work->plan.target_bits;
    uint32_t sources[VLY_WORDS];
    uint32_t targets[VLY_WORDS];
    uint64_t last = part_end(work, part);
    for (uint32_t b = 0; b < work->plan.n_buckets; b++)
        next[b] = (uint32_t)(at[b] + work->skew) % LINE_WORDS;
    for (uint64_t k = part * work->part_size; k < last; k += VLY_WORDS) {
        uint32_t n = last - k < VLY_WORDS ? (uint32_t)(last - k) : VLY_WORDS;
        vly_rule_draw(work->job, k, n, sources, targets);
        if (target_bits < 32) /* otherwise a bucket is one row */
            for (uint32_t i = 0; i < n; i++)
                targets[i] |= (sources[i] & row_mask) << target_bits;
        words_deal(work, at, lines, next, sources, targets, n);
    }
    for (uint32_t b = 0; b < work->plan.n_buckets; b++)
        if (next[b] % LINE_WORDS)
            line_rest(work->targets, &lines[b], at[b], work->skew, next[b]);
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

/* ---- all -------------------------------------------------------------- */

typedef struct bucket_batch {
    vly_bucket_work *works;
    vly_item *items;
    uint32_t n;
    uint32_t n_threads;
    void *lines;
    uint32_t *scratch;
} bucket_batch;

static vly_status work_init(vly_bucket_work *work, const vly_rows *rows,
                            vly_error *error)
{
    *work = (vly_bucket_work){
        .job = &rows->job, .n = vly_rule_draws(&rows->job), .row = rows->row};
    (void)plan_make(work->job, &work->plan);
    work->ascending = vly_rule_ascends(work->job);
    uint64_t size = work->n / PARTS_MAX + 1;
    if (size < PART_SYNAPSES)
        size = PART_SYNAPSES;
    work->part_size = (size + VLY_WORDS - 1) / VLY_WORDS * VLY_WORDS;
    work->n_parts = (work->n + work->part_size - 1) / work->part_size;
    size_t n = (size_t)work->n_parts * work->plan.n_buckets;
    work->at = vly_malloc(n, sizeof(*work->at));
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
        vly_bucket_work *work = &batch->works[batch->n++];
        VLY_TRY(work_init(work, &rows[i], error));
        bytes += work->n_parts * work->plan.n_buckets * sizeof(*work->at);
        rows[i].targets =
            vly_storage_alloc(storage, work->n, sizeof(*work->targets), false);
        if (!rows[i].targets)
            return vly_fail_nomem(error, work->n * sizeof(*work->targets),
                                  "targets of a map");
        work->targets = rows[i].targets;
        work->skew = (uint32_t)((uintptr_t)work->targets /
                                sizeof(*work->targets) % LINE_WORDS);
    }
    *looked_at = i;
out:
    return status;
}

/* Targets, rows and counts: all of them are written in pieces. */
static void batch_touch(bucket_batch *batch)
{
    for (uint32_t array = 0; array < 3; array++) {
        for (uint32_t i = 0; i < batch->n; i++) {
            const vly_bucket_work *work = &batch->works[i];
            const uint64_t n_rows = (uint64_t)work->job->n_from + 1;
            const uint64_t n_counts = work->n_parts * work->plan.n_buckets;
            batch->items[i] =
                array == 0 ? vly_touch_item(work->targets,
                                            work->n * sizeof(*work->targets))
                : array == 1
                    ? vly_touch_item(work->row, n_rows * sizeof(*work->row))
                    : vly_touch_item(work->at, n_counts * sizeof(*work->at));
        }
        vly_items_loop(batch->n_threads, batch->items, batch->n);
    }
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

static uint64_t batch_bytes(const bucket_batch *batch)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < batch->n; i++)
        bytes += batch->works[i].n * sizeof(uint32_t);
    return bytes;
}

static vly_status batch_deal(bucket_batch *batch, vly_error *error)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < batch->n; i++)
        if (batch->works[i].plan.n_buckets > most)
            most = batch->works[i].plan.n_buckets;
    uint64_t bytes = most * (sizeof(vly_bucket_line) + sizeof(uint32_t));
    uint32_t n_slots =
        vly_slots_beside(batch->n_threads, bytes, batch_bytes(batch));
    batch->lines = vly_aligned(n_slots * bytes, _Alignof(vly_bucket_line));
    if (!batch->lines)
        return vly_fail_nomem(error, n_slots * bytes, "lines of a map");
    for (uint32_t i = 0; i < batch->n; i++) {
        vly_bucket_work *work = &batch->works[i];
        work->lines = batch->lines;
        work->next = (uint32_t *)(work->lines + (size_t)n_slots * most);
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
    uint32_t n_slots =
        vly_slots_beside(batch->n_threads, bytes, batch_bytes(batch));
    batch->scratch = vly_malloc(n_slots * most, sizeof(*batch->scratch));
    if (!batch->scratch)
        return vly_fail_nomem(error, n_slots * bytes, "sorting of rows");
    for (uint32_t i = 0; i < batch->n; i++) {
        vly_bucket_work *work = &batch->works[i];
        work->scratch = batch->scratch;
        work->n_scratch = most;
        work->row[work->job->n_from] = work->n;
        batch->items[i] = (vly_item){.body = vly_bucket_sort,
                                     .arg = work,
                                     .n_tasks = work->plan.n_buckets};
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
        batch_touch(&batch);
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

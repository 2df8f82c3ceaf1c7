/* SPDX-License-Identifier: Apache-2.0
 * Sorts a bucket of synapses (row_buckets.c) into rows: radix sort from the low
 * digit, whose last digit is the row.
 */
#include "connectome/row_buckets.h"

#include <string.h>

#define DIGIT_BITS 11u
#define DIGIT_VALUES (1u << DIGIT_BITS)
#define DIGITS_MAX 3u

/* How a word is cut into digits, from the low end. */
typedef struct digit_plan {
    uint32_t n; /* at most 3: the top digit has at least 10 bits of 32 */
    uint32_t shift[DIGITS_MAX];
    uint32_t values[DIGITS_MAX]; /* a power of two */
} digit_plan;

/* The top digit holds the whole row, so that its places are the rows'. Where
 * targets ascend it holds nothing else and is the only one. */
static void digits_make(const vly_bucket_plan *plan, bool ascending,
                        digit_plan *digits)
{
    if (ascending) {
        *digits = (digit_plan){.n = 1,
                               .shift = {plan->target_bits},
                               .values = {UINT32_C(1) << plan->row_bits}};
        return;
    }
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

static void rows_place(vly_bucket_work *work, uint64_t bucket, uint32_t shift,
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

void vly_bucket_sort(void *arg, uint32_t slot, uint64_t bucket)
{
    vly_bucket_work *work = arg;
    uint32_t target_bits = work->plan.target_bits;
    uint32_t *targets = work->targets + work->first[bucket];
    size_t n = (size_t)(work->first[bucket + 1] - work->first[bucket]);
    uint32_t *from = targets;
    uint32_t *to = work->scratch + slot * work->n_scratch;
    uint32_t at[DIGITS_MAX][DIGIT_VALUES];
    digit_plan digits;
    digits_make(&work->plan, work->ascending, &digits);
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

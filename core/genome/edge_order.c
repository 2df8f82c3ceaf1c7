/* SPDX-License-Identifier: Apache-2.0
 * The order of a list of synapses: see edge_order.h.
 *
 * One stable pass of counting by source through memory, then each row by
 * target, which stays in the cache: insertion up to 24 synapses, otherwise
 * radix sort with digits as wide as the longest digit of the target area
 * allows. A second pass of counting over all synapses (by target first)
 * is slower, mostly because the system has to clear more memory.
 */
#include "genome/edge_order.h"

#include <string.h>

#include "base/memory.h"

#define INSERTION_MAX 24u
#define DIGIT_MAX 11u
#define SHORT_DIGIT_MAX 8u
#define SHORT_ROW 4096u

/* Counts, per source, where its synapses begin: [n_sources + 1]. */
static uint64_t *rows_of(const uint32_t *source, uint64_t n, uint32_t n_sources)
{
    uint64_t *at = vly_calloc((size_t)n_sources + 1, sizeof(*at));
    if (!at)
        return NULL;
    for (uint64_t i = 0; i < n; i++)
        at[source[i] + (size_t)1]++;
    for (uint32_t k = 0; k < n_sources; k++)
        at[k + (size_t)1] += at[k];
    return at;
}

static void insertion_sort(vly_edge_slot *row, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const vly_edge_slot one = row[i];
        size_t k = i;
        for (; k > 0 && row[k - 1].end.target > one.end.target; k--)
            row[k] = row[k - 1];
        row[k] = one;
    }
}

/* Digits of a row's sort: all of them as wide as the first. */
typedef struct digits {
    uint32_t n;
    uint32_t bits;
} digits;

static digits digits_of(uint32_t n_targets, uint32_t most)
{
    uint32_t bits = 1;
    while (bits < 32 && (n_targets - 1) >> bits)
        bits++;
    const uint32_t n = (bits + most - 1) / most;
    return (digits){.n = n, .bits = (bits + n - 1) / n};
}

static void radix_sort(vly_edge_slot *row, size_t n, digits wanted,
                       vly_edge_slot *scratch)
{
    uint32_t at[UINT32_C(1) << DIGIT_MAX];
    const uint32_t n_values = UINT32_C(1) << wanted.bits;
    vly_edge_slot *from = row;
    vly_edge_slot *to = scratch;
    for (uint32_t digit = 0; digit < wanted.n; digit++) {
        const uint32_t shift = digit * wanted.bits;
        uint32_t sum = 0;
        memset(at, 0, n_values * sizeof(*at));
        for (size_t i = 0; i < n; i++)
            at[from[i].end.target >> shift & (n_values - 1)]++;
        for (uint32_t value = 0; value < n_values; value++) {
            const uint32_t count = at[value];
            at[value] = sum;
            sum += count;
        }
        for (size_t i = 0; i < n; i++)
            to[at[from[i].end.target >> shift & (n_values - 1)]++] = from[i];
        vly_edge_slot *swap = from;
        from = to;
        to = swap;
    }
    if (from != row)
        memcpy(row, from, n * sizeof(*row));
}

/* Each row by target. row [n_sources]: where they end */
static bool sort_rows(const uint64_t *row, uint32_t n_sources,
                      uint32_t n_targets, vly_edge_slot *slots)
{
    const digits few = digits_of(n_targets, SHORT_DIGIT_MAX);
    const digits many = digits_of(n_targets, DIGIT_MAX);
    uint64_t longest = 0;
    for (uint32_t k = 0; k < n_sources; k++) {
        const uint64_t n = row[k] - (k ? row[k - 1] : 0);
        longest = n > longest ? n : longest;
    }
    vly_edge_slot *scratch = vly_malloc((size_t)longest, sizeof(*scratch));
    if (!scratch)
        return false;
    for (uint32_t k = 0; k < n_sources; k++) {
        vly_edge_slot *first = slots + (k ? row[k - 1] : 0);
        const size_t n = (size_t)(slots + row[k] - first);
        if (n <= INSERTION_MAX)
            insertion_sort(first, n);
        else
            radix_sort(first, n, n <= SHORT_ROW ? few : many, scratch);
    }
    vly_free(scratch);
    return true;
}

bool vly_edge_order(const uint32_t *source, const uint32_t *target, uint64_t n,
                    uint32_t n_sources, uint32_t n_targets,
                    vly_edge_slot *slots, uint64_t **row)
{
    uint64_t *ends = rows_of(source, n, n_sources);
    if (!ends)
        return false;
    for (uint64_t i = 0; i < n; i++) {
        vly_edge_slot *slot = &slots[ends[source[i]]++];
        slot->end.target = target[i];
        slot->end.index = (uint32_t)i;
    }
    if (!sort_rows(ends, n_sources, n_targets, slots)) {
        vly_free(ends);
        return false;
    }
    *row = ends;
    return true;
}

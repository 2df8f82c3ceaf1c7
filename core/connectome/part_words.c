/* SPDX-License-Identifier: Apache-2.0
 * Words of own synapses: a source's own synapses follow each other in the whole
 * map, so a word is found from the place of the first one.
 */
#include "connectome/part_make.h"

#include <string.h>

#include "connectome/draw_words.h"

/* So many words are drawn together, fewer in blocks of four. */
#define TOGETHER 32u

/* The row that has own synapse i. */
static uint32_t row_of(const uint64_t *row, uint32_t n_rows, uint64_t i)
{
    uint32_t low = 0; /* the last one that begins at or before i */
    uint32_t high = n_rows;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (row[middle] <= i)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Words [first, first + n) */
static void run_fill(const vly_draws *draws, uint64_t first, uint32_t n,
                     uint32_t *words)
{
    while (n >= TOGETHER) {
        uint32_t made[VLY_WORDS];
        const uint32_t skip = first & 3;
        const uint32_t take = n < VLY_WORDS - skip ? n : VLY_WORDS - skip;
        vly_draws_fill(draws, first - skip, skip + take, made);
        memcpy(words, made + skip, take * sizeof(*words));
        words += take;
        first += take;
        n -= take;
    }
    while (n > 0) {
        const vly_philox block = vly_draws_block(draws, first >> 2);
        do {
            *words++ = block.w[first++ & 3];
            n--;
        } while (n > 0 && (first & 3) != 0);
    }
}

void vly_part_words(const vly_made_pair *made, const vly_draws *draws,
                    uint64_t first, uint32_t n, uint32_t *words)
{
    const uint64_t end = first + n;
    for (uint32_t k = row_of(made->row, made->n_from, first); first < end;
         k++) {
        const uint64_t last =
            made->row[k + (size_t)1] < end ? made->row[k + (size_t)1] : end;
        if (last <= first)
            continue;
        run_fill(draws, made->place[k] + (first - made->row[k]),
                 (uint32_t)(last - first), words);
        words += last - first;
        first = last;
    }
}

void vly_part_places(const vly_made_pair *made, uint64_t first, uint32_t n,
                     uint64_t *places)
{
    const uint64_t end = first + n;
    for (uint32_t k = row_of(made->row, made->n_from, first); first < end; k++)
        for (; first < end && first < made->row[k + (size_t)1]; first++)
            *places++ = made->place[k] + (first - made->row[k]);
}

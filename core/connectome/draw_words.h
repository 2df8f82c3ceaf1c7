/* SPDX-License-Identifier: Apache-2.0
 * Many words of a sequence at once, for the draws that every synapse needs.
 */
#ifndef VOLLEY_CONNECTOME_DRAW_WORDS_H
#define VOLLEY_CONNECTOME_DRAW_WORDS_H

#include "connectome/connectome_work.h"

/* Words that the loops over synapses request at a time: 4 KB, so that they fit
 * in the first-level cache with the other data of a loop. */
#define VLY_WORDS 1024u

/* words[i] = word first + i of the sequence, i < n; first a multiple of 4, n at
 * most VLY_WORDS. Writes up to 3 words more: there is room for VLY_WORDS. */
void vly_draws_fill(const vly_draws *draws, uint64_t first, uint32_t n,
                    uint32_t words[VLY_WORDS]);

/* made[i] = vly_below(words[i], limit), and 1 more from `own` on, i < n: one of
 * limit + 1 neurons without `own`. */
void vly_words_below(const uint32_t *restrict words, uint32_t n, uint32_t limit,
                     uint32_t own, uint32_t *restrict made);

/* An integer below n: the high word of the product of two 64-bit words. */
static inline uint64_t vly_below_64(uint32_t high, uint32_t low, uint64_t n)
{
    uint64_t a = (uint64_t)low * (n & UINT32_MAX);
    uint64_t b = (uint64_t)low * (n >> 32) + (a >> 32);
    uint64_t c = (uint64_t)high * (n & UINT32_MAX) + (b & UINT32_MAX);
    return (uint64_t)high * (n >> 32) + (b >> 32) + (c >> 32);
}

#endif

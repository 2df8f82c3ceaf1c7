/* SPDX-License-Identifier: Apache-2.0
 * The nearest of a list of words, for "did you mean".
 */
#ifndef VOLLEY_BASE_SUGGEST_H
#define VOLLEY_BASE_SUGGEST_H

#include <stdbool.h>
#include <stdint.h>

#define VLY_WORD_MAX 63

/* Edit distance with swaps of neighbours, case of letters ignored; words are
 * cut at 63 bytes. */
uint32_t vly_suggest_distance(const char *a, const char *b);

#define VLY_OFFERED_MAX 17u

/* The best candidate so far; initialise with zeros. */
typedef struct vly_suggest {
    const char *best;
    uint32_t distance;
    const char *offered[VLY_OFFERED_MAX]; /* the first of them */
    uint32_t n_offered;
} vly_suggest;
void vly_suggest_offer(vly_suggest *suggest, const char *word,
                       const char *candidate);
/* A candidate that means the same: nothing is nearer. */
void vly_suggest_same(vly_suggest *suggest, const char *candidate);
/* Only for the list of vly_suggest_choice, in which each word appears once;
 * "weight*" stands for weight_<unit>. */
void vly_suggest_also(vly_suggest *suggest, const char *candidate);
/* ", did you mean tau_m_ms?" or "" if nothing is near; returns out */
const char *vly_suggest_text(const vly_suggest *suggest, char *out,
                             uint32_t size);

/* The same; if nothing is near, ", wanted one of a, b, c" unless the list is
 * long. */
const char *vly_suggest_choice(const vly_suggest *suggest, char *out,
                               uint32_t size);
/* Buffer size for their results. */
#define VLY_HINT_SIZE 320

#endif

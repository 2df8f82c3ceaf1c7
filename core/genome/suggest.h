/* SPDX-License-Identifier: Apache-2.0
 * The nearest of a list of words, for "did you mean".
 */
#ifndef VOLLEY_GENOME_SUGGEST_H
#define VOLLEY_GENOME_SUGGEST_H

#include <stdbool.h>
#include <stdint.h>

/* Edit distance with swaps of neighbours, case of letters ignored; words are
 * cut at 63 bytes. */
uint32_t vly_suggest_distance(const char *a, const char *b);

/* Best candidate so far; start with all zero. */
typedef struct vly_suggest {
    const char *best;
    uint32_t distance;
} vly_suggest;
void vly_suggest_offer(vly_suggest *suggest, const char *word,
                       const char *candidate);
/* ", did you mean tau_m_ms?" or "" if nothing is near; returns out */
const char *vly_suggest_text(const vly_suggest *suggest, char *out,
                             uint32_t size);

/* Our name for a name of NEST or Brian 2 ("C_m": "c_m_pf"); NULL without. The
 * second call gives the next (I_e is i_e_pa or i_e): index from 0. */
const char *vly_suggest_alias(const char *word, uint32_t index);
/* Row index of that table; false after the last. */
bool vly_suggest_alias_at(uint32_t index, const char **theirs,
                          const char **ours);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * The names of NEST and Brian 2 and ours: what the reader answers to one, and
 * what `volley doc nest` prints.
 */
#ifndef VOLLEY_GENOME_FOREIGN_NAMES_H
#define VOLLEY_GENOME_FOREIGN_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/suggest.h"

/* One of the two is not NULL. A note says what differs, what to write, or what
 * comes nearest where there is nothing of the kind. */
typedef struct vly_foreign {
    const char *theirs;
    const char *ours;
    const char *note;
    const char *where; /* the row holds in such tables ("[[map]]") or of
                          such a model only */
} vly_foreign;

/* Whether a row holds in a table that messages call so ("a [[map]]"), of this
 * model or NULL. */
bool vly_foreign_holds(const vly_foreign *row, const char *what,
                       const char *model);

/* Row index of the table; NULL after the last. */
const vly_foreign *vly_foreign_at(uint32_t index);
/* Row index among those of the word: V_th is v_th_mv, v_t_mv or v_peak,
 * whichever is known where it stands. NULL after the last. */
const vly_foreign *vly_foreign_find(const char *word, uint32_t index);

/* vly_suggest_offer, where the word may be one of another simulator. */
void vly_foreign_offer(vly_suggest *suggest, const char *word,
                       const char *candidate);
/* vly_suggest_text for a word of the format (a model, a rule, a kind), with
 * what the table says of it. */
const char *vly_foreign_hint(const vly_suggest *suggest, const char *word,
                             char *out, uint32_t size);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Names of NEST and Brian 2 and the corresponding Volley names: for messages of
 * the reader and for `volley doc nest`.
 */
#ifndef VOLLEY_GENOME_FOREIGN_NAMES_H
#define VOLLEY_GENOME_FOREIGN_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/suggest.h"

/* One of the two is not NULL. A note describes the difference, what to write
 * instead, or the nearest feature. */
typedef struct vly_foreign {
    const char *theirs;
    const char *ours;
    const char *note;
    const char *where; /* the row applies only in such tables ("[[map]]") or to
                        * such a model */
} vly_foreign;

/* Whether a row applies in the table with this name in messages ("a [[map]]"),
 * for this model or NULL. */
bool vly_foreign_holds(const vly_foreign *row, const char *what,
                       const char *model);

/* Row index of the table; NULL after the last. */
const vly_foreign *vly_foreign_at(uint32_t index);
/* Number `index` of the rows with this word: V_th is v_th_mv, v_t_mv or v_peak,
 * depending on the table. NULL after the last. */
const vly_foreign *vly_foreign_find(const char *word, uint32_t index);

/* vly_suggest_offer for a word that may be a name of another simulator. */
void vly_foreign_offer(vly_suggest *suggest, const char *word,
                       const char *candidate);
/* As vly_suggest_text, for a word of the format (a model, a rule, a kind); adds
 * the table's note. */
const char *vly_foreign_hint(const vly_suggest *suggest, const char *word,
                             char *out, uint32_t size);

#endif

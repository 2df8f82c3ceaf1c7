/* SPDX-License-Identifier: Apache-2.0
 * Coefficients of short-term plasticity that are in force: a part of vly_live.
 */
#ifndef VOLLEY_ENGINE_LIVE_SHORT_TERM_H
#define VOLLEY_ENGINE_LIVE_SHORT_TERM_H

#include "engine/live.h"

/* Those of a projection, from its values in the overlay (`learned` of the
 * projection). Errors E_NOMEM */
vly_status vly_live_make_short_term(vly_live *change,
                                    const vly_connectome *connectome,
                                    const double *learned, uint32_t projection,
                                    vly_error *error);
bool vly_live_same_short_term(const vly_short_term_desc *a,
                              const vly_short_term_desc *b);
/* Removes from the change what is as in the connectome. */
void vly_live_trim_short_term(vly_live *change,
                              const vly_connectome *connectome,
                              uint32_t projection);
void vly_live_commit_short_term(vly_live *change, vly_live *now);
void vly_live_free_short_term(vly_live *live);

#endif

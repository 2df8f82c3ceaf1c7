/* SPDX-License-Identifier: Apache-2.0
 * Pairs with short-term plasticity, while a connectome is built: the
 * description for backends. Their weights are those of pairs without it.
 */
#ifndef VOLLEY_CONNECTOME_SHORT_TERM_MAKE_H
#define VOLLEY_CONNECTOME_SHORT_TERM_MAKE_H

#include "connectome/connectome_make.h"

/* Errors  E_NOMEM */
vly_status vly_short_term_view(const vly_maker *maker,
                               const vly_made_pair *made,
                               const vly_short_term_desc **short_term);

#endif

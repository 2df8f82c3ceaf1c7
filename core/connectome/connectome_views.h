/* SPDX-License-Identifier: Apache-2.0
 * The last step of a build: fills the public view of a connectome.
 */
#ifndef VOLLEY_CONNECTOME_CONNECTOME_VIEWS_H
#define VOLLEY_CONNECTOME_CONNECTOME_VIEWS_H

#include "connectome/connectome_make.h"

/* Fills *connectome except hash, n_bytes and storage; spike lists get their
 * values. Errors E_NOMEM, E_PARSE (a stimulus) */
vly_status vly_views_make(vly_maker *maker, uint64_t n_state_words,
                          vly_connectome *connectome);

#endif

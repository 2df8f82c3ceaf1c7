/* SPDX-License-Identifier: Apache-2.0
 * Pairs whose synapses learn, while a connectome is built.
 */
#ifndef VOLLEY_CONNECTOME_LEARNING_MAKE_H
#define VOLLEY_CONNECTOME_LEARNING_MAKE_H

#include "connectome/connectome_make.h"

/* Refuses weights outside [0, w_max] that the genome's reader could not see
 * (those with a slope). Errors  E_PARSE with its place */
vly_status vly_learning_check(vly_maker *maker);
/* Whether w_max is at most 32767 units of 2^-q. */
bool vly_learning_fits(const vly_made_pair *made, int32_t q);
/* Whether w_max has fewer than 500 units of 2^-q. */
bool vly_learning_coarse(const vly_made_pair *made, int32_t q);
/* q less the shift of the pair: it has one unit, which w_max chooses. */
int32_t vly_learning_q(const vly_made_pair *made, int32_t q);
/* In units of 2^-q: the largest weight that is at most w_max, and the largest
 * that is delivered. */
int32_t vly_learning_cap(const vly_made_pair *made, int32_t q);
int32_t vly_learning_delivered(const vly_made_pair *made, int32_t q);
/* Weights that rounding has brought above w_max become the largest below. */
void vly_learning_clamp(vly_made_pair *made, int32_t q);
/* Refuses parameters of which a coefficient is not kept, at the place of their
 * table. Errors  E_PARSE */
vly_status vly_learning_keeps(const vly_maker *maker, const vly_made_pair *made,
                              const vly_plasticity *plasticity,
                              const vly_plasticity_input *input);
/* The description for backends, of weights in units of `unit`.
 * Errors  E_NOMEM, E_PARSE as vly_learning_keeps */
vly_status vly_learning_view(const vly_maker *maker, const vly_made_pair *made,
                             double unit, const vly_learning_desc **learning);
/* The rule as given, also one of short-term plasticity, whose w_max is 0. Its
 * values (vly_learning_values) are one array. Errors  E_NOMEM */
vly_status vly_learning_given(const vly_maker *maker,
                              const vly_plasticity *plasticity,
                              const vly_connectome_learning **learning);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * The rules a second time, for tests: for each pair of neurons, straight from
 * the sentences of `volley doc`, whether they are connected; slow, and of
 * nothing that builds the connectome.
 */
#ifndef VOLLEY_SECOND_RULES_H
#define VOLLEY_SECOND_RULES_H

#include "connectome/connectome.h"
#include "genome/genome.h"

/* Compares every projection with its rule: all synapses if the rule draws
 * nothing, otherwise degrees, numbers and possible pairs. Prints the first
 * fault of each; the number of projections with one. */
uint32_t second_rules_check(const vly_genome *genome,
                            const vly_connectome *connectome);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Maps between parts of areas and pools a second time, for tests: all synapses
 * of a pool as a matrix of its neurons, compared with what the rule says.
 */
#ifndef VOLLEY_SECOND_POOLS_H
#define VOLLEY_SECOND_POOLS_H

#include "connectome/connectome.h"
#include "genome/genome.h"

/* The pairs of the pool whose first one is pair `index`; *n: how many. Prints
 * the first fault. */
bool second_pool_check(const vly_genome *genome,
                       const vly_connectome *connectome, uint32_t index,
                       uint32_t *n);

/* Whether a neuron may have n synapses of a fixed degree. */
bool second_degree_allowed(const vly_pair *pair, uint64_t n);
/* Whether the sum of n_neurons degrees is a likely one (they are equal without
 * a distribution). */
bool second_degrees_likely(const vly_pair *pair, uint64_t sum,
                           uint64_t n_neurons);

#endif

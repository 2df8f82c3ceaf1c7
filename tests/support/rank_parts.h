/* SPDX-License-Identifier: Apache-2.0
 * A connectome built in parts by ranks, compared with the whole one.
 */
#ifndef VOLLEY_TEST_RANK_PARTS_H
#define VOLLEY_TEST_RANK_PARTS_H

#include <stdbool.h>

#include "connectome/connectome.h"

/* What came of the parts; a case is one cut. */
typedef struct rank_parts {
    uint64_t n_cases;
    uint64_t n_whole_only; /* the genome cannot be built in parts */
    uint64_t n_not_alone;  /* ranks that exchange can, one alone cannot */
} rank_parts;

/* Builds the parts of n_ranks ranks, both with ranks that exchange (threads)
 * and alone, and compares each with the whole byte by byte: rows, targets,
 * weights, delays, what is derived from all synapses, and the sum of the
 * digests. seed: 0 cuts by cost, otherwise at random. Prints differences on
 * stderr, after the name. */
bool rank_parts_check(const vly_genome *genome, const vly_connectome *whole,
                      uint32_t n_ranks, uint64_t seed, const char *name,
                      rank_parts *counts);

#endif

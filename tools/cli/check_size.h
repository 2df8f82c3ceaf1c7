/* SPDX-License-Identifier: Apache-2.0
 * Sizes of a genome before it is compiled.
 */
#ifndef VOLLEY_TOOLS_CHECK_SIZE_H
#define VOLLEY_TOOLS_CHECK_SIZE_H

#include <stdbool.h>

#include "genome/genome.h"

typedef struct check_size {
    double synapses;
    bool exact; /* false: the mean of a random number, or an upper bound */
    double bytes;
    double peak_bytes; /* while it is compiled */
} check_size;

void check_size_of(const vly_genome *genome, check_size *size);

bool check_pair_exact(const vly_pair *pair);
double check_pair_synapses(const vly_genome *genome, const vly_pair *pair);
/* State, parameters, coefficients and counters of its neurons. */
double check_area_bytes(const vly_area *area);

#endif

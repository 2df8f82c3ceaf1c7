/* SPDX-License-Identifier: Apache-2.0
 * All synapses of a pair of a genome in one place, for tests: a connectome may
 * have them in several projections, by the size of their weights.
 */
#ifndef VOLLEY_SECOND_JOINED_H
#define VOLLEY_SECOND_JOINED_H

#include <stdbool.h>

#include "connectome/connectome.h"

typedef struct second_joined {
    uint64_t *row;    /* [sources + 1] */
    uint32_t *target; /* ascending in a row; the order of equal ones is lost */
    int64_t *weight;  /* units of the port */
    uint32_t *shift;  /* weight is a multiple of 2^shift */
    uint32_t *delay;  /* bursts, the base delay included */
    uint32_t port;    /* 0, 1 or by sign */
} second_joined;

/* False without memory. To be freed in either case. */
bool second_joined_make(const vly_connectome *connectome, uint32_t pair,
                        uint32_t n_sources, second_joined *joined);
void second_joined_free(second_joined *joined);

#endif

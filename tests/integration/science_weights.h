/* SPDX-License-Identifier: Apache-2.0
 * Weights of maps that learn, as doubles in the unit of the target's port, for
 * the science tests.
 */
#ifndef VOLLEY_SCIENCE_WEIGHTS_H
#define VOLLEY_SCIENCE_WEIGHTS_H

#include <stdint.h>

#include <volley/volley.h>

typedef struct science_weights {
    double *w; /* [n] |weight| in the order of the connectome; owned */
    uint64_t n;
} science_weights;

typedef struct weight_figures {
    double mean;
    double sd;
    double low;  /* share below a tenth of w_max */
    double high; /* share above nine tenths */
} weight_figures;

/* The weights of a map's first pair of areas, between two bursts. Fails the
 * test on an error. */
science_weights science_weights_read(vly_net *net,
                                     const vly_connectome *connectome,
                                     const char *map);
void science_weights_free(science_weights *weights);
weight_figures science_weights_figures(const science_weights *weights,
                                       double w_max);

#endif

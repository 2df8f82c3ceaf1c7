/* SPDX-License-Identifier: Apache-2.0
 * Weights of maps that learn, as doubles: from a snapshot, which brings every
 * synapse up to the present burst.
 */
#include "science_weights.h"

#include "volley_test.h"

#include <math.h>
#include <stdlib.h>

#include "connectome/connectome.h"
#include "connectome/learning_layout.h"
#include "engine/engine.h"

static uint32_t projection_of(const vly_connectome *connectome, const char *map)
{
    for (uint32_t p = 0; p < connectome->desc.n_projections; p++)
        if (strcmp(connectome->desc.projections[p].map, map) == 0)
            return p;
    fail_msg("no map %s in the connectome", map);
    return 0;
}

science_weights science_weights_read(vly_net *net,
                                     const vly_connectome *connectome,
                                     const char *map)
{
    vly_error error = {.struct_size = sizeof error};
    const vly_net_desc *desc = &connectome->desc;
    uint32_t p = projection_of(connectome, map);
    vly_learning_layout layout;
    vly_state *state = NULL;
    vly_learning_layout_of(desc, p, &layout);
    assert_true(layout.n_words > 0);
    assert_ok(vly_net_snapshot(net, &state, &error), error);
    assert_true(state->snapshot.n_weight_bytes ==
                4 * vly_learning_words_all(desc));
    const int32_t *m = (const int32_t *)state->snapshot.weights +
                       vly_learning_words_before(desc, p);
    science_weights weights = {.n = layout.n_synapses};
    weights.w = malloc(weights.n * sizeof *weights.w);
    assert_non_null(weights.w);
    for (uint64_t k = 0; k < weights.n; k++)
        weights.w[k] = m[k] * 0x1p-16 * connectome->projections[p].unit;
    vly_state_destroy(state);
    return weights;
}

void science_weights_free(science_weights *weights)
{
    free(weights->w);
    weights->w = NULL;
}

weight_figures science_weights_figures(const science_weights *weights,
                                       double w_max)
{
    weight_figures figures = {0};
    double n = (double)weights->n, square = 0;
    for (uint64_t k = 0; k < weights->n; k++) {
        figures.mean += weights->w[k] / n;
        figures.low += (weights->w[k] < 0.1 * w_max) / n;
        figures.high += (weights->w[k] > 0.9 * w_max) / n;
    }
    for (uint64_t k = 0; k < weights->n; k++)
        square +=
            (weights->w[k] - figures.mean) * (weights->w[k] - figures.mean);
    figures.sd = sqrt(square / n);
    return figures;
}

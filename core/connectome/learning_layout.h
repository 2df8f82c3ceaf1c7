/* SPDX-License-Identifier: Apache-2.0
 * Where the numbers of the projections that learn or have short-term plasticity
 * are in vly_snapshot.weights (plugin.h has their order), as words of 4 bytes.
 */
#ifndef VOLLEY_CONNECTOME_LEARNING_LAYOUT_H
#define VOLLEY_CONNECTOME_LEARNING_LAYOUT_H

#include <volley/plugin.h>

#include "connectome/connectome.h"

#define VLY_NO_TRACE UINT64_MAX
#define VLY_NEVER UINT32_MAX /* age of a trace that is 0 */

/* Bursts of the past that a projection needs: its largest delay, and 2 *
 * base_delay if it learns DENDRITIC. */
uint32_t vly_projection_reach(const vly_projection_desc *projection);

/* Offsets count from the projection's first word, which is m of its first
 * synapse, if it learns. The ages of a trace come after its values. */
typedef struct vly_learning_layout {
    uint64_t n_words;    /* 0: the projection has none */
    uint64_t n_synapses; /* with a weight m; 0 of short-term plasticity */
    uint32_t n_sources;
    uint32_t n_targets;
    uint64_t x[2]; /* values of x0, x1 [n_sources], or VLY_NO_TRACE */
    uint64_t x_age[2];
    uint64_t y[2]; /* values of y0, y1 [n_targets] */
    uint64_t y_age[2];
    uint64_t e;             /* eligibilities [n_synapses], or VLY_NO_TRACE */
    uint64_t modulator;     /* its value, then its age, or VLY_NO_TRACE */
    uint64_t short_term[3]; /* x, u, y [n_sources], or VLY_NO_TRACE */
    uint64_t short_term_age;
} vly_learning_layout;

void vly_learning_layout_of(const vly_net_desc *desc, uint32_t projection,
                            vly_learning_layout *layout);
/* Words of one projection, of all before it, of all. */
uint64_t vly_learning_words(const vly_net_desc *desc, uint32_t projection);
uint64_t vly_learning_words_before(const vly_net_desc *desc,
                                   uint32_t projection);
uint64_t vly_learning_words_all(const vly_net_desc *desc);

/* All words at burst 0: m is |weight| << 16, every trace 0 and VLY_NEVER, and
 * the states of short-term plasticity those that the parameters give.
 * projections: [desc->n_projections] of the connectome
 * words        [vly_learning_words_all] */
void vly_learning_start(const vly_net_desc *desc,
                        const vly_connectome_projection *projections,
                        uint32_t *words);

#endif

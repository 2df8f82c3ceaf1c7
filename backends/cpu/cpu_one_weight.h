/* SPDX-License-Identifier: Apache-2.0
 * Projections whose synapses all have one weight.
 */
#ifndef VOLLEY_CPU_ONE_WEIGHT_H
#define VOLLEY_CPU_ONE_WEIGHT_H

#include "cpu_net.h"

/* Delivers spikes ids[n] of the projection's source area, with their gains, to
 * the slice that is part `part` of its rows. */
void vly_cpu_one_weight_deliver(const vly_cpu_projection *projection,
                                uint32_t part, const vly_cpu_destination *to,
                                uint32_t source_first, const uint32_t *ids,
                                const uint32_t *gains, uint32_t n);

#endif

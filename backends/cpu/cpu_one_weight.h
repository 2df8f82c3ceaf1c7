/* SPDX-License-Identifier: Apache-2.0
 * Projections whose synapses all have one weight and one delay.
 */
#ifndef VOLLEY_CPU_ONE_WEIGHT_H
#define VOLLEY_CPU_ONE_WEIGHT_H

#include "cpu_net.h"

/* Finds out whether the projection is one; sets its one_weight then. */
vly_status vly_cpu_one_weight_create(vly_backend_net *net,
                                     vly_cpu_projection *projection,
                                     vly_error *error);
/* Delivers spikes ids[n] of the projection's source area to one slice. */
void vly_cpu_one_weight_deliver(const vly_backend_net *net,
                                const vly_cpu_thread *thread,
                                const vly_cpu_projection *projection,
                                const uint32_t *ids, uint32_t n);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Projections with short-term plasticity. In each burst the gains of the spikes
 * that arrive in the next one are computed, by each thread a part of them;
 * where the delay is one burst, at its end. Their rows are then delivered with
 * them (cpu_delivery.c).
 *
 * A snapshot holds the states before the events that are under way, so a second
 * copy of the states goes that far behind. Each thread advances a part of it.
 */
#ifndef VOLLEY_CPU_SHORT_TERM_H
#define VOLLEY_CPU_SHORT_TERM_H

#include "backends/common/common_short_term.h"
#include "cpu_net.h"

struct vly_cpu_short_term {
    vly_common_short_term t;
    vly_common_sources head; /* after the spikes that arrive in this burst */
    vly_common_sources tail; /* after those without an event under way */
    /* [n_sources] of the set that is delivered in burst b, in its order: of b %
     * 2 */
    uint32_t *gain[2];
    const vly_cpu_projection *projection;
};

vly_status vly_cpu_short_term_create(vly_backend_net *net, vly_error *error);
/* words: of one projection in a snapshot; the fired sets have been loaded.
 * Delivers the events that are under way; returns the end of the words. */
const uint32_t *vly_cpu_short_term_load(vly_backend_net *net,
                                        vly_cpu_short_term *s,
                                        const uint32_t *words);
/* The thread's part: advances the tail, and computes gains for the next burst.
 */
void vly_cpu_short_term_begin(vly_backend_net *net,
                              const vly_cpu_thread *thread);
/* The gains of spikes of the burst just done that arrive in burst net->burst.
 * [one thread] */
void vly_cpu_short_term_next(vly_backend_net *net);
vly_status vly_cpu_short_term_set(vly_backend_net *net, uint32_t projection,
                                  const vly_short_term_desc *short_term,
                                  vly_error *error);

#endif

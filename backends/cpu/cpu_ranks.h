/* SPDX-License-Identifier: Apache-2.0
 * A net that ranks run together: this rank runs the slices of its own neurons.
 * One slice more stands for all lower ranks and one for all higher ranks, which
 * have no thread.
 *
 * Ranks exchange spikes at the end of a window of bursts
 * (backends/common/common_ranks.h). Until then a rank keeps its own spikes;
 * then all bursts of the window enter the history, one after the other, so it,
 * and all that follows from it, is that of the whole net.
 *
 * State and weights of other ranks' neurons are out of date between bursts.
 * vly_cpu_ranks_refresh brings them before anything reads them.
 */
#ifndef VOLLEY_CPU_RANKS_H
#define VOLLEY_CPU_RANKS_H

#include "cpu_net.h"

/* Slices of other ranks before and after its own. */
uint32_t vly_cpu_ranks_before(const vly_net_desc *desc);
uint32_t vly_cpu_ranks_after(const vly_net_desc *desc);

vly_status vly_cpu_ranks_create(vly_backend_net *net, vly_error *error);
/* Between two runs. Without ranks: nothing. */
vly_status vly_cpu_ranks_refresh(vly_backend_net *net, vly_error *error);
/* Of the bursts that are kept, the one of age bursts ago, as of
 * vly_cpu_history_set. */
const uint32_t *vly_cpu_ranks_set(const vly_backend_net *net, uint32_t age,
                                  const uint32_t **ids, const uint32_t **gains);
/* At the end of each burst; if it is the last one of a window: what all ranks
 * fired in the window, for the history and the caller. [one thread] */
vly_status vly_cpu_ranks_end_burst(vly_backend_net *net, vly_run *run,
                                   vly_error *error);

#endif

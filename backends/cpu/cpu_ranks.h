/* SPDX-License-Identifier: Apache-2.0
 * A net that ranks run together: this rank runs the slices of its own neurons.
 * One slice more stands for all lower ranks and one for all higher ranks, which
 * have no thread.
 *
 * Ranks exchange spikes at the end of a window of bursts, whose length follows
 * from the delays (kernels/rules/rank_window.h). Until then a rank keeps its
 * own spikes; then all bursts of the window enter the history, one after the
 * other, so it, and all that follows from it, is that of the whole net. A
 * window ends with the run at the latest, and before the caller would have no
 * room for a burst of all neurons.
 *
 * State and weights of other ranks' neurons are out of date between bursts.
 * vly_cpu_ranks_refresh brings them before anything reads them.
 */
#ifndef VOLLEY_CPU_RANKS_H
#define VOLLEY_CPU_RANKS_H

#include "cpu_net.h"

/* Neurons [*low, *high) of this rank; all without ranks. */
void vly_cpu_ranks_own(const vly_net_desc *desc, uint32_t *low, uint32_t *high);
/* Slices of other ranks before and after its own. */
uint32_t vly_cpu_ranks_before(const vly_net_desc *desc);
uint32_t vly_cpu_ranks_after(const vly_net_desc *desc);

/* Between two runs. Without ranks: nothing. */
vly_status vly_cpu_ranks_refresh(vly_backend_net *net, vly_error *error);

/* ---- cpu_ranks_window.c ------------------------------------------------- */

void vly_cpu_ranks_find_window(vly_backend_net *net);
/* A clause of the plan: how long a window is, and why. */
void vly_cpu_ranks_print(const vly_backend_net *net, char *text, size_t size);
/* Begins a run. Without ranks: nothing. */
void vly_cpu_ranks_begin(vly_backend_net *net, const vly_run *run);
/* Whether all ranks go on with another burst: none was asked to stop, and all
 * have room for its spikes. Begins a window if one has ended. */
bool vly_cpu_ranks_go_on(vly_backend_net *net, const vly_run *run);
/* So many bursts or some more, so that they are whole windows: the exchange is
 * a part of their cost. Without ranks: the same. */
uint64_t vly_cpu_ranks_whole(const vly_backend_net *net, const vly_run *run,
                             uint64_t n_bursts);
/* Keeps the burst of this rank's slices. */
vly_status vly_cpu_ranks_keep(vly_backend_net *net, vly_error *error);
/* Of the bursts that are kept, the one of age bursts ago, as of
 * vly_cpu_history_set. */
const uint32_t *vly_cpu_ranks_set(const vly_backend_net *net, uint32_t age,
                                  const uint32_t **ids, const uint32_t **gains);

/* ---- cpu_ranks_send.c --------------------------------------------------- */

vly_status vly_cpu_ranks_create(vly_backend_net *net, vly_error *error);
/* At the end of each burst; if it is the last one of a window: what all ranks
 * fired in the window, for the history and the caller. [one thread] */
vly_status vly_cpu_ranks_end_burst(vly_backend_net *net, vly_run *run,
                                   vly_error *error);

#endif

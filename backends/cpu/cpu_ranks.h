/* SPDX-License-Identifier: Apache-2.0
 * A net that ranks run together: this rank runs the slices of its own neurons.
 * One slice more stands for all lower ranks and one for all higher ranks. They
 * have no thread; at the end of a burst they get what the other ranks fired, so
 * the history, and all that follows from it, is that of the whole net.
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

vly_status vly_cpu_ranks_create(vly_backend_net *net, vly_error *error);
/* At the end of a burst: what the other ranks fired. own: the status of this
 * rank, which all ranks get. [one thread] */
vly_status vly_cpu_ranks_exchange(vly_backend_net *net, const vly_run *run,
                                  vly_status own, vly_error *error);
/* Whether all ranks go on with another burst: none was asked to stop, and all
 * have room for its spikes. */
bool vly_cpu_ranks_go_on(const vly_backend_net *net);
/* Between two bursts. Without ranks: nothing. */
vly_status vly_cpu_ranks_refresh(vly_backend_net *net, vly_error *error);

#endif

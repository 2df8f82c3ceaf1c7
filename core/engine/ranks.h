/* SPDX-License-Identifier: Apache-2.0
 * Ranks: processes that run one network together, each its own neurons. What
 * programs call is in volley/ranks.h.
 *
 * Rank 0 leads: it has the engine's net, with all that a run does. Its backend
 * table is that of ranks_lead.c, which sends each call with its arguments to
 * the other ranks before it calls the real backend. The other ranks serve: they
 * make the same calls of their backend (ranks_serve.c) until the leader ends.
 * So nothing outside of these files knows of ranks, and no decision of the
 * leader (a signal, a clock, a command) has to be taken twice.
 *
 * While a call runs, the backends of all ranks exchange spikes and state by
 * vly_ranks.gather of the description.
 */
#ifndef VOLLEY_ENGINE_RANKS_H
#define VOLLEY_ENGINE_RANKS_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/ranks.h>

#include "connectome/connectome.h"

/* All ranks: gives each rank its neurons; nets of this connectome are then run
 * by all. The group must outlive the connectome's nets. cut: [n_ranks + 1] as
 * in vly_ranks.first; NULL: ranks of equal cost.
 * Errors  E_INVALID the ranks have different networks, cuts or versions */
vly_status vly_ranks_divide(vly_rank_group *group, vly_connectome *connectome,
                            const uint32_t *cut, vly_error *error);

/* Rank 0: the table that stands for a backend, as long as the group lives; the
 * next net is made by it, and by the backends that spec names for the other
 * ranks (vly_ranks_pick), each on a device of its host in turn
 * (vly_backend_spec_local). spec must live until then. NULL: more than 8
 * backends. */
const vly_backend *vly_ranks_backend(const vly_ranks *ranks, const char *id,
                                     const char *spec,
                                     const vly_backend *table);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Ranks: processes that run one network together, each its own neurons.
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

#include <volley/exchange.h>
#include <volley/volley.h>

#include "connectome/connectome.h"

typedef struct vly_rank_group vly_rank_group;

/* Meets the other ranks by an exchange plugin.
 * Errors  E_UNSUPPORTED no such exchange here; E_DEVICE a rank did not come */
vly_status vly_ranks_open(const vly_exchange *table,
                          const vly_exchange_spec *spec, vly_rank_group **group,
                          vly_error *error);
/* Rank 0: ends the service of the others, if it was begun. NULL is legal. */
void vly_ranks_close(vly_rank_group *group);
/* Ends all ranks with this reason, because this one cannot go on. */
void vly_ranks_abort(vly_rank_group *group, const char *why);
uint32_t vly_ranks_rank(const vly_rank_group *group);
uint32_t vly_ranks_number(const vly_rank_group *group); /* of ranks */
/* Figures of the link. */
vly_status vly_ranks_info(const vly_rank_group *group, vly_exchange_info *info,
                          vly_error *error);

/* All ranks: builds the connectome and divides it. Each rank builds only the
 * synapses onto its own neurons, unless rank 0 wants the whole (whole_wanted of
 * the others is ignored) or the network cannot be built in parts. A part has
 * the hash and the digest of the whole. cut: as in vly_ranks_divide.
 * Errors  as vly_connectome_build_part, vly_ranks_divide */
vly_status vly_ranks_build(vly_rank_group *group, const vly_genome *genome,
                           uint32_t n_threads, bool whole_wanted,
                           const uint32_t *cut, vly_connectome **connectome,
                           vly_error *error);

/* What a rank has done since it met the others. */
typedef struct vly_rank_figures {
    uint64_t n_exchanges; /* of spikes or state, by backends */
    uint64_t n_bytes;     /* that it gave, calls and answers too; not those of
                           * the build */
    uint64_t waited_ns; /* for others in calls, but for those that make a net */
} vly_rank_figures;

/* Rank 0: figures of any rank, as of the end of the last call. [any-thread] */
void vly_ranks_figures(const vly_rank_group *group, uint32_t rank,
                       vly_rank_figures *figures);

/* All ranks: gives each rank its neurons; nets of this connectome are then run
 * by all. The group must outlive the connectome's nets. cut: [n_ranks + 1] as
 * in vly_ranks.first; NULL: ranks of equal cost.
 * Errors  E_INVALID the ranks have different networks, cuts or versions */
vly_status vly_ranks_divide(vly_rank_group *group, vly_connectome *connectome,
                            const uint32_t *cut, vly_error *error);

/* Rank 0: "cuda:1", the device of the net that was made last. [main-thread] */
const char *vly_ranks_device(const vly_rank_group *group, uint32_t rank);

/* Rank 0: the table that stands for a backend, as long as the group lives; the
 * next net is made by it, and by the backends that spec names for the other
 * ranks (vly_backend_spec_pick), each on a device of its host in turn
 * (vly_backend_spec_local). spec must live until then. NULL: more than 8
 * backends. */
const vly_backend *vly_ranks_backend(const vly_ranks *ranks, const char *id,
                                     const char *spec,
                                     const vly_backend *table);

/* Ranks from 1 on: makes the calls of rank 0 until it ends.
 * Errors  those of the link: the leader or another rank is lost */
vly_status vly_ranks_serve(vly_rank_group *group,
                           const vly_connectome *connectome,
                           vly_registry *registry, vly_error *error);

#endif

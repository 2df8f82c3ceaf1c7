/* SPDX-License-Identifier: Apache-2.0
 * Ranks: processes that run one network together, each its own neurons. Rank 0
 * leads: it makes the net and runs it as in volley.h. The others serve.
 *
 *     vly_registry_exchange(registry, "shm", &exchange, &error);
 *     vly_ranks_open(exchange, &spec, &group, &error);
 *     vly_ranks_build(group, genome, 0, 0, NULL, &connectome, &error);
 *     if (vly_ranks_rank(group) == 0)
 *         ... vly_net_create, vly_net_run, vly_net_destroy ...
 *     else
 *         vly_ranks_serve(group, connectome, registry, &error);
 *     vly_ranks_close(group);
 *
 * Spikes and digests are those of one process. Errors and threads are as in
 * volley.h.
 */
#ifndef VOLLEY_RANKS_H
#define VOLLEY_RANKS_H

#include <volley/exchange.h>
#include <volley/volley.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vly_rank_group vly_rank_group;

/* The plugin's volley.exchange/1 ("shm", "mpi"), with all functions. Valid
 * until the registry is destroyed. [main-thread]
 * Errors  E_UNSUPPORTED no such plugin, or it cannot be used, with its reason;
 *         E_NOMEM the same, if memory is the reason */
VLY_API vly_status vly_registry_exchange(const vly_registry *registry,
                                         const char *id,
                                         const vly_exchange **exchange,
                                         vly_error *error);
/* Meets the other ranks by an exchange plugin.
 * Errors  E_UNSUPPORTED no such exchange here; E_DEVICE a rank did not come */
VLY_API vly_status vly_ranks_open(const vly_exchange *exchange,
                                  const vly_exchange_spec *spec,
                                  vly_rank_group **group, vly_error *error);
/* Rank 0: ends the service of the others, if it was begun. NULL is legal. */
VLY_API void vly_ranks_close(vly_rank_group *group);
/* Ends all ranks with this reason, because this one cannot go on. */
VLY_API void vly_ranks_abort(vly_rank_group *group, const char *why);
VLY_API uint32_t vly_ranks_rank(const vly_rank_group *group);
VLY_API uint32_t vly_ranks_number(const vly_rank_group *group); /* of ranks */
/* Figures of the link. */
VLY_API vly_status vly_ranks_info(const vly_rank_group *group,
                                  vly_exchange_info *info, vly_error *error);

/* All ranks: builds the connectome and divides it; nets of it are then run by
 * all. Each rank builds only the synapses onto its own neurons, unless rank 0
 * wants the whole (whole_wanted of the others is ignored) or the network cannot
 * be built in parts. A part has the hash and the digest of the whole. The group
 * must outlive the connectome's nets.
 *
 * n_threads     0: all cores
 * whole_wanted  1: rank 0 gets all synapses
 * cut           [n_ranks + 1] first neuron of each rank, and the number of
 *               neurons; NULL: ranks of equal cost
 * Errors  E_INVALID the ranks have different networks, cuts or versions; those
 *         of vly_connectome_build */
VLY_API vly_status vly_ranks_build(vly_rank_group *group,
                                   const vly_genome *genome, uint32_t n_threads,
                                   int whole_wanted, const uint32_t *cut,
                                   vly_connectome **connectome,
                                   vly_error *error);
/* Ranks from 1 on: makes the calls of rank 0 until it ends.
 * Errors  those of the link: the leader or another rank is lost */
VLY_API vly_status vly_ranks_serve(vly_rank_group *group,
                                   const vly_connectome *connectome,
                                   vly_registry *registry, vly_error *error);

/* What a rank has done since it met the others. */
typedef struct vly_rank_figures {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t n_exchanges; /* of spikes or state, by backends */
    uint64_t n_bytes;     /* that it gave, calls and answers too; not those of
                           * the build */
    uint64_t waited_ns; /* for others in calls, but for those that make a net */
} vly_rank_figures;
/* Rank 0: figures of any rank, as of the end of the last call. [any-thread]
 * Errors  E_INVALID no such rank, or struct_size is not set */
VLY_API vly_status vly_ranks_figures(const vly_rank_group *group, uint32_t rank,
                                     vly_rank_figures *figures);
/* Rank 0: "cuda:1", the device of the net that was made last; borrowed.
 * [main-thread] */
VLY_API const char *vly_ranks_device(const vly_rank_group *group,
                                     uint32_t rank);

/* "cpu:4+cuda:0" names a backend for each rank in turn. The one of a rank, or
 * the text itself if it is no list. *n: how many it names; NULL is legal.
 * [any-thread]
 * Errors  E_INVALID it is too long */
#define VLY_BACKEND_ONE_BYTES 320u
VLY_API vly_status vly_ranks_pick(const char *text, uint32_t rank,
                                  char one[VLY_BACKEND_ONE_BYTES], uint32_t *n,
                                  vly_error *error);

#ifdef __cplusplus
}
#endif
#endif

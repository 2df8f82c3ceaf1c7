/* SPDX-License-Identifier: Apache-2.0
 * A net that ranks run together: what every backend does on the host. That is
 * the length of a window of bursts, the spikes that this rank keeps until the
 * window's end, and the messages that ranks then send each other. No backend
 * has messages of its own, so ranks may have different backends.
 *
 * A window ends with the run at the latest, and before the caller would have no
 * room for a burst of all neurons.
 */
#ifndef VOLLEY_COMMON_RANKS_H
#define VOLLEY_COMMON_RANKS_H

#include "backend_common.h"

/* What this rank's neurons fired in one burst of a window. */
typedef struct vly_common_kept {
    uint64_t first; /* of vly_common_rank_net.ids */
    uint64_t digest;
    uint32_t n;
    uint32_t reserved;
} vly_common_kept;

/* The message of a rank that is being read. */
typedef struct vly_common_rank_reader {
    const uint8_t *at;
    uint64_t n_bytes; /* left */
    uint32_t n_fired; /* of the burst that was opened */
    uint32_t as_bits;
} vly_common_rank_reader;

typedef struct vly_common_rank_net {
    const vly_ranks *to; /* NULL: the net is whole */
    const vly_net_desc *desc;
    vly_common_heap *heap; /* of the net */
    uint8_t *message;      /* of a window */
    uint64_t message_bytes;
    uint64_t room;         /* spikes that every rank's caller can still take */
    uint64_t end;          /* the burst before which the window ends */
    uint64_t n_events;     /* of other ranks in the run, at the last exchange */
    uint64_t n_candidates; /* the same */
    uint32_t stop;         /* a rank was asked to stop */
    uint32_t most;         /* bursts of a window */
    uint32_t limits;       /* the projection that allows no more */
    uint32_t n_kept;       /* bursts of the window so far */
    const char *why;       /* "delay" of that projection; NULL: there is none */
    vly_common_kept *kept; /* [most] */
    uint32_t *ids;         /* [capacity] own spikes, burst by burst */
    uint32_t *gains;       /* [capacity] */
    uint64_t n_ids;
    uint64_t capacity;
    vly_common_rank_reader *reader; /* [n_ranks] */
    uint32_t has_gains;             /* spikes have gains of their own */
    uint32_t stale; /* state of other ranks' neurons is out of date */
} vly_common_rank_net;

/* ---- common_ranks.c ----------------------------------------------------- */

/* Neurons [*low, *high) of this rank; all without ranks. */
void vly_common_ranks_own(const vly_net_desc *desc, uint32_t *low,
                          uint32_t *high);
/* How many of n targets, which ascend, are below `bound`. */
uint64_t vly_common_lower_bound(const uint32_t *target, uint64_t n,
                                uint32_t bound);
/* Synapses [*low, *high) of row k are onto neurons [first, end). */
void vly_common_row_piece(const vly_projection_desc *map, uint32_t k,
                          uint32_t first, uint32_t end, uint64_t *low,
                          uint64_t *high);
/* Whether the rank has neurons of the area, and then which: [*low, *high) of
 * global ids. */
bool vly_common_ranks_part(const vly_ranks *to, uint32_t rank,
                           const vly_area_desc *area, uint32_t *low,
                           uint32_t *high);
/* The neurons of area number a that this rank updates: [*low, *high) within the
 * area; all of them without ranks. */
void vly_common_own_part(const vly_net_desc *desc, uint32_t a, uint32_t *low,
                         uint32_t *high);
/* Bursts of a window at most; 0 without ranks. */
uint32_t vly_common_ranks_window(const vly_net_desc *desc);
/* Without ranks to is NULL, and no other function may be called but print. */
vly_status vly_common_ranks_create(vly_common_rank_net *r,
                                   vly_common_heap *heap,
                                   const vly_net_desc *desc, vly_error *error);
/* A clause of the plan: how long a window is, and why; "" without ranks. */
void vly_common_ranks_print(const vly_common_rank_net *r, char *text,
                            size_t size);
/* Begins a run at a burst. */
void vly_common_ranks_begin(vly_common_rank_net *r, uint64_t burst,
                            const vly_run *run);
/* Whether all ranks go on with another burst: none was asked to stop, and all
 * have room for its spikes. Begins a window if one has ended. */
bool vly_common_ranks_go_on(vly_common_rank_net *r, uint64_t burst,
                            const vly_run *run);
/* So many bursts or some more, so that they are whole windows: the exchange is
 * a part of their cost. */
uint64_t vly_common_ranks_whole(const vly_common_rank_net *r,
                                const vly_run *run, uint64_t n_bursts);
/* Keeps a burst of n spikes of this rank: the caller fills *ids and *gains,
 * ascending. */
vly_status vly_common_ranks_keep(vly_common_rank_net *r, uint32_t n,
                                 uint64_t digest, uint32_t **ids,
                                 uint32_t **gains, vly_error *error);
/* Room for so many spikes in all. */
vly_status vly_common_ranks_reserve(vly_common_rank_net *r, uint64_t n,
                                    vly_error *error);

/* ---- common_ranks_send.c ------------------------------------------------ */

/* What this rank has done in the run so far. */
typedef struct vly_common_rank_work {
    uint64_t n_events;
    uint64_t n_candidates;
} vly_common_rank_work;

/* At the end of a window: sends what was kept, and gets what the others sent.
 * Then every burst is opened and read, and close is called. */
vly_status vly_common_ranks_exchange(vly_common_rank_net *r, const vly_run *run,
                                     const vly_common_rank_work *work,
                                     vly_error *error);
/* The next burst: its spikes and its digest, of all ranks. */
vly_status vly_common_ranks_open(vly_common_rank_net *r, uint32_t *n_fired,
                                 uint64_t *digest, vly_error *error);
/* The spikes of one rank in that burst: r->reader[rank].n_fired ids, ascending,
 * and gains, if they are not NULL. For each rank once, in their order. */
vly_status vly_common_ranks_take(vly_common_rank_net *r, uint32_t rank,
                                 uint32_t *ids, uint32_t *gains,
                                 vly_error *error);
/* Errors if a message has bytes left; forgets the kept spikes. */
vly_status vly_common_ranks_close(vly_common_rank_net *r, vly_error *error);
/* Instead of exchange: tells the other ranks of the failure, when they come to
 * the end of the window. */
void vly_common_ranks_fail(const vly_common_rank_net *r, vly_status why);

/* ---- common_ranks_state.c ----------------------------------------------- */

/* Words of one rank, read or written one after the other. */
typedef struct vly_common_words {
    uint32_t *out;      /* NULL: counted only, or read */
    const uint32_t *in; /* NULL: written */
    uint64_t n;
    uint64_t end; /* of in */
    bool bad;     /* in is too short */
} vly_common_words;

/* n words of a rank: to or from the message */
void vly_common_move_words(vly_common_words *w, uint32_t *own, uint64_t n);
/* The fields of a rank's neurons, where state is that of a snapshot. */
/* Synapses onto neurons [first, end), which are one piece of each row: values
 * of the projection, weights and, unless NULL, eligibilities. */
void vly_common_move_synapses(const vly_projection_desc *map,
                              uint32_t n_sources, uint32_t first, uint32_t end,
                              int32_t *master, int32_t *eligibility,
                              vly_common_words *w);
void vly_common_move_state(const vly_common_rank_net *r, uint32_t rank,
                           uint32_t *state, vly_common_words *w);

/* Gets the state of other ranks' neurons if it is out of date; without ranks
 * does nothing. move: calls vly_common_move_words for the state of one rank,
 * on all ranks in the same order. Between two runs, at a burst. */
vly_status vly_common_ranks_refresh(vly_common_rank_net *r, uint64_t burst,
                                    void (*move)(void *arg, uint32_t rank,
                                                 vly_common_words *w),
                                    void *arg, vly_error *error);

#endif

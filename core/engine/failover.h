/* SPDX-License-Identifier: Apache-2.0
 * Fail-over: a net whose device has failed is made anew on another backend
 * from a snapshot in memory, everything that the host did since is done again,
 * and the call that found the failure is made once more. README.md has the
 * rules.
 */
#ifndef VOLLEY_ENGINE_FAILOVER_H
#define VOLLEY_ENGINE_FAILOVER_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/volley.h>

#include "engine/change_log.h"
#include "engine/pending.h"

/* Without a number of bursts: a snapshot is taken when this many times what the
 * last one cost has passed, so that they take less than 1% of the time, ... */
#define VLY_FAILOVER_COSTS 128u
/* ... and this much, so that a small net is not cut in pieces: ns. */
#define VLY_FAILOVER_NS UINT64_C(1000000000)
/* A log that has grown so far is answered with a snapshot: bytes. */
#define VLY_FAILOVER_LOG_BYTES (UINT64_C(64) << 20)

typedef struct vly_failover {
    char *backend; /* where to go on */
    uint32_t n_threads;
    uint64_t every; /* bursts between snapshots; 0: by their cost */
    vly_failover_fn function;
    void *arg;

    vly_state *state;       /* the snapshot */
    vly_change_log changes; /* since then */
    vly_pending injected;   /* since then */
    uint64_t taken_ns;      /* when, and what it took */
    uint64_t cost_ns;

    uint64_t failed_at; /* bursts done at the last one */
    bool again;         /* a second one there would be the target's own */
    bool busy;          /* a recovery is going on */
    bool given_up;      /* it failed */
} vly_failover;

/* NULL is legal. */
void vly_failover_destroy(vly_failover *failover);

/* After a call that failed. true: its net had died and stands again on the
 * other backend, as it was before the call, which is to be made again. false:
 * *status and *error are those of the call, or say why there is no going on. */
bool vly_failover_again(vly_net *net, vly_status *status, vly_error *error);

/* Bursts until the next snapshot; 0: it is due. UINT64_MAX: nothing says so. */
uint64_t vly_failover_left(const vly_net *net);
/* Takes it. Errors  E_NOMEM, the one before stays; those of the backend */
vly_status vly_failover_keep(vly_net *net, vly_error *error);
/* state is the snapshot from now on, and owned. */
void vly_failover_replace(vly_net *net, vly_state *state, uint64_t cost_ns);

/* Before a change: a copy of the call and room for it. Nothing without
 * fail-over. Errors  E_NOMEM */
vly_status vly_failover_note(vly_net *net, const char *target, const char *name,
                             const double *values, uint32_t n,
                             vly_change *change, vly_error *error);
/* After it: kept if status is VLY_OK; the change is empty then. */
void vly_failover_noted(vly_net *net, vly_change_kind kind, uint32_t first,
                        vly_change *change, vly_status status);
/* The same for n inputs: room before, and one after the other. */
vly_status vly_failover_reserve(vly_net *net, uint32_t n, vly_error *error);
static inline void vly_failover_append(vly_failover *failover,
                                       const vly_pending_input *entry)
{
    if (failover)
        vly_pending_append(&failover->injected, entry);
}

#endif

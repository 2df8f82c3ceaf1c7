/* SPDX-License-Identifier: Apache-2.0
 * Fail-over: if a device fails, its net is rebuilt on another backend from a
 * snapshot in memory, all later calls of the host are replayed, and the call
 * that failed is repeated. README.md has the rules.
 */
#ifndef VOLLEY_ENGINE_FAILOVER_H
#define VOLLEY_ENGINE_FAILOVER_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/volley.h>

#include "engine/change_log.h"
#include "engine/pending.h"

/* Without a number of bursts, a snapshot is taken after this many times the
 * duration of the last one, so that snapshots take less than 1% of the time,
 * ... */
#define VLY_FAILOVER_COSTS 128u
/* ... and after at least this many ns, so that the run of a small net is not
 * split too often. */
#define VLY_FAILOVER_NS UINT64_C(1000000000)
/* A snapshot is taken when the log has grown to this many bytes. */
#define VLY_FAILOVER_LOG_BYTES (UINT64_C(64) << 20)

typedef struct vly_failover {
    char *backend; /* the backend to continue on */
    uint32_t n_threads;
    uint64_t every; /* bursts between snapshots; 0: by their cost */
    vly_failover_fn function;
    void *arg;

    vly_state *state;       /* the snapshot */
    vly_change_log changes; /* since then */
    vly_pending injected;   /* since then */
    uint64_t taken_ns;      /* its time and duration */
    uint64_t cost_ns;

    uint64_t failed_at; /* bursts done at the last one */
    bool again;    /* the net is on the target; its second failure is final */
    bool busy;     /* a recovery is in progress */
    bool given_up; /* it failed */
} vly_failover;

/* NULL is legal. */
void vly_failover_destroy(vly_failover *failover);

/* Called after a failed call. true: the net has been restored on the other
 * backend in the state before the call; repeat the call. false: *status and
 * *error are those of the call, or describe why the recovery failed. */
bool vly_failover_again(vly_net *net, vly_status *status, vly_error *error);

/* Bursts until the next snapshot; 0: it is due; UINT64_MAX: no limit. */
uint64_t vly_failover_left(const vly_net *net);
/* Takes a snapshot.
 * Errors  E_NOMEM (the previous one stays); those of the backend */
vly_status vly_failover_keep(vly_net *net, vly_error *error);
/* Makes state the snapshot and takes ownership of it. */
void vly_failover_replace(vly_net *net, vly_state *state, uint64_t cost_ns);

/* Before a change: copies the call and reserves room. Does nothing without
 * fail-over.
 * Errors  E_NOMEM */
vly_status vly_failover_note(vly_net *net, const char *target, const char *name,
                             const double *values, uint64_t n,
                             vly_change *change, vly_error *error);
/* After it: kept if status is VLY_OK; the change is empty then. */
void vly_failover_noted(vly_net *net, vly_change_kind kind, uint64_t first,
                        vly_change *change, vly_status status);
/* The same for n inputs: reserves room first, then adds one input a call. */
vly_status vly_failover_reserve(vly_net *net, uint32_t n, vly_error *error);
static inline void vly_failover_append(vly_failover *failover,
                                       const vly_pending_input *entry)
{
    if (failover)
        vly_pending_append(&failover->injected, entry);
}

#endif

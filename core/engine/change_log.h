/* SPDX-License-Identifier: Apache-2.0
 * The calls with which a host has changed a net since a snapshot, so that they
 * can be replayed on a new net made from that snapshot.
 */
#ifndef VOLLEY_ENGINE_CHANGE_LOG_H
#define VOLLEY_ENGINE_CHANGE_LOG_H

#include <stdint.h>

#include <volley/volley.h>

typedef enum vly_change_kind {
    VLY_CHANGE_SET,      /* vly_net_set(target, values[0]) */
    VLY_CHANGE_SET_EACH, /* vly_net_set_each(target, name, values, n) */
    VLY_CHANGE_WRITE,    /* vly_net_write(target, name, first, n, values) */
    VLY_CHANGE_WEIGHTS   /* vly_net_weights_write(NULL, projection, first, n,
                            values) */
} vly_change_kind;

/* One call; owns what it points to. */
typedef struct vly_change {
    uint64_t burst; /* bursts done at the time of the call */
    vly_change_kind kind;
    uint32_t projection; /* of VLY_CHANGE_WEIGHTS, of the net */
    uint64_t first;
    uint64_t n;
    char *target;   /* path, area or map */
    char *name;     /* parameter or field; NULL for SET and WEIGHTS */
    double *values; /* [n] */
} vly_change;

typedef struct vly_change_log {
    vly_change *entries; /* [capacity] in the order of the calls */
    uint64_t n;
    uint64_t capacity;
    uint64_t bytes; /* of all entries */
} vly_change_log;

/* Copies the arguments of a call and reserves room in the log; the caller sets
 * kind, burst and first. NULL is copied as NULL: the call will be refused.
 * Errors E_NOMEM */
vly_status vly_change_make(vly_change_log *log, const char *target,
                           const char *name, const double *values, uint64_t n,
                           vly_change *made, vly_error *error);
void vly_change_deinit(vly_change *change);
/* Appends the change, for which make has reserved room; the change is then
 * empty. */
void vly_change_add(vly_change_log *log, vly_change *change);
void vly_change_clear(vly_change_log *log); /* keeps the room */
void vly_change_log_deinit(vly_change_log *log);
/* Repeats the call. Errors those of the call */
vly_status vly_change_apply(const vly_change *change, vly_net *net,
                            vly_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * One net of the table on one backend: calls of the backend with sentinels
 * after every buffer, and the comparison with the table's digests. Internal to
 * this folder. Functions that return bool store a message in trial.what.
 */
#ifndef VOLLEY_CONFORMANCE_TRIAL_H
#define VOLLEY_CONFORMANCE_TRIAL_H

#include <stdbool.h>

#include "conformance/conformance.h"
#include "connectome/connectome.h"

/* ---- a buffer with a sentinel at its end ------------------------------- */

typedef struct guarded {
    unsigned char *bytes;
    size_t n;
} guarded;

bool guarded_init(guarded *buffer, uint64_t count, size_t size);
void guarded_deinit(guarded *buffer);
/* Nothing was written after the end; nothing was written at all. */
bool guarded_intact(const guarded *buffer);
bool guarded_untouched(const guarded *buffer);

/* ---- a net of the table, compiled -------------------------------------- */

typedef struct conformance_net {
    const vly_conformance_case *entry;
    const vly_conformance_golden *golden;
    vly_genome *genome;
    vly_connectome *connectome;
    vly_input *inputs; /* of all spike lists, sorted, summed */
    uint64_t n_inputs;
    uint64_t n_bursts;
    bool has_feagi;
    bool has_dc;
} conformance_net;

vly_status conformance_net_init(conformance_net *net,
                                const vly_conformance_case *entry,
                                vly_error *error);
void conformance_net_deinit(conformance_net *net);
/* Inputs and modulations of a run of n bursts from `burst` on. */
void conformance_net_given(const conformance_net *net, uint64_t burst,
                           uint64_t n, vly_run *run);

/* ---- a run of it ------------------------------------------------------- */

typedef struct trial {
    const vly_conformance *conformance;
    const vly_backend *backend; /* where it is now */
    const conformance_net *net;
    vly_net_desc *all_weights;   /* for an older plugin; NULL: none */
    const vly_net_desc *fitting; /* these, or the connectome's */
    const vly_net_desc *desc;    /* the same, or a copy */
    vly_backend_net *made;
    uint64_t burst;    /* done */
    uint64_t *digests; /* [n_bursts] */
    uint8_t *traced;   /* [n_bursts] 1: its digest was asked for */
    uint64_t spikes;   /* of the bursts that were counted */
    uint64_t events;
    guarded log[2]; /* ids and gains of the last burst recorded */
    uint32_t n_log;
    uint64_t log_burst;
    uint32_t changes_done;
    vly_status status;    /* of the call that failed */
    bool refused_options; /* net_create: E_UNSUPPORTED with device.options */
    char what[900];
} trial;

/* How to call net_run. */
typedef struct trial_call {
    uint64_t n;           /* bursts; 0: all that are left */
    uint32_t record;      /* 0 nothing, 1 ids, 2 ids and gains */
    uint64_t room;        /* spikes_capacity; 0: room for all */
    const uint32_t *stop; /* or NULL */
    bool quiet;           /* ask for no digests and no counts */
    uint32_t struct_size; /* 0: of this build */
} trial_call;

bool trial_init(trial *t, const vly_conformance *conformance,
                const conformance_net *net);
void trial_deinit(trial *t);

/* Stores a message; returns false. */
bool trial_fail(trial *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Makes the net on a backend; snapshot NULL: the start. */
bool trial_create(trial *t, const vly_backend *backend,
                  const vly_snapshot *snapshot);
void trial_destroy(trial *t);
/* One call of net_run for at most call->n bursts, less where something
 * changes; *done: bursts it did. */
bool trial_step(trial *t, const trial_call *call, uint64_t *done);
/* Until `burst` bursts are done, in as many calls as it takes. */
bool trial_advance(trial *t, uint64_t burst, const trial_call *call);
/* Runs to the end and compares everything with the table. */
bool trial_finish(trial *t, const trial_call *call);

/* A snapshot into guarded memory, checked. */
typedef struct trial_snapshot {
    vly_snapshot s;
    guarded state;
    guarded fired_row;
    guarded fired;
    guarded fired_gain;
    guarded weights;
} trial_snapshot;
bool trial_snapshot_take(trial *t, trial_snapshot *snapshot);
void trial_snapshot_free(trial_snapshot *snapshot);

/* ---- scenarios --------------------------------------------------------- */

typedef struct conformance_scenario {
    const char *name;
    bool (*run)(trial *t);
} conformance_scenario;
extern const conformance_scenario conformance_scenarios[]; /* NULL ends it */

/* ---- conformance_refusal.c --------------------------------------------- */

/* Wrong calls: each is refused with a message and leaves the net unchanged. */
bool scenario_refusals(trial *t);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * The thread that watches a run: it reads samples from the ring of telemetry,
 * makes records and tokens, computes their surprise with a model, and reports
 * anomalies. Every record is one step at the gate: its 16 tokens are known at
 * once, so they are one call of the device.
 *
 * In addition, rules (facts.h) check every sample, also those that the model
 * skips or cannot judge yet, and while the model is paused.
 *
 * It never delays a run, so it may fall behind: its thread runs only in idle
 * processor time, and a second thread helps if there is none (slightly below
 * the process's priority, within the same budget, from one second of delay on,
 * sooner if the ring is small). If that is not enough, the model skips records:
 * the channels without a model (surprise.h) judge all of them, and the model
 * continues with the newest. At the end of a run the rest of the ring is judged
 * without regard to the budget, since the device has no other users any more,
 * and by the thread that ends the watcher, since on a busy machine its own
 * thread gets almost no time.
 */
#ifndef VOLLEY_MONITOR_WATCHER_H
#define VOLLEY_MONITOR_WATCHER_H

#include <stdbool.h>
#include <stdint.h>

#include "monitor/gate.h"
#include "record/telemetry.h"

/* The model that gives the probability of each token. Used by one thread at a
 * time. */
typedef struct vly_watcher_model {
    void *context;
    /* Reads a record's tokens; returns the logits of the token after each
     * (out). After an error it is not called again.
     * tokens  [VLY_TOKENS_PER_RECORD]
     * logits  [VLY_TOKENS_PER_RECORD][VLY_TOKEN_VOCABULARY] */
    vly_status (*read)(void *context, const uint32_t *tokens, float *logits,
                       vly_error *error);
} vly_watcher_model;

/* surprise.h and tokens.h are not included here: callers also include the
 * genome's headers, and both define records. */
struct vly_tail;

typedef struct vly_anomaly {
    uint64_t at_ns;   /* vly_clock_ns, of the end of the record */
    uint64_t unix_ns; /* of the wall clock then */
    uint64_t burst;   /* done at its end, or when a fact began within it */
    uint64_t bursts;  /* in it */
    double score;
    double threshold;
    uint32_t metric; /* vly_metric of the monitor: which deviates most */
    uint32_t area;   /* VLY_NO_AREA: none */
    const char *metric_name;
    const char *area_name; /* NULL: none */
    const char *channel;   /* the channel that found it: "rule", "surprise",
                            * "stall", ... */
    const char *cause;     /* likely; NULL: none known */
    char text[256];        /* a message: what was unusual */
} vly_anomaly;

typedef struct vly_watcher_options {
    const vly_telemetry_ring *ring;
    const char *const *areas; /* [areas of the ring] names; or NULL */
    vly_gate *gate;
    bool wall; /* a step costs wall time, not processor time of the thread */
    vly_watcher_model model;
    const struct vly_tail *tails; /* [VLY_CHANNELS], surprise.h */
    /* [optional] those of a net on a device */
    const struct vly_tail *device_tails;
    double alarms_an_hour; /* accepted rate of false alarms */
    double record_s;       /* between two samples */
    /* [optional] values [n_device] of metrics of devices, in thousandths, each
     * sample of them once; false: there is no new one. Their names or NULL. */
    uint32_t n_device;
    bool (*device)(void *context, uint64_t *values);
    const char *const *device_names; /* [n_device] */
    /* On the watcher's thread or in vly_watcher_end; the anomaly is valid
     * during the call. */
    void (*on_anomaly)(void *context, const vly_anomaly *anomaly);
    void *context; /* of the two */
} vly_watcher_options;

typedef struct vly_watcher_figures {
    uint64_t samples; /* read of the ring */
    uint64_t checked; /* records of two samples that rules looked at: each */
    uint64_t records; /* read by the model */
    uint64_t early;   /* of them not judged: it had read too few before them,
                         in the run or since the net was moved */
    uint64_t skipped; /* records that the model did not read: it was behind, and
                       * channels without a model judged them; or the sample
                       * came too soon after the previous one and is part of the
                       * next record; or only rules judged it, since the net was
                       * moved */
    uint64_t lost;    /* samples that were overwritten before they were read */
    uint64_t hurried; /* of records, those that the second thread read */
    uint64_t tokens;
    uint64_t anomalies;
    uint64_t facts; /* of them by a rule */
    double score;   /* of the last record */
    double threshold;
    double behind_s;        /* the last record, when it was judged */
    const char *background; /* how its thread's priority was lowered; NULL: not
                             * at all */
    vly_error failure;      /* status VLY_OK: it goes on */
} vly_watcher_figures;

typedef struct vly_watcher vly_watcher;

/* Starts the thread. What options point to lives until destroy.
 * Errors  E_INVALID alarms_an_hour or record_s; E_NOMEM also: no thread */
vly_status vly_watcher_create(const vly_watcher_options *options,
                              vly_watcher **watcher, vly_error *error);
/* After the last sample: ends the thread; the calling thread judges the rest of
 * the ring (unless the gate is paused). Afterwards the ring and the gate may be
 * destroyed. May be called twice. */
void vly_watcher_end(vly_watcher *watcher);
/* Ends it if it was not. NULL is legal. */
void vly_watcher_destroy(vly_watcher *watcher);
/* [any-thread] */
void vly_watcher_figures_get(vly_watcher *watcher,
                             vly_watcher_figures *figures);

#endif

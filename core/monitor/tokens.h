/* SPDX-License-Identifier: Apache-2.0
 * Telemetry as tokens. The activity of a net between two samples is a record; a
 * record is always 16 tokens of a vocabulary of 256: a separator and one token
 * for each of 15 metrics. A token holds the distance of its metric from its
 * running centre, in units of its running spread: so a model that was trained
 * on some networks and machines can read others.
 *
 * All of it is integer arithmetic, defined in core/monitor/RECORDS.md to the
 * bit; tools/monitor/tokens.py is written from there and gives the same tokens.
 */
#ifndef VOLLEY_MONITOR_TOKENS_H
#define VOLLEY_MONITOR_TOKENS_H

#include <stdbool.h>
#include <stdint.h>

#include "record/telemetry.h"

/* X(NAME, name, floor, what): the metrics in the order of their tokens. floor:
 * the least spread in levels (64 are a factor of 2), so that small changes of a
 * constant metric do not count as unusual. */
#define VLY_METRIC_TABLE(X)                                                    \
    X(PACE, pace, 8, "wall time of a burst")                                   \
    X(BURST, burst, 8, "engine time of a burst")                               \
    X(DELIVERY, delivery, 8, "delivery time of a synaptic event")              \
    X(DYNAMICS, dynamics, 8, "dynamics time of a burst")                       \
    X(DEVICE, device, 16, "the device's most deviating metric")                \
    X(RATE, rate, 4, "spikes of a burst")                                      \
    X(FAN, fan, 4, "synaptic events of a spike")                               \
    X(DISPERSION, dispersion, 64, "variance of the spike count over its mean") \
    X(HOST, host, 32, "growth of host memory")                                 \
    X(MEMORY, memory, 32, "growth of device memory")                           \
    X(CLOCK, clock, 32, "wall clock against the steady clock")                 \
    X(CHECKS, checks, 16,                                                      \
      "lost samples, missing spikes, another backend than asked")              \
    X(RAISED, raised, 16, "the area that rose most")                           \
    X(LOWERED, lowered, 16, "the area that fell most")                         \
    X(SILENT, silent, 16, "areas that fell silent")

typedef enum vly_metric {
#define VLY_METRIC_ENUM(NAME, name, floor, what) VLY_METRIC_##NAME,
    VLY_METRIC_TABLE(VLY_METRIC_ENUM)
#undef VLY_METRIC_ENUM
        VLY_METRICS
} vly_metric;

#define VLY_TOKEN_BINS 17 /* -8 to 8 */
#define VLY_TOKENS_PER_RECORD                                                  \
    (1 + VLY_METRICS) /* the first is the separator                            \
                       */
#define VLY_TOKEN_VOCABULARY (1 + VLY_METRICS * VLY_TOKEN_BINS)
_Static_assert(VLY_TOKEN_VOCABULARY == 256, "a token is a byte");

#define VLY_NO_AREA UINT32_MAX

/* What happened between two samples. */
typedef struct vly_record {
    uint64_t burst;     /* done at its end */
    uint64_t at_ns;     /* vly_clock_ns at its end */
    uint64_t bursts;    /* in it; 0: the net stood still */
    uint64_t wall_ns;   /* by the steady clock, less paused_ns */
    uint64_t paused_ns; /* paused on request */
    uint64_t waited_ns; /* of it, time ready to run without a processor */
    uint64_t engine_waited_ns;  /* of that, inside the engine */
    uint64_t threads_waited_ns; /* of the exchange, threads of the net so */
    uint64_t run_ns;            /* inside the engine */
    uint64_t delivery_ns;
    uint64_t dynamics_ns;
    uint64_t exchange_ns;
    uint64_t spikes;
    uint64_t events;
    uint64_t squares;    /* of each burst's spikes; 0: unknown */
    int64_t host_growth; /* bytes */
    int64_t device_growth;
    int64_t clock_ms;     /* wall clock less steady clock */
    uint64_t lost;        /* samples that were written over unread */
    uint64_t missing;     /* spikes that no area has, or the other way round */
    uint64_t wrong_place; /* 1: on another backend than was asked for */
    /* the next ones have no token (facts.h) */
    uint64_t wrong_bursts; /* of it on that backend; 0: unknown */
    uint64_t wrong_from;   /* bursts done when they began, of wrong_bursts */
    uint64_t failures;     /* of devices */
    uint64_t failed_at;    /* bursts done at the first of them */
    uint64_t moves;        /* to another backend, on request or by these */
    bool on_device; /* the net has memory that is not the host's: it is on a
                       device, which it has for itself, as processors are not */
} vly_record;

/* The values from which the tokens of a record were made. */
typedef struct vly_record_note {
    int32_t level[VLY_METRICS];  /* the metric, in levels */
    int32_t centre[VLY_METRICS]; /* running centre before this record; 0 before
                                  * the first one */
    int32_t spread[VLY_METRICS];
    int32_t z16[VLY_METRICS]; /* (level - centre) / spread, in sixteenths */
    uint32_t raised;          /* areas, or VLY_NO_AREA */
    uint32_t lowered;
    uint32_t silent; /* one of those that fell silent */
    uint32_t n_silent;
    uint32_t told;   /* bit m: metric m has a level, now or before */
    uint32_t absent; /* bit m: it has none now, and its bin has no meaning */
    uint32_t device; /* the metric of the device, or VLY_NO_AREA */
} vly_record_note;

/* "pace", ...; a sentence's subject. NULL if metric >= VLY_METRICS */
const char *vly_metric_name(uint32_t metric);
const char *vly_metric_what(uint32_t metric);
/* The metric that a token speaks of, VLY_METRICS for the separator. */
uint32_t vly_token_metric(uint8_t token);
/* -8 to 8; 0 for the separator */
int32_t vly_token_bin(uint8_t token);
/* The bin of a metric at this many sixteenths of a spread from its centre. */
uint8_t vly_token_of(uint32_t metric, int32_t z16);

/* 0 for 0, else 64 + floor(64 log2 value) to 6 binary places cut, not rounded.
 */
int32_t vly_token_level(uint64_t value);

/* The record between two samples of one net; lost is 0 and for the caller to
 * fill.
 *
 * from_areas, to_areas  [n_areas] spikes of each area so far    (in)
 * area_spikes           [n_areas] those of the record           (out)
 * Counters that went back (a net that was resumed or swapped) give 0. */
void vly_record_between(const vly_telemetry_sample *from,
                        const vly_telemetry_sample *to,
                        const uint64_t *from_areas, const uint64_t *to_areas,
                        uint32_t n_areas, vly_record *record,
                        uint64_t *area_spikes);

/* Running centres and spreads of the metrics. One for each watched net. */
typedef struct vly_tokens vly_tokens;

/* n_device: how many metrics of devices stand beside each record.
 * Errors  E_NOMEM */
vly_status vly_tokens_create(uint32_t n_areas, uint32_t n_device,
                             vly_tokens **tokens, vly_error *error);
void vly_tokens_destroy(vly_tokens *tokens); /* NULL is legal */

/* false: the record is too short compared with the others (less than half of
 * their time), as the last one of a run or one around a pause may be: nothing
 * has changed, and the caller continues to the next sample with the same
 * `from`.
 *
 * area_spikes  [n_areas]                                          (in)
 * device       [n_device] in thousandths of their units; NULL is no new
 *              sample                                             (in)
 * text         [VLY_TOKENS_PER_RECORD]                            (out)
 * note         may be NULL                                        (out)
 * Thread       one at a time
 * Cost         O(n_areas + n_device), no allocation */
bool vly_tokens_make(vly_tokens *tokens, const vly_record *record,
                     const uint64_t *area_spikes, const uint64_t *device,
                     uint8_t *text, vly_record_note *note);
/* held: centres and spreads are not updated (except for the length of records),
 * so that a lasting fault does not become the reference for the next records.
 */
void vly_tokens_hold(vly_tokens *tokens, bool held);
/* The net was moved to another backend: everything is learned again, as at the
 * beginning of a run. This is not limited to times: if a burst takes longer, a
 * record has fewer bursts, and its counts vary more. */
void vly_tokens_forget(vly_tokens *tokens);
/* Records so far. The first VLY_TOKENS_WARM say little. */
#define VLY_TOKENS_WARM 32
uint64_t vly_tokens_count(const vly_tokens *tokens);

#endif

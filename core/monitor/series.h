/* SPDX-License-Identifier: Apache-2.0
 * Numbers that are no telemetry, as records that the monitor can judge: a
 * sensor, a load, a count of anything. The value stands where a net's rate
 * does, its step where the dispersion does, the other metrics as if nothing
 * were; and as it is and turned over where two of the times do, so that values
 * above all that they have been are found, and values below. Beside these
 * stands what no single value shows (series_shape.h), and what only many show
 * (series_slow.h).
 *
 * tools/monitor/nab.py has the same.
 */
#ifndef VOLLEY_MONITOR_SERIES_H
#define VOLLEY_MONITOR_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "monitor/running.h"
#include "monitor/series_shape.h"
#include "monitor/series_slow.h"
#include "monitor/surprise.h"
#include "monitor/tokens.h"

/* One for each series. */
typedef struct vly_series {
    double mean; /* of the first values */
    double deviation;
    int32_t before;
    uint64_t n; /* values so far */
    vly_running value;
    vly_running step;
    size_t learn; /* values that say what is usual: none of their shape */
    double far;   /* of the shape that the last value ends */
    uint32_t kind;
    uint32_t quiet;  /* values since the last strange one */
    double slow_far; /* of what the last value ends */
    uint32_t slow_kind;
    bool is_slow;   /* that it is what was told of the last one */
    uint64_t since; /* values since the last strange one; from the first, n */
    vly_series_shape shape;
    vly_series_slow slow;
} vly_series;

/* From the first values, which say what a large step is.
 * values  [n] finite; n > 0 (in) */
void vly_series_init(vly_series *series, const double *values, size_t n);

/* The next value as a record: one burst, no time.
 * value  finite                                                      (in)
 * text   [VLY_TOKENS_PER_RECORD]                                     (out) */
void vly_series_make(vly_series *series, double value, vly_record *record,
                     uint8_t *text, vly_record_note *note);

/* The tails that a series is judged by: the model's, but for values beyond all
 * before, which are no times of a machine.
 * tails  [VLY_CHANNELS] (in, out) */
void vly_series_tails(vly_tail *tails);

/* Judges the record that vly_series_make made last, as vly_surprise_judge, and
 * the series' shape, which stands at VLY_CHANNEL_STALL (there are no stalls),
 * and what is slow, at VLY_CHANNEL_WORK; metric VLY_METRICS is one of these.
 * What is slow counts only where nothing was strange in the values that it
 * looks back on: a shift that was told is no drift as well.
 * tails  [VLY_CHANNELS] of vly_series_tails, as `surprise` has them (in)
 * nats   [VLY_METRICS] after vly_series_nats                         (in) */
void vly_series_judge(vly_series *series, vly_surprise *surprise,
                      const vly_tail *tails, const vly_record *record,
                      const vly_record_note *note, const uint8_t *text,
                      const double *nats, vly_verdict *verdict);

/* What is strange, to be read behind a value: "above all before it". Cut where
 * it does not fit. */
void vly_series_why(const vly_series *series, const vly_verdict *verdict,
                    char *text, size_t capacity);

/* Surprise at what a series does not have is none.
 * nats  [VLY_METRICS] of vly_record_nats (in, out) */
void vly_series_nats(double *nats);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Numbers that are no telemetry, as records that the monitor can judge: a
 * sensor, a load, a count of anything. The value stands where a net's rate
 * does, its step where the dispersion does, the other metrics as if nothing
 * were; and as it is and turned over where two of the times do, so that values
 * above all that they have been are found, and values below.
 *
 * tools/monitor/nab.py has the same.
 */
#ifndef VOLLEY_MONITOR_SERIES_H
#define VOLLEY_MONITOR_SERIES_H

#include <stddef.h>
#include <stdint.h>

#include "monitor/running.h"
#include "monitor/tokens.h"

/* One for each series. */
typedef struct vly_series {
    double mean; /* of the first values */
    double deviation;
    int32_t before;
    uint64_t n; /* values so far */
    vly_running value;
    vly_running step;
} vly_series;

/* From the first values, which say what a large step is.
 * values  [n] finite; n > 0 (in) */
void vly_series_init(vly_series *series, const double *values, size_t n);

/* The next value as a record: one burst, no time.
 * value  finite                                                      (in)
 * text   [VLY_TOKENS_PER_RECORD]                                     (out) */
void vly_series_make(vly_series *series, double value, vly_record *record,
                     uint8_t *text, vly_record_note *note);

/* Surprise at what a series does not have is none.
 * nats  [VLY_METRICS] of vly_record_nats (in, out) */
void vly_series_nats(double *nats);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * How synchronously neurons fire: the variance of a burst's spikes divided by
 * their mean (Fano 1947, doi:10.1103/PhysRev.72.26), within a record. Neurons
 * that fire independently have about 1, neurons that are pushed together now
 * and then hundreds. It is computed over bursts, so it depends neither on the
 * length of records nor on the load of the machine; the metric `dispersion`,
 * computed between records, misses shorter changes.
 *
 * Only values that last or return for some records count.
 * tools/monitor/score.py has the same.
 */
#ifndef VOLLEY_MONITOR_UNISON_H
#define VOLLEY_MONITOR_UNISON_H

#include <stdbool.h>

#include "monitor/running.h"
#include "monitor/tokens.h"

/* One for each watched net; initialise with zeros. */
typedef struct vly_unison {
    vly_running late;   /* levels of 256 times the quotient */
    vly_running bursts; /* levels of how many there were in a record */
    double held;        /* accumulated deviations, never below 0 */
    double times;       /* what was usual, of the last record */
} vly_unison;

/* The distance above recent values, accumulated. A record with too few bursts
 * or spikes, or without sums of squares, changes nothing. learns: false during
 * a fault. */
double vly_unison_judge(vly_unison *unison, const vly_record *record,
                        bool learns);

#endif

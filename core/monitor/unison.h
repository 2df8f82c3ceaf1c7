/* SPDX-License-Identifier: Apache-2.0
 * How much neurons fire in the same burst: the variance of a burst's spikes
 * over their mean (Fano 1947, doi:10.1103/PhysRev.72.26), within a record.
 * Neurons that fire independently have about 1, neurons that are pushed
 * together now and then hundreds. It is of the bursts themselves, so it is the
 * same however long records are and whatever else the machine does; the metric
 * `dispersion`, of one record to the next, loses what is shorter than they are.
 *
 * What lasts or comes back for some records counts. tools/monitor/score.py has
 * the same.
 */
#ifndef VOLLEY_MONITOR_UNISON_H
#define VOLLEY_MONITOR_UNISON_H

#include <stdbool.h>

#include "monitor/running.h"
#include "monitor/tokens.h"

/* One for each net that is watched; begins as zeros. */
typedef struct vly_unison {
    vly_running late;   /* levels of 256 times the quotient */
    vly_running bursts; /* levels of how many there were in a record */
    double held;        /* deviations of late, never below 0 */
    double times;       /* what was usual, of the last record */
} vly_unison;

/* How far above what has been, held. A record with too few bursts or spikes, or
 * whose telemetry does not tell squares, changes nothing. learns: false while a
 * fault goes on. */
double vly_unison_judge(vly_unison *unison, const vly_record *record,
                        bool learns);

#endif

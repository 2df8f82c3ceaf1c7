/* SPDX-License-Identifier: Apache-2.0
 * Times above all that they have been: a record of the net that took longer
 * than any before it, as it is and smoothed over some ten records. A model that
 * has read many machines finds a pause possible; what this machine has done so
 * far says more. Where a range has grown, only what lies beyond it counts
 * again, so a machine on which pauses are usual is soon known as such.
 */
#ifndef VOLLEY_MONITOR_EXTREMES_H
#define VOLLEY_MONITOR_EXTREMES_H

#include <stdint.h>

#include "monitor/tokens.h"

/* pace, burst, delivery, dynamics */
#define VLY_EXTREME_METRICS 4

/* All that a number has been, once there was one. */
typedef struct vly_range {
    double low;
    double high;
} vly_range;

/* One for each net that is watched; begins as zeros. */
typedef struct vly_extremes {
    uint64_t n[VLY_EXTREME_METRICS];          /* records that told it */
    double smooth[VLY_EXTREME_METRICS];       /* levels */
    vly_range ranges[2][VLY_EXTREME_METRICS]; /* as they are, smoothed */
} vly_extremes;

/* How far a record lies above, in quarters of the range or floors of the
 * metric, whichever is larger; 0 inside, and in the first records.
 *
 * level   [VLY_METRICS] of a record's note                           (in)
 * told    of the note: what never had a level is not looked at       (in)
 * far     as it is, smoothed                                         (out)
 * metric  which lies furthest                                        (out) */
void vly_extremes_judge(vly_extremes *extremes, const int32_t *level,
                        uint32_t told, double far[2], uint32_t metric[2]);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Times above their range so far: a record that took longer than any before it,
 * raw and smoothed over some ten records. A model trained on many machines
 * considers a pause possible; the range on this machine is more specific. After
 * a range has grown, only values beyond it count, so the detector soon adapts
 * to a machine on which pauses are usual.
 */
#ifndef VOLLEY_MONITOR_EXTREMES_H
#define VOLLEY_MONITOR_EXTREMES_H

#include <stdint.h>

#include "monitor/tokens.h"

/* pace, burst, delivery, dynamics */
#define VLY_EXTREME_METRICS 4

/* The range of a number so far. */
typedef struct vly_range {
    double low;
    double high;
} vly_range;

/* One for each watched net; initialise with zeros. */
typedef struct vly_extremes {
    uint64_t n[VLY_EXTREME_METRICS];          /* records with a value */
    double smooth[VLY_EXTREME_METRICS];       /* levels */
    vly_range ranges[2][VLY_EXTREME_METRICS]; /* as they are, smoothed */
} vly_extremes;

/* How far a record lies above, in quarters of the range or floors of the
 * metric, whichever is larger; 0 inside, and in the first records.
 *
 * level   [VLY_METRICS] of a record's note                           (in)
 * told    of the note: metrics that never had a level are ignored       (in)
 * far     as it is, smoothed                                         (out)
 * metric  which lies furthest                                        (out) */
void vly_extremes_judge(vly_extremes *extremes, const int32_t *level,
                        uint32_t told, double far[2], uint32_t metric[2]);

#endif

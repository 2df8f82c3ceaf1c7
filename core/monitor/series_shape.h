/* SPDX-License-Identifier: Apache-2.0
 * What no single value of a series shows: that it stands still for longer than
 * it ever did, and that it varies more or less than it ever did. A wave that
 * goes flat never leaves the range that it had.
 *
 * Variation is log2 of the mean step of 64 values without the two largest: one
 * value that is far off makes two large steps, a shift makes one, and neither
 * is variation. What it has been is learned 64 values late, as else a window
 * that slides into another variation would never be far from the one before.
 *
 * tools/monitor/nab.py has the same.
 */
#ifndef VOLLEY_MONITOR_SERIES_SHAPE_H
#define VOLLEY_MONITOR_SERIES_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "monitor/extremes.h"

/* Steps of which the variation is taken. */
#define VLY_SHAPE_WINDOW 64

enum { VLY_SHAPE_NONE, VLY_SHAPE_STILL, VLY_SHAPE_MORE, VLY_SHAPE_LESS };

/* One for each series; begins as zeros. */
typedef struct vly_series_shape {
    double before; /* the last value */
    uint64_t n;    /* values so far */
    uint64_t same; /* values of the run that goes on, from 1 */
    uint64_t most; /* of the longest that ended; 0 before one did */
    uint64_t ranged;
    double steps[VLY_SHAPE_WINDOW];      /* distances, in a ring */
    double variations[VLY_SHAPE_WINDOW]; /* NaN: there was none */
    vly_range range;                     /* of those that left the ring */
} vly_series_shape;

/* The next value: how far what it ends is from all that was before, in the
 * unit of vly_extremes_judge; 0 where it is less than 4 of them (6, of what
 * varies less).
 * value  finite                                                      (in)
 * kind   VLY_SHAPE_...                                               (out) */
double vly_series_shape_next(vly_series_shape *shape, double value,
                             uint32_t *kind);

#endif

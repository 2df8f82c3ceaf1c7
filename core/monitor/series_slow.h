/* SPDX-License-Identifier: Apache-2.0
 * What shows only over many values of a series: that a cycle of it is lost, and
 * that it is elsewhere than it was, however slowly it went there. Values beyond
 * all before them (extremes.h) and the shape of 64 (series_shape.h) learn what
 * goes on, so what comes slowly is usual to them; here what is usual is what
 * the first values showed, and that only where they show it plainly: a period
 * whose correlation is 0.7 or more, a mean that stays where it is. A random
 * walk has neither, and nothing is told of it.
 *
 * tools/monitor/slow.py has the same.
 */
#ifndef VOLLEY_MONITOR_SERIES_SLOW_H
#define VOLLEY_MONITOR_SERIES_SLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { VLY_SLOW_NONE, VLY_SLOW_CYCLE, VLY_SLOW_ABOVE, VLY_SLOW_BELOW };

/* The longest period, the longest window, and values that are kept. */
enum {
    VLY_SLOW_PERIOD_MAX = 256,
    VLY_SLOW_WINDOW_LEAST = 64,
    VLY_SLOW_RING = 512
};

/* One for each series. */
typedef struct vly_series_slow {
    double low; /* values are cut to [low, high] */
    double high;
    double middle; /* mean of the first values */
    double deviation;
    uint64_t learn; /* values that say what is usual */
    uint64_t n;     /* values so far */
    double ring[VLY_SLOW_RING];
    uint32_t period; /* 0: none is plain */
    uint32_t window; /* values of one correlation */
    double least;    /* and the largest correlation in the first values */
    double most;
    uint64_t n_learned;
    bool is_lost;         /* told, and not back yet */
    uint32_t mean_window; /* 0: the mean does not stay where it is */
    double mean_unit;     /* deviation of such a mean */
    double sum;           /* of the last mean_window */
    bool is_away;
} vly_series_slow;

/* From the first values.
 * values  [n] finite; n > 0; the first 4096 of them are looked at (in) */
void vly_series_slow_init(vly_series_slow *slow, const double *values,
                          size_t n);

/* The next value, from the first one on: how far what it ends is from what is
 * usual, in the unit of vly_extremes_judge, told once; 0 where it is less than
 * 4 of them, and until it has been back.
 * value  finite                                                      (in)
 * kind   VLY_SLOW_...                                                (out) */
double vly_series_slow_next(vly_series_slow *slow, double value,
                            uint32_t *kind);

/* Rows that what is told looks back on: what one of them was told for is the
 * same. */
uint64_t vly_series_slow_reach(const vly_series_slow *slow);

#endif

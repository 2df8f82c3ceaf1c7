/* SPDX-License-Identifier: Apache-2.0
 * Running centre and spread of a number, in integers with 8 binary places: a
 * mean in which a single value counts at most four spreads, and a mean distance
 * in which it counts at most two (Huber 1964, doi:10.1214/aoms/1177703732).
 * They approximate the median and the median distance, which would need the
 * whole window. tools/monitor/tokens.py has the same.
 */
#ifndef VOLLEY_MONITOR_RUNNING_H
#define VOLLEY_MONITOR_RUNNING_H

#include <stdint.h>

/* Values before one counts as far. */
#define VLY_RUNNING_FREE 8

/* Initialise with zeros. */
typedef struct vly_running {
    int64_t centre; /* 8 binary places */
    int64_t spread;
    uint32_t n; /* values so far, to 127 */
} vly_running;

/* The spread, at least the floor. */
int64_t vly_running_spread(const vly_running *late, int32_t floor);
/* Distance of a value from the centre, in sixteenths of the spread: -4096 to
 * 4096, 0 before the first one. */
int32_t vly_running_z16(const vly_running *late, int32_t value, int32_t floor);
void vly_running_learn(vly_running *late, int32_t value, int32_t floor);

/* a / b rounded down; b > 0. */
int64_t vly_floor_divide(int64_t a, int64_t b);

#endif

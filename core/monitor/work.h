/* SPDX-License-Identifier: Apache-2.0
 * What a burst costs the thread that runs it: time in the engine without the
 * time that it stood ready and had no processor (engine_waited_ns: the system
 * counts it). On a machine that others use too the times of the phases say how
 * busy it is, and a device that became three times slower is lost in them: on
 * two cores that builds shared, engine time of sound bursts varied from 10 to
 * 130 us where their work was 3.0 to 3.8.
 *
 * More events may cost more, at most in proportion, so what they rose by is
 * taken off. Only what lasts counts: the least of some records.
 * tools/monitor/score.py has the same.
 */
#ifndef VOLLEY_MONITOR_WORK_H
#define VOLLEY_MONITOR_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "monitor/running.h"
#include "monitor/tokens.h"

/* Records for which work has to stand high. */
#define VLY_WORK_LASTS 4

/* One for each net that is watched; begins as zeros. */
typedef struct vly_work {
    vly_running work;   /* level of a burst's */
    vly_running events; /* level of a burst's */
    double late[VLY_WORK_LASTS];
    uint64_t n;   /* records so far */
    double times; /* what was usual, of the last record */
} vly_work;

/* By how many of its usual spreads work lies above where it has been, the least
 * of the last records; 0 below that, and in the first records. A record without
 * a burst, or that tells nothing of it, is not looked at. learns: false while a
 * fault goes on, which is not what is usual. */
double vly_work_judge(vly_work *work, const vly_record *record, bool learns);

/* Other records than those so far begin, and are held against them. */
void vly_work_begin(vly_work *work);

#endif

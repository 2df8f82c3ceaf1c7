/* SPDX-License-Identifier: Apache-2.0
 * The work of a burst: the time of its thread in the engine without the time
 * that it was ready and had no processor (engine_waited_ns, counted by the
 * system). On a shared machine the times of the phases mainly show its load,
 * which hides a device that became three times slower: on two cores that builds
 * shared, engine time of sound bursts varied from 10 to 130 us where their work
 * was 3.0 to 3.8.
 *
 * More events may cost more, at most in proportion, so their increase is
 * subtracted. Only lasting increases count: the minimum of some records.
 * tools/monitor/score.py has the same.
 */
#ifndef VOLLEY_MONITOR_WORK_H
#define VOLLEY_MONITOR_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "monitor/running.h"
#include "monitor/tokens.h"

/* Records for which work has to stay high. */
#define VLY_WORK_LASTS 4

/* One for each watched net; initialise with zeros. */
typedef struct vly_work {
    vly_running work;   /* level of a burst's */
    vly_running events; /* level of a burst's */
    double late[VLY_WORK_LASTS];
    uint64_t n;   /* records so far */
    double times; /* what was usual, of the last record */
} vly_work;

/* Work above its running centre, in spreads: the minimum of the last
 * VLY_WORK_LASTS records; 0 below the centre, and in the first records. A
 * record without a burst or without this information is skipped. learns: false
 * during a fault, which must not become the usual state. */
double vly_work_judge(vly_work *work, const vly_record *record, bool learns);

/* Begins a new series of records, which is compared with the previous one. */
void vly_work_begin(vly_work *work);

#endif

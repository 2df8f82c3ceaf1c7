/* SPDX-License-Identifier: Apache-2.0
 * Bursts at a set rate: when the next one is due, and what became of it. Works
 * on times that it is given, so that a test needs no clock; run_pace_wait is
 * the only function that sleeps.
 *
 * Burst k is due at origin + k * period and starts no earlier; its deadline is
 * one period later, when the next one is due. A deadline is missed if the burst
 * is done after it. Then
 *   slip   the next burst is due at once, and all later ones by as much later:
 *          the rate is not made up for
 *   skip   the next burst is due at the first time of the old schedule that
 *          has not passed; the times between stay unused. No burst is left out
 *          of the simulation: it falls behind the clock by so many periods
 *   stop   the run ends after this burst
 */
#ifndef VOLLEY_TOOLS_RUN_PACE_H
#define VOLLEY_TOOLS_RUN_PACE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum run_pace_policy {
    RUN_PACE_NONE, /* as fast as possible */
    RUN_PACE_SLIP,
    RUN_PACE_SKIP,
    RUN_PACE_STOP
} run_pace_policy;

/* Bin b counts bursts that started less than 2^b us after they were due and are
 * not in an earlier bin; the last bin has no upper limit. */
enum { RUN_PACE_BINS = 24 };

typedef struct run_pace {
    run_pace_policy policy;
    double rate_hz;
    double period_ns;
    uint64_t origin_ns;
    uint64_t tick;       /* of the next burst */
    uint64_t n_bursts;   /* started */
    uint64_t n_missed;   /* deadlines */
    uint64_t n_skipped;  /* times of the schedule that were skipped */
    uint64_t slipped_ns; /* by which the schedule has moved */
    uint64_t jitter_max_ns;
    double jitter_sum_ns;
    uint64_t bins[RUN_PACE_BINS];
} run_pace;

/* "slip", "skip", "stop" */
const char *run_pace_policy_name(run_pace_policy policy);
/* NULL means slip; RUN_PACE_NONE for an unknown word */
run_pace_policy run_pace_policy_read(const char *text);

/* The first burst is due at once. rate_hz from 0.001 to 1e7 */
void run_pace_begin(run_pace *pace, run_pace_policy policy, double rate_hz,
                    uint64_t now_ns);
uint64_t run_pace_due_ns(const run_pace *pace);
/* Sleeps until the next burst is due or stopped() returns true; a signal ends
 * the sleep at once. true: the burst is due */
bool run_pace_wait(const run_pace *pace, bool (*stopped)(void));
void run_pace_started(run_pace *pace, uint64_t now_ns);
/* true: its deadline was kept */
bool run_pace_done(run_pace *pace, uint64_t now_ns);

/* The limit in us below which this share (0 to 1) of the bursts started. */
uint64_t run_pace_jitter_below_us(const run_pace *pace, double part);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Bursts at a set rate. Every time is counted from the origin, not from the
 * burst before, so that lateness does not add up.
 */
#define _GNU_SOURCE /* clock_nanosleep, prctl */
#include "tools/run/run_pace.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include "base/number.h"
#include "base/thread.h"

/* A signal that arrives between the check of the flag and the sleep is seen
 * after this time. */
static const uint64_t nap_ns = 20000000;

static const char *const names[] = {"", "slip", "skip", "stop"};

const char *run_pace_policy_name(run_pace_policy policy)
{
    return names[policy];
}

run_pace_policy run_pace_policy_read(const char *text)
{
    if (!text)
        return RUN_PACE_SLIP;
    for (int k = RUN_PACE_SLIP; k <= RUN_PACE_STOP; k++)
        if (strcmp(text, names[k]) == 0)
            return (run_pace_policy)k;
    return RUN_PACE_NONE;
}

void run_pace_begin(run_pace *pace, run_pace_policy policy, double rate_hz,
                    uint64_t now_ns)
{
    assert(rate_hz >= 1e-3 && rate_hz <= 1e7);
    *pace = (run_pace){.policy = policy,
                       .rate_hz = rate_hz,
                       .period_ns = 1e9 / rate_hz,
                       .origin_ns = now_ns};
#if defined(__linux__)
    /* otherwise the kernel may wake this thread 50 us late */
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
#endif
}

/* Rounding error at most half a ns: a double is exact up to 2^53 ns, 104
 * days. */
static uint64_t time_of(const run_pace *pace, uint64_t tick)
{
    return pace->origin_ns + vly_count_of((double)tick * pace->period_ns + 0.5);
}

uint64_t run_pace_due_ns(const run_pace *pace)
{
    return time_of(pace, pace->tick);
}

bool run_pace_wait(const run_pace *pace, bool (*stopped)(void))
{
    uint64_t due = run_pace_due_ns(pace);
    for (;;) {
        if (stopped())
            return false;
        uint64_t now = vly_clock_ns();
        if (now >= due)
            return true;
        uint64_t until = due - now > nap_ns ? now + nap_ns : due;
        struct timespec at = {.tv_sec = (time_t)(until / 1000000000),
                              .tv_nsec = (long)(until % 1000000000)};
        /* a signal ends the sleep early: the loop checks again */
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
    }
}

void run_pace_started(run_pace *pace, uint64_t now_ns)
{
    uint64_t due = run_pace_due_ns(pace);
    uint64_t late = now_ns > due ? now_ns - due : 0;
    uint32_t bin = 0;
    while (bin < RUN_PACE_BINS - 1 && late >= UINT64_C(1000) << bin)
        bin++;
    pace->bins[bin]++;
    pace->n_bursts++;
    pace->jitter_sum_ns += (double)late;
    if (late > pace->jitter_max_ns)
        pace->jitter_max_ns = late;
}

static void skip_passed(run_pace *pace, uint64_t now_ns)
{
    uint64_t first = pace->tick;
    double periods = (double)(now_ns - pace->origin_ns) / pace->period_ns;
    if (periods > (double)first)
        pace->tick = vly_count_of(periods);
    while (time_of(pace, pace->tick) < now_ns)
        pace->tick++;
    pace->n_skipped += pace->tick - first;
}

bool run_pace_done(run_pace *pace, uint64_t now_ns)
{
    uint64_t deadline = time_of(pace, ++pace->tick);
    if (now_ns <= deadline)
        return true;
    pace->n_missed++;
    if (pace->policy == RUN_PACE_SLIP) {
        pace->slipped_ns += now_ns - deadline;
        pace->origin_ns = now_ns;
        pace->tick = 0;
    } else if (pace->policy == RUN_PACE_SKIP) {
        skip_passed(pace, now_ns);
    }
    return false;
}

uint64_t run_pace_jitter_below_us(const run_pace *pace, double part)
{
    uint64_t seen = 0;
    for (uint32_t b = 0; b < RUN_PACE_BINS - 1; b++) {
        seen += pace->bins[b];
        if ((double)seen >= part * (double)pace->n_bursts)
            return UINT64_C(1) << b;
    }
    return pace->jitter_max_ns / 1000 + 1;
}

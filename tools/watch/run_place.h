/* SPDX-License-Identifier: Apache-2.0
 * Where a net is and where it was asked to be, burst by burst: what samples of
 * telemetry say of it. The burst loop counts, so that a reader who looks later
 * need not ask what holds by then, and a swap that is undone before the next
 * sample is not lost. Sums need no history: there is nothing to drop.
 */
#ifndef VOLLEY_TOOLS_RUN_PLACE_H
#define VOLLEY_TOOLS_RUN_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "monitor/telemetry.h"

struct run_job;

/* Used by the burst loop only. */
typedef struct run_place {
    char asked[64]; /* requested by the last command, swap or fail-over;
                     * "auto" */
    char is[64];
    bool wrong;     /* now: is differs from asked */
    uint64_t since; /* bursts that are counted so far */
    uint64_t wrong_bursts;
    uint64_t moves;
    /* present number; number that was counted */
    uint32_t n_failures;
    uint32_t n_tried;
    /* since the last sample */
    bool any_wrong;
    bool any_failed;
    uint64_t wrong_from;
    uint64_t failed_at;
} run_place;

/* Called before the net runs. */
void run_place_begin(run_place *place, const struct run_job *job);
/* Notes that the net is on this backend after so many bursts. Called after
 * every possible move, before the next burst. true: the net was moved. */
bool run_place_look(run_place *place, const struct run_job *job,
                    const char *backend, uint64_t bursts);
/* The members of a sample, after look; begins the next one. */
void run_place_fill(run_place *place, vly_telemetry_sample *sample);

/* "cuda:1" and "cuda": is it the same plugin? */
bool run_place_same(const char *a, const char *b);

#endif

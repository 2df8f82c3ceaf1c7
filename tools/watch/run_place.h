/* SPDX-License-Identifier: Apache-2.0
 * Which backend a net is on and which one was asked for, as samples of
 * telemetry report it. The burst loop adds up moves and bursts on a wrong
 * backend. A reader of samples looks later, when the backend may be another
 * one: the sums still have a swap that was undone between two samples. They
 * need no list of moves, which could overflow.
 */
#ifndef VOLLEY_TOOLS_RUN_PLACE_H
#define VOLLEY_TOOLS_RUN_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "record/telemetry.h"

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

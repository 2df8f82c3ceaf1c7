/* SPDX-License-Identifier: Apache-2.0
 * Where a net is and where it was to be.
 */
#include "tools/watch/run_place.h"

#include <stdio.h>
#include <string.h>

#include "tools/run/run_failover.h"
#include "tools/run/run_job.h"
#include "tools/run/run_swap.h"

bool run_place_same(const char *a, const char *b)
{
    const size_t n = strcspn(a, ":,");
    return n == strcspn(b, ":,") && strncmp(a, b, n) == 0;
}

/* The present state has lasted up to this burst: adds its bursts. */
static void count_until(run_place *place, uint64_t bursts)
{
    if (bursts <= place->since)
        return;
    if (place->wrong) {
        if (!place->any_wrong)
            place->wrong_from = place->since;
        place->any_wrong = true;
        place->wrong_bursts += bursts - place->since;
    }
    place->since = bursts;
}

/* NULL: unchanged. */
static void take(run_place *place, const char *asked, const char *is)
{
    if (asked)
        snprintf(place->asked, sizeof place->asked, "%s", asked);
    if (is)
        snprintf(place->is, sizeof place->is, "%s", is);
    place->wrong = place->is[0] != '\0' &&
                   !run_place_same(place->asked, "auto") &&
                   !run_place_same(place->asked, place->is);
}

void run_place_begin(run_place *place, const run_job *job)
{
    *place = (run_place){.since = vly_net_burst(job->net),
                         .n_failures = run_failover_count(job),
                         .n_tried = run_swap_tried(job)};
    take(place, job->plan.backend, job->result.stats.backend);
}

/* A call of the engine ended on another backend after a failure.
 * --on-device-error allows that, so no backend is requested from then on. */
static void look_at_failures(run_place *place, const run_job *job)
{
    for (; place->n_failures < run_failover_count(job); place->n_failures++) {
        const uint64_t at = run_failover_at(job, place->n_failures)->burst;
        count_until(place, at);
        if (!place->any_failed)
            place->failed_at = at;
        place->any_failed = true;
        place->moves++;
        take(place, "auto", NULL);
    }
}

/* Called after look_at_failures: failures belong to the previous call, swaps
 * are made between two calls. */
static void look_at_swaps(run_place *place, const run_job *job)
{
    for (; place->n_tried < run_swap_tried(job); place->n_tried++) {
        const run_swap *swap = run_swap_at(job, place->n_tried);
        if (!swap->done)
            continue;
        count_until(place, swap->burst);
        place->moves++;
        take(place, swap->backend, swap->to);
    }
}

bool run_place_look(run_place *place, const run_job *job, const char *backend,
                    uint64_t bursts)
{
    const uint64_t moves = place->moves;
    look_at_failures(place, job);
    look_at_swaps(place, job);
    count_until(place, bursts);
    if (strcmp(place->is, backend) != 0)
        take(place, NULL, backend);
    return place->moves != moves;
}

void run_place_fill(run_place *place, vly_telemetry_sample *sample)
{
    sample->wrong_bursts = place->wrong_bursts;
    sample->wrong_from = place->wrong_from;
    sample->failures = place->n_failures;
    sample->failed_at = place->failed_at;
    sample->moves = place->moves;
    snprintf(sample->backend, sizeof sample->backend, "%s", place->is);
    place->any_wrong = false;
    place->any_failed = false;
}

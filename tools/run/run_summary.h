/* SPDX-License-Identifier: Apache-2.0
 * The summary of a run: its files, and the bursts that its figures of areas
 * cover. --summary-from leaves out a beginning, in which a network that was
 * started from chosen values is not yet as it will be.
 */
#ifndef VOLLEY_TOOLS_RUN_SUMMARY_H
#define VOLLEY_TOOLS_RUN_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/run/run_job.h"

/* The state of the part. */
typedef struct summary_part {
    uint64_t asked; /* burst of --summary-from; 0: all of the run */
    uint64_t first; /* burst at which the figures begin; a resumed run may
                     * begin after the one asked for */
    bool begun;
    uint64_t *before; /* [n_areas] spikes of areas up to it; NULL: none */
} summary_part;
static inline summary_part *run_summary_state(const run_job *job)
{
    return run_part_state(job, RUN_PART_summary);
}

/* The burst at which figures of areas begin, and the number of bursts that they
 * cover so far: 0 in a run that ended before it. */
uint64_t run_summary_first(const run_job *job);
uint64_t run_summary_bursts(const run_job *job);
/* Spikes of an area in these bursts. */
uint64_t run_summary_spikes(const run_job *job, uint32_t area);

#endif

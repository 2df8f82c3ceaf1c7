/* SPDX-License-Identifier: Apache-2.0
 * What recordings of intervals know between two frames, in one list of words,
 * as a checkpoint has it: counts of spikes of rates, then sums of input.
 */
#ifndef VOLLEY_TOOLS_RUN_COUNTS_H
#define VOLLEY_TOOLS_RUN_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/volley.h>

struct run_job;

typedef struct run_counts {
    uint64_t *state; /* [n] */
    uint64_t *kept;  /* [n] at the last snapshot of fail-over */
    uint64_t *saved; /* [n] for the checkpoint that is being written */
    uint64_t n;
} run_counts;

/* The begin of the first interval from this burst on: one that has begun before
 * it, in a run that did not record it, is left out. */
uint64_t run_counts_first(uint64_t start, uint64_t interval, uint64_t burst);
/* Whether the interval from `begin` on ends before `stop`, so is recorded. */
bool run_counts_open(uint64_t stop, uint64_t interval, uint64_t begin);
/* n words. *continues: they are those of the checkpoint whose recording the run
 * continues, otherwise 0.
 * Errors  E_NOMEM; E_PARSE the checkpoint has another number of them */
vly_status run_counts_init(const struct run_job *job, run_counts *counts,
                           uint64_t n, bool *continues, vly_error *error);
void run_counts_deinit(run_counts *counts);
/* The state for a checkpoint, unchanged until the next call. */
uint64_t *run_counts_save(run_counts *counts);
/* The state at a snapshot of fail-over, and back to it. */
void run_counts_keep(run_counts *counts);
void run_counts_cut(run_counts *counts);

#endif

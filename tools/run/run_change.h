/* SPDX-License-Identifier: Apache-2.0
 * Parameters that change while a run goes on: asked for on the command line
 * (--change) or meanwhile (`volley ctl PID set`). They are results of the run:
 * its manifest lists them, and a rerun repeats them.
 */
#ifndef VOLLEY_TOOLS_RUN_CHANGE_H
#define VOLLEY_TOOLS_RUN_CHANGE_H

#include <stdbool.h>

#include <volley/volley.h>

struct run_job;

/* Adds a change to the plan, after those of the same burst. path is copied.
 * Errors  E_NOMEM */
vly_status run_change_plan(struct run_job *job, uint64_t burst,
                           const char *path, double value, vly_error *error);
/* Whether a change may read synapses: a postsynaptic potential of FEAGI's model
 * changes the largest inputs of its targets. */
bool run_change_reads_synapses(const vly_genome *genome);

#endif

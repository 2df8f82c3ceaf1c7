/* SPDX-License-Identifier: Apache-2.0
 * A run by several processes: --ranks, mpirun.
 */
#ifndef VOLLEY_TOOLS_RUN_RANKS_H
#define VOLLEY_TOOLS_RUN_RANKS_H

#include <volley/ranks.h>

#include "tools/cli/json_writer.h"
#include "tools/run/run_job.h"

/* The options and the genome were read: starts the other ranks of this host
 * (--ranks), or meets those that a launcher started. Without ranks: nothing.
 * Errors  those of the exchange */
vly_status run_ranks_begin(run_job *job, vly_error *error);
/* Whether another process leads the run. */
bool run_ranks_serves(const run_job *job);
/* Then: does what the leader asks for, until its end. The exit code. */
int run_ranks_serve(run_job *job);
/* NULL: one process runs the network. */
const vly_rank_group *run_ranks_group(const run_job *job);
/* The run cannot go on: the other ranks end with this reason. */
void run_ranks_abort(run_job *job, const vly_error *why);

/* ---- run_ranks_report.c ------------------------------------------------- */

/* Lines of the summary. info: of rank 0, at the end of the run. */
void run_ranks_print(const run_job *job, const vly_rank_group *group,
                     const vly_exchange_info *info);
void run_ranks_json(const run_job *job, const vly_rank_group *group,
                    const vly_exchange_info *info, json_writer *json);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * A run as its parts see it: how far it is, and how it ended.
 */
#include "tools/run/run_job.h"

void run_job_progress(run_job *job, uint64_t n_bursts)
{
    if (tool_signals_stopped())
        vly_net_stop(job->net);
    tool_progress_update(&job->progress, n_bursts);
}

int run_job_exit_code(const run_job *job)
{
    if (job->result.error.status != VLY_OK)
        return vly_status_exit_code(job->result.error.status);
    if (job->result.late)
        return TOOL_EXIT_LATE;
    return job->result.stopped ? TOOL_EXIT_STOPPED : TOOL_EXIT_DONE;
}

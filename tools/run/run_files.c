/* SPDX-License-Identifier: Apache-2.0
 * The files of a run, opened and begun. First all of them are opened and
 * locked, and everything else that can refuse the run is asked; only then the
 * first bytes go out. So a run that is refused leaves every file as it was.
 */
#include <volley/host.h>

#include <unistd.h>

#include "base/error.h"
#include "tools/run/run_job.h"
#include "tools/run/run_part.h"

/* ---- open -------------------------------------------------------------- */

vly_status run_files_open(run_job *job, vly_error *error)
{
    const run_plan *plan = &job->plan;
    vly_status status = VLY_OK;
    VLY_TRY(run_parts_do(job, RUN_CLAIM, error));
    tool_signals_defer(true);
    if (plan->folder)
        VLY_TRY(run_folder_prepare(job, error));
    VLY_TRY(run_files_claim(plan->json, &job->json, error));
out:
    return status;
}

/* ---- begin ------------------------------------------------------------- */

vly_status run_files_begin(run_job *job, vly_error *error)
{
    const run_plan *plan = &job->plan;
    vly_status status = VLY_OK;
    /* the largest file, written whole or not at all: first */
    if (plan->connectome)
        VLY_TRY(vly_connectome_save_locked(job->build.connectome,
                                           plan->connectome,
                                           &job->connectome_lock, error));
    VLY_TRY(run_parts_do(job, RUN_FLUSH, error));
    if (plan->folder)
        VLY_TRY(run_folder_begin(job, error));
    VLY_TRY(run_parts_do(job, RUN_BEGIN, error));
out:
    return status;
}

/* ---- end --------------------------------------------------------------- */

void run_files_deinit(run_job *job)
{
    vly_writer_abandon(job->events);
    vly_writer_abandon(job->json);
    if (job->connectome_lock >= 0)
        close(job->connectome_lock);
    job->connectome_lock = -1;
    if (job->folder_lock < 0)
        return;
    if (!job->began) /* while the lock is held */
        tool_folder_remove();
    tool_folder_keep();
    close(job->folder_lock);
    job->folder_lock = -1;
}

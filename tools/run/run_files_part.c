/* SPDX-License-Identifier: Apache-2.0
 * Options of the files of a run: its folder, its connectome.
 */
#include <string.h>

#include "tools/cli/output_room.h"
#include "tools/run/run_checkpoint.h"
#include "tools/run/run_job.h"
#include "tools/run/run_part.h"

static const tool_option folder_options[] = {
    {"output", 'o', false, TOOL_TEXT, "FOLDER",
     "folder for manifest, resolved genome, summary, recording, log", 0, 0},
    {"force", 0, false, TOOL_FLAG, NULL, "use FOLDER even if it is not empty",
     0, 0},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

static vly_status read_folder(run_job *job, const tool_args *args,
                              vly_error *error)
{
    (void)error;
    job->plan.folder = tool_text(args, "output");
    job->plan.force = tool_has(args, "force");
    return VLY_OK;
}

static vly_status lock_folder(run_job *job, vly_error *error)
{
    return job->plan.folder ? run_resume_folder(job, error) : VLY_OK;
}

const run_part run_part_folder = {
    .name = "folder",
    .help = 7,
    .options = folder_options,
    .read = read_folder,
    .at = {[RUN_LOCK] = lock_folder},
};

static const tool_option connectome_options[] = {
    {"save-connectome", 0, false, TOOL_TEXT, "FILE",
     "write the compiled network, for volley inspect", 0, 0},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

static vly_status read_connectome(run_job *job, const tool_args *args,
                                  vly_error *error)
{
    (void)error;
    job->plan.connectome = tool_text(args, "save-connectome");
    return VLY_OK;
}

static const char *connectome_output(const run_job *job, uint32_t k)
{
    return k == 0 ? job->plan.connectome : NULL;
}

static vly_status check_connectome(run_job *job, vly_error *error)
{
    return tool_output_check(job->plan.connectome, error);
}

static bool connectome_whole(const run_job *job)
{
    return job->plan.connectome != NULL;
}

const run_part run_part_connectome = {
    .name = "connectome",
    .help = 10,
    .options = connectome_options,
    .read = read_connectome,
    .at = {[RUN_LOCK] = check_connectome},
    .output = connectome_output,
    .whole = connectome_whole,
};

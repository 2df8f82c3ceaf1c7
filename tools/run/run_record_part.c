/* SPDX-License-Identifier: Apache-2.0
 * What a run records, as a part of it: spikes, samples of fields, a digest a
 * burst.
 */
#include <string.h>

#include "base/memory.h"
#include "tools/run/run_job.h"
#include "tools/run/run_part.h"

static const tool_option options[] = {
    {"record", 0, false, TOOL_TEXT, "FILE",
     "spikes: .csv, .h5 (SONATA) or .vls (stream); areas of [[record]], or all",
     0, 0},
    {"record-format", 0, false, TOOL_TEXT, "FORMAT",
     "csv, sonata or stream, whatever the name; -o: csv if not given", 0, 0},
    {"record-memory", 0, false, TOOL_COUNT, "MIB",
     "for what is not yet in its file, then the run waits; default 1024", 1,
     1e9},
    {"statistics", 0, false, TOOL_FLAG, NULL,
     "irregularity and synchrony of areas also where no spikes are recorded", 0,
     0},
    {"digest-log", 0, false, TOOL_TEXT, "FILE",
     "a digest a burst, for volley compare", 0, 0},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

static vly_status read_options(run_job *job, const tool_args *args,
                               vly_error *error)
{
    run_plan *plan = &job->plan;
    (void)error;
    plan->record = tool_text(args, "record");
    plan->record_format = tool_text(args, "record-format");
    plan->record_memory =
        tool_count(args, "record-memory", RUN_RECORD_MEMORY >> 20) << 20;
    plan->statistics = tool_has(args, "statistics");
    plan->digest_log = tool_text(args, "digest-log");
    return VLY_OK;
}

static const char *output(const run_job *job, uint32_t k)
{
    const char *const paths[] = {job->plan.record, job->plan.digest_log};
    uint32_t n = 0;
    for (uint32_t i = 0; i < 2; i++)
        if (paths[i] != NULL && n++ == k)
            return paths[i];
    return NULL;
}

static vly_status take(run_job *job, vly_error *error)
{
    vly_status status = VLY_OK;
    if (job->record == NULL)
        return VLY_OK;
    status = run_sample_look(job, error);
    return status == VLY_OK ? run_record_tick(job->record, error) : status;
}

static void put_path(const run_job *job, json_writer *json)
{
    /* the other path is from where the run was started */
    char *from_folder = job->output.path != NULL
                            ? run_path_from(job->plan.folder, job->output.path)
                            : NULL;
    json_text(json, "recording", job->output.path);
    json_text(json, "recording_from_folder", from_folder);
    vly_free(from_folder);
}

const run_part run_part_record = {
    .name = "recordings",
    .help = 7,
    .options = options,
    .read = read_options,
    .output = output,
    .at = {[RUN_TAKE] = take},
    .due = run_sample_due,
    .print = {[RUN_LINES] = run_output_print},
    .json = {[RUN_MEMBERS] = run_output_json, [RUN_MANIFEST] = put_path},
};

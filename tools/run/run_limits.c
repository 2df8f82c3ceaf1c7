/* SPDX-License-Identifier: Apache-2.0
 * --device-memory of a run.
 */
#include "tools/cli/device_limits.h"
#include "tools/run/run_job.h"
#include "tools/run/run_part.h"

static const tool_option options[] = {
    DEVICE_LIMITS_OPTION, {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

static vly_status read_limits(run_job *job, const tool_args *args,
                              vly_error *error)
{
    (void)job;
    return device_limits_read(args, error);
}

static vly_status check(run_job *job, vly_error *error)
{
    return device_limits_check(job->registry, error);
}

static void print(const run_job *job)
{
    (void)job;
    device_limits_print();
}

static void put(const run_job *job, json_writer *json)
{
    (void)job;
    device_limits_json(json);
}

const run_part run_part_limits = {
    .name = "device memory",
    .help = 1,
    .options = options,
    .read = read_limits,
    .at = {[RUN_ATTACH] = check},
    .print = {[RUN_LINES_LAST] = print},
    .json = {[RUN_MEMBERS_LAST] = put},
};

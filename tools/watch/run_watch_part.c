/* SPDX-License-Identifier: Apache-2.0
 * --telemetry, --metrics and --live as a part of a run: what is asked, and when
 * the burst loop comes to it.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "tools/run/run_job.h"
#include "tools/run/run_part.h"
#include "tools/watch/metrics_server.h"
#include "tools/watch/run_watch.h"

static const tool_option options[] = {
    {"live", 0, false, TOOL_FLAG, NULL,
     "rates of areas while it runs, in the terminal or as lines", 0, 0},
    {"telemetry", 0, false, TOOL_TEXT, "FILE",
     "JSON lines: times of phases, spikes, rates, memory", 0, 0},
    {"telemetry-every", 0, false, TOOL_NUMBER, "MS",
     "wall time between two lines; default: 100", RUN_WATCH_EVERY_LEAST_MS,
     1e9},
    {"metrics", 0, false, TOOL_TEXT, "PORT",
     "a Prometheus endpoint on this machine; ADDRESS:PORT for others", 0, 0},
    {"device-telemetry", 0, false, TOOL_CHOICE, "[own|all|off]",
     "what GPUs tell in telemetry and metrics: the run's (default), all", 0, 0},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

/* A user who has a run watched and keeps its folder wants to see why the
 * monitor told what it told. */
static vly_status place_telemetry(run_job *job, vly_error *error)
{
    run_plan *plan = &job->plan;
    if (!plan->watch.wanted || plan->folder == NULL ||
        plan->watch.telemetry != NULL)
        return VLY_OK;
    plan->telemetry = run_folder_path(plan->folder, "telemetry.jsonl");
    if (plan->telemetry == NULL)
        return vly_fail_nomem(error, 4096, "a file name");
    plan->watch.telemetry = plan->telemetry;
    return VLY_OK;
}

static vly_status read_options(run_job *job, const tool_args *args,
                               vly_error *error)
{
    run_watch_plan *plan = &job->plan.watch;
    *plan = (run_watch_plan){
        .telemetry = tool_text(args, "telemetry"),
        .every_ms = tool_number(args, "telemetry-every", 100),
        .metrics = tool_text(args, "metrics"),
        .live = tool_has(args, "live"),
        .devices = tool_text(args, "device-telemetry"),
        .wanted = tool_has(args, "monitor"),
    };
    if (plan->metrics) {
        const vly_status status = metrics_address_check(plan->metrics, error);
        if (status != VLY_OK)
            return status;
    }
    if (tool_has(args, "telemetry-every") && !plan->telemetry &&
        !tool_has(args, "monitor"))
        return vly_fail(error, VLY_E_INVALID,
                        "--telemetry-every without --telemetry or --monitor, "
                        "wanted both");
    return place_telemetry(job, error);
}

static bool is_stdout(const run_job *job)
{
    const char *path = job->plan.watch.telemetry;
    return path != NULL && strcmp(path, "-") == 0;
}

/* Up to the next sample, so that records are as long as was asked for; but not
 * for so little that calls would be what it costs. */
static uint64_t call_ns(const run_job *job, uint64_t now)
{
    if (job->watch == NULL)
        return UINT64_MAX;
    const uint64_t due = run_watch_due(job);
    const uint64_t least = (uint64_t)(job->plan.watch.every_ms * 1e6) / 8;
    const uint64_t left = due > now ? due - now : 0;
    return left > least ? left : least;
}

static vly_status check(run_job *job, vly_error *error)
{
    return watch_devices_check(job->registry, &job->plan.watch, error);
}

static vly_status moved(run_job *job, vly_error *error)
{
    (void)error;
    run_watch_moved(job);
    return VLY_OK;
}

static void leave(run_job *job, uint64_t next_ns)
{
    (void)next_ns;
    run_watch_leave(job);
}

const run_part run_part_watch = {
    .name = "telemetry",
    .help = 10,
    .options = options,
    .read_more = read_options,
    .is_stdout = is_stdout,
    .at = {[RUN_CHECK] = check,
           [RUN_OPEN] = run_watch_open,
           [RUN_BEGIN] = run_watch_begin,
           [RUN_BETWEEN] = moved},
    .call_ns = call_ns,
    .before = run_watch_enter,
    .after = leave,
    .look = run_watch_look,
    .json = {[RUN_MEMBERS] = run_watch_json},
};

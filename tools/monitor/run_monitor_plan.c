/* SPDX-License-Identifier: Apache-2.0
 * What was asked of the monitor: --monitor and its options.
 */
#include "tools/monitor/run_monitor.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "tools/cli/setup.h"
#include "tools/run/run_job.h"
#include "tools/run/run_part.h"
#include "tools/run/run_swap.h"
#include "tools/watch/run_place.h"
#include "tools/watch/run_watch.h"

monitor_part *run_monitor_state(const run_job *job)
{
    return run_part_state(job, RUN_PART_monitor);
}

static const tool_option options[] = {
    {"monitor", 0, false, TOOL_OPTIONAL, "MODEL",
     "let a model watch the run; default: the shipped model", 0, 0},
    {"monitor-device", 0, false, TOOL_TEXT, "NAME",
     "device that runs the model: cpu:1 (default), cuda:0", 0, 0},
    {"monitor-budget", 0, false, TOOL_NUMBER, "SHARE",
     "share of time that the model may use; default: 0.05, more for short "
     "records",
     1e-4, 1},
    {"monitor-alarms", 0, false, TOOL_NUMBER, "N",
     "accepted false alarms per hour; default: 1", 1e-3, 3600},
    {"on-anomaly", 0, true, TOOL_TEXT, "WHAT",
     "log (default), checkpoint, pause, or command:CMD", 0, 0},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

static vly_status read_action(const char *text, run_monitor_plan *plan,
                              vly_error *error)
{
    static const char command[] = "command:";
    if (strcmp(text, "log") == 0)
        return VLY_OK;
    if (strcmp(text, "checkpoint") == 0) {
        plan->actions |= RUN_MONITOR_CHECKPOINT;
        return VLY_OK;
    }
    if (strcmp(text, "pause") == 0) {
        plan->actions |= RUN_MONITOR_PAUSE;
        return VLY_OK;
    }
    if (strncmp(text, command, sizeof command - 1) == 0 &&
        text[sizeof command - 1] != '\0') {
        if (plan->command)
            return vly_fail(error, VLY_E_INVALID,
                            "--on-anomaly %s: there is a command already, "
                            "wanted one",
                            text);
        plan->actions |= RUN_MONITOR_COMMAND;
        plan->command = text + sizeof command - 1;
        return VLY_OK;
    }
    return vly_fail(error, VLY_E_INVALID,
                    "--on-anomaly %s: wanted log, checkpoint, pause or "
                    "command:CMD",
                    text);
}

static vly_status read_options(run_job *job, const tool_args *args,
                               vly_error *error)
{
    run_monitor_plan *plan = &run_monitor_state(job)->plan;
    static const char *const others[] = {"monitor-device", "monitor-budget",
                                         "monitor-alarms", "on-anomaly"};
    const char *text;
    vly_status status = VLY_OK;
    *plan = (run_monitor_plan){
        .wanted = tool_has(args, "monitor"),
        .model = tool_text(args, "monitor"),
        .device = tool_text(args, "monitor-device"),
        .device_given = tool_has(args, "monitor-device"),
        .budget = tool_number(args, "monitor-budget", 0),
        .alarms = tool_number(args, "monitor-alarms", 1),
    };
    if (plan->wanted && plan->model && plan->model[0] == '\0')
        return vly_fail(error, VLY_E_INVALID,
                        "--monitor= is empty, wanted a model's file, or "
                        "--monitor alone");
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (!plan->wanted && tool_has(args, others[i]))
            return vly_fail(error, VLY_E_INVALID,
                            "--%s without --monitor, wanted both", others[i]);
    if (!plan->device)
        plan->device = "cpu:1";
    for (uint32_t k = 0; (text = tool_text_at(args, "on-anomaly", k)); k++) {
        VLY_TRY(read_action(text, plan, error));
    }
out:
    return status;
}

vly_status run_monitor_actions(const run_monitor_plan *plan, bool checkpoints,
                               const char *control, vly_error *error)
{
    if (plan->actions & RUN_MONITOR_CHECKPOINT && !checkpoints)
        return vly_fail(error, VLY_E_INVALID,
                        "--on-anomaly checkpoint without --checkpoint FILE, "
                        "wanted both");
    if (plan->actions & RUN_MONITOR_PAUSE &&
        (!control || strcmp(control, "off") == 0))
        return vly_fail(error, VLY_E_INVALID,
                        "--on-anomaly pause with --control off: the run "
                        "could not be resumed");
    return VLY_OK;
}

vly_status run_monitor_shipped(char *path, size_t capacity, vly_error *error)
{
    static const char share[] = "/share/volley/monitor/telemetry.safetensors";
    if (tool_prefix(path, capacity - sizeof share)) {
        strcat(path, share);
        if (access(path, R_OK) == 0)
            return VLY_OK;
    }
    snprintf(path, capacity, "%s", VLY_TOOL_SOURCE_MODEL);
    if (access(path, R_OK) == 0)
        return VLY_OK;
    return vly_fail(error, VLY_E_IO,
                    "the model that ships is neither beside the command nor "
                    "%s",
                    path);
}

/* Is the monitor's device that of the net at any time in the plan?
 */
static bool shares_device(const run_job *job, const char *device)
{
    const run_swap *swap;
    bool shares = run_place_same(job->result.stats.backend, device);
    for (uint32_t k = 0; (swap = run_swap_at(job, k)) != NULL; k++)
        shares = shares || run_place_same(swap->backend, device);
    return shares;
}

/* Default share of time. A record takes some 0.3 ms of a core. Short records
 * get a larger share, so that they are judged during the run; not on a device,
 * where bursts would wait. */
static double usual_budget(const run_job *job, bool on_host)
{
    const double least = 0.05;
    const double most = 0.25;
    const double record_ms = 0.5;
    const double due = record_ms / run_watch_state(job)->plan.every_ms;
    if (!on_host || due < least)
        return least;
    return due < most ? due : most;
}

vly_gate_options run_monitor_gate(const run_job *job, bool on_host)
{
    const run_monitor_plan *plan = &run_monitor_state(job)->plan;
    return (vly_gate_options){
        .exclusive = !on_host && shares_device(job, plan->device),
        .budget = plan->budget > 0 ? plan->budget : usual_budget(job, on_host)};
}

static vly_status between(run_job *job, vly_error *error)
{
    (void)error;
    run_monitor_between(job);
    return VLY_OK;
}

static vly_status check(run_job *job, vly_error *error)
{
    return run_monitor_check(job, error);
}

static void before(run_job *job)
{
    run_monitor_before(job);
}

static void after(run_job *job, uint64_t next_ns)
{
    run_monitor_after(job, next_ns);
}

static const char *input(const run_job *job, const char **what)
{
    *what = "the model of --monitor";
    return run_monitor_state(job)->plan.model;
}

const run_part run_part_monitor = {
    .name = "monitor",
    .state_bytes = sizeof(monitor_part),
    .help = 14,
    .options = options,
    .read_more = read_options,
    .input = input,
    .at = {[RUN_CHECK] = run_monitor_load,
           [RUN_OPEN] = run_monitor_open,
           [RUN_READY] = check,
           [RUN_BEGIN] = run_monitor_begin,
           [RUN_BETWEEN] = between},
    .wants = run_monitor_wanted,
    .before = before,
    .after = after,
    .ask = run_monitor_ask,
    .metrics = run_monitor_metrics,
    .end = run_monitor_close,
    .print = {[RUN_LINES_LAST] = run_monitor_print},
    .json = {[RUN_MEMBERS] = run_monitor_json},
    .close = run_monitor_deinit,
};

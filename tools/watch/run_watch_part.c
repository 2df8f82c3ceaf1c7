/* SPDX-License-Identifier: Apache-2.0
 * --telemetry, --metrics and --live as a part of a run: what is asked, and when
 * the burst loop comes to it.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "tools/run/run_failover.h"
#include "tools/run/run_job.h"
#include "tools/run/run_part.h"
#include "tools/run/run_swap.h"
#include "tools/watch/metrics_server.h"
#include "tools/watch/run_watch.h"
#include "tools/watch/watch_weights.h"

watch_part *run_watch_state(const run_job *job)
{
    return run_part_state(job, RUN_PART_watch);
}

static const tool_option options[] = {
    {"live", 0, false, TOOL_FLAG, NULL,
     "show rates of areas during the run, in the terminal or as lines", 0, 0},
    {"telemetry", 0, false, TOOL_TEXT, "FILE",
     "write JSON lines: times of phases, spikes, rates, memory", 0, 0},
    {"telemetry-every", 0, false, TOOL_NUMBER, "MS",
     "wall time between two lines; default: 100", RUN_WATCH_EVERY_LEAST_MS,
     1e9},
    {"metrics", 0, false, TOOL_TEXT, "PORT",
     "serve Prometheus metrics to this machine; ADDRESS:PORT for others", 0, 0},
    {"device-telemetry", 0, false, TOOL_CHOICE, "[own|all|off]",
     "GPUs in telemetry and metrics: the run's own (default), or all", 0, 0},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

/* With --monitor and -o the telemetry is kept in the folder, to show the
 * reasons of the monitor. */
static vly_status place_telemetry(run_job *job, vly_error *error)
{
    watch_part *part = run_watch_state(job);
    const char *folder = job->plan.folder;
    if (!part->plan.wanted || !folder || part->plan.telemetry)
        return VLY_OK;
    part->telemetry = run_folder_path(folder, "telemetry.jsonl");
    if (!part->telemetry)
        return vly_fail_nomem(error, 4096, "a file name");
    part->plan.telemetry = part->telemetry;
    return VLY_OK;
}

static vly_status read_options(run_job *job, const tool_args *args,
                               vly_error *error)
{
    vly_status status = VLY_OK;
    run_watch_plan *plan = &run_watch_state(job)->plan;
    *plan = (run_watch_plan){
        .telemetry = tool_text(args, "telemetry"),
        .every_ms = tool_number(args, "telemetry-every", 100),
        .metrics = tool_text(args, "metrics"),
        .live = tool_has(args, "live"),
        .devices = tool_text(args, "device-telemetry"),
        .wanted = tool_has(args, "monitor"),
    };
    if (plan->metrics) {
        VLY_TRY(metrics_address_check(plan->metrics, error));
    }
    if (tool_has(args, "telemetry-every") && !plan->telemetry &&
        !tool_has(args, "monitor"))
        return vly_fail(error, VLY_E_INVALID,
                        "--telemetry-every without --telemetry or --monitor, "
                        "wanted one of them");
    job->plan.draws = plan->live;
    return place_telemetry(job, error);
out:
    return status;
}

static const char *output(const run_job *job, uint32_t k)
{
    return k == 0 ? run_watch_state(job)->plan.telemetry : NULL;
}

/* Calls end at the next sample, so that records have the requested length; but
 * a call is not so short that the cost of calls dominates. */
static uint64_t call_ns(const run_job *job, uint64_t now)
{
    if (!run_watch_state(job)->watch)
        return UINT64_MAX;
    const uint64_t due = run_watch_due(job);
    const uint64_t least =
        (uint64_t)(run_watch_state(job)->plan.every_ms * 1e6) / 8;
    const uint64_t left = due > now ? due - now : 0;
    return left > least ? left : least;
}

static vly_status check(run_job *job, vly_error *error)
{
    return watch_devices_check(job->registry, &run_watch_state(job)->plan,
                               error);
}

static bool is_cuda(const char *name)
{
    return name && strncmp(name, "cuda", 4) == 0;
}

bool run_watch_may_be_cuda(const run_job *job)
{
    const run_swap *swap;
    bool may = is_cuda(job->result.stats.backend) ||
               is_cuda(run_failover_backend(job));
    for (uint32_t k = 0; (swap = run_swap_at(job, k)) != NULL; k++)
        may = may || is_cuda(swap->backend);
    return may;
}

static void put(const run_job *job, json_writer *json)
{
    const run_watched *watched = &run_watch_state(job)->watched;
    if (watched->n_samples == 0)
        return;
    json_object(json, "telemetry");
    json_u64(json, "samples", watched->n_samples);
    json_u64(json, "lost", watched->n_lost);
    json_number(json, "seconds", watched->seconds);
    json_object_end(json);
}

static void look(run_job *job)
{
    watch_weights_look(job);
    run_watch_look(job);
}

static void deinit(run_job *job)
{
    vly_free(run_watch_state(job)->telemetry);
}

static void leave(run_job *job, uint64_t next_ns)
{
    (void)next_ns;
    run_watch_leave(job);
}

const run_part run_part_watch = {
    .name = "telemetry",
    .state_bytes = sizeof(watch_part),
    .help = 12,
    .options = options,
    .read_more = read_options,
    .output = output,
    .at = {[RUN_CHECK] = check,
           [RUN_OPEN] = run_watch_open,
           [RUN_BEGIN] = run_watch_begin},
    .call_ns = call_ns,
    .before = run_watch_enter,
    .after = leave,
    .look = look,
    .last = run_watch_last,
    .end = run_watch_close,
    .json = {[RUN_MEMBERS] = put},
    .close = deinit,
};

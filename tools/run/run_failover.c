/* SPDX-License-Identifier: Apache-2.0
 * --on-device-error. The engine does it and says so as an error of the log;
 * here it is written down. Recordings go on as they are where the engine proves
 * by the run digest that the results of the failed device were correct;
 * otherwise they are cut back to the snapshot.
 */
#include "tools/run/run_failover.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "tools/run/run_checkpoint.h"
#include "tools/run/run_job.h"
#include "tools/run/run_part.h"

static const tool_option options[] = {
    {"on-device-error", 0, false, TOOL_TEXT, "NAME",
     "continue on this backend if the device fails: cpu[:THREADS]", 0, 0},
    {"failover-every", 0, false, TOOL_COUNT, "N",
     "bursts between its snapshots; default: so many that they take under 1% "
     "of the time",
     1, 9e15},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

typedef struct failover_part {
    const char *backend;   /* backend to continue on; NULL: the run ends */
    uint64_t every;        /* bursts; 0: chosen by the cost of a snapshot */
    run_failure *failures; /* [n_failures] */
    uint32_t n_failures;
    bool kept;           /* all parts know where they were at the snapshot */
    uint64_t kept_burst; /* of it */
} failover_part;

static failover_part *of(const run_job *job)
{
    return run_part_state(job, RUN_PART_failover);
}

const char *run_failover_backend(const run_job *job)
{
    return of(job)->backend;
}

const run_failure *run_failover_at(const run_job *job, uint32_t k)
{
    return k < of(job)->n_failures ? &of(job)->failures[k] : NULL;
}

uint32_t run_failover_count(const run_job *job)
{
    return of(job)->n_failures;
}

static vly_status read_failover(run_job *job, const tool_args *args,
                                vly_error *error)
{
    of(job)->backend = tool_text(args, "on-device-error");
    of(job)->every = tool_count(args, "failover-every", 0);
    if (tool_has(args, "failover-every") && !tool_has(args, "on-device-error"))
        return vly_fail(error, VLY_E_INVALID,
                        "--failover-every without --on-device-error, wanted "
                        "both");
    return VLY_OK;
}

static vly_status check(run_job *job, vly_error *error)
{
    const char *backend = of(job)->backend;
    return backend ? tool_backend_check(job->registry, backend, error) : VLY_OK;
}

static void note_failure(run_job *job, const vly_failover_event *event)
{
    failover_part *part = of(job);
    run_failure *grown = vly_realloc(
        part->failures, (size_t)part->n_failures + 1, sizeof *grown);
    if (!grown)
        return; /* the message is on stderr and in log.jsonl */
    part->failures = grown;
    run_failure *failure = &grown[part->n_failures++];
    *failure = (run_failure){.burst = event->failed_burst,
                             .snapshot = event->burst,
                             .begin_ns = vly_clock_ns()};
    snprintf(failure->from, sizeof failure->from, "%s", event->from);
    snprintf(failure->to, sizeof failure->to, "%s", event->to);
    snprintf(failure->reason, sizeof failure->reason, "%.399s", event->reason);
}

static void note_end(run_job *job, const vly_failover_event *event)
{
    char text[160];
    double seconds = 0;
    snprintf(job->result.stats.backend, sizeof job->result.stats.backend, "%s",
             event->to);
    if (of(job)->n_failures > 0) {
        run_failure *last = &of(job)->failures[of(job)->n_failures - 1];
        seconds = (double)(vly_clock_ns() - last->begin_ns) * 1e-9;
        last->seconds = seconds;
        last->done = true;
    }
    snprintf(text, sizeof text,
             "burst %" PRIu64 ": continues on %s, %" PRIu64
             " bursts done again in %s",
             event->failed_burst, event->to, event->failed_burst - event->burst,
             tool_seconds(seconds));
    if (!job->plan.quiet)
        tool_message("%s", text);
    run_folder_event(job, "fail-over", text);
}

/* ---- recordings -------------------------------------------------------- */

/* Errors are ignored here: a recording that cannot be written ends the run one
 * burst later. */
static void keep_places(run_job *job)
{
    failover_part *part = of(job);
    vly_error error = VLY_ERROR_INIT;
    part->kept_burst = vly_net_burst(job->net);
    /* only one mark is possible and a checkpoint may hold it; a run with
     * checkpoints can be resumed instead */
    part->kept = !run_checkpoint_state(job)->checkpoint &&
                 run_parts_keep(job, &error) == VLY_OK;
}

/* Not 0: the recordings end at the snapshot. */
static int cut_recordings(run_job *job)
{
    const failover_part *part = of(job);
    vly_error error = VLY_ERROR_INIT;
    const run_cut can = run_parts_can_cut(job, part->kept_burst);
    if (can == RUN_CUT_NOTHING)
        return 1;
    if (can == RUN_CUT_NOT || !part->kept)
        return 0;
    if (run_parts_cut(job, part->kept_burst, &error) == VLY_OK)
        return 1;
    tool_message("%s", error.message);
    return 0;
}

static int on_failover(void *arg, const vly_failover_event *event)
{
    run_job *job = arg;
    switch (event->kind) {
    case VLY_FAILOVER_KEPT:
        keep_places(job);
        break;
    case VLY_FAILOVER_FAILED:
        note_failure(job, event);
        break;
    case VLY_FAILOVER_WRONG:
        run_checkpoint_distrust(job, event->burst, event->from);
        return cut_recordings(job);
    default:
        note_end(job, event);
        break;
    }
    return 0;
}

static vly_status arm(run_job *job, vly_error *error)
{
    const failover_part *part = of(job);
    if (!part->backend)
        return VLY_OK;
    return vly_net_failover(job->net, part->backend, job->plan.n_threads,
                            part->every, on_failover, job, error);
}

/* When nothing can refuse the run any more: files are written to here. */
static vly_status mark(run_job *job, vly_error *error)
{
    (void)error;
    if (of(job)->backend)
        keep_places(job);
    return VLY_OK;
}

static void deinit(run_job *job)
{
    vly_free(of(job)->failures);
}

static void print(const run_job *job)
{
    for (uint32_t i = 0; i < of(job)->n_failures; i++) {
        const run_failure *failure = &of(job)->failures[i];
        tool_plain_text text;
        tool_print("device error      burst %s: %s: %s\n",
                   tool_thousands(failure->burst), failure->from,
                   tool_plain(failure->reason, &text));
        if (failure->done)
            tool_print("went on           on %s from burst %s, as far again "
                       "in %s\n",
                       failure->to, tool_thousands(failure->snapshot),
                       tool_seconds(failure->seconds));
    }
}

static void put(const run_job *job, json_writer *json)
{
    json_array(json, "failovers");
    for (uint32_t i = 0; i < of(job)->n_failures; i++) {
        const run_failure *failure = &of(job)->failures[i];
        json_object(json, NULL);
        json_u64(json, "burst", failure->burst);
        json_u64(json, "snapshot", failure->snapshot);
        json_text(json, "from", failure->from);
        json_text(json, "to", failure->to);
        json_bool(json, "done", failure->done);
        json_number(json, "seconds", failure->seconds);
        json_text(json, "reason", failure->reason);
        json_object_end(json);
    }
    json_array_end(json);
}

const run_part run_part_failover = {
    .name = "fail-over",
    .state_bytes = sizeof(failover_part),
    .help = 4,
    .options = options,
    .read = read_failover,
    .at = {[RUN_CHECK] = check, [RUN_OPEN] = arm, [RUN_BEGIN] = mark},
    .moves = run_failover_count,
    .print = {[RUN_LINES] = print},
    .json = {[RUN_MEMBERS] = put, [RUN_MANIFEST] = put},
    .close = deinit,
};

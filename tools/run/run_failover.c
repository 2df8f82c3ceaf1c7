/* SPDX-License-Identifier: Apache-2.0
 * --on-device-error. The engine does it and says so as an error of the log;
 * here it is written down. Recordings go on as they are where the engine proves
 * by the run digest that what the failed device told was right; else they are
 * cut to what they were at the snapshot.
 */
#include "tools/run/run_failover.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "tools/run/run_job.h"

static void note_failure(run_job *job, const vly_failover_event *event)
{
    run_failure *grown =
        vly_realloc(job->failures, (size_t)job->n_failures + 1, sizeof *grown);
    if (grown == NULL)
        return; /* it stands on stderr and in log.jsonl */
    job->failures = grown;
    run_failure *failure = &grown[job->n_failures++];
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
    if (job->n_failures > 0) {
        run_failure *last = &job->failures[job->n_failures - 1];
        seconds = (double)(vly_clock_ns() - last->begin_ns) * 1e-9;
        last->seconds = seconds;
        last->done = true;
    }
    snprintf(text, sizeof text,
             "burst %" PRIu64 ": goes on on %s, %" PRIu64
             " bursts done again in %s",
             event->failed_burst, event->to, event->failed_burst - event->burst,
             tool_seconds(seconds));
    if (!job->plan.quiet)
        tool_message("%s", text);
    run_folder_event(job, "fail-over", text);
}

/* ---- recordings -------------------------------------------------------- */

/* A mark does not wait for the thread that writes; its place is asked for when
 * it is needed, or at the next one. */
static vly_status find_place(run_job *job, vly_error *error)
{
    run_kept *kept = &job->kept;
    if (!kept->marked)
        return VLY_OK;
    kept->marked = false;
    return run_record_marked(job->record, &kept->spikes, error);
}

/* A recording that cannot be written ends the run by itself, a burst later. */
static void keep_places(run_job *job)
{
    run_kept *kept = &job->kept;
    vly_error error = VLY_ERROR_INIT;
    vly_status status = VLY_OK;
    kept->known = false;
    /* a checkpoint being written has the only mark that there is; that run can
     * be resumed instead */
    if (job->checkpoint != NULL)
        return;
    kept->burst = vly_net_burst(job->net);
    if (job->output.path != NULL) {
        VLY_TRY(find_place(job, &error));
        VLY_TRY(run_record_mark(job->record, &error));
        kept->marked = true;
    }
    if (job->digests != NULL)
        VLY_TRY(vly_digest_log_flush(job->digests, &kept->digests, &error));
    kept->known = true;
out:
    return;
}

/* Not 0: nothing is left of what was told since the snapshot. */
static int cut_recordings(run_job *job)
{
    run_kept *kept = &job->kept;
    vly_error error = VLY_ERROR_INIT;
    vly_status status = VLY_OK;
    if (job->record == NULL && job->digests == NULL)
        return 1;
    if (!kept->known)
        return 0;
    /* samples are taken between two runs, and not once more */
    if (job->sample.n_reports > 0 && job->sample.last > kept->burst)
        return 0;
    if (job->record != NULL) {
        VLY_TRY(find_place(job, &error));
        VLY_TRY(
            run_record_rewind(job->record, &kept->spikes, kept->burst, &error));
    }
    if (job->digests != NULL)
        VLY_TRY(vly_digest_log_rewind(job->digests, &kept->digests, &error));
    return 1;
out:
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

vly_status run_failover_arm(run_job *job, vly_error *error)
{
    const run_plan *plan = &job->plan;
    if (plan->on_device_error == NULL)
        return VLY_OK;
    keep_places(job);
    return vly_net_failover(job->net, plan->on_device_error, plan->n_threads,
                            plan->failover_every, on_failover, job, error);
}

void run_failover_deinit(run_job *job)
{
    vly_free(job->failures);
}

void run_failover_print(const run_job *job)
{
    for (uint32_t i = 0; i < job->n_failures; i++) {
        const run_failure *failure = &job->failures[i];
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

void run_failover_json(const run_job *job, json_writer *json)
{
    json_array(json, "failovers");
    for (uint32_t i = 0; i < job->n_failures; i++) {
        const run_failure *failure = &job->failures[i];
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

/* SPDX-License-Identifier: Apache-2.0
 * One run. The net runs in pieces of about a tenth of a second, so that
 * progress and signals do not depend on how fast it is; where a run is cut
 * changes nothing in it.
 */
#include "tools/run/run_job.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "plugin/host_log.h"
#include "tools/cli/device_limits.h"
#include "tools/cli/weight_notes.h"

/* How long the next piece is to take: up to the next sample of telemetry, so
 * that records are as long as was asked for; but not for so little that calls
 * would be what it costs. */
static uint64_t piece_ns_of(const run_job *job, uint64_t now)
{
    const uint64_t tenth = 100000000;
    if (job->watch == NULL)
        return tenth;
    const uint64_t due = run_watch_due(job);
    const uint64_t least = (uint64_t)(job->plan.watch.every_ms * 1e6) / 8;
    const uint64_t left = due > now ? due - now : 0;
    const uint64_t wanted = left > least ? left : least;
    return wanted < tenth ? wanted : tenth;
}

/* Bursts that take so long, by a piece that took `spent`; at most twice as many
 * as in that one, or a burst that was fast by chance would make a long one. */
static uint64_t next_piece(uint64_t piece, uint64_t spent, uint64_t wanted)
{
    const double times = (double)wanted / (double)(spent > 0 ? spent : 1);
    const double n = (double)piece * (times < 2 ? times : 2);
    return n > 1 ? (uint64_t)n : 1;
}

/* Of every burst, where something is written of it; ids NULL without
 * recording. */
static vly_status on_burst(void *arg, uint64_t burst, const uint32_t *ids,
                           uint32_t n_ids, uint64_t digest)
{
    run_job *job = arg;
    vly_error *error = &job->result.error;
    vly_status status = VLY_OK;
    if (job->output.spikes)
        VLY_TRY(run_record_add(job->record, burst, ids, n_ids, error));
    if (job->digests != NULL)
        VLY_TRY(vly_digest_log_add(job->digests, burst, digest, n_ids, error));
    if (tool_signals_stopped())
        vly_net_stop(job->net);
    tool_progress_update(&job->progress, burst + 1);
out:
    return status;
}

/* Messages of plugins and engine: to stderr and to log.jsonl. */
static void on_log(void *arg, int32_t level, const char *source,
                   const char *message)
{
    static const char *const names[] = {"debug", "info", "warn", "error"};
    run_job *job = arg;
    uint32_t name = level < 0 ? 0u : level > 3 ? 3u : (uint32_t)level;
    if (!job->plan.quiet || level >= VLY_LOG_ERROR)
        tool_message("%s: %s: %s", names[name], source, message);
    char text[1024];
    snprintf(text, sizeof text, "%s: %s", source, message);
    run_folder_event(job, names[name], text);
}

/* ---- before the run --------------------------------------------------- */

/* Everything that can be said without building anything. */
static vly_status check_plan(run_job *job, vly_error *error)
{
    const run_plan *plan = &job->plan;
    vly_status status = VLY_OK;
    VLY_TRY(tool_backend_check(job->registry, plan->backend, error));
    VLY_TRY(run_swap_check(job, error));
    if (plan->on_device_error != NULL)
        VLY_TRY(
            tool_backend_check(job->registry, plan->on_device_error, error));
    VLY_TRY(run_control_check(job, error));
    VLY_TRY(watch_devices_check(job, error));
    status = run_monitor_load(job, error);
out:
    return status;
}

static vly_status build(run_job *job, vly_error *error)
{
    uint64_t begin = vly_clock_ns();
    vly_status status = vly_connectome_build(
        job->build.genome, job->plan.n_threads, &job->build.connectome, error);
    job->build.seconds.build = (double)(vly_clock_ns() - begin) * 1e-9;
    if (status == VLY_OK && !job->plan.quiet)
        weight_notes(job->build.genome, job->build.connectome);
    return status;
}

static vly_status open_net(run_job *job, vly_error *error)
{
    const run_plan *plan = &job->plan;
    vly_status status = VLY_OK;
    uint64_t begin = vly_clock_ns();
    if (job->resumed == NULL) {
        VLY_TRY(vly_net_create(job->build.connectome, job->registry,
                               plan->backend, plan->n_threads, &job->net,
                               error));
    } else {
        VLY_TRY(vly_net_resume(job->build.connectome, job->registry,
                               plan->backend, plan->n_threads,
                               job->resumed->state, &job->net, error));
        vly_state_destroy(job->resumed->state);
        job->resumed->state = NULL;
    }
    job->build.seconds.setup = (double)(vly_clock_ns() - begin) * 1e-9;
    job->result.stats.struct_size = sizeof job->result.stats;
    VLY_TRY(vly_net_stats(job->net, &job->result.stats, error));
    job->first_burst = job->result.stats.bursts;
    job->first_events = job->result.stats.events;
out:
    return status;
}

/* Ids cross to the host only where they are recorded. */
static void choose_functions(run_job *job)
{
    vly_net_count_areas(job->net, 1);
    if (job->output.spikes)
        vly_net_on_spikes(job->net, on_burst, job);
    else if (job->digests != NULL)
        vly_net_on_bursts(job->net, on_burst, job);
}

vly_status run_job_init(run_job *job, run_plan *plan, vly_error *error)
{
    *job = (run_job){.plan = *plan};
    *plan = (run_plan){0};
    plan = &job->plan;
    job->folder_lock = -1;
    job->output.held = -1;
    job->build.genome = plan->genome;
    job->build.seconds.load = plan->load_s;
    job->result.error.struct_size = sizeof job->result.error;
    snprintf(job->result.start, sizeof job->result.start, "%s",
             tool_time_text());
    vly_status status = VLY_OK;
    vly_log_set_sink(on_log, job);
    /* cheap things first: nobody waits a minute for "no such backend" */
    VLY_TRY(run_output_choose(job, error));
    VLY_TRY(run_paths_check(job, error));
    VLY_TRY(run_checkpoint_check(job, error));
    VLY_TRY(run_resume_load(job, error));
    VLY_TRY(tool_registry_create(&job->registry, error));
    VLY_TRY(device_limits_check(job->registry, error));
    VLY_TRY(run_probe_open(job, error));
    VLY_TRY(check_plan(job, error));
    if (plan->folder != NULL)
        VLY_TRY(run_resume_folder(job, error));
    VLY_TRY(tool_output_check(plan->json, error)); /* may be in the folder */
    VLY_TRY(tool_output_check(plan->connectome, error));
    VLY_TRY(build(job, error));
    VLY_TRY(run_probe_check(job, error));
    uint32_t n_areas = job->build.connectome->desc.n_areas;
    job->result.area_spikes =
        vly_calloc(n_areas, sizeof *job->result.area_spikes);
    if (job->result.area_spikes == NULL) {
        status = vly_fail_nomem(error, n_areas * sizeof(uint64_t), "areas");
        goto out;
    }
    VLY_TRY(open_net(job, error));
    VLY_TRY(run_files_open(job, error));
    VLY_TRY(run_failover_arm(job, error));
    VLY_TRY(run_watch_open(job, error));
    VLY_TRY(run_monitor_open(job, error));
    /* after what its clients may ask */
    VLY_TRY(run_control_open(job, error));
    VLY_TRY(run_monitor_check(job, error));
    VLY_TRY(run_files_begin(job, error));
    choose_functions(job);
out:
    if (status != VLY_OK && plan->folder != NULL)
        run_folder_refuse(job, error);
    return status;
}

/* ---- the run ---------------------------------------------------------- */

/* run_control ended the call to be heard: no signal did. */
static bool is_interruption(vly_status status)
{
    return status == VLY_E_STOPPED && !tool_signals_stopped();
}

/* After a call of vly_net_run that returned this. A failure goes to the result.
 */
static vly_status look_at_recording(run_job *job, vly_status status)
{
    vly_error *error = &job->result.error;
    if (job->record == NULL || (status != VLY_OK && status != VLY_E_STOPPED))
        return VLY_OK;
    status = run_sample_look(job, error);
    return status == VLY_OK ? run_record_tick(job->record, error) : status;
}

/* A net that has moved may be slower by far: what was a piece of 50 ms would
 * keep figures, files and checkpoints waiting. Attempts count, too. */
static uint32_t moves_of(const run_job *job)
{
    return job->plan.n_swaps + job->n_failures;
}

/* Up to `until` bursts done. */
static vly_status run_until(run_job *job, uint64_t until)
{
    uint64_t piece = 1;
    uint32_t moves = moves_of(job);
    vly_error error = VLY_ERROR_INIT;
    while (vly_net_burst(job->net) < until) {
        if (tool_signals_stopped())
            return VLY_E_STOPPED;
        vly_status status = run_control_between(job, &job->result.error);
        if (status != VLY_OK)
            return status;
        run_monitor_between(job);
        run_watch_moved(job);
        if (moves_of(job) != moves) {
            moves = moves_of(job);
            piece = 1;
        }
        uint64_t left = until - vly_net_burst(job->net);
        left = run_checkpoint_limit(job, left);
        left = run_sample_limit(job, left);
        piece = piece < left ? piece : left; /* or it would grow for ever */
        uint64_t begin = vly_clock_ns();
        run_monitor_before(job);
        run_watch_enter(job);
        status = vly_net_run(job->net, piece < left ? piece : left, &error);
        run_watch_leave(job);
        run_monitor_after(job, 0);
        /* what a file said is more to the point than that the run ended */
        if (job->result.error.status != VLY_OK)
            return job->result.error.status;
        if (look_at_recording(job, status) != VLY_OK)
            return job->result.error.status;
        bool whole = !is_interruption(status);
        if (whole && status != VLY_OK) {
            if (status != VLY_E_STOPPED)
                job->result.error = error;
            return status;
        }
        const uint64_t now = vly_clock_ns();
        tool_progress_update(&job->progress, vly_net_burst(job->net));
        run_watch_look(job);
        run_checkpoint_look(job);
        if (whole)
            piece = next_piece(piece, now - begin, piece_ns_of(job, now));
    }
    return VLY_OK;
}

static bool must_wake(void)
{
    return tool_signals_stopped() || run_control_wanted() ||
           run_monitor_wanted();
}

/* As above in real time, one burst a call. */
static vly_status run_paced(run_job *job, uint64_t until)
{
    vly_error error = VLY_ERROR_INIT;
    while (vly_net_burst(job->net) < until) {
        vly_status status = run_control_between(job, &job->result.error);
        if (status != VLY_OK)
            return status;
        run_monitor_between(job);
        run_watch_moved(job);
        if (tool_signals_stopped())
            return VLY_E_STOPPED;
        if (!run_pace_wait(&job->pace, must_wake))
            continue;
        run_pace_started(&job->pace, vly_clock_ns());
        uint64_t burst = vly_net_burst(job->net);
        run_monitor_before(job);
        run_watch_enter(job);
        do
            status = vly_net_run(job->net, 1, &error);
        while (is_interruption(status) && vly_net_burst(job->net) == burst);
        run_watch_leave(job);
        /* the schedule without what a missed deadline may change */
        run_monitor_after(job, run_pace_due_ns(&job->pace));
        if (job->result.error.status != VLY_OK)
            return job->result.error.status;
        if (look_at_recording(job, status) != VLY_OK)
            return job->result.error.status;
        if (is_interruption(status))
            status = VLY_OK; /* the burst was done */
        if (status != VLY_OK) {
            if (status != VLY_E_STOPPED)
                job->result.error = error;
            return status;
        }
        if (!run_pace_done(&job->pace, vly_clock_ns()) &&
            job->plan.pace == RUN_PACE_STOP) {
            job->result.late = true;
            return VLY_E_STOPPED;
        }
        tool_progress_update(&job->progress, vly_net_burst(job->net));
        run_watch_look(job);
        run_checkpoint_look(job);
    }
    return VLY_OK;
}

static vly_status run_to(run_job *job, uint64_t until)
{
    bool paced = job->plan.pace != RUN_PACE_NONE;
    return paced ? run_paced(job, until) : run_until(job, until);
}

static vly_status run_swaps(run_job *job)
{
    while (job->swap_next < job->plan.n_swaps) {
        vly_status status = run_to(job, job->plan.swaps[job->swap_next].burst);
        if (status == VLY_OK)
            status = run_swap_next(job, &job->result.error);
        if (status != VLY_OK)
            return status;
    }
    return run_to(job, job->plan.n_bursts);
}

/* Closes what is written burst by burst; the first failure counts. */
static void close_files(run_job *job)
{
    vly_error error = VLY_ERROR_INIT;
    vly_error *first = &job->result.error;
    run_output_close(job, first);
    if (vly_digest_log_close(job->digests, &error) != VLY_OK &&
        first->status == VLY_OK)
        *first = error;
    job->digests = NULL;
    if (run_output_export(job, &error) != VLY_OK && first->status == VLY_OK)
        *first = error;
}

/* The run was right even if what watched it could not be written. */
static void close_watch(run_job *job)
{
    vly_error error = VLY_ERROR_INIT;
    if (run_watch_close(job, &error) != VLY_OK &&
        job->result.error.status == VLY_OK)
        job->result.error = error;
}

static void collect(run_job *job)
{
    run_result *result = &job->result;
    vly_error error = VLY_ERROR_INIT;
    vly_status status = vly_net_stats(job->net, &result->stats, &error);
    result->digest = vly_net_digest(job->net);
    if (status == VLY_OK)
        status = vly_net_state_digest(job->net, &result->state_digest, &error);
    if (status != VLY_OK && result->error.status == VLY_OK)
        result->error = error;
    for (uint32_t a = 0; a < job->build.connectome->desc.n_areas; a++) {
        vly_area_stats area = {.struct_size = sizeof area};
        if (vly_net_area_stats(job->net, a, &area) == VLY_OK)
            result->area_spikes[a] = area.spikes;
    }
}

/* Processor time of the thread that runs the bursts: unlike the wall time it
 * says little of what else the machine does. */
static double thread_seconds(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void run_job_execute(run_job *job)
{
    const run_plan *plan = &job->plan;
    run_result *result = &job->result;
    run_folder_event(job, "run", result->stats.backend);
    job->began = true;
    tool_folder_keep();
    tool_signals_watch(job->net);
    uint64_t first = vly_net_burst(job->net);
    tool_progress_begin(&job->progress, plan->quiet || plan->watch.live, first,
                        plan->n_bursts, result->stats.dt_ms);
    const double thread_s = thread_seconds();
    uint64_t begin = vly_clock_ns();
    if (plan->pace != RUN_PACE_NONE)
        run_pace_begin(&job->pace, plan->pace, plan->pace_hz, begin);
    vly_status status = run_swaps(job);
    result->run_s = (double)(vly_clock_ns() - begin) * 1e-9 - result->paused_s;
    result->thread_s = thread_seconds() - thread_s;
    run_watch_last(job);
    run_control_close(job);
    tool_progress_end(&job->progress);
    tool_signals_watch(NULL);
    result->stopped = status == VLY_E_STOPPED && !result->late;
    close_watch(job);
    run_checkpoint_end(job); /* while the recordings are open */
    close_files(job);
    collect(job);
    snprintf(result->end, sizeof result->end, "%s", tool_time_text());
    if (plan->folder != NULL)
        run_folder_end(job);
}

void run_job_deinit(run_job *job)
{
    run_control_close(job);
    (void)run_watch_close(job, NULL);
    run_monitor_deinit(job);
    vly_free(job->plan.telemetry);
    vly_log_set_sink(NULL, NULL);
    run_checkpoint_close(job->checkpoint);
    run_output_deinit(job);
    vly_net_destroy(job->net);
    run_probe_close(job);
    vly_checkpoint_destroy(job->resumed);
    run_files_deinit(job);
    tool_build_deinit(&job->build);
    vly_registry_destroy(job->registry);
    vly_free(job->result.area_spikes);
    tool_overrides_deinit(&job->plan.overrides);
    run_failover_deinit(job);
    run_sample_deinit(&job->sample);
    run_swap_deinit(job->plan.swaps, job->plan.n_swaps);
}

int run_job_exit_code(const run_job *job)
{
    if (job->result.error.status != VLY_OK)
        return vly_status_exit_code(job->result.error.status);
    if (job->result.late)
        return TOOL_EXIT_LATE;
    return job->result.stopped ? TOOL_EXIT_STOPPED : TOOL_EXIT_DONE;
}

/* SPDX-License-Identifier: Apache-2.0
 * One run. The net runs in pieces of about a tenth of a second, so that
 * progress and signals do not depend on how fast it is; where a run is cut
 * changes nothing in it.
 */
#include "tools/run/run_job.h"
#include "tools/run/run_part.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "tools/cli/device_limits.h"
#include "tools/cli/weight_notes.h"

/* Number of bursts that take `wanted` ns, estimated from a piece that took
 * `spent`. At most twice the bursts of that piece, so that a burst that was
 * fast by chance does not make a long piece. */
static uint64_t next_piece(uint64_t piece, uint64_t spent, uint64_t wanted)
{
    const double times = (double)wanted / (double)(spent > 0 ? spent : 1);
    const double n = (double)piece * (times < 2 ? times : 2);
    return n > 1 ? (uint64_t)n : 1;
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

static vly_status build(run_job *job, vly_error *error)
{
    uint64_t begin = vly_clock_ns();
    vly_status status = run_parts_do(job, RUN_BUILD, error);
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
    vly_state *state = run_parts_resume(job);
    status = !state ? vly_net_create(job->build.connectome, job->registry,
                                     plan->backend, plan->n_threads, &job->net,
                                     error)
                    : vly_net_resume(job->build.connectome, job->registry,
                                     plan->backend, plan->n_threads, state,
                                     &job->net, error);
    vly_state_destroy(state);
    if (status != VLY_OK)
        return status;
    job->build.seconds.setup = (double)(vly_clock_ns() - begin) * 1e-9;
    job->result.stats.struct_size = sizeof job->result.stats;
    VLY_TRY(vly_net_stats(job->net, &job->result.stats, error));
    job->first_burst = job->result.stats.bursts;
    job->first_events = job->result.stats.events;
out:
    return status;
}

vly_status run_job_init(run_job *job, vly_error *error)
{
    *job = (run_job){.folder_lock = -1, .connectome_lock = -1};
    job->start.begin_ns = vly_clock_ns();
    job->result.error.struct_size = sizeof job->result.error;
    return run_parts_create(job, error);
}

static vly_status make_areas(run_job *job, vly_error *error)
{
    const uint32_t n_areas =
        tool_connectome_info(job->build.connectome).n_areas;
    job->result.area_spikes =
        vly_calloc(n_areas, sizeof *job->result.area_spikes);
    return job->result.area_spikes
               ? VLY_OK
               : vly_fail_nomem(error, n_areas * sizeof(uint64_t), "areas");
}

/* A driver that is missing fails at once. One that is there takes half a second
 * to start; the network is compiled meanwhile. */
#define START_MS 10u

static vly_status find_plugins(run_job *job, vly_error *error)
{
    const uint64_t begin = vly_clock_ns();
    vly_status status = VLY_OK;
    if (!job->registry) /* ranks have opened it */
        status = tool_registry_create(&job->registry, error);
    job->start.plugins_ns = vly_clock_ns() - begin;
    return status;
}

static vly_status check_device(run_job *job, vly_error *error)
{
    job->start.is_checked = true;
    return tool_backend_check(job->registry, job->plan.backend, error);
}

/* Checks the backend before the network is compiled, if the plugin has started
 * within START_MS; otherwise end_device checks it. */
static vly_status begin_device(run_job *job, vly_error *error)
{
    const run_plan *plan = &job->plan;
    job->preparation =
        vly_prepare_begin(job->registry, plan->backend, plan->n_threads);
    return vly_prepare_started(job->preparation, START_MS)
               ? check_device(job, error)
               : VLY_OK;
}

static void wait_device(run_job *job)
{
    job->start.device.struct_size = sizeof job->start.device;
    vly_prepare_end(job->preparation, &job->start.device);
    job->preparation = NULL;
}

static vly_status end_device(run_job *job, vly_error *error)
{
    wait_device(job);
    return job->start.is_checked ? VLY_OK : check_device(job, error);
}

vly_status run_job_open(run_job *job, vly_error *error)
{
    const run_plan *plan = &job->plan;
    snprintf(job->result.start, sizeof job->result.start, "%s",
             tool_time_text());
    vly_status status = VLY_OK;
    vly_log_set_sink(on_log, job);
    /* cheap checks first: a user does not wait a minute for "no such
     * backend" */
    VLY_TRY(run_parts_do(job, RUN_CHOOSE, error));
    VLY_TRY(run_paths_check(job, error));
    VLY_TRY(run_parts_do(job, RUN_LOOK, error));
    VLY_TRY(find_plugins(job, error));
    VLY_TRY(run_parts_do(job, RUN_ATTACH, error));
    VLY_TRY(begin_device(job, error));
    VLY_TRY(run_parts_do(job, RUN_CHECK, error));
    VLY_TRY(run_parts_do(job, RUN_LOCK, error));
    VLY_TRY(build(job, error));
    VLY_TRY(end_device(job, error));
    VLY_TRY(run_parts_do(job, RUN_FIT, error));
    VLY_TRY(make_areas(job, error));
    VLY_TRY(open_net(job, error));
    VLY_TRY(run_files_open(job, error));
    VLY_TRY(run_parts_do(job, RUN_OPEN, error));
    VLY_TRY(run_parts_do(job, RUN_READY, error));
    VLY_TRY(run_files_begin(job, error));
    vly_net_count_areas(job->net, 1);
out:
    if (status != VLY_OK && plan->folder)
        run_folder_refuse(job, error);
    return status;
}

/* ---- the run ---------------------------------------------------------- */

/* A part ended the call because it needs the loop; it was not a signal. */
static bool is_interruption(vly_status status)
{
    return status == VLY_E_STOPPED && !tool_signals_stopped();
}

/* One call, of one burst at least. *whole: no part has ended it early. An error
 * of a file is reported in place of the end of the run. */
static vly_status call_engine(run_job *job, uint64_t n_bursts, bool *whole)
{
    const uint64_t burst = vly_net_burst(job->net);
    vly_error error = VLY_ERROR_INIT;
    vly_status status;
    run_parts_before(job);
    do
        status = vly_net_run(job->net, n_bursts, &error);
    while (is_interruption(status) && vly_net_burst(job->net) == burst);
    run_parts_after(job);
    if (job->result.error.status != VLY_OK)
        return job->result.error.status;
    if ((status == VLY_OK || status == VLY_E_STOPPED) &&
        run_parts_do(job, RUN_TAKE, &job->result.error) != VLY_OK)
        return job->result.error.status;
    *whole = !is_interruption(status);
    if (!*whole)
        return VLY_OK;
    if (status != VLY_OK && status != VLY_E_STOPPED)
        job->result.error = error;
    return status;
}

/* How far the next call may go: to the burst at which a part wants the net, and
 * in real time no further than one burst. */
static uint64_t reach_of(const run_job *job, uint64_t piece)
{
    const uint64_t burst = vly_net_burst(job->net);
    const uint64_t due = run_parts_due(job);
    const uint64_t until = due < job->plan.n_bursts ? due : job->plan.n_bursts;
    const uint64_t left = until - burst;
    if (run_parts_next_ns(job) != 0)
        return 1;
    return piece < left ? piece : left;
}

/* Wanted duration of the next call. */
static uint64_t call_ns_of(const run_job *job, uint64_t now)
{
    const uint64_t tenth = 100000000;
    const uint64_t wanted = run_parts_call_ns(job, now);
    return wanted < tenth ? wanted : tenth;
}

static void note_first(run_job *job, uint64_t begin, uint64_t now)
{
    run_start *start = &job->start;
    if (start->total_ns == 0) {
        start->burst_ns = now - begin;
        start->total_ns = now - start->begin_ns;
    }
}

/* Runs all bursts. After a move to another backend a net may be much slower: a
 * piece that took 50 ms before would delay figures, files and checkpoints. So
 * pieces begin at one burst again. */
static vly_status run_all(run_job *job)
{
    vly_error *error = &job->result.error;
    uint32_t moves = run_parts_moves(job);
    uint64_t piece = 1;
    vly_status status = VLY_OK;
    for (;;) {
        bool whole = true;
        while (run_parts_due(job) <= vly_net_burst(job->net))
            VLY_TRY(run_parts_do(job, RUN_REACH, error));
        if (vly_net_burst(job->net) >= job->plan.n_bursts)
            return VLY_OK;
        if (tool_signals_stopped())
            return VLY_E_STOPPED;
        VLY_TRY(run_parts_do(job, RUN_BETWEEN, error));
        if (run_parts_moves(job) != moves)
            piece = 1;
        moves = run_parts_moves(job);
        if (!run_parts_wait(job))
            continue;
        piece = reach_of(job, piece); /* stored, so that the piece does not grow
                                       * without limit */
        const uint64_t begin = vly_clock_ns();
        VLY_TRY(call_engine(job, piece, &whole));
        if (!run_parts_go_on(job))
            return VLY_E_STOPPED;
        const uint64_t now = vly_clock_ns();
        note_first(job, begin, now);
        tool_progress_update(&job->progress, vly_net_burst(job->net));
        run_parts_look(job);
        if (whole)
            piece = next_piece(piece, now - begin, call_ns_of(job, now));
    }
out:
    return status;
}

/* Results of the run are valid even if a part cannot write its files. */
static void end_parts(run_job *job)
{
    vly_error *first = &job->result.error;
    (void)run_parts_end(job, first->status == VLY_OK ? first : NULL);
    (void)run_parts_finish(job, first->status == VLY_OK ? first : NULL);
}

static void collect(run_job *job)
{
    run_result *result = &job->result;
    vly_error error = VLY_ERROR_INIT;
    const uint32_t n_areas =
        tool_connectome_info(job->build.connectome).n_areas;
    vly_status status = vly_net_stats(job->net, &result->stats, &error);
    result->digest = vly_net_digest(job->net);
    if (status == VLY_OK)
        status = vly_net_state_digest(job->net, &result->state_digest, &error);
    if (status != VLY_OK && result->error.status == VLY_OK)
        result->error = error;
    for (uint32_t a = 0; a < n_areas; a++) {
        vly_area_stats area = {.struct_size = sizeof area};
        if (vly_net_area_stats(job->net, a, &area) == VLY_OK)
            result->area_spikes[a] = area.spikes;
    }
}

/* Processor time of the thread that runs the bursts: unlike wall time it
 * depends little on other load of the machine. */
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
    tool_progress_begin(&job->progress, plan->quiet || plan->draws, first,
                        plan->n_bursts, result->stats.dt_ms);
    const double thread_s = thread_seconds();
    uint64_t begin = vly_clock_ns();
    run_parts_start(job, begin);
    vly_status status = run_all(job);
    result->run_s = (double)(vly_clock_ns() - begin) * 1e-9 - result->paused_s;
    result->thread_s = thread_seconds() - thread_s;
    run_parts_last(job);
    tool_progress_end(&job->progress);
    tool_signals_watch(NULL);
    result->stopped = status == VLY_E_STOPPED && !result->late;
    end_parts(job);
    collect(job);
    snprintf(result->end, sizeof result->end, "%s", tool_time_text());
    if (plan->folder)
        run_folder_end(job);
}

void run_job_deinit(run_job *job)
{
    wait_device(job);
    (void)run_parts_end(job, NULL);
    vly_log_set_sink(NULL, NULL);
    vly_net_destroy(job->net);
    job->net = NULL;
    run_parts_destroy(job);
    run_files_deinit(job);
    tool_build_deinit(&job->build);
    vly_registry_destroy(job->registry);
    vly_free(job->result.area_spikes);
    tool_overrides_deinit(&job->plan.overrides);
}

/* SPDX-License-Identifier: Apache-2.0
 * Control of a run. A command ends the call of the engine that is going on, as
 * a signal would, so that it is taken over after the current burst however long
 * a piece is; `status` is answered from the figures of the last piece.
 */
#include "tools/control/run_control.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "tools/control/control_server.h"
#include "tools/run/run_job.h"

/* How often figures are renewed, over how long a rate is taken, and how long a
 * paused run sleeps before it looks again: ns. */
static const uint64_t renew_ns = 20000000;
static const uint64_t rate_ns = 1000000000;
static const uint64_t nap_ns = 20000000;

/* Set by the server's thread, taken by the burst loop. One run a process. */
static uint32_t wanted;

typedef struct control_figures {
    uint64_t burst;
    uint64_t spikes;
    uint64_t at_ns;
    double bursts_per_s;
    bool paused;
    uint32_t n_swaps;
    uint32_t n_failovers;
    char backend[64];
} control_figures;

struct run_control {
    run_job *job; /* what does not change while it runs */
    control_listener listener;
    control_server *server;
    uint64_t begin_ns;
    pthread_mutex_t lock; /* of the figures */
    control_figures figures;

    bool paused; /* from here on the burst loop's */
    bool stopped;
    uint64_t next_ns; /* when figures are due */
    uint64_t mark_ns; /* since when the rate is taken, and its burst */
    uint64_t mark_burst;
    uint64_t first_burst;
};

static const tool_option options[] = {
    {"control", 0, false, TOOL_TEXT, "PATH|off",
     "socket of volley ctl; default: in the user's runtime folder", 0, 0},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

static vly_status read_options(run_job *job, const tool_args *args,
                               vly_error *error)
{
    const char *control = tool_text(args, "control");
    job->plan.control = control != NULL ? control : "";
    if (control != NULL && control[0] == '\0')
        return vly_fail(error, VLY_E_INVALID,
                        "--control is empty, wanted a path or off");
    return VLY_OK;
}

static bool wants(void)
{
    return __atomic_load_n(&wanted, __ATOMIC_ACQUIRE) != 0;
}

/* ---- answers ---------------------------------------------------------- */

/* The text for vly_free; NULL without memory. */
static char *take_text(json_writer *json)
{
    const char *text = json_finish(json, &(size_t){0});
    char *copy = text != NULL ? vly_strdup(text) : NULL;
    json_deinit(json);
    return copy;
}

static char *refusal(const vly_error *why)
{
    json_writer json;
    json_init(&json, false);
    json_object(&json, NULL);
    json_bool(&json, "ok", false);
    json_text(&json, "status", vly_status_name(why->status));
    json_i64(&json, "exit_code", vly_status_exit_code(why->status));
    json_text(&json, "error", why->message);
    json_object_end(&json);
    return take_text(&json);
}

static void begin_answer(const run_control *control, json_writer *json)
{
    json_init(json, false);
    json_object(json, NULL);
    json_bool(json, "ok", true);
    json_u64(json, "burst", vly_net_burst(control->job->net));
    json_bool(json, "paused", control->paused);
}

/* [server's thread] */
static char *status_answer(run_control *control)
{
    const run_job *job = control->job;
    uint64_t now = vly_clock_ns();
    json_writer json;
    pthread_mutex_lock(&control->lock);
    const control_figures figures = control->figures;
    pthread_mutex_unlock(&control->lock);
    json_init(&json, false);
    json_object(&json, NULL);
    json_bool(&json, "ok", true);
    json_i64(&json, "pid", (int64_t)getpid());
    json_text(&json, "genome", job->plan.path);
    json_text(&json, "backend", figures.backend);
    json_u64(&json, "burst", figures.burst);
    json_u64(&json, "bursts", job->plan.n_bursts);
    json_number(&json, "bursts_per_s", figures.bursts_per_s);
    json_u64(&json, "spikes", figures.spikes);
    json_bool(&json, "paused", figures.paused);
    json_u64(&json, "swaps", figures.n_swaps);
    json_u64(&json, "failovers", figures.n_failovers);
    json_number(&json, "elapsed_s", (double)(now - control->begin_ns) * 1e-9);
    json_number(&json, "age_s", (double)(now - figures.at_ns) * 1e-9);
    json_object_end(&json);
    return take_text(&json);
}

/* ---- lines ------------------------------------------------------------ */

/* "swap cpu:4": the rest behind the word and spaces; NULL: another word. */
static const char *argument_of(const char *line, const char *word)
{
    size_t n = strlen(word);
    if (strncmp(line, word, n) != 0 || (line[n] != ' ' && line[n] != '\0'))
        return NULL;
    return line + n + strspn(line + n, " ");
}

static bool is_word(const char *line, const char *word)
{
    return strcmp(line, word) == 0;
}

/* [server's thread] */
static char *monitor_answer(run_control *control, const char *word)
{
    vly_error why = VLY_ERROR_INIT;
    if (control->job->monitor == NULL || !run_monitor_watches(control->job)) {
        vly_fail(&why, VLY_E_INVALID,
                 "monitor: nothing watches this run, wanted one with "
                 "--monitor");
        return refusal(&why);
    }
    if (is_word(word, "pause") || is_word(word, "resume") ||
        is_word(word, "status") || is_word(word, ""))
        return run_monitor_line(control->job, word);
    vly_fail(&why, VLY_E_INVALID,
             "monitor \"%.40s\": wanted pause, resume or status", word);
    return refusal(&why);
}

/* [server's thread] */
static char *on_line(void *arg, const char *line, bool *later)
{
    static const char *const words[] = {"pause", "resume", "checkpoint",
                                        "stop"};
    run_control *control = arg;
    vly_error why = VLY_ERROR_INIT;
    const char *target = argument_of(line, "swap");
    const char *monitor = argument_of(line, "monitor");
    if (is_word(line, "status"))
        return status_answer(control);
    if (monitor != NULL)
        return monitor_answer(control, monitor);
    *later = target != NULL && target[0] != '\0';
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        *later = *later || is_word(line, words[i]);
    if (*later) {
        __atomic_store_n(&wanted, 1u, __ATOMIC_RELEASE);
        vly_net_stop(control->job->net);
        return NULL;
    }
    vly_fail(&why, VLY_E_INVALID,
             "\"%.40s\" is no command, wanted status, pause, resume, swap "
             "BACKEND, checkpoint, stop or monitor pause|resume|status",
             line);
    return refusal(&why);
}

/* ---- commands [burst loop] -------------------------------------------- */

static char *do_swap(run_control *control, const char *backend,
                     vly_status *status, vly_error *error)
{
    const run_swap *swap = NULL;
    vly_error why = VLY_ERROR_INIT;
    json_writer json;
    vly_status done = run_swap_add(control->job, backend, &swap, &why);
    if (done != VLY_OK && swap != NULL) { /* the run cannot go on */
        *status = done;
        *error = why;
    }
    if (done != VLY_OK)
        return refusal(&why);
    if (!swap->done) {
        vly_fail(&why, swap->status, "the run goes on on %s: %s", swap->from,
                 swap->reason != NULL ? swap->reason : "out of memory");
        return refusal(&why);
    }
    begin_answer(control, &json);
    json_text(&json, "from", swap->from);
    json_text(&json, "to", swap->to);
    json_number(&json, "seconds", swap->seconds);
    json_object_end(&json);
    return take_text(&json);
}

static char *do_checkpoint(run_control *control)
{
    vly_error why = VLY_ERROR_INIT;
    json_writer json;
    if (run_checkpoint_now(control->job, &why) != VLY_OK)
        return refusal(&why);
    begin_answer(control, &json);
    json_object_end(&json);
    return take_text(&json);
}

/* *status: what ends the run, not what was refused. */
static char *do_line(run_control *control, const char *line, vly_status *status,
                     vly_error *error)
{
    const char *target = argument_of(line, "swap");
    json_writer json;
    if (target != NULL)
        return do_swap(control, target, status, error);
    if (is_word(line, "checkpoint"))
        return do_checkpoint(control);
    if (is_word(line, "stop")) {
        control->stopped = true;
        control->job->result.stopped_by = "volley ctl";
        *status = VLY_E_STOPPED;
    } else {
        control->paused = is_word(line, "pause");
    }
    run_folder_event(control->job, "ctl", line);
    begin_answer(control, &json);
    json_object_end(&json);
    return take_text(&json);
}

static vly_status do_lines(run_control *control, vly_error *error)
{
    char line[CONTROL_LINE_BYTES];
    uint64_t ticket = 0;
    vly_status status = VLY_OK;
    while (status == VLY_OK &&
           control_server_take(control->server, line, &ticket)) {
        char *answer = do_line(control, line, &status, error);
        control_server_answer(control->server, ticket, answer);
    }
    return status;
}

/* ---- figures ---------------------------------------------------------- */

static uint64_t count_spikes(const run_job *job)
{
    uint64_t sum = 0;
    for (uint32_t a = 0; a < job->build.connectome->desc.n_areas; a++) {
        vly_area_stats area = {.struct_size = sizeof area};
        if (vly_net_area_stats(job->net, a, &area) == VLY_OK)
            sum += area.spikes;
    }
    return sum;
}

static uint32_t count_swaps(const run_job *job)
{
    const run_swap *swap;
    uint32_t n = 0;
    for (uint32_t k = 0; (swap = run_swap_at(job, k)) != NULL; k++)
        n += swap->done;
    return n;
}

static void renew(run_control *control, uint64_t now)
{
    const run_job *job = control->job;
    control_figures figures = control->figures;
    uint64_t since = now - control->mark_ns;
    figures.burst = vly_net_burst(job->net);
    figures.spikes = count_spikes(job);
    figures.at_ns = now;
    figures.paused = control->paused;
    figures.n_swaps = count_swaps(job);
    figures.n_failovers = run_failover_count(job);
    memcpy(figures.backend, job->result.stats.backend, sizeof figures.backend);
    /* in the first second: of what there is */
    if (since >= rate_ns || control->mark_burst == control->first_burst)
        figures.bursts_per_s = (double)(figures.burst - control->mark_burst) /
                               ((double)(since + 1) * 1e-9);
    if (control->paused)
        figures.bursts_per_s = 0;
    if (since >= rate_ns || control->paused) {
        control->mark_ns = now;
        control->mark_burst = figures.burst;
    }
    pthread_mutex_lock(&control->lock);
    control->figures = figures;
    pthread_mutex_unlock(&control->lock);
    control->next_ns = now + renew_ns;
}

/* ---- the burst loop --------------------------------------------------- */

static void nap(void)
{
    const struct timespec time = {0, (long)nap_ns};
    nanosleep(&time, NULL); /* a signal ends it early */
}

/* Until it may go on. A schedule of bursts moves by as much. */
static vly_status stay_paused(run_control *control, vly_error *error)
{
    run_job *job = control->job;
    uint64_t begin = vly_clock_ns();
    vly_status status = VLY_OK;
    while (control->paused && status == VLY_OK) {
        renew(control, vly_clock_ns());
        nap();
        if (tool_signals_stopped())
            status = VLY_E_STOPPED;
        else if (__atomic_exchange_n(&wanted, 0u, __ATOMIC_ACQ_REL) != 0)
            status = do_lines(control, error);
    }
    uint64_t spent = vly_clock_ns() - begin;
    run_parts_stood(job, spent);
    job->result.paused_s += (double)spent * 1e-9;
    return status;
}

/* In real time a run may now wait for longer than figures may be old. */
static bool will_wait(const run_job *job, uint64_t now)
{
    return job->control->figures.burst != vly_net_burst(job->net) &&
           run_parts_next_ns(job) > now + renew_ns / 2;
}

static vly_status between(run_job *job, vly_error *error)
{
    run_control *control = job->control;
    vly_status status = VLY_OK;
    if (control == NULL)
        return VLY_OK;
    bool asked = __atomic_exchange_n(&wanted, 0u, __ATOMIC_ACQ_REL) != 0;
    if (asked)
        status = do_lines(control, error);
    if (status == VLY_OK && control->paused)
        status = stay_paused(control, error);
    uint64_t now = vly_clock_ns();
    if (asked || now >= control->next_ns || will_wait(job, now))
        renew(control, now);
    return status;
}

void run_control_pause(run_job *job)
{
    if (job->control != NULL)
        job->control->paused = true;
}

/* ---- begin and end ---------------------------------------------------- */

static bool is_off(const run_plan *plan)
{
    return plan->control == NULL || strcmp(plan->control, "off") == 0;
}

static vly_status check(run_job *job, vly_error *error)
{
    const run_plan *plan = &job->plan;
    if (is_off(plan) || plan->control[0] == '\0')
        return VLY_OK;
    return control_check(plan->control, error);
}

static vly_status listen_somewhere(const run_plan *plan,
                                   control_listener *listener, vly_error *error)
{
    char path[CONTROL_PATH_BYTES];
    if (plan->control[0] != '\0')
        return control_listen(plan->control, listener, error);
    vly_status status =
        control_path(true, (int64_t)getpid(), path, sizeof path, error);
    if (status != VLY_OK)
        return status;
    return control_listen(path, listener, error);
}

static vly_status open_control(run_job *job, vly_error *error)
{
    control_listener listener;
    vly_status status = listen_somewhere(&job->plan, &listener, error);
    if (status != VLY_OK)
        return status;
    run_control *made = vly_calloc(1, sizeof *made);
    if (made == NULL) {
        control_unlisten(&listener);
        return vly_fail_nomem(error, sizeof *made, "control");
    }
    made->job = job;
    made->listener = listener;
    made->begin_ns = vly_clock_ns();
    made->mark_ns = made->begin_ns;
    made->mark_burst = vly_net_burst(job->net);
    made->first_burst = made->mark_burst;
    pthread_mutex_init(&made->lock, NULL);
    renew(made, made->begin_ns);
    status = control_server_open(&made->listener, on_line, made, &made->server,
                                 error);
    job->control = made;
    if (status != VLY_OK)
        run_control_close(job);
    return status;
}

/* What was not asked for, the run gets along without. */
static vly_status open_or_tell(run_job *job, vly_error *error)
{
    const run_plan *plan = &job->plan;
    vly_error why = VLY_ERROR_INIT;
    if (is_off(plan))
        return VLY_OK;
    vly_status status = open_control(job, &why);
    if (status == VLY_OK)
        return VLY_OK;
    if (plan->control[0] != '\0')
        return vly_fail(error, status, "--control: %s", why.message);
    if (!plan->quiet)
        tool_message("this run cannot be controlled: %s", why.message);
    return VLY_OK;
}

void run_control_close(run_job *job)
{
    static const char last[] =
        "{\"ok\":false,\"status\":\"E_STOPPED\",\"exit_code\":6,"
        "\"error\":\"the run has ended\"}\n";
    run_control *control = job->control;
    if (control == NULL)
        return;
    control_server_close(control->server, last);
    control_unlisten(&control->listener);
    pthread_mutex_destroy(&control->lock);
    vly_free(control);
    job->control = NULL;
    __atomic_store_n(&wanted, 0u, __ATOMIC_RELEASE);
}

const run_part run_part_control = {
    .name = "control",
    .help = 4,
    .options = options,
    .read = read_options,
    /* after what its clients may ask */
    .at = {[RUN_CHECK] = check,
           [RUN_READY] = open_or_tell,
           [RUN_BETWEEN] = between},
    .wants = wants,
};

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
#include "tools/run/run_change.h"
#include "tools/run/run_failover.h"
#include "tools/run/run_job.h"
#include "tools/run/run_part.h"
#include "tools/run/run_swap.h"

/* Interval between updates of the figures, interval over which a rate is
 * measured, and sleep of a paused run between two checks: ns. */
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
    run_job *job; /* constant during the run */
    control_listener listener;
    control_server *server;
    uint64_t begin_ns;
    pthread_mutex_t lock; /* of the figures */
    control_figures figures;

    bool paused; /* from here on used by the burst loop only */
    bool stopped;
    uint64_t next_ns; /* when figures are due */
    uint64_t mark_ns; /* begin of the rate interval, and its burst */
    uint64_t mark_burst;
    uint64_t first_burst;
};

typedef struct control_part {
    const char *path;     /* see run_control_path */
    run_control *control; /* NULL: none */
} control_part;

static control_part *of(const run_job *job)
{
    return run_part_state(job, RUN_PART_control);
}

const char *run_control_path(const run_job *job)
{
    return of(job)->path;
}

bool run_control_is_open(const run_job *job)
{
    return of(job)->control != NULL;
}

static const tool_option options[] = {
    {"control", 0, false, TOOL_TEXT, "PATH|off",
     "socket of volley ctl; default: in the user's runtime folder", 0, 0},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

static vly_status read_options(run_job *job, const tool_args *args,
                               vly_error *error)
{
    const char *control = tool_text(args, "control");
    of(job)->path = control ? control : "";
    if (control && control[0] == '\0')
        return vly_fail(error, VLY_E_INVALID,
                        "--control is empty, wanted a path or off");
    return VLY_OK;
}

static bool wants(void)
{
    return __atomic_load_n(&wanted, __ATOMIC_ACQUIRE) != 0;
}

/* ---- answers ---------------------------------------------------------- */

/* The text, to be freed with vly_free; NULL if memory ran out. */
static char *take_text(json_writer *json)
{
    const char *text = json_finish(json, &(size_t){0});
    char *copy = text ? vly_strdup(text) : NULL;
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

static bool is_word(const char *line, const char *word)
{
    return strcmp(line, word) == 0;
}

/* Asks the parts that answer at once; false: no part does. [server's thread] */
static bool ask_parts(run_control *control, const char *line, char **answer)
{
    vly_error why = VLY_ERROR_INIT;
    json_writer json;
    json_init(&json, false);
    json_object(&json, NULL);
    json_bool(&json, "ok", true);
    if (!run_parts_ask(control->job, line, &json, &why)) {
        json_deinit(&json);
        return false;
    }
    json_object_end(&json);
    *answer = take_text(&json);
    if (why.status != VLY_OK) {
        vly_free(*answer);
        *answer = refusal(&why);
    }
    return true;
}

static bool is_own(const char *line)
{
    return is_word(line, "pause") || is_word(line, "resume") ||
           is_word(line, "stop");
}

/* [server's thread] */
static char *on_line(void *arg, const char *line, bool *later)
{
    run_control *control = arg;
    vly_error why = VLY_ERROR_INIT;
    const char *argument;
    char *answer = NULL;
    if (is_word(line, "status"))
        return status_answer(control);
    if (ask_parts(control, line, &answer))
        return answer;
    *later = is_own(line) || run_parts_command(line, &argument);
    if (*later) {
        __atomic_store_n(&wanted, 1u, __ATOMIC_RELEASE);
        vly_net_stop(control->job->net);
        return NULL;
    }
    vly_fail(&why, VLY_E_INVALID,
             "\"%.40s\" is not a command, wanted status, pause, resume, swap "
             "BACKEND, set PATH=VALUE, checkpoint, stop or monitor "
             "pause|resume|status",
             line);
    return refusal(&why);
}

/* ---- commands [burst loop] -------------------------------------------- */

/* *status: an error that ends the run, not a refusal. */
static char *obey(run_control *control, const run_part *part,
                  const char *argument, vly_status *status, vly_error *error)
{
    vly_error why = VLY_ERROR_INIT;
    json_writer json;
    begin_answer(control, &json);
    *status = part->obey(control->job, argument, &json, &why);
    if (*status != VLY_OK)
        *error = why;
    json_object_end(&json);
    char *answer = take_text(&json);
    if (why.status == VLY_OK)
        return answer;
    vly_free(answer);
    return refusal(&why);
}

static char *do_line(run_control *control, const char *line, vly_status *status,
                     vly_error *error)
{
    const char *argument = "";
    const run_part *part = run_parts_command(line, &argument);
    json_writer json;
    if (part)
        return obey(control, part, argument, status, error);
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
    const uint32_t n_areas =
        tool_connectome_info(job->build.connectome).n_areas;
    for (uint32_t a = 0; a < n_areas; a++) {
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
    /* in the first second: over the time so far */
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

/* Waits until the run may continue. The schedule of bursts moves by the same
 * time. */
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

/* A run in real time may now wait longer than the interval of the figures. */
static bool will_wait(const run_job *job, uint64_t now)
{
    return of(job)->control->figures.burst != vly_net_burst(job->net) &&
           run_parts_next_ns(job) > now + renew_ns / 2;
}

static vly_status between(run_job *job, vly_error *error)
{
    run_control *control = of(job)->control;
    vly_status status = VLY_OK;
    if (!control)
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
    if (of(job)->control)
        of(job)->control->paused = true;
}

/* ---- begin and end ---------------------------------------------------- */

static bool is_off(const char *path)
{
    return !path || strcmp(path, "off") == 0;
}

static vly_status check(run_job *job, vly_error *error)
{
    const char *path = of(job)->path;
    if (is_off(path) || path[0] == '\0')
        return VLY_OK;
    return control_check(path, error);
}

static vly_status listen_somewhere(const char *asked,
                                   control_listener *listener, vly_error *error)
{
    char path[CONTROL_PATH_BYTES];
    if (asked[0] != '\0')
        return control_listen(asked, listener, error);
    vly_status status = VLY_OK;
    VLY_TRY(control_path(true, (int64_t)getpid(), path, sizeof path, error));
    return control_listen(path, listener, error);
out:
    return status;
}

static vly_status close_control(run_job *job, vly_error *error)
{
    static const char last[] =
        "{\"ok\":false,\"status\":\"E_STOPPED\",\"exit_code\":6,"
        "\"error\":\"the run has ended\"}\n";
    run_control *control = of(job)->control;
    (void)error;
    if (!control)
        return VLY_OK;
    control_server_close(control->server, last);
    control_unlisten(&control->listener);
    pthread_mutex_destroy(&control->lock);
    vly_free(control);
    of(job)->control = NULL;
    __atomic_store_n(&wanted, 0u, __ATOMIC_RELEASE);
    return VLY_OK;
}

static vly_status open_control(run_job *job, vly_error *error)
{
    control_listener listener;
    vly_status status = VLY_OK;
    VLY_TRY(listen_somewhere(of(job)->path, &listener, error));
    run_control *made = vly_calloc(1, sizeof *made);
    if (!made) {
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
    of(job)->control = made;
    if (status != VLY_OK)
        (void)close_control(job, NULL);
out:
    return status;
}

/* The default socket is optional: if it cannot be opened, the run continues
 * without one. */
static vly_status open_or_tell(run_job *job, vly_error *error)
{
    const char *path = of(job)->path;
    vly_error why = VLY_ERROR_INIT;
    if (is_off(path))
        return VLY_OK;
    vly_status status = open_control(job, &why);
    if (status == VLY_OK)
        return VLY_OK;
    if (path[0] != '\0')
        return vly_fail(error, status, "--control: %s", why.message);
    if (!job->plan.quiet)
        tool_message("this run cannot be controlled: %s", why.message);
    return VLY_OK;
}

/* "": in the user's runtime folder, "off": none */
static void put_path(const run_job *job, json_writer *json)
{
    json_text(json, "control", of(job)->path);
}

/* A client may change parameters. */
static bool whole(const run_job *job)
{
    return strcmp(of(job)->path, "off") != 0 &&
           run_change_reads_synapses(job->build.genome);
}

const run_part run_part_control = {
    .name = "control",
    .state_bytes = sizeof(control_part),
    .help = 5,
    .options = options,
    .read = read_options,
    /* after the parts that its clients may ask */
    .at = {[RUN_CHECK] = check,
           [RUN_OPEN] = open_or_tell,
           [RUN_BETWEEN] = between},
    .wants = wants,
    .whole = whole,
    .end = close_control,
    .json = {[RUN_MANIFEST_FIRST] = put_path},
};

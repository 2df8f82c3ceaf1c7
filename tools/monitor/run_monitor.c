/* SPDX-License-Identifier: Apache-2.0
 * A run that is watched by a model. The watcher's thread writes and tells; what
 * changes the run (a checkpoint, a pause) is left to the burst loop, as with
 * `volley ctl`.
 */
#include "tools/monitor/run_monitor.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "monitor/watcher_model.h"
#include "tools/control/run_control.h"
#include "tools/monitor/monitor_metrics.h"
#include "tools/monitor/run_alarm.h"
#include "tools/monitor/run_monitor_figures.h"
#include "tools/run/run_checkpoint.h"
#include "tools/run/run_job.h"
#include "tools/watch/run_watch.h"

/* Actions for the burst loop, RUN_MONITOR_*. One run a process. */
static uint32_t wanted;

struct run_monitor {
    run_job *job;
    char model[4096];
    vly_watcher_rwkv *rwkv;
    vly_gate *gate;
    vly_watcher *watcher;
    run_monitor_figures figures; /* once it has ended */
    uint64_t begin_ns;
    watch_devices *devices; /* samples of devices for the watcher; NULL: none */
    run_alarm alarm;        /* used by the watcher's thread until it has
                             * ended */
    uint64_t n_checkpoints;
    uint64_t n_failed; /* of these */
    uint64_t n_pauses;

    /* protects watcher and figures against other threads; never held around a
     * call that may wait */
    pthread_mutex_t ends;
};

bool run_monitor_wanted(void)
{
    return __atomic_load_n(&wanted, __ATOMIC_ACQUIRE) != 0;
}

/* ---- the model ----------------------------------------------------------- */

static vly_status load(run_job *job, run_monitor *made, vly_error *error)
{
    const run_monitor_plan *plan = &run_monitor_state(job)->plan;
    vly_error why = VLY_ERROR_INIT;
    vly_status status = VLY_OK;
    if (plan->model)
        snprintf(made->model, sizeof made->model, "%s", plan->model);
    else
        VLY_TRY(run_monitor_shipped(made->model, sizeof made->model, error));
    status = vly_watcher_rwkv_open(job->registry, made->model, plan->device,
                                   &made->rwkv, &why);
    /* an error of the model begins with its file name */
    if (status != VLY_OK && plan->device_given &&
        strncmp(why.message, made->model, strlen(made->model)) != 0)
        status = vly_fail(error, status, "--monitor-device %s: %s",
                          plan->device, why.message);
    else if (status != VLY_OK)
        *error = why;
out:
    return status;
}

/* A model or a device was named: then a failure is an error. */
static bool is_asked_for(const run_monitor_plan *plan)
{
    return plan->model || plan->device_given;
}

static void go_on_without(run_monitor *monitor, const vly_error *why)
{
    monitor->figures.watched.failure = *why;
    tool_message("the run continues without the monitor: %s", why->message);
}

vly_status run_monitor_load(run_job *job, vly_error *error)
{
    const run_monitor_plan *plan = &run_monitor_state(job)->plan;
    vly_error why = VLY_ERROR_INIT;
    if (!plan->wanted)
        return VLY_OK;
    vly_status status = VLY_OK;
    VLY_TRY(run_monitor_actions(plan,
                                run_checkpoint_state(job)->plan.path != NULL,
                                run_control_path(job), error));
    run_monitor *made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "the monitor");
    made->job = job;
    made->alarm.failure.struct_size = sizeof made->alarm.failure;
    made->figures.watched.failure.struct_size = sizeof(vly_error);
    pthread_mutex_init(&made->ends, NULL);
    run_monitor_state(job)->monitor = made;
    status = load(job, made, &why);
    if (status == VLY_OK)
        return VLY_OK;
    if (is_asked_for(plan)) {
        *error = why;
        return status;
    }
    go_on_without(made, &why);
    return VLY_OK;
out:
    return status;
}

/* ---- callbacks of the watcher -------------------------------------------- */

static bool tell_device(void *context, uint64_t *values)
{
    run_monitor *monitor = context;
    return watch_devices_values(monitor->devices, values);
}

/* [watcher's thread; from run_monitor_close the burst loop's] */
static void on_anomaly(void *context, const vly_anomaly *anomaly)
{
    run_monitor *monitor = context;
    const run_plan *plan = &monitor->job->plan;
    const run_monitor_plan *asked = &run_monitor_state(monitor->job)->plan;
    const uint32_t actions =
        asked->actions & (RUN_MONITOR_CHECKPOINT | RUN_MONITOR_PAUSE);
    char *text = run_alarm_text(run_watch_state(monitor->job)->watch, anomaly);
    if (!plan->quiet)
        tool_message("anomaly: %s%s%s", anomaly->text,
                     anomaly->cause ? "; likely: " : "",
                     anomaly->cause ? anomaly->cause : "");
    if (text) {
        run_alarm_write(&monitor->alarm, text);
        run_watch_note(run_watch_state(monitor->job)->watch, text);
        if (asked->actions & RUN_MONITOR_COMMAND)
            run_alarm_command(&monitor->alarm, text);
    }
    vly_free(text);
    if (actions == 0)
        return;
    (void)__atomic_fetch_or(&wanted, actions, __ATOMIC_RELEASE);
    vly_net_stop(monitor->job->net); /* after the current burst */
}

/* ---- the burst loop ------------------------------------------------------ */

void run_monitor_before(const run_job *job)
{
    if (run_monitor_state(job)->monitor)
        vly_gate_burst_begin(run_monitor_state(job)->monitor->gate);
}

void run_monitor_after(const run_job *job, uint64_t next_ns)
{
    if (!run_monitor_state(job)->monitor)
        return;
    vly_gate_burst_end(run_monitor_state(job)->monitor->gate, next_ns);
    if (next_ns == 0)
        (void)vly_gate_offer(run_monitor_state(job)->monitor->gate);
}

static void make_checkpoint(run_monitor *monitor)
{
    run_job *job = monitor->job;
    vly_error why = VLY_ERROR_INIT;
    if (run_checkpoint_now(job, &why) == VLY_OK) {
        monitor->n_checkpoints++;
        return;
    }
    monitor->n_failed++;
    tool_message("--on-anomaly checkpoint: %s", why.message);
    run_folder_event(job, "warn", why.message);
}

void run_monitor_between(run_job *job)
{
    run_monitor *monitor = run_monitor_state(job)->monitor;
    if (!monitor || !monitor->watcher)
        return;
    const uint32_t actions = __atomic_exchange_n(&wanted, 0u, __ATOMIC_ACQ_REL);
    if (actions & RUN_MONITOR_CHECKPOINT)
        make_checkpoint(monitor);
    if (actions & RUN_MONITOR_PAUSE) {
        monitor->n_pauses++;
        run_folder_event(job, "monitor", "pause");
        if (!job->plan.quiet)
            tool_message("paused by the monitor; volley ctl %ld resume",
                         (long)getpid());
        run_control_pause(job);
    }
}

/* ---- begin and end ------------------------------------------------------- */

static vly_status open_file(run_job *job, vly_error *error)
{
    bool resumes = false;
    if (!job->plan.folder)
        return VLY_OK;
    char *path = run_folder_path(job->plan.folder, "monitor.jsonl");
    if (!path)
        return vly_fail_nomem(error, 4096, "a file name");
    vly_status status =
        run_folder_lines(job, path, &resumes,
                         &run_monitor_state(job)->monitor->alarm.writer, error);
    vly_free(path);
    return status;
}

static vly_status begin(run_job *job, vly_error *error)
{
    run_monitor *monitor = run_monitor_state(job)->monitor;
    const run_monitor_plan *plan = &run_monitor_state(job)->plan;
    vly_status status = VLY_OK;
    const bool on_host = vly_watcher_rwkv_on_host(monitor->rwkv);
    const vly_gate_options gate = run_monitor_gate(job, on_host);
    const watch_net *net = run_watch_net(run_watch_state(job)->watch);
    monitor->alarm.command = plan->command;
    __atomic_store_n(&wanted, 0u, __ATOMIC_RELEASE);
    VLY_TRY(open_file(job, error));
    VLY_TRY(vly_gate_create(&gate, &monitor->gate, error));
    VLY_TRY(watch_devices_open(run_watch_devices(run_watch_state(job)->watch),
                               &monitor->devices, error));
    const vly_watcher_options options = {
        .ring = run_watch_ring(run_watch_state(job)->watch),
        .areas = net->areas,
        .gate = monitor->gate,
        .wall = !on_host,
        .model = vly_watcher_rwkv_model(monitor->rwkv),
        .tails = vly_watcher_rwkv_tails(monitor->rwkv),
        .device_tails = vly_watcher_rwkv_device_tails(monitor->rwkv),
        .alarms_an_hour = plan->alarms,
        .record_s = run_watch_state(job)->plan.every_ms * 1e-3,
        .n_device = watch_devices_count(monitor->devices),
        .device = monitor->devices ? tell_device : NULL,
        .device_names = watch_devices_names(monitor->devices),
        .on_anomaly = on_anomaly,
        .context = monitor};
    monitor->begin_ns = vly_clock_ns();
    vly_watcher *watcher = NULL;
    VLY_TRY(vly_watcher_create(&options, &watcher, error));
    pthread_mutex_lock(&monitor->ends);
    monitor->watcher = watcher;
    pthread_mutex_unlock(&monitor->ends);
out:
    return status;
}

/* Frees the model too: figures are those of a run without a monitor. */
static void drop(run_monitor *monitor)
{
    vly_writer_abandon(monitor->alarm.writer);
    monitor->alarm.writer = NULL;
    watch_devices_close(monitor->devices);
    monitor->devices = NULL;
    vly_gate_destroy(monitor->gate);
    monitor->gate = NULL;
    vly_watcher_rwkv_close(monitor->rwkv);
    monitor->rwkv = NULL;
}

vly_status run_monitor_open(run_job *job, vly_error *error)
{
    run_monitor *monitor = run_monitor_state(job)->monitor;
    vly_error why = VLY_ERROR_INIT;
    if (!monitor || !monitor->rwkv)
        return VLY_OK;
    vly_status status = begin(job, &why);
    if (status == VLY_OK)
        return VLY_OK;
    /* missing memory or threads: the run continues without it; a failure of its
     * file is one of the run */
    if (status == VLY_E_IO || is_asked_for(&run_monitor_state(job)->plan)) {
        *error = why;
        return status;
    }
    drop(monitor);
    go_on_without(monitor, &why);
    return VLY_OK;
}

vly_status run_monitor_begin(run_job *job, vly_error *error)
{
    vly_writer *writer = run_monitor_state(job)->monitor
                             ? run_monitor_state(job)->monitor->alarm.writer
                             : NULL;
    return writer ? vly_writer_flush(writer, error) : VLY_OK;
}

vly_status run_monitor_check(const run_job *job, vly_error *error)
{
    if (!run_monitor_watches(job) || run_control_is_open(job) ||
        !(run_monitor_state(job)->plan.actions & RUN_MONITOR_PAUSE))
        return VLY_OK;
    return vly_fail(error, VLY_E_IO,
                    "--on-anomaly pause: this run has no control socket, so "
                    "it could not be resumed");
}

bool run_monitor_watches(const run_job *job)
{
    return run_monitor_state(job)->monitor &&
           run_monitor_state(job)->monitor->watcher;
}

/* Present figures during the run, final figures afterwards. */
static void put_figures(const run_monitor *monitor,
                        const run_monitor_figures *figures, json_writer *json)
{
    json_text(json, "model", monitor->model);
    json_text(json, "device", run_monitor_state(monitor->job)->plan.device);
    run_monitor_figures_json(figures, json);
}

/* The last line of monitor.jsonl, and one of telemetry. */
static void note_figures(run_monitor *monitor)
{
    json_writer json;
    watch_when now = {0, 0};
    run_watch_clock(monitor->job, &now.at_ns, &now.unix_ns);
    json_init(&json, false);
    json_object(&json, NULL);
    watch_time_json(run_watch_state(monitor->job)->watch, now, &json);
    json_u64(&json, "burst", vly_net_burst(monitor->job->net));
    json_object(&json, "monitor");
    put_figures(monitor, &monitor->figures, &json);
    json_object_end(&json);
    json_object_end(&json);
    const char *text = json_finish(&json, &(size_t){0});
    if (text) {
        run_alarm_write(&monitor->alarm, text);
        run_watch_note(run_watch_state(monitor->job)->watch, text);
    }
    json_deinit(&json);
}

vly_status run_monitor_close(run_job *job, vly_error *error)
{
    run_monitor *monitor = run_monitor_state(job)->monitor;
    if (!monitor || !monitor->watcher)
        return VLY_OK;
    vly_watcher *watcher = monitor->watcher;
    run_monitor_figures figures = {
        .seconds = (double)(vly_clock_ns() - monitor->begin_ns) * 1e-9,
        .every_ms = run_watch_state(job)->plan.every_ms};
    vly_gate_usage_get(monitor->gate, &figures.usage); /* only of the run */
    vly_watcher_end(watcher);
    vly_watcher_figures_get(watcher, &figures.watched);
    pthread_mutex_lock(&monitor->ends);
    monitor->figures = figures;
    monitor->watcher = NULL;
    pthread_mutex_unlock(&monitor->ends);
    note_figures(monitor);
    vly_watcher_destroy(watcher);
    watch_devices_close(monitor->devices);
    monitor->devices = NULL;
    run_alarm_end(&monitor->alarm);
    if (figures.watched.failure.status != VLY_OK)
        tool_message("the monitor ended early: %s",
                     figures.watched.failure.message);
    vly_status status = monitor->alarm.failure.status;
    if (status != VLY_OK && error)
        *error = monitor->alarm.failure;
    if (!job->began)
        vly_writer_cancel(monitor->alarm.writer);
    vly_status closed = vly_writer_close(monitor->alarm.writer,
                                         status == VLY_OK ? error : NULL);
    monitor->alarm.writer = NULL;
    return status != VLY_OK ? status : closed;
}

void run_monitor_deinit(run_job *job)
{
    run_monitor *monitor = run_monitor_state(job)->monitor;
    if (!monitor)
        return;
    (void)run_monitor_close(job, NULL);
    drop(monitor);
    pthread_mutex_destroy(&monitor->ends);
    vly_free(monitor);
    run_monitor_state(job)->monitor = NULL;
}

/* ---- output -------------------------------------------------------------- */

static void answer(run_job *job, const char *word, json_writer *json)
{
    run_monitor *monitor = run_monitor_state(job)->monitor;
    run_monitor_figures figures = {
        .seconds = (double)(vly_clock_ns() - monitor->begin_ns) * 1e-9,
        .every_ms = run_watch_state(job)->plan.every_ms};
    if (strcmp(word, "pause") == 0 || strcmp(word, "resume") == 0)
        vly_gate_pause(monitor->gate, word[0] == 'p');
    vly_watcher_figures_get(monitor->watcher, &figures.watched);
    vly_gate_usage_get(monitor->gate, &figures.usage);
    json_bool(json, "monitor_paused", figures.usage.paused);
    put_figures(monitor, &figures, json);
}

bool run_monitor_ask(run_job *job, const char *line, json_writer *json,
                     vly_error *why)
{
    static const char *const words[] = {"pause", "resume", "status", ""};
    const char *word = run_command_argument(line, "monitor");
    if (!word)
        return false;
    if (!run_monitor_watches(job)) {
        vly_fail(why, VLY_E_INVALID,
                 "monitor: nothing watches this run, wanted one with "
                 "--monitor");
        return true;
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(word, words[i]) == 0) {
            answer(job, word, json);
            return true;
        }
    vly_fail(why, VLY_E_INVALID,
             "monitor \"%.40s\": wanted pause, resume or status", word);
    return true;
}

char *run_monitor_metrics(run_job *job)
{
    run_monitor *monitor = run_monitor_state(job)->monitor;
    run_monitor_figures now;
    if (!monitor)
        return vly_strdup("");
    pthread_mutex_lock(&monitor->ends);
    const bool watches = monitor->watcher != NULL;
    now = monitor->figures;
    if (watches) {
        now.seconds = (double)(vly_clock_ns() - monitor->begin_ns) * 1e-9;
        vly_watcher_figures_get(monitor->watcher, &now.watched);
        vly_gate_usage_get(monitor->gate, &now.usage);
    }
    pthread_mutex_unlock(&monitor->ends);
    return monitor_metrics(&now, watches);
}

void run_monitor_print(const run_job *job)
{
    const run_monitor *monitor = run_monitor_state(job)->monitor;
    if (!monitor)
        return;
    if (monitor->rwkv)
        run_monitor_figures_print(&monitor->figures,
                                  run_monitor_state(job)->plan.device);
    else
        tool_print("monitor           none: %s\n",
                   monitor->figures.watched.failure.message);
}

void run_monitor_json(const run_job *job, json_writer *json)
{
    const run_monitor *monitor = run_monitor_state(job)->monitor;
    if (!monitor)
        return;
    json_object(json, "monitor");
    if (!monitor->rwkv) {
        json_text(json, "reason", monitor->figures.watched.failure.message);
    } else {
        put_figures(monitor, &monitor->figures, json);
        json_u64(json, "checkpoints", monitor->n_checkpoints);
        json_u64(json, "checkpoints_failed", monitor->n_failed);
        json_u64(json, "pauses", monitor->n_pauses);
        json_u64(json, "commands", monitor->alarm.n_commands);
        json_u64(json, "commands_skipped", monitor->alarm.n_skipped);
        json_u64(json, "commands_failed", monitor->alarm.n_failed);
        json_u64(json, "commands_left", monitor->alarm.n_left);
    }
    json_object_end(json);
}

/* SPDX-License-Identifier: Apache-2.0
 * The points of a sweep as processes: `volley run` with the point's settings.
 * A point that crashes, or for which there is no memory, ends alone, and every
 * message of a run is the one that a user would see.
 */
#include "tools/sweep/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "tools/cli/tool.h"

typedef struct sweep_crew {
    sweep_plan *plan;
    char command[PATH_MAX]; /* this program */
    uint64_t *running;      /* [n_jobs] points */
    uint32_t n_running;
    uint64_t n_ended; /* finished, failed or found */
} sweep_crew;

/* ---- one process ------------------------------------------------------ */

typedef struct sweep_call {
    char **words; /* ends with NULL; each owned */
    uint32_t n;
    bool failed;
} sweep_call;

static void add_word(sweep_call *call, char *word)
{
    char **grown = NULL;
    if (word)
        grown = vly_realloc(call->words, (size_t)call->n + 2, sizeof *grown);
    if (!grown) {
        vly_free(word);
        call->failed = true;
        return;
    }
    call->words = grown;
    grown[call->n++] = word;
    grown[call->n] = NULL;
}

static void call_deinit(sweep_call *call)
{
    for (uint32_t i = 0; i < call->n; i++)
        vly_free(call->words[i]);
    vly_free(call->words);
}

static vly_status make_call(const sweep_crew *crew, const sweep_point *point,
                            sweep_call *call, vly_error *error)
{
    const sweep_plan *plan = crew->plan;
    *call = (sweep_call){0};
    add_word(call, vly_strdup(crew->command));
    add_word(call, vly_strdup("run"));
    add_word(call, vly_strdup("--quiet"));
    add_word(call,
             vly_format("--json=%s/points/%s.json", plan->folder, point->name));
    add_word(call, vly_format("--backend=%s", plan->backend));
    add_word(call, vly_format("--threads=%" PRIu32, plan->n_threads));
    add_word(call, vly_format("--bursts=%" PRIu64, point->n_bursts));
    if (tool_has(plan->args, "summary-from"))
        add_word(call, vly_format("--summary-from=%s",
                                  tool_text(plan->args, "summary-from")));
    for (uint32_t a = 0; a < plan->n_axes; a++) {
        const char *path = plan->axes[a].path;
        const char *value = sweep_value(plan, point->index, a);
        if (path)
            add_word(call, vly_format("--set=%s=%s", path, value));
        else
            add_word(call, vly_format("--seed=%s", value));
    }
    add_word(call, vly_strdup("--"));
    add_word(call, vly_strdup(plan->path));
    if (!call->failed)
        return VLY_OK;
    call_deinit(call);
    return vly_fail_nomem(error, PATH_MAX, "the command of a point");
}

/* Runs in the child: only functions that are safe after fork may be called. */
static void become(const sweep_call *call, const char *messages)
{
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* the child ends if the sweep is
                                       * killed */
#endif
    int null = open("/dev/null", O_RDWR);
    int file = open(messages, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (null < 0 || file < 0 || dup2(null, STDIN_FILENO) < 0 ||
        dup2(null, STDOUT_FILENO) < 0 || dup2(file, STDERR_FILENO) < 0)
        _exit(TOOL_EXIT_IO);
    execv(call->words[0], call->words);
    _exit(TOOL_EXIT_IO);
}

static vly_status start(sweep_crew *crew, sweep_point *point, vly_error *error)
{
    sweep_call call;
    vly_status status = VLY_OK;
    VLY_TRY(make_call(crew, point, &call, error));
    char *messages = sweep_point_file(crew->plan, point, "err");
    if (!messages) {
        call_deinit(&call);
        return vly_fail_nomem(error, PATH_MAX, "a file name");
    }
    fflush(NULL); /* otherwise the child would print it again */
    point->begin_ns = vly_clock_ns();
    point->process = fork();
    if (point->process == 0)
        become(&call, messages);
    int why = errno;
    vly_free(messages);
    call_deinit(&call);
    if (point->process < 0)
        return vly_fail(error, VLY_E_IO, "no process for a point: %s",
                        strerror(why));
    point->state = SWEEP_RUNNING;
    crew->running[crew->n_running++] = point->index;
out:
    return status;
}

/* ---- how it ended ----------------------------------------------------- */

/* The last message of the process, without "volley: ". */
static char *last_message(const char *path)
{
    char text[4096];
    size_t n = 0;
    FILE *file = fopen(path, "rb");
    if (file) {
        if (fseek(file, -(long)(sizeof text - 1), SEEK_END) != 0)
            rewind(file);
        n = fread(text, 1, sizeof text - 1, file);
        fclose(file);
    }
    text[n] = '\0';
    char *found = NULL;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        if (strncmp(line, "volley: ", 8) == 0)
            found = line + 8;
    return found ? vly_strdup(found) : NULL;
}

/* Did the run end because this sweep was told to stop? The run ends by its own
 * exit code, or by the signal if that came before its handler was set. */
static bool ended_by_stop(int status)
{
    if (!tool_signals_stopped())
        return false;
    if (WIFEXITED(status))
        return WEXITSTATUS(status) == TOOL_EXIT_STOPPED;
    return WIFSIGNALED(status) &&
           (WTERMSIG(status) == SIGTERM || WTERMSIG(status) == SIGINT);
}

static void judge(const sweep_plan *plan, sweep_point *point, int status)
{
    json_value summary;
    char *path = sweep_point_file(plan, point, "err");
    bool exited = WIFEXITED(status);
    int code = exited ? WEXITSTATUS(status) : TOOL_EXIT_DEVICE;
    if (code == TOOL_EXIT_DONE && sweep_point_summary(plan, point, &summary)) {
        json_free(&summary);
        point->state = SWEEP_DONE;
        if (path)
            unlink(path);
    } else if (ended_by_stop(status)) {
        point->state = SWEEP_WAITING;
        if (path)
            unlink(path);
    } else {
        point->state = SWEEP_FAILED;
        point->code = code != TOOL_EXIT_DONE ? code : TOOL_EXIT_IO;
        if (!exited)
            point->reason =
                vly_format("the run was killed by signal %d", WTERMSIG(status));
        else if (path)
            point->reason = last_message(path);
        if (!point->reason)
            point->reason = vly_format("the run ended with exit code %d and "
                                       "left no summary of this genome",
                                       code);
    }
    vly_free(path);
}

static void tell(const sweep_crew *crew, const sweep_point *point)
{
    char text[1024];
    const sweep_plan *plan = crew->plan;
    sweep_point_text(plan, point, text, sizeof text);
    if (point->state == SWEEP_FAILED)
        tool_message("%" PRIu64 " of %" PRIu64 ": %s: failed: %s",
                     crew->n_ended, plan->n_points, text,
                     point->reason ? point->reason : "");
    else if (point->state == SWEEP_DONE && !point->found && !plan->quiet)
        tool_message(
            "%" PRIu64 " of %" PRIu64 ": %s: done in %s", crew->n_ended,
            plan->n_points, text,
            tool_seconds((double)(vly_clock_ns() - point->begin_ns) * 1e-9));
}

static void end_process(sweep_crew *crew, pid_t process, int status)
{
    for (uint32_t i = 0; i < crew->n_running; i++) {
        sweep_point *point = &crew->plan->points[crew->running[i]];
        if (point->process != process)
            continue;
        crew->running[i] = crew->running[--crew->n_running];
        judge(crew->plan, point, status);
        crew->n_ended += point->state != SWEEP_WAITING;
        tell(crew, point);
        return;
    }
}

/* Waits in short steps, because a signal to this process must be passed to the
 * others. */
static void wait_one(sweep_crew *crew, bool *told)
{
    const struct timespec pause = {0, 2000000};
    for (;;) {
        int status = 0;
        pid_t process = waitpid(-1, &status, WNOHANG);
        if (process > 0) {
            end_process(crew, process, status);
            return;
        }
        if (process < 0 && errno == ECHILD) { /* cannot happen; the loop ends in
                                               * any case */
            crew->n_running = 0;
            return;
        }
        for (uint32_t i = 0;
             tool_signals_stopped() && !*told && i < crew->n_running; i++)
            kill(crew->plan->points[crew->running[i]].process, SIGTERM);
        *told = tool_signals_stopped();
        nanosleep(&pause, NULL);
    }
}

/* ---- all -------------------------------------------------------------- */

static vly_status next_point(sweep_crew *crew, sweep_point *point,
                             vly_error *error)
{
    vly_status status = sweep_point_prepare(crew->plan, point, error);
    if (status == VLY_OK && point->state == SWEEP_WAITING)
        return start(crew, point, error);
    crew->n_ended += status == VLY_OK;
    tell(crew, point);
    return status;
}

vly_status sweep_jobs_run(sweep_plan *plan, vly_error *error)
{
    sweep_crew crew = {.plan = plan};
    vly_status status = VLY_OK;
    bool told = false;
    ssize_t n =
        readlink("/proc/self/exe", crew.command, sizeof crew.command - 1);
    if (n <= 0)
        return vly_fail(error, VLY_E_IO,
                        "the path of this command is not known: %s",
                        strerror(errno));
    crew.running = vly_calloc(plan->n_jobs, sizeof *crew.running);
    if (!crew.running)
        return vly_fail_nomem(error, plan->n_jobs * sizeof *crew.running,
                              "the jobs");
    for (uint64_t next = 0; next < plan->n_points && status == VLY_OK;) {
        if (tool_signals_stopped())
            break;
        if (crew.n_running < plan->n_jobs)
            status = next_point(&crew, &plan->points[next++], error);
        else
            wait_one(&crew, &told);
    }
    while (crew.n_running > 0)
        wait_one(&crew, &told);
    vly_free(crew.running);
    if (status == VLY_OK && tool_signals_stopped() &&
        crew.n_ended < plan->n_points)
        status = VLY_E_STOPPED;
    return status;
}

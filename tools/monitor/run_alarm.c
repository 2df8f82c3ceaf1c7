/* SPDX-License-Identifier: Apache-2.0
 * What is done about an anomaly.
 */
#include "tools/monitor/run_alarm.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "tools/cli/json_writer.h"
#include "tools/cli/tool.h"

extern char **environ;

char *run_alarm_text(const run_watch *watch, const vly_anomaly *anomaly)
{
    const watch_when when = {anomaly->at_ns, anomaly->unix_ns};
    json_writer json;
    json_init(&json, false);
    json_object(&json, NULL);
    watch_time_json(watch, when, &json);
    json_u64(&json, "burst", anomaly->burst);
    json_object(&json, "anomaly");
    json_text(&json, "metric", anomaly->metric_name);
    json_text(&json, "area", anomaly->area_name);
    json_text(&json, "channel", anomaly->channel);
    json_u64(&json, "bursts", anomaly->bursts);
    json_number(&json, "score", anomaly->score);
    json_number(&json, "threshold", anomaly->threshold);
    json_text(&json, "cause", anomaly->cause);
    json_text(&json, "text", anomaly->text);
    json_object_end(&json);
    json_object_end(&json);
    const char *text = json_finish(&json, &(size_t){0});
    char *copy = text ? vly_strdup(text) : NULL;
    json_deinit(&json);
    return copy;
}

void run_alarm_write(run_alarm *alarm, const char *text)
{
    if (!alarm->writer || alarm->failure.status != VLY_OK)
        return;
    if (vly_writer_bytes(alarm->writer, text, strlen(text), &alarm->failure) ==
        VLY_OK)
        (void)vly_writer_flush(alarm->writer, &alarm->failure);
}

/* Checks whether the last command has ended; does not wait. */
static void reap(run_alarm *alarm)
{
    int end = 0;
    if (alarm->process == 0 ||
        waitpid(alarm->process, &end, WNOHANG) != alarm->process)
        return;
    alarm->process = 0;
    if (WIFEXITED(end) && WEXITSTATUS(end) == 0)
        return;
    alarm->n_failed++;
    if (WIFEXITED(end))
        tool_message("--on-anomaly: the command ended with exit code %d",
                     WEXITSTATUS(end));
    else
        tool_message("--on-anomaly: the command was ended by signal %d",
                     WTERMSIG(end));
}

void run_alarm_end(run_alarm *alarm)
{
    const struct timespec nap = {0, 10000000};
    const uint64_t until =
        vly_clock_ns() + UINT64_C(1000000000) * RUN_ALARM_PATIENCE_S;
    reap(alarm);
    while (alarm->process != 0 && vly_clock_ns() < until) {
        nanosleep(&nap, NULL);
        reap(alarm);
    }
    if (alarm->process == 0)
        return;
    alarm->n_left++;
    tool_message("--on-anomaly: the command is still running %d s after the "
                 "run; its result is unknown",
                 RUN_ALARM_PATIENCE_S);
}

/* environ with one more text, to be freed with vly_free; NULL: memory ran
 * out. */
static char **environment_with(char *text)
{
    static const char name[] = "VOLLEY_ANOMALY=";
    size_t n = 0;
    size_t kept = 0;
    while (environ[n])
        n++;
    char **made = vly_calloc(n + 2, sizeof *made);
    for (size_t i = 0; made && i < n; i++)
        if (strncmp(environ[i], name, sizeof name - 1) != 0)
            made[kept++] = environ[i];
    if (made)
        made[kept] = text;
    return made;
}

/* The watcher blocks signals and the run may ignore some; the command gets
 * default handling. Standard output may carry the results of the run, so the
 * command writes to stderr. */
static int start(run_alarm *alarm, char **environment)
{
    char shell[] = "/bin/sh";
    char option[] = "-c";
    char *command = vly_strdup(alarm->command);
    char *arguments[] = {shell, option, command, NULL};
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    sigset_t none;
    sigset_t all;
    if (!command)
        return ENOMEM;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, 2, 1);
    const int failed = posix_spawn(&alarm->process, shell, &actions,
                                   &attributes, arguments, environment);
    if (failed != 0)
        alarm->process = 0;
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    vly_free(command);
    return failed;
}

void run_alarm_command(run_alarm *alarm, const char *text)
{
    reap(alarm);
    if (alarm->process != 0) {
        alarm->n_skipped++;
        return;
    }
    const int n = (int)strcspn(text, "\n");
    char *variable = vly_format("VOLLEY_ANOMALY=%.*s", n, text);
    char **environment = variable ? environment_with(variable) : NULL;
    const int failed = environment ? start(alarm, environment) : ENOMEM;
    if (failed == 0) {
        alarm->n_commands++;
    } else {
        alarm->n_failed++;
        tool_message("--on-anomaly: the command cannot be started: %s",
                     strerror(failed));
    }
    vly_free(environment);
    vly_free(variable);
}

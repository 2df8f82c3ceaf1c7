/* SPDX-License-Identifier: Apache-2.0
 * What is done about an anomaly: a line for people and one for files, a command
 * of the user's. Part of run_monitor; everything here happens on the watcher's
 * thread.
 */
#ifndef VOLLEY_TOOLS_RUN_ALARM_H
#define VOLLEY_TOOLS_RUN_ALARM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/writer.h"
#include "monitor/watcher.h"
#include "tools/watch/run_watch.h"

#define RUN_ALARM_PATIENCE_S 5

typedef struct run_alarm {
    vly_writer *writer;  /* monitor.jsonl; NULL: none */
    vly_error failure;   /* of it, the first */
    const char *command; /* NULL: none */
    pid_t process;       /* of the last command; 0: it has ended */
    uint64_t n_commands; /* started */
    uint64_t n_skipped;  /* not started because the previous command was still
                          * running */
    uint64_t n_failed;   /* not started by an error, or ended with another code
                          * than 0 */
    uint64_t n_left;     /* still running after the end of the run */
} run_alarm;

/* The anomaly as a line of JSON with its line break, to be freed with vly_free;
 * NULL: memory ran out. */
char *run_alarm_text(const run_watch *watch, const vly_anomaly *anomaly);
/* Writes the line to monitor.jsonl at once. */
void run_alarm_write(run_alarm *alarm, const char *text);
/* Starts the command with the line in VOLLEY_ANOMALY, unless the last command
 * is still running. Its output goes to stderr. */
void run_alarm_command(run_alarm *alarm, const char *text);
/* Called after the run: waits up to RUN_ALARM_PATIENCE_S for the last command,
 * so that its result is counted. After that the command keeps running, and a
 * message is printed. */
void run_alarm_end(run_alarm *alarm);

#endif

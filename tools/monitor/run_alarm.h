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

#include "monitor/watcher.h"
#include "record/writer.h"
#include "tools/watch/run_watch.h"

#define RUN_ALARM_PATIENCE_S 5

typedef struct run_alarm {
    vly_writer *writer;  /* monitor.jsonl; NULL: none */
    vly_error failure;   /* of it, the first */
    const char *command; /* NULL: none */
    pid_t process;       /* of the last command; 0: it has ended */
    uint64_t n_commands; /* started */
    uint64_t n_skipped;  /* because the one before was still going on */
    uint64_t n_failed;   /* could not be started, or did not end with 0 */
    uint64_t n_left;     /* still going on when the run had ended */
} run_alarm;

/* The anomaly as a line of JSON with its line break, for vly_free; NULL: no
 * memory. */
char *run_alarm_text(const run_watch *watch, const vly_anomaly *anomaly);
/* Into monitor.jsonl, at once. */
void run_alarm_write(run_alarm *alarm, const char *text);
/* Starts the command with the line in VOLLEY_ANOMALY, unless the last one is
 * still going on. Its output goes to stderr. */
void run_alarm_command(run_alarm *alarm, const char *text);
/* The run has ended: the last command gets RUN_ALARM_PATIENCE_S to end too, so
 * that how it ended is counted; then it is left to itself, and that is told. */
void run_alarm_end(run_alarm *alarm);

#endif

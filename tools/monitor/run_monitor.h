/* SPDX-License-Identifier: Apache-2.0
 * A run that is watched by a model (--monitor): which one and on what device,
 * the gate between it and the bursts, what happens when something is strange
 * (--on-anomaly), and what `volley ctl PID monitor ...` asks of it.
 * docs/monitor.md has the rules.
 */
#ifndef VOLLEY_TOOLS_RUN_MONITOR_H
#define VOLLEY_TOOLS_RUN_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/volley.h>

#include "monitor/watcher.h"
#include "tools/cli/json_writer.h"
#include "tools/cli/options.h"

struct run_job;
typedef struct run_monitor run_monitor;

enum {
    RUN_MONITOR_CHECKPOINT = 1u, /* actions; log is always active */
    RUN_MONITOR_PAUSE = 2u,
    RUN_MONITOR_COMMAND = 4u,
};

/* The options. */
typedef struct run_monitor_plan {
    bool wanted;
    const char *model;  /* NULL: the shipped model */
    const char *device; /* that the model runs on */
    bool device_given;
    double budget; /* share of time, at most 1; 0: by the records' length */
    double alarms; /* accepted false alarms per hour */
    uint32_t actions;
    const char *command; /* for the shell, with RUN_MONITOR_COMMAND */
} run_monitor_plan;

/* The state of the part. */
typedef struct monitor_part {
    run_monitor_plan plan;
    run_monitor *monitor; /* NULL: no --monitor */
} monitor_part;
monitor_part *run_monitor_state(const struct run_job *job);

/* Errors  E_INVALID actions that this run cannot do; control: --control */
vly_status run_monitor_actions(const run_monitor_plan *plan, bool checkpoints,
                               const char *control, vly_error *error);
/* The shipped model: beside an installed command, or in the source tree.
 * Errors  E_IO it is in neither place */
vly_status run_monitor_shipped(char *path, size_t capacity, vly_error *error);
/* Loads the model, before anything is built. If the default model cannot be
 * loaded, a message is printed and the run continues without it.
 * Errors  those of the model; E_INVALID impossible actions */
vly_status run_monitor_load(struct run_job *job, vly_error *error);
/* How bursts and the model share the processor or the device. */
vly_gate_options run_monitor_gate(const struct run_job *job, bool on_host);
/* Begins to watch: the ring and the files of the run are open. If memory or
 * threads are missing, a message is printed and the run continues without the
 * monitor, as above. */
vly_status run_monitor_open(struct run_job *job, vly_error *error);

/* Writes the first bytes of monitor.jsonl: nothing can refuse the run any
 * more. */
vly_status run_monitor_begin(struct run_job *job, vly_error *error);
/* Called after the attempt to open the control socket.
 * Errors  E_IO a run paused by the monitor could not be resumed */
vly_status run_monitor_check(const struct run_job *job, vly_error *error);
/* Is a model watching this run? [any-thread], from open to close */
bool run_monitor_watches(const struct run_job *job);

/* Called before and after a call of the engine [burst loop]. next_ns: time at
 * which the next burst is due; 0: at once. */
void run_monitor_before(const struct run_job *job);
void run_monitor_after(const struct run_job *job, uint64_t next_ns);
/* Executes actions that wait for the burst loop. Failures are printed; no error
 * is returned so far. */
void run_monitor_between(struct run_job *job);
/* Is an action waiting? For a sleeping loop. */
bool run_monitor_wanted(void);

/* "monitor pause", "resume", "status" or nothing after it; false: another
 * command. [server's thread] */
bool run_monitor_ask(struct run_job *job, const char *line, json_writer *json,
                     vly_error *why);

/* Lines of the metrics endpoint, to be freed with vly_free: "" without a
 * monitor; NULL: memory ran out. [any-thread], as long as the watch of the run
 * is open */
char *run_monitor_metrics(struct run_job *job);

/* Called after the last sample: judges the remaining records, closes its file.
 * Legal without a monitor.
 * Errors  E_IO its file */
vly_status run_monitor_close(struct run_job *job, vly_error *error);
void run_monitor_deinit(struct run_job *job);

/* A line of the summary; a member of its JSON. */
void run_monitor_print(const struct run_job *job);
void run_monitor_json(const struct run_job *job, json_writer *json);

#endif

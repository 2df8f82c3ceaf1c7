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
    RUN_MONITOR_CHECKPOINT = 1u, /* actions; log is always done */
    RUN_MONITOR_PAUSE = 2u,
    RUN_MONITOR_COMMAND = 4u,
};

/* What was asked. */
typedef struct run_monitor_plan {
    bool wanted;
    const char *model;  /* NULL: the one that ships */
    const char *device; /* that the model runs on */
    bool device_given;
    double budget; /* share of time, at most 1; 0: by the records' length */
    double alarms; /* false ones an hour that are bearable */
    uint32_t actions;
    const char *command; /* for the shell, with RUN_MONITOR_COMMAND */
} run_monitor_plan;

/* The state of the part. */
typedef struct monitor_part {
    run_monitor_plan plan;
    run_monitor *monitor; /* NULL: was not asked for */
} monitor_part;
monitor_part *run_monitor_state(const struct run_job *job);

/* Errors  E_INVALID actions that this run cannot do; control: --control */
vly_status run_monitor_actions(const run_monitor_plan *plan, bool checkpoints,
                               const char *control, vly_error *error);
/* The model that ships: beside an installed command, or in the source tree.
 * Errors  E_IO it is in neither place */
vly_status run_monitor_shipped(char *path, size_t capacity, vly_error *error);
/* Loads the model, before anything is built. A model that was not asked for by
 * name and cannot be had is told, and the run goes on without.
 * Errors  those of the model; E_INVALID actions that cannot be done */
vly_status run_monitor_load(struct run_job *job, vly_error *error);
/* How bursts and the model share the processor or the device. */
vly_gate_options run_monitor_gate(const struct run_job *job, bool on_host);
/* Begins to watch: the ring and the files of the run are open. Where memory or
 * threads are missing it is told, and the run goes on without, as above. */
vly_status run_monitor_open(struct run_job *job, vly_error *error);

/* monitor.jsonl is begun: nothing can refuse the run any more. */
vly_status run_monitor_begin(struct run_job *job, vly_error *error);
/* The control socket is open, or could not be.
 * Errors  E_IO nobody could resume a run that the monitor pauses */
vly_status run_monitor_check(const struct run_job *job, vly_error *error);
/* Does a model watch this run? [any-thread], from open to close */
bool run_monitor_watches(const struct run_job *job);

/* Around a call of the engine [burst loop]. next_ns: when the next burst is
 * due; 0: at once. */
void run_monitor_before(const struct run_job *job);
void run_monitor_after(const struct run_job *job, uint64_t next_ns);
/* Actions that wait for the burst loop. Errors none yet: what fails is told. */
void run_monitor_between(struct run_job *job);
/* Is there one? For a loop that sleeps. */
bool run_monitor_wanted(void);

/* "monitor pause", "resume", "status" or nothing after it; false: another
 * command. [server's thread] */
bool run_monitor_ask(struct run_job *job, const char *line, json_writer *json,
                     vly_error *why);

/* Lines of the metrics endpoint, for vly_free: "" without a monitor; NULL: no
 * memory. [any-thread], as long as the watch of the run is open */
char *run_monitor_metrics(struct run_job *job);

/* No sample comes any more: judges what is left, closes its file. Legal
 * without. Errors  E_IO its file */
vly_status run_monitor_close(struct run_job *job, vly_error *error);
void run_monitor_deinit(struct run_job *job);

/* A line of the summary; a member of its JSON. */
void run_monitor_print(const struct run_job *job);
void run_monitor_json(const struct run_job *job, json_writer *json);

#endif

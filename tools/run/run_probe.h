/* SPDX-License-Identifier: Apache-2.0
 * Probes and faults of a run (--probe, --inject, volley monitor attach): what
 * was asked, and what was seen, in the summary and as JSON.
 */
#ifndef VOLLEY_TOOLS_RUN_PROBE_H
#define VOLLEY_TOOLS_RUN_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/plugin.h>

#include "tools/cli/json_writer.h"
#include "tools/cli/options.h"

struct run_job;

/* Part of run_plan. Texts are borrowed from the command line. */
typedef struct run_probe_plan {
    const char *points;  /* NULL: none */
    const char **faults; /* [n_faults]; owned */
    uint32_t n_faults;
    const char *only; /* id of a plugin; NULL: every backend */
    const char *out;  /* JSON goes here; NULL: into the summary only */
} run_probe_plan;

#define RUN_PROBE_OPTIONS                                                      \
    {"probe",                                                                  \
     0,                                                                        \
     false,                                                                    \
     TOOL_TEXT,                                                                \
     "POINT,...",                                                              \
     "time calls, check, count: call.net_run, check, area.E, map.*, ...",      \
     0,                                                                        \
     0},                                                                       \
        {"probe-out", 0,      false,                                           \
         TOOL_TEXT,   "FILE", "what probes saw, as JSON; - is stdout",         \
         0,           0},                                                      \
    {                                                                          \
        "inject", 0, true, TOOL_TEXT, "FAULT",                                 \
            "a fault at the backend: slow:at=2000,factor=3", 0, 0              \
    }

/* Errors  E_INVALID --probe-out without probes; E_NOMEM */
vly_status run_probe_read(const tool_args *args, run_probe_plan *plan,
                          vly_error *error);
void run_probe_plan_deinit(run_probe_plan *plan);

/* For `volley monitor attach`: probes of this process sit at this plugin only;
 * borrowed. NULL: at every backend. */
void run_probe_only(const char *plugin);

/* Before plugins are asked for anything. job->probe stays NULL if nothing is
 * asked.
 * Errors  E_INVALID points or faults; E_UNSUPPORTED a plugin they name */
vly_status run_probe_open(struct run_job *job, vly_error *error);
/* Has the network the areas and maps? Errors  E_INVALID */
vly_status run_probe_check(const struct run_job *job, vly_error *error);
/* "probes": {...}; nothing without a probe. */
void run_probe_json(const struct run_job *job, json_writer *json);
/* Lines of the summary. */
void run_probe_print(const struct run_job *job);
/* Writes --probe-out. Errors  E_IO, E_NOMEM */
vly_status run_probe_save(struct run_job *job, vly_error *error);
/* A check failed: the exit code of the run is 1. */
bool run_probe_found(const struct run_job *job);
void run_probe_close(struct run_job *job);

#endif

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

void run_probe_plan_deinit(run_probe_plan *plan);

/* For `volley monitor attach`: probes of this process sit at this plugin only;
 * borrowed. NULL: at every backend. */
void run_probe_only(const char *plugin);

void run_probe_close(struct run_job *job);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Probes and faults of a run (--probe, --inject, volley monitor attach): what
 * was asked, and what was seen, in the summary and as JSON.
 */
#ifndef VOLLEY_TOOLS_RUN_PROBE_H
#define VOLLEY_TOOLS_RUN_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/plugin.h>

struct run_job;

/* Texts are borrowed from the command line. */
typedef struct run_probe_plan {
    const char *points;  /* NULL: none */
    const char **faults; /* [n_faults]; owned */
    uint32_t n_faults;
    const char *only; /* id of a plugin; NULL: every backend */
    const char *out;  /* JSON goes here; NULL: into the summary only */
} run_probe_plan;

/* For `volley monitor attach`: probes of this process sit at this plugin only;
 * borrowed. NULL: at every backend. */
void run_probe_only(const char *plugin);

/* The backend to move to at this burst, if a fault of --inject says another one
 * than was asked for; asked without. */
const char *run_probe_place(const struct run_job *job, uint64_t burst,
                            const char *asked);
/* What the clocks of telemetry are ahead by, by such a fault; 0 without. */
void run_probe_clock(const struct run_job *job, int64_t *wall_ns,
                     int64_t *steady_ns);

#endif

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
    const char *out;  /* file for JSON; NULL: only in the summary */
} run_probe_plan;

/* For `volley monitor attach`: probes of this process are attached to this
 * plugin only; borrowed. NULL: to every backend. */
void run_probe_only(const char *plugin);

/* The backend to move to at this burst: `asked`, unless a fault of --inject
 * names another one. */
const char *run_probe_place(const struct run_job *job, uint64_t burst,
                            const char *asked);
/* Time by which such a fault advances the clocks of telemetry; 0 without
 * one. */
void run_probe_clock(const struct run_job *job, int64_t *wall_ns,
                     int64_t *steady_ns);

#endif

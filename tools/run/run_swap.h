/* SPDX-License-Identifier: Apache-2.0
 * Swaps of a run: asked for on the command line or meanwhile, and what became
 * of them. A target that cannot take the net leaves the run where it is.
 */
#ifndef VOLLEY_TOOLS_RUN_SWAP_H
#define VOLLEY_TOOLS_RUN_SWAP_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/volley.h>

#include "tools/cli/json_writer.h"

struct run_job;

typedef struct run_swap {
    uint64_t burst;      /* when exactly so many are done */
    const char *backend; /* as asked for */
    char *owned;         /* the text of backend, if asked for meanwhile */
    bool done;
    vly_status status; /* why not */
    char from[64];     /* "cpu:1"; "" before it was tried */
    char to[64];       /* "cpu:4"; "" if it was not done */
    double seconds;
    char *reason; /* as a sentence; NULL */
} run_swap;

/* Bursts and names, before anything is built. A plugin that is missing is no
 * error: the run would go on where it is.
 * Errors  E_INVALID */
vly_status run_swap_check(const struct run_job *job, vly_error *error);
/* The next one of the plan, at the burst at which the net stands.
 * Errors  those that end the run; its failure alone is none */
vly_status run_swap_next(struct run_job *job, vly_error *error);
/* One more, now. *swap says what became of it; borrowed until the next one.
 * Errors  as above; E_INVALID backend is no name of one; E_NOMEM */
vly_status run_swap_add(struct run_job *job, const char *backend,
                        const run_swap **swap, vly_error *error);
void run_swap_deinit(run_swap *swaps, uint32_t n_swaps);

/* Lines of the summary. */
void run_swap_print(const struct run_job *job);
/* "swaps": [...] of summary and manifest. */
void run_swap_json(const struct run_job *job, json_writer *json);

#endif

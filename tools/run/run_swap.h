/* SPDX-License-Identifier: Apache-2.0
 * Swaps of a run: asked for on the command line or meanwhile, and what became
 * of them. A target that cannot take the net leaves the run where it is.
 */
#ifndef VOLLEY_TOOLS_RUN_SWAP_H
#define VOLLEY_TOOLS_RUN_SWAP_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/volley.h>

struct run_job;

typedef struct run_swap {
    uint64_t burst;      /* number of bursts after which the swap takes place */
    const char *backend; /* as asked for */
    char *owned;         /* owned text of backend, if requested during the
                          * run */
    bool done;
    vly_status status; /* why not */
    char from[64];     /* "cpu:1"; "" before the swap was tried */
    char to[64];       /* "cpu:4"; "" if the swap failed */
    double seconds;
    char *reason; /* as a sentence; NULL */
} run_swap;

/* Adds a swap to the end of the plan. backend is borrowed.
 * Errors  E_NOMEM
 */
vly_status run_swap_plan(struct run_job *job, uint64_t burst,
                         const char *backend, vly_error *error);
/* In the order of bursts; NULL after the last. */
const run_swap *run_swap_at(const struct run_job *job, uint32_t k);
/* Number of swaps that were tried: the first ones of the list. */
uint32_t run_swap_tried(const struct run_job *job);
#endif

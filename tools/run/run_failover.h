/* SPDX-License-Identifier: Apache-2.0
 * --on-device-error: a run whose device fails goes on on another backend.
 */
#ifndef VOLLEY_TOOLS_RUN_FAILOVER_H
#define VOLLEY_TOOLS_RUN_FAILOVER_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/volley.h>

struct run_job;

/* One failure. */
typedef struct run_failure {
    uint64_t burst;    /* done when the device failed */
    uint64_t snapshot; /* first burst that was repeated */
    char from[64];
    char to[64];
    char reason[400];
    uint64_t begin_ns; /* of going on */
    bool done;         /* the net is again at the burst of the failure */
    double seconds;    /* until then */
} run_failure;

/* --on-device-error; NULL: none. */
const char *run_failover_backend(const struct run_job *job);
/* In order of time; NULL after the last. */
const run_failure *run_failover_at(const struct run_job *job, uint32_t k);
uint32_t run_failover_count(const struct run_job *job);

#endif

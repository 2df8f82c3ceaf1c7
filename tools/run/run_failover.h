/* SPDX-License-Identifier: Apache-2.0
 * --on-device-error: a run whose device fails goes on on another backend.
 */
#ifndef VOLLEY_TOOLS_RUN_FAILOVER_H
#define VOLLEY_TOOLS_RUN_FAILOVER_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/volley.h>

#include "record/digest_log.h"
#include "record/spike_csv.h"
#include "tools/cli/json_writer.h"

struct run_job;

/* One failure. */
typedef struct run_failure {
    uint64_t burst;    /* done when the device failed */
    uint64_t snapshot; /* from which the bursts were done again */
    char from[64];
    char to[64];
    char reason[400];
    uint64_t begin_ns; /* of going on */
    bool done;         /* it stands where it had failed */
    double seconds;    /* until then */
} run_failure;

/* How far the recordings were at the engine's last snapshot. */
typedef struct run_kept {
    bool known;  /* of a run without fail-over or with checkpoints: not */
    bool marked; /* the recording's place is still to be asked for */
    uint64_t burst;
    vly_spike_place spikes;
    vly_digest_place digests;
} run_kept;

/* Asks the net for it, if the plan does.
 * Errors  those of vly_net_failover */
vly_status run_failover_arm(struct run_job *job, vly_error *error);
void run_failover_deinit(struct run_job *job);

/* Lines of the summary. */
void run_failover_print(const struct run_job *job);
/* "failovers": [...] of summary and manifest. */
void run_failover_json(const struct run_job *job, json_writer *json);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Checkpoints of a run, and runs that go on from one. The burst loop waits for
 * the copy of the state only; a thread waits for the recordings, compresses and
 * writes.
 */
#ifndef VOLLEY_TOOLS_RUN_CHECKPOINT_H
#define VOLLEY_TOOLS_RUN_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/volley.h>

#include "json_writer.h"
#include "options.h"

struct run_job;

/* What was asked. */
typedef struct run_checkpoint_plan {
    const char *path;      /* --checkpoint; NULL: none */
    const char *resume;    /* --resume; NULL: from the start */
    uint64_t every_bursts; /* 0: not by bursts */
    uint64_t every_ns;     /* of wall time; 0: not by time */
    uint32_t keep;         /* files: path, path.1, ... */
} run_checkpoint_plan;

typedef struct run_checkpoint run_checkpoint;

/* A checkpoint of the run as it stands, on disk when this returns; waits for
 * one that is being written. [main-thread] between two calls of vly_net_run
 *
 * Errors   E_INVALID the run has no --checkpoint FILE; E_IO, E_NOMEM: the file
 *          that was there is as it was; those of vly_net_snapshot
 */
vly_status run_checkpoint_now(struct run_job *job, vly_error *error);

#endif

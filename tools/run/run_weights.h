/* SPDX-License-Identifier: Apache-2.0
 * Weights of a run: samples of [[record]], all weights at its end, and what
 * became of them in the summary.
 */
#ifndef VOLLEY_TOOLS_RUN_WEIGHTS_H
#define VOLLEY_TOOLS_RUN_WEIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/volley.h>

#include "base/writer.h"
#include "tools/cli/json_writer.h"
#include "tools/run/run_job.h"
#include "tools/run/run_part.h"

struct run_job;
struct vly_recording;

/* Synapses that are read at once. */
#define RUN_WEIGHTS_BLOCK (UINT64_C(1) << 20)

/* Room for a block. */
typedef struct run_weights_block {
    double *weights;
    uint32_t *sources;
    uint32_t *targets;
} run_weights_block;

/* A projection that learns. */
typedef struct run_weights_map {
    vly_net_projection_info info;
    vly_weights_stats stats; /* at the end */
} run_weights_map;

/* The state of the part. */
typedef struct weights_part {
    const char *record; /* --record-weights; NULL: none */
    const char *final;  /* --weights; NULL: none */
    char *path;         /* of the samples; NULL: none are written */
    vly_writer *writer; /* of path */
    vly_writer *saved;  /* of final, a table */
    run_weights_block block;
    run_weights_map *maps; /* [n_maps] in the order of the net */
    uint32_t n_maps;
    bool counted;     /* their stats are those of the last burst */
    uint64_t last;    /* bursts done at the last sample */
    uint64_t n_lines; /* samples in the file, those before a resume too */
    uint64_t flush_ns;
    uint64_t note_ns;    /* when telemetry is due */
    uint64_t kept;       /* bytes of path at the snapshot of fail-over, ... */
    uint64_t kept_lines; /* ... and samples */
} weights_part;
static inline weights_part *run_weights_state(const struct run_job *job)
{
    return run_part_state(job, RUN_PART_weights);
}

/* Describes the samples for a checkpoint: everything up to now is in the file.
 * false: none are written.
 * Errors  those of writing, as *status */
bool run_weights_place(struct run_job *job, struct vly_recording *place,
                       vly_status *status, vly_error *error);
/* ---- run_weights_save.c ------------------------------------------------- */

/* Errors  E_NOMEM */
vly_status run_weights_block_make(run_weights_block *block, vly_error *error);
void run_weights_block_deinit(run_weights_block *block);
/* Bytes that --weights has at least; 0 without it. */
uint64_t run_weights_bytes(const struct run_job *job);
/* Writes all weights of the maps that learn to --weights.
 * Errors  those of reading and writing */
vly_status run_weights_save(struct run_job *job, vly_error *error);

/* ---- run_weights_figures.c ---------------------------------------------- */

/* Lists the projections that learn. Errors  E_NOMEM */
vly_status run_weights_list(struct run_job *job, vly_error *error);
/* Their statistics. Errors  those of reading */
vly_status run_weights_count(struct run_job *job, vly_error *error);
/* Them as JSON. */
void run_weights_put(const weights_part *part, json_writer *json);
void run_weights_print(const struct run_job *job);
void run_weights_json(const struct run_job *job, json_writer *json);

#endif

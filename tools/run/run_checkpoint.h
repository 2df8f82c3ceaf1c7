/* SPDX-License-Identifier: Apache-2.0
 * Checkpoints of a run. The burst loop waits for the copy of the state only; a
 * thread waits for the recordings, compresses and writes.
 */
#ifndef VOLLEY_TOOLS_RUN_CHECKPOINT_H
#define VOLLEY_TOOLS_RUN_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/volley.h>

#include "tools/cli/json_writer.h"
#include "tools/cli/options.h"

struct run_job;

/* The options. */
typedef struct run_checkpoint_plan {
    const char *path;      /* --checkpoint; NULL: none */
    const char *resume;    /* --resume; NULL: from the start */
    uint64_t every_bursts; /* 0: not by bursts */
    uint64_t every_ns;     /* of wall time; 0: not by time */
    uint32_t keep;         /* files: path, path.1, ... */
} run_checkpoint_plan;

typedef struct run_checkpoint run_checkpoint;

/* The state of the part. */
typedef struct checkpoint_part {
    run_checkpoint_plan plan;
    run_checkpoint *checkpoint;     /* NULL: none are written */
    struct vly_checkpoint *resumed; /* the checkpoint from which the run
                                     * continues; NULL: none */
    uint32_t n_resumes;             /* in total, including earlier processes */
} checkpoint_part;
checkpoint_part *run_checkpoint_state(const struct run_job *job);

/* Called before long work: refuses a recording that cannot be continued, and a
 * file of another kind at the path.
 * Errors  E_INVALID, E_IO */
vly_status run_checkpoint_check(const struct run_job *job, vly_error *error);
/* Starts the thread, if the run has checkpoints. The net and files of the job
 * are open.
 * Errors  E_NOMEM */
vly_status run_checkpoint_open(struct run_job *job, vly_error *error);

/* The burst of the next checkpoint, after the present one; UINT64_MAX: none. */
uint64_t run_checkpoint_due(const struct run_job *job);
/* Called between two calls of vly_net_run: takes a checkpoint if it is due. If
 * one is due while another is being written, it is skipped and counted. A
 * failure is reported at once and counted; the run continues, since the
 * previous file is still valid. */
void run_checkpoint_look(struct run_job *job);
/* Writes a checkpoint of the present state, which is on disk on return; waits
 * for a checkpoint that is being written. [main-thread] between two calls of
 * vly_net_run
 *
 * Errors   E_INVALID the run has no --checkpoint FILE; E_IO, E_NOMEM: the file
 *          that was there is as it was; those of vly_net_snapshot
 */
vly_status run_checkpoint_now(struct run_job *job, vly_error *error);
/* Results of device `from` after `burst` were wrong: reports the checkpoints
 * taken since then, and makes the next one due at once. */
void run_checkpoint_distrust(struct run_job *job, uint64_t burst,
                             const char *from);
/* Takes the last checkpoint, unless the run has failed, and waits for the
 * thread. A failure goes to job->result.error. */
void run_checkpoint_end(struct run_job *job);
void run_checkpoint_close(run_checkpoint *checkpoint); /* NULL is legal */

/* Lines of the summary; members: how the run was resumed, and checkpoints. */
void run_checkpoint_print(const struct run_job *job);
void run_checkpoint_json(const struct run_job *job, json_writer *json);

/* ---- run_resume.c ------------------------------------------------------ */

/* Reads --resume and compares it with genome, length and recordings; changes
 * nothing yet.
 * Errors  E_INVALID another genome; the run is shorter; recordings that do not
 * match; E_PARSE a damaged checkpoint, a recording that is shorter or another;
 * E_IO one that is missing */
vly_status run_resume_load(struct run_job *job, vly_error *error);
/* The folder of -o may be that of the resumed run.
 * Errors  E_INVALID it contains something else */
vly_status run_resume_folder(struct run_job *job, vly_error *error);
/* Data of the checkpoint about a recording of this kind; NULL: not recorded. */
const struct vly_recording *run_resume_recording(const struct run_job *job,
                                                 uint32_t kind);
/* Hash of the selection of recorded spikes ([[record]]). */
struct vly_hash run_resume_selection(const struct run_job *job);
void run_resume_json(const struct run_job *job, json_writer *json);

#endif

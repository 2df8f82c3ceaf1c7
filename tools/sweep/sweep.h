/* SPDX-License-Identifier: Apache-2.0
 * A sweep: the cartesian product of lists of settings, each point a run in a
 * process of its own. What a point left in the folder says whether it is done,
 * so a sweep that was killed goes on where it was.
 */
#ifndef VOLLEY_TOOLS_SWEEP_H
#define VOLLEY_TOOLS_SWEEP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <volley/volley.h>

#include "tools/cli/json_reader.h"
#include "tools/cli/options.h"

enum { SWEEP_POINTS_MAX = 100000 };

/* One --set, or the seeds (path NULL). */
typedef struct sweep_axis {
    char *path;
    char **values; /* values as text, in the form of --set */
    uint32_t n;
} sweep_axis;

typedef enum sweep_state {
    SWEEP_WAITING,
    SWEEP_RUNNING,
    SWEEP_DONE,
    SWEEP_FAILED
} sweep_state;

typedef struct sweep_point {
    uint64_t index; /* the last axis changes fastest */
    sweep_state state;
    bool found;    /* done by an earlier call */
    char name[33]; /* of its files: the hash of its settings */
    char genome_hash[33];
    uint64_t n_bursts;
    uint64_t summary_from; /* burst */
    int code;              /* exit code, if it failed */
    char *reason;          /* owned; NULL unless it failed */
    pid_t process;
    uint64_t begin_ns;
} sweep_point;

/* One point by which a later call sees whether genome and length are the same:
 * a name does not depend on them. */
typedef struct sweep_witness {
    char name[33]; /* as of sweep_point */
    char genome_hash[33];
    uint64_t n_bursts;
    uint64_t summary_from;
} sweep_witness;

typedef struct sweep_plan {
    const tool_args *args; /* --bursts, --ms, --summary-from */
    const char *path;
    const char *folder;
    const char *backend;
    uint32_t n_jobs;
    uint32_t n_threads; /* of a job */
    bool quiet;
    int lock;         /* of the folder; -1: none */
    sweep_axis *axes; /* axes of --set, then the seeds if given */
    uint32_t n_axes;
    sweep_point *points;
    uint64_t n_points;
    sweep_witness witness;
} sweep_plan;

/* ---- sweep_values.c --------------------------------------------------- */

/* "3:6:0.5", "0.9,1,2", "a", or a list of such; `what` is "--set var.g=...".
 * Commas and colons in quotes, brackets and braces belong to the value.
 * Errors  E_INVALID with the wrong part; E_NOMEM */
vly_status sweep_values_read(const char *what, const char *text,
                             sweep_axis *axis, vly_error *error);
void sweep_axis_deinit(sweep_axis *axis);

/* ---- sweep_point.c ---------------------------------------------------- */

/* The value of an axis at a point. */
const char *sweep_value(const sweep_plan *plan, uint64_t point, uint32_t axis);
/* "var.g=3 seed=1", for people */
void sweep_point_text(const sweep_plan *plan, const sweep_point *point,
                      char *out, size_t size);
/* Before the first point runs: reads the genome with the settings of evenly
 * spaced points until one can be read, which becomes the witness. An error of a
 * path or of the file is the same at every point and is reported once.
 * Errors  that of the first point, if none of them can be read */
vly_status sweep_points_check(sweep_plan *plan, vly_error *error);
/* Does the witness of an earlier call have the same genome, length and
 * beginning of the summary in this one? NULL, or the difference. */
const char *sweep_witness_differs(const sweep_plan *plan,
                                  const sweep_witness *before);
/* Reads the genome with the point's settings. The point is then waiting, done
 * (found in the folder), or failed. */
vly_status sweep_point_prepare(const sweep_plan *plan, sweep_point *point,
                               vly_error *error);
/* FOLDER/points/NAME.SUFFIX; the caller frees with vly_free */
char *sweep_point_file(const sweep_plan *plan, const sweep_point *point,
                       const char *suffix);
/* The summary of a finished point, to be freed with json_free; false if there
 * is no matching one. */
bool sweep_point_summary(const sweep_plan *plan, const sweep_point *point,
                         json_value *summary);

/* ---- sweep_jobs.c ----------------------------------------------------- */

/* Runs all points that are not done; a failed point does not stop the others.
 * Errors  E_STOPPED by a signal; E_IO, E_NOMEM */
vly_status sweep_jobs_run(sweep_plan *plan, vly_error *error);

/* ---- sweep_table.c ---------------------------------------------------- */

/* Writes FOLDER/results.csv, one row per point in the order of the points. */
vly_status sweep_table_save(const sweep_plan *plan, vly_error *error);

#endif

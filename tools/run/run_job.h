/* SPDX-License-Identifier: Apache-2.0
 * One run: what was asked, what is open, what came out. Used by run and rerun.
 */
#ifndef VOLLEY_TOOLS_RUN_JOB_H
#define VOLLEY_TOOLS_RUN_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/host.h>

#include "base/writer.h"
#include "tools/cli/json_writer.h"
#include "tools/cli/setup.h"
#include "tools/cli/tool.h"
#include "tools/run/run_part.h"

/* Options of the run. Texts are borrowed from the command line or the
 * manifest. */
typedef struct run_plan {
    const char *path;     /* of the genome, as given */
    const char *manifest; /* of the run that is repeated; NULL: none */
    tool_overrides overrides;
    const char *backend;
    uint32_t n_threads;
    uint64_t n_bursts;
    const char *folder; /* NULL: none */
    bool force;
    bool quiet;
    bool draws; /* a part draws on the terminal: no progress line */
    const char *json;
    const char *connectome; /* --save-connectome */
    int argc;               /* for the manifest */
    char **argv;
} run_plan;

typedef struct run_result {
    vly_error error;        /* status VLY_OK: success */
    bool stopped;           /* by a signal or by ctl */
    const char *stopped_by; /* "volley ctl"; NULL: a signal */
    bool late;              /* stopped by --pace stop */
    bool refused;           /* before its first burst */
    double run_s;           /* without pauses */
    double thread_s; /* processor time of the thread that asks for bursts */
    double paused_s;
    vly_stats stats;
    uint64_t digest;
    uint64_t state_digest;
    uint64_t *area_spikes; /* [n_areas] */
    char start[32];
    char end[32]; /* "" while it runs */
} run_result;

/* From the command to the end of its first burst, in ns. What is not here
 * (options, checks, opening files) is the rest of total. */
typedef struct run_start {
    uint64_t begin_ns;   /* of the command, by vly_clock_ns */
    uint64_t plugins_ns; /* found and loaded */
    vly_prepare_times device;
    bool is_checked;   /* the backend */
    uint64_t burst_ns; /* the first call of the engine, one burst */
    uint64_t total_ns; /* 0: there was no burst */
} run_start;

struct run_job {
    run_plan plan;
    void **states; /* of the parts, see run_part.h */
    tool_build build;
    vly_registry *registry;
    vly_preparation *preparation; /* NULL: none, or ended */
    run_start start;
    vly_net *net;
    vly_writer *events;   /* log.jsonl */
    vly_writer *json;     /* --json, see run_files_claim */
    int folder_lock;      /* -1: none */
    int connectome_lock;  /* of --save-connectome; -1: none */
    bool folder_fresh;    /* it was empty */
    bool folder_begun;    /* it contains files of this run */
    bool began;           /* the run has begun: opened files are kept */
    vly_error event_lost; /* of the first line that could not be written */
    tool_progress progress;
    uint64_t first_burst; /* bursts and events before this process */
    uint64_t first_events;
    run_result result;
};

/* The state of a part in this run. */
static inline void *run_part_state(const run_job *job, run_part_number part)
{
    return job->states[part];
}

/* No options are set yet. deinit is needed in any case, also after a failure.
 * Errors  E_NOMEM */
vly_status run_job_init(run_job *job, vly_error *error);
/* Plan and genome are set. Compiles, opens net and files. */
vly_status run_job_open(run_job *job, vly_error *error);
/* Runs, swaps, records; ends early on a signal or an error. Always fills
 * job->result; files are complete when it returns. */
void run_job_execute(run_job *job);
void run_job_deinit(run_job *job);

/* ---- run_result.c ----------------------------------------------------- */

/* Called for a recorded burst: checks for signals, shows progress. [burst
 * loop] */
void run_job_progress(run_job *job, uint64_t n_bursts);
/* 0, 6, 7 or the exit code of the error. */
int run_job_exit_code(const run_job *job);

/* ---- run_paths.c ------------------------------------------------------ */

/* Checks the paths of the outputs, which are chosen already.
 * Errors  E_INVALID two outputs are the same file, or one is the genome; two
 * spellings of a path are the same file */
vly_status run_paths_check(const run_job *job, vly_error *error);
/* The path of a file as seen from a folder ("../a.csv"), to be freed; NULL: no
 * file, or memory ran out. */
char *run_path_from(const char *folder, const char *path);

/* ---- run_folder_lock.c, run_log.c, run_folder.c ----------------------- */

/* Locks a folder for this process, and creates it if it is missing. Refuses a
 * folder that is not empty, unless force. The caller closes *lock at the end;
 * -1 if the folder may not be read.
 * Errors  E_INVALID not empty, or not a folder; E_IO, also if another process
 * has locked the folder: nothing is changed then */
vly_status run_folder_open(const char *folder, bool force, int *lock,
                           vly_error *error);
/* Opens log.jsonl; nothing is written yet. */
vly_status run_folder_prepare(run_job *job, vly_error *error);
/* genome.resolved.toml, the beginning of log.jsonl, manifest.json. */
vly_status run_folder_begin(run_job *job, vly_error *error);
/* manifest.json with the present state; called at the start and at the end. */
vly_status run_folder_manifest(const run_job *job, vly_error *error);
/* summary.json, manifest.json, the end of log.jsonl: each is written even if
 * another one failed; the first failure goes to job->result.error. */
void run_folder_end(run_job *job);
/* The run was refused before its first burst. If nothing was written yet, the
 * folder stays unchanged. Otherwise a folder that was new or empty is emptied
 * again, and in any other folder the manifest records the refusal. Legal at any
 * time before the first burst. */
void run_folder_refuse(run_job *job, const vly_error *why);
/* Opens a file of lines in the folder. In a resumed run, writing continues
 * after the last whole line of the file (*resumes).
 * Errors  those of vly_writer_open and vly_writer_resume */
vly_status run_folder_lines(const run_job *job, const char *path, bool *resumes,
                            vly_writer **writer, vly_error *error);
/* Adds a line to log.jsonl, if the run has a folder. */
void run_folder_event(run_job *job, const char *event, const char *text);
/* folder/name, freed by the caller with vly_free; NULL if memory ran out */
char *run_folder_path(const char *folder, const char *name);

/* ---- run_files.c ------------------------------------------------------ */

/* Opens and locks every file of the run. Existing contents stay unchanged until
 * begin.
 * Errors  those of the writers */
vly_status run_files_open(run_job *job, vly_error *error);
/* Nothing can refuse the run any more: writes the first bytes of every file.
 * Errors  E_IO */
vly_status run_files_begin(run_job *job, vly_error *error);
/* ---- run_claim.c ------------------------------------------------------ */

/* Opens a file at the start that is written at the end, so that no other
 * process writes it. *writer stays NULL for a pipe, "-" and a path of NULL.
 * Errors  those of vly_writer_open */
vly_status run_files_claim(const char *path, vly_writer **writer,
                           vly_error *error);
/* Writes the whole file at once: through *writer if it was claimed (NULL
 * afterwards), otherwise to the path.
 * Errors  those of vly_writer_save */
vly_status run_files_save(vly_writer **writer, const char *path,
                          const char *text, size_t n_text, vly_error *error);
/* Closes all files; a run that never began leaves none. */
void run_files_deinit(run_job *job);

/* ---- run_report.c ----------------------------------------------------- */

/* Prints the line that describes the run, on stderr. */
void run_report_head(const run_job *job);
/* The summary, on stdout. */
void run_report_print(const run_job *job);
void run_report_json(const run_job *job, json_writer *json);
/* JSON of the summary into a file or "-". */
vly_status run_report_save(run_job *job, const char *path, vly_error *error);

#endif

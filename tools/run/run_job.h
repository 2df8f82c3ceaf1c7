/* SPDX-License-Identifier: Apache-2.0
 * One run: what was asked, what is open, what came out. Used by run and rerun.
 */
#ifndef VOLLEY_TOOLS_RUN_JOB_H
#define VOLLEY_TOOLS_RUN_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/volley.h>

#include "record/writer.h"
#include "tools/cli/json_writer.h"
#include "tools/cli/setup.h"
#include "tools/cli/tool.h"
#include "tools/run/run_part.h"

/* What was asked. Texts are borrowed from the command line or the manifest. */
typedef struct run_plan {
    const char *path;     /* of the genome, as given */
    const char *manifest; /* of the run that is run again; NULL: none */
    tool_overrides overrides;
    const char *backend;
    uint32_t n_threads;
    uint64_t n_bursts;
    const char *folder; /* NULL: none */
    bool force;
    bool quiet;
    bool draws; /* a part draws in the terminal: no line of progress */
    const char *json;
    const char *connectome; /* --save-connectome */
    int argc;               /* for the manifest */
    char **argv;
} run_plan;

typedef struct run_result {
    vly_error error;        /* status VLY_OK: all went well */
    bool stopped;           /* by a signal, or: */
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

struct run_job {
    run_plan plan;
    void **states; /* of the parts, see run_part.h */
    tool_build build;
    vly_registry *registry;
    vly_net *net;
    vly_writer *events;   /* log.jsonl */
    vly_writer *json;     /* --json, see run_files_claim */
    int folder_lock;      /* -1: none */
    int connectome_lock;  /* of --save-connectome; -1: none */
    bool folder_fresh;    /* there was nothing in it */
    bool folder_begun;    /* files of this run are in it */
    bool began;           /* the run has: what was opened is to be kept */
    vly_error event_lost; /* of a line that could not be written */
    tool_progress progress;
    uint64_t first_burst; /* bursts and events before this process */
    uint64_t first_events;
    run_result result;
};

/* Nothing is asked for yet. deinit is needed in any case, also after a failure.
 * Errors  E_NOMEM */
vly_status run_job_init(run_job *job, vly_error *error);
/* The plan and the genome are there. Compiles, opens net and files. */
vly_status run_job_open(run_job *job, vly_error *error);
/* Runs, swaps, records; ends early on a signal or an error. Always fills
 * job->result; files are complete when it returns. */
void run_job_execute(run_job *job);
void run_job_deinit(run_job *job);
/* Of a burst that was told: looks for signals, shows progress. [burst loop] */
void run_job_progress(run_job *job, uint64_t n_bursts);
/* 0, 6, 7 or the exit code of the error. */
int run_job_exit_code(const run_job *job);

/* ---- run_paths.c ------------------------------------------------------ */

/* The outputs are chosen.
 * Errors  E_INVALID two outputs in one file, or one in the genome's; two
 *         spellings of a path are one file */
vly_status run_paths_check(const run_job *job, vly_error *error);
/* The path of a file as seen from a folder ("../a.csv"), to be freed; NULL: no
 * file, or no memory. */
char *run_path_from(const char *folder, const char *path);

/* ---- run_folder.c ----------------------------------------------------- */

/* Takes a folder for this process alone, by a lock on it, and makes it if it is
 * missing. Refuses one with something in it, unless force. *lock is to be
 * closed at the end; -1 where the folder may not be read.
 * Errors  E_INVALID not empty, or no folder; E_IO, also where another process
 *         has the folder: nothing is changed then */
vly_status run_folder_open(const char *folder, bool force, int *lock,
                           vly_error *error);
/* Opens log.jsonl; nothing is written yet. */
vly_status run_folder_prepare(run_job *job, vly_error *error);
/* genome.resolved.toml, the beginning of log.jsonl, manifest.json. */
vly_status run_folder_begin(run_job *job, vly_error *error);
/* manifest.json as things stand; called at the start and at the end. */
vly_status run_folder_manifest(const run_job *job, vly_error *error);
/* summary.json, manifest.json, the end of log.jsonl: each is tried whatever
 * became of the others; the first failure goes to job->result.error. */
void run_folder_end(run_job *job);
/* The run was refused before its first burst. Where nothing was written yet the
 * folder stays as it is. Otherwise nothing is left of a folder that was new or
 * empty, and in another one the manifest says so. Legal at any time before
 * that. */
void run_folder_refuse(run_job *job, const vly_error *why);
/* A file of lines that belongs to the folder; that of a run which is gone on
 * with goes on behind its last whole line (*resumes).
 * Errors  those of vly_writer_open and vly_writer_resume */
vly_status run_folder_lines(const run_job *job, const char *path, bool *resumes,
                            vly_writer **writer, vly_error *error);
/* A line of log.jsonl, if there is one. */
void run_folder_event(run_job *job, const char *event, const char *text);
/* folder/name; the caller frees with vly_free; NULL without memory */
char *run_folder_path(const char *folder, const char *name);

/* ---- run_files.c ------------------------------------------------------ */

/* Opens and locks every file of the run. What was there before stays as it is
 * until begin. Errors  those of the writers */
vly_status run_files_open(run_job *job, vly_error *error);
/* Nothing can refuse the run any more: the first bytes of every file go out.
 * Errors  E_IO */
vly_status run_files_begin(run_job *job, vly_error *error);
/* A file that is written at the end, from the start, so that no other process
 * writes it; *writer stays NULL of a pipe, of "-" and of path NULL.
 * Errors  those of vly_writer_open */
vly_status run_files_claim(const char *path, vly_writer **writer,
                           vly_error *error);
/* The whole of a file that was claimed (*writer, NULL after it), or of one
 * that it has not. Errors  those of vly_writer_save */
vly_status run_files_save(vly_writer **writer, const char *path,
                          const char *text, size_t n_text, vly_error *error);
/* Closes what is open; of a run that never began nothing is left. */
void run_files_deinit(run_job *job);

/* ---- run_report.c ----------------------------------------------------- */

/* The line that says what runs, on stderr. */
void run_report_head(const run_job *job);
/* The summary, on stdout. */
void run_report_print(const run_job *job);
void run_report_json(const run_job *job, json_writer *json);
/* JSON of the summary into a file or "-". */
vly_status run_report_save(run_job *job, const char *path, vly_error *error);

#endif

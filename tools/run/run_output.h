/* SPDX-License-Identifier: Apache-2.0
 * What a run records and what becomes of it: the file that grows while it runs
 * (CSV, or a stream), and the files that a stream is made into at its end.
 */
#ifndef VOLLEY_TOOLS_RUN_OUTPUT_H
#define VOLLEY_TOOLS_RUN_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/volley.h>

#include "record/digest_log.h"
#include "record/export.h"
#include "tools/cli/json_writer.h"
#include "tools/run/run_record.h"
#include "tools/run/run_sample.h"

struct run_job;

typedef struct run_output {
    char *path;    /* what is left at the end; NULL: nothing is recorded */
    char *growing; /* what is written while the run goes on; path, or a stream
                      that is made into path at the end */
    vly_export_format format; /* of path; NONE: it is a stream */
    bool streams;             /* growing is a stream */
    bool spikes;              /* ids are wanted: recorded, or for statistics */
    bool failed;              /* growing could not be written */
    bool resumed;             /* growing was there before */
    uint8_t *mask;            /* a bit a neuron of [[record]]s with neurons */
    run_sink sink;
    run_record_load load;
    uint64_t n_spikes; /* recorded, in all the run's life */
    uint64_t n_frames;
    uint64_t n_bytes; /* of growing, at the end */
    uint32_t n_files; /* made of it */
    bool holds;       /* held keeps the lock of growing until it is path */
    int held;
    double export_s;
} run_output;

/* The state of the part. */
typedef struct record_part {
    const char *file;       /* --record; NULL: none */
    const char *format;     /* "csv", "sonata", "stream"; NULL: by the name */
    uint64_t memory;        /* bytes between the run and its files */
    bool statistics;        /* of spikes that are not recorded, too */
    const char *digest_log; /* NULL: none */
    run_output output;      /* what is recorded where */
    run_record *record;     /* writes it */
    run_sample sample;      /* fields of it */
    vly_digest_log *digests;
} record_part;
record_part *run_output_state(const struct run_job *job);

/* Names and formats, before anything is touched.
 * Errors  E_INVALID what is recorded cannot be standard output;
 *         E_UNSUPPORTED SONATA without HDF5 in this build; E_NOMEM */
vly_status run_output_choose(struct run_job *job, vly_error *error);
/* Opens the files and starts the thread, where something is recorded or
 * counted; fills the record of the part. The net is there. Errors  those of the
 * writers */
vly_status run_output_open(struct run_job *job, vly_error *error);
/* The first bytes go out: what a file held before is lost from here on. */
vly_status run_output_begin(struct run_job *job, vly_error *error);
/* The thread has ended and growing is whole; bursts are done. The first failure
 * goes to *error. */
void run_output_close(struct run_job *job, vly_error *error);
/* Makes the stream into what was asked for. It is removed then, unless the run
 * writes checkpoints, which go on in it. Errors  those of vly_export, and the
 * stream is left */
vly_status run_output_export(struct run_job *job, vly_error *error);
/* Of a run that never began nothing is left. */
void run_output_deinit(struct run_job *job);

/* Statistics of an area; false: there are none. */
bool run_output_figures(const struct run_job *job, uint32_t area,
                        vly_area_spikes *figures);
/* Lines of the summary; "recording" and "statistics" of it as JSON. */
void run_output_print(const struct run_job *job);
void run_output_json(const struct run_job *job, json_writer *json);

#endif

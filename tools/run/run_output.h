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
#include "tools/run/run_counts.h"
#include "tools/run/run_inputs.h"
#include "tools/run/run_job.h"
#include "tools/run/run_rates.h"
#include "tools/run/run_record.h"
#include "tools/run/run_sample.h"

typedef struct run_output {
    char *path;    /* the final file; NULL: nothing is recorded */
    char *growing; /* the file written during the run: path itself, or a stream
                    * that is converted to path at the end */
    vly_export_format format; /* of path; NONE: path is a stream */
    bool streams;             /* growing is a stream */
    bool spikes;              /* ids are needed: for the recording or for
                               * statistics */
    bool rates;               /* ids are needed: to count them for rates */
    bool direct;              /* statistics alone, in the burst loop */
    bool failed;              /* growing could not be written */
    bool resumed;             /* growing was there before */
    uint8_t *mask;            /* a bit a neuron of [[record]]s with neurons */
    run_sink sink;
    run_record_load load;
    uint64_t n_spikes; /* recorded spikes, including those before a resume */
    uint64_t n_frames;
    uint64_t n_bytes; /* of growing, at the end */
    uint32_t n_files; /* made of it */
    bool holds;       /* held keeps the lock of growing until it becomes path */
    int held;
    double export_s;
} run_output;

/* Positions in the files at the last snapshot of fail-over. */
typedef struct run_kept {
    bool marked; /* that in the recording is not known yet */
    vly_spike_place spikes;
    vly_digest_place digests;
} run_kept;

/* The state of the part. */
typedef struct record_part {
    const char *file;       /* --record; NULL: none */
    const char *format;     /* "csv", "sonata", "stream"; NULL: by the name */
    uint64_t memory;        /* bytes of buffers between the run and its files */
    bool statistics;        /* also of spikes that are not recorded */
    const char *digest_log; /* NULL: none */
    run_output output;      /* what is recorded where */
    run_record *record;     /* writes it */
    run_sample sample;      /* fields of it, rates and input */
    run_rates rates;        /* spikes are counted for them */
    run_inputs inputs;      /* differences of sums */
    run_counts counts;      /* of both, between two frames */
    vly_digest_log *digests;
    run_kept kept;
} record_part;
static inline record_part *run_output_state(const run_job *job)
{
    return run_part_state(job, RUN_PART_record);
}

/* Chooses names and formats, before any file is touched.
 * Errors  E_INVALID this recording cannot go to standard output; E_UNSUPPORTED
 * SONATA without HDF5 in this build; E_NOMEM */
vly_status run_output_choose(struct run_job *job, vly_error *error);
/* Opens the files and starts the thread if something is recorded or counted;
 * fills the record of the part. The net exists.
 * Errors  those of the writers */
vly_status run_output_open(struct run_job *job, vly_error *error);
/* Writes the first bytes: the previous contents of a file are lost from here
 * on. */
vly_status run_output_begin(struct run_job *job, vly_error *error);
/* The thread has ended and growing is whole; bursts are done. The first failure
 * goes to *error. */
void run_output_close(struct run_job *job, vly_error *error);
/* Converts the stream to the wanted format. The stream is then removed, unless
 * the run writes checkpoints, which continue in it.
 * Errors  those of vly_export; the stream is kept */
vly_status run_output_export(struct run_job *job, vly_error *error);
/* Removes the files of a run that never began. */
void run_output_deinit(struct run_job *job);

/* Names of formats, by vly_export_format. */
extern const char *const run_output_formats[];

/* ---- run_output_report.c ------------------------------------------------ */

/* Statistics of an area; false if there are none. */
bool run_output_figures(const struct run_job *job, uint32_t area,
                        vly_area_spikes *figures);
/* Lines of the summary; "recording" and "statistics" of it as JSON. */
void run_output_print(const struct run_job *job);
void run_output_json(const struct run_job *job, json_writer *json);

#endif

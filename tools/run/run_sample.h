/* SPDX-License-Identifier: Apache-2.0
 * Samples of fields: the run is cut at the bursts at which one is due, which
 * changes nothing in it.
 */
#ifndef VOLLEY_TOOLS_RUN_SAMPLE_H
#define VOLLEY_TOOLS_RUN_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/volley.h>

#include "genome/genome.h"
#include "record/stream.h"

struct run_job;

typedef struct run_sample {
    vly_stream_report *reports; /* [n_reports] those of the stream */
    const vly_record **windows; /* [n_reports] when each is sampled */
    uint32_t n_reports;
    double *range;  /* of the longest range of neurons that is read at once */
    double *values; /* of the largest report */
    uint32_t *words;
    uint64_t last; /* bursts done at the last sample */
} run_sample;

/* Prepares the samples of [[record]]. The connectome exists; last is set to the
 * first burst of the run.
 * Errors  E_NOMEM */
vly_status run_sample_init(struct run_job *job, vly_error *error);
void run_sample_deinit(run_sample *sample);
/* values [n_neurons] of a field for the neurons of a report.
 * Errors  those of vly_net_read */
vly_status run_sample_read(struct run_job *job, uint32_t report,
                           const char *field, double *values, vly_error *error);
/* The burst of the next sample of a field or of input, after the present one;
 * UINT64_MAX: none. Rates need no cut: the burst loop counts them. */
uint64_t run_sample_due(const struct run_job *job);
/* Called after every call of vly_net_run, before any other use of the net:
 * records the samples that are due, once per burst, and rates of intervals that
 * are over.
 * Errors  those of vly_net_read and of writing */
vly_status run_sample_look(struct run_job *job, vly_error *error);

#endif

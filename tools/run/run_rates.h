/* SPDX-License-Identifier: Apache-2.0
 * Rates of [[record]]: spikes are counted by the burst loop, and a frame of the
 * stream has the rates of each interval that is done. Counts depend on the
 * spikes alone, so the frames are the same on every backend.
 */
#ifndef VOLLEY_TOOLS_RUN_RATES_H
#define VOLLEY_TOOLS_RUN_RATES_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/volley.h>

#include "genome/genome.h"
#include "record/stream.h"

struct run_job;

/* One [[record]] of rates in one area. */
typedef struct run_rate {
    const vly_record *record;
    uint32_t report; /* of the stream */
    uint32_t first;  /* id of the area's first neuron */
    uint32_t n_area;
    uint32_t n_neurons; /* recorded ones */
    uint32_t n_counts;  /* words of a frame */
    uint64_t *counts;   /* [n_counts] spikes of the open interval */
    uint64_t *begin;    /* of the open interval: its first burst */
} run_rate;

typedef struct run_rates {
    run_rate *rates; /* [n] */
    uint32_t n;
    uint64_t n_state; /* words of run_counts: begins, then the counts of each */
    uint32_t *words;  /* of the largest frame */
    double dt_ms;
} run_rates;

/* The name of a rate in files. */
#define RUN_RATE_FIELD "rate_hz"

/* The report of a [[record]] of rates, of an area of so many neurons. */
vly_stream_report run_rates_report(const vly_record *record, uint32_t n_area);
/* For these reports of the job, which are in the state of its part.
 * Errors  E_NOMEM */
vly_status run_rates_init(struct run_job *job, vly_error *error);
/* Takes state [n_state]; continues: it has the counts of a checkpoint. */
void run_rates_place(const struct run_job *job, run_rates *rates,
                     uint64_t *state, bool continues);
void run_rates_deinit(run_rates *rates);
/* Called for every burst in order: records the intervals that end before it,
 * then counts its spikes. ids ascend.
 * Errors  those of writing */
vly_status run_rates_burst(struct run_job *job, uint64_t burst,
                           const uint32_t *ids, uint32_t n_ids,
                           vly_error *error);
/* Records the intervals that have ended when `done` bursts are done, of one
 * report of the stream or of all (UINT32_MAX).
 * Errors  those of writing */
vly_status run_rates_look(struct run_job *job, uint64_t done, uint32_t report,
                          vly_error *error);
#endif

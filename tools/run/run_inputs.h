/* SPDX-License-Identifier: Apache-2.0
 * Input of [[record]]: what arrived at a port in each interval is the
 * difference of two sums, which the models keep
 * (core/genome/genome_record_input.c).
 */
#ifndef VOLLEY_TOOLS_RUN_INPUTS_H
#define VOLLEY_TOOLS_RUN_INPUTS_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/volley.h>

struct run_job;
struct vly_record;

/* One [[record]] of input at one port of one area. */
typedef struct run_input {
    const struct vly_record *record;
    uint32_t report; /* of the stream */
    uint32_t n_neurons;
    uint64_t *begin; /* of the open interval: its first burst */
    uint64_t *sums;  /* [n_neurons] at its begin: bits of doubles */
} run_input;

typedef struct run_inputs {
    run_input *inputs; /* [n] */
    uint32_t n;
    uint64_t n_state; /* words of run_counts: begins, then the sums of each */
    double *high;     /* of the largest report */
} run_inputs;

/* For these reports of the job, which are in the state of its part.
 * Errors  E_NOMEM */
vly_status run_inputs_init(struct run_job *job, vly_error *error);
void run_inputs_deinit(run_inputs *inputs);
/* Takes state [n_state]; continues: it has the sums of a checkpoint. Reads the
 * sums of intervals that begin now.
 * Errors  those of vly_net_read */
vly_status run_inputs_place(struct run_job *job, uint64_t *state,
                            bool continues, vly_error *error);
/* The burst of the next sum to be read after `burst`; UINT64_MAX: none. */
uint64_t run_inputs_due(const run_inputs *inputs, uint64_t burst);
/* Reads the sums that are due of input `number`, in the order of reports, and
 * records the interval that has ended. *taken: sums were read; a fail-over
 * to an earlier burst would not read them again.
 * Errors  those of vly_net_read and of writing */
vly_status run_inputs_look(struct run_job *job, uint64_t burst, uint32_t number,
                           bool *taken, vly_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * One case of volley.attention/1 on a device. Functions that return false store
 * a message in the trial's accel->text. A trial belongs to one thread at a
 * time; several trials may run at once.
 */
#ifndef VOLLEY_CONFORMANCE_ATTENTION_TRIAL_H
#define VOLLEY_CONFORMANCE_ATTENTION_TRIAL_H

#include "conformance/conformance_accel.h"
#include "conformance/conformance_attention.h"

/* After the tensors of attention_values. */
enum {
    ATTENTION_BUFFER_LENGTH_Q = ATTENTION_N_VALUES,
    ATTENTION_BUFFER_LENGTH_KV,
    ATTENTION_BUFFER_START_Q,
    ATTENTION_BUFFER_START_KV,
    ATTENTION_BUFFER_PAGES,
    ATTENTION_BUFFER_SCALE_Q,
    ATTENTION_BUFFER_SCALE_K,
    ATTENTION_BUFFER_SCALE_V,
    ATTENTION_BUFFER_SCALE_O,
    ATTENTION_BUFFER_WORKSPACE,
    ATTENTION_N_BUFFERS
};

/* The caller sets all before `plan` (but `skipped`), and error's size; the rest
 * is 0 before open. */
typedef struct attention_trial {
    accel_trial *accel; /* receives its messages */
    const vly_accelerator *accelerator;
    vly_attention_desc desc; /* of this run */
    uint32_t backward;
    uint32_t unaligned;
    uint32_t graph;    /* run as a graph, in a stream of its own */
    uint32_t skipped;  /* by open: the plugin does not offer it */
    uint32_t reserved; /* of a run; values other than 0 are refused */
    void *stream;      /* NULL: the default, or that of the graph */
    attention_data data;
    vly_attention_plan *plan;
    vly_plan_info info;
    accel_buffer buffers[ATTENTION_N_BUFFERS];
    vly_error error;
} attention_trial;

/* The plan of desc alone, which needs no data. */
bool attention_trial_plan(attention_trial *t);
/* The plan, if there is none yet, and buffers of the device: inputs are filled,
 * all other memory is poisoned. close must follow whether it succeeds or not.
 */
bool attention_trial_open(attention_trial *t);
/* The data stay. */
void attention_trial_close(attention_trial *t);
/* Done when it returns. */
bool attention_trial_run(attention_trial *t);
/* A run with something in reserved is refused by name. */
bool attention_trial_refuses(attention_trial *t);
/* Results are within their bounds, and nothing else was written. */
bool attention_trial_check(attention_trial *t);
/* Outputs as open left them. */
bool attention_trial_poison(attention_trial *t);
/* Of every bit of the outputs. */
bool attention_trial_digest(attention_trial *t, uint64_t *digest);

#endif

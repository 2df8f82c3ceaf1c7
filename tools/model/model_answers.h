/* SPDX-License-Identifier: Apache-2.0
 * What a neuron of a user's model does: with steps of its input current, over a
 * range of currents, and after one event at each port. An event has weight 1,
 * or 10, 100, ... where 1 changes little. Small nets are made in memory and run
 * on the cpu backend.
 */
#ifndef VOLLEY_TOOLS_MODEL_ANSWERS_H
#define VOLLEY_TOOLS_MODEL_ANSWERS_H

#include <volley/volley.h>

#include "tools/doc/doc_model.h"

enum {
    ANSWER_STEPS = 3,
    ANSWER_CURRENTS = 61,
    ANSWER_TRACES = 1 + ANSWER_STEPS + VLY_NEURON_PORTS_MAX
};

typedef struct model_answers {
    const vly_model_info *model;
    double dt_ms;
    double ms;         /* length of a trace */
    double rates_ms;   /* and of the runs for rates */
    double highest;    /* current; 0: three times the least that fires */
    const char *field; /* of the traces */
    const char *const *values; /* "tau_m_ms=20": of the model's parameters */
    uint32_t n_values;

    double begin_ms; /* of steps; the end of the burst of events */
    double end_ms;
    uint32_t n_bursts; /* of a trace */
    double *times_ms;  /* of its samples: the ends of bursts */
    /* undisturbed, steps, events: these less undisturbed */
    double *traces[ANSWER_TRACES];
    double weights[VLY_NEURON_PORTS_MAX]; /* of the events */
    double steps[ANSWER_STEPS];
    double currents[ANSWER_CURRENTS];
    double rates_hz[ANSWER_CURRENTS];
    bool has_input; /* steps and rates are there */
    bool fires;     /* at one of the currents tried */
} model_answers;

/* The caller fills the first part. deinit also after a failure.
 * Errors  E_INVALID a value or the field is unknown; those of the engine */
vly_status model_answers_find(model_answers *answers, vly_error *error);
void model_answers_deinit(model_answers *answers);

#endif

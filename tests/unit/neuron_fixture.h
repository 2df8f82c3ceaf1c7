/* SPDX-License-Identifier: Apache-2.0
 * A user's neuron model from the text of its [neuron.n], and its program run
 * for one neuron, one operation after the other.
 */
#ifndef VOLLEY_TEST_NEURON_FIXTURE_H
#define VOLLEY_TEST_NEURON_FIXTURE_H

#include "volley_test.h"

#include "genome/genome.h"
#include "neuron/neuron_build.h"

typedef struct neuron {
    vly_neuron_model *model;
    char **notes;
    uint32_t n_notes;
    double dt_ms;
    double dc;
    double params[VLY_NEURON_PARAMS_MAX];
    double coefs[VLY_NEURON_COEFS_MAX];
    uint32_t fields[VLY_NEURON_FIELDS_MAX];
    float uniform;                  /* all draws */
    float in[VLY_NEURON_PORTS_MAX]; /* of the next burst */
} neuron;

/* E_PARSE or E_NOMEM with the message in *error. */
vly_status neuron_try(neuron *n, const char *text, vly_error *error);
/* Made, with the default parameters and fields at their start. */
void neuron_make(neuron *n, const char *text, double dt_ms);
/* The same of a model that neuron_try made. */
void neuron_made(neuron *n, double dt_ms);
void neuron_free(neuron *n);
/* Coefficients of n->params, n->dt_ms and n->dc, and fields at their start. */
void neuron_start(neuron *n);
/* Index of a parameter's key */
uint32_t neuron_param(const neuron *n, const char *key);
float neuron_field(const neuron *n, const char *name);
void neuron_set(neuron *n, const char *name, float value);
/* The values of all operations in a burst. */
void neuron_words(const neuron *n, uint32_t *words);
/* One burst; whether the neuron fired. The inputs are 0 after it. */
bool neuron_burst(neuron *n);
/* The text is refused with this message: "line:column: sentence". */
void neuron_refused(const char *text, const char *message);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * A user's neuron model: from texts to a program that every backend runs, and
 * to the values that it reads. docs/models.md has the language.
 */
#ifndef VOLLEY_NEURON_NEURON_MODEL_H
#define VOLLEY_NEURON_NEURON_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <volley/plugin.h>

#define VLY_NEURON_FIELDS_MAX VLY_PROGRAM_MAX_FIELDS
#define VLY_NEURON_PARAMS_MAX 64u
#define VLY_NEURON_PORTS_MAX 4u
#define VLY_NEURON_COEFS_MAX VLY_PROGRAM_MAX_COEFS
#define VLY_NEURON_OPS_MAX VLY_PROGRAM_MAX_OPS
#define VLY_NEURON_SUBSTEPS_MAX 16u

/* A text and where it stands (given back with a fault). text NULL: not given */
typedef struct vly_neuron_text {
    const char *text;
    const void *place;
} vly_neuron_text;

/* A name with its value or start ("10 ms"), range and description. Texts that
 * are NULL are not given. For a port `value` is its unit. */
typedef struct vly_neuron_name {
    const char *name;
    const void *place;
    vly_neuron_text value;
    vly_neuron_text lo;
    vly_neuron_text hi;
    vly_neuron_text arrives; /* of a port: what an arrival does */
    const char *text;
} vly_neuron_name;

typedef struct vly_neuron_source {
    /* The number at the start of a text, whatever the locale; returns the
     * characters used (vly_toml_scan_number). */
    size_t (*scan)(const char *text, double *number);
    const char *name;
    const void *place;
    const char *text; /* one line about the model, or NULL */
    const vly_neuron_name *params;
    const vly_neuron_name *ports;
    const vly_neuron_name *states;
    uint32_t n_params;
    uint32_t n_ports;
    uint32_t n_states;
    vly_neuron_text eq;
    vly_neuron_text update;
    vly_neuron_text spike;
    vly_neuron_text reset;
    vly_neuron_text refractory;
    vly_neuron_text method;
    vly_neuron_text input; /* the parameter that dc stimuli add to */
    uint32_t substeps;     /* of a burst; 0: not given */
    const void *substeps_place;
    bool sums; /* fields that add up what arrives at each port */
    const void *sums_place;
    /* Takes what is read, but perhaps not meant; false: no memory. NULL: notes
     * are not wanted. */
    bool (*note)(void *context, const void *place, const char *sentence);
    void *context;
} vly_neuron_source;

/* Where and why a text is refused. */
typedef struct vly_neuron_fault {
    const void *place;
    uint32_t at; /* offset in the text of the place; UINT32_MAX: the place */
    char sentence[480];
} vly_neuron_fault;

typedef struct vly_neuron_param {
    const char *key; /* "tau_m_ms" */
    const char *name;
    const char *unit; /* as written: "ms" */
    const char *text;
    double init;
    double lo;
    double hi;
} vly_neuron_param;

typedef struct vly_neuron_field {
    const char *key; /* "v_mv" */
    const char *name;
    const char *unit;
    const char *text; /* "": none */
    uint32_t type;
    float lo;
    float hi;
    bool declared; /* the range is given, not the default */
} vly_neuron_field;

typedef struct vly_neuron_port {
    const char *name;
    const char *suffix; /* of weight_pa */
    const char *unit;
} vly_neuron_port;

typedef struct vly_neuron_model vly_neuron_model;

/* E_PARSE: *fault says why; E_NOMEM. */
vly_status vly_neuron_compile(const vly_neuron_source *source,
                              vly_neuron_model **model,
                              vly_neuron_fault *fault);
void vly_neuron_destroy(vly_neuron_model *model);

/* Borrowed, until destroy. */
const vly_program *vly_neuron_program(const vly_neuron_model *model);
const vly_neuron_param *vly_neuron_params(const vly_neuron_model *model,
                                          uint32_t *n);
const vly_neuron_field *vly_neuron_fields(const vly_neuron_model *model,
                                          uint32_t *n);
const vly_neuron_port *vly_neuron_ports(const vly_neuron_model *model,
                                        uint32_t *n);
/* How the equations are integrated, and of which order that is. */
const char *vly_neuron_scheme(const vly_neuron_model *model);
/* Of what a backend runs: the operations and the kinds of their inputs. */
uint64_t vly_neuron_hash(const vly_neuron_model *model);
/* Index of the parameter that dc stimuli add to, and of that which is whole
 * bursts; UINT32_MAX: none */
uint32_t vly_neuron_input(const vly_neuron_model *model);
uint32_t vly_neuron_refractory(const vly_neuron_model *model);
/* Field of the sum of a port, after which comes its residual; UINT32_MAX: none
 */
uint32_t vly_neuron_sum(const vly_neuron_model *model, uint32_t port);
/* 1: a burst is one step */
uint32_t vly_neuron_substeps(const vly_neuron_model *model);

/* Coefficients: their number, type, and whether one changes with dc. */
uint32_t vly_neuron_n_coefs(const vly_neuron_model *model);
uint32_t vly_neuron_coef_type(const vly_neuron_model *model, uint32_t index);
bool vly_neuron_coef_driven(const vly_neuron_model *model, uint32_t index);
/* values [n_coefs] of parameters in their units, the burst dt and dc. */
void vly_neuron_coefs(const vly_neuron_model *model, const double *params,
                      double dt_ms, double dc, double *values);
/* The start of each field in its unit where values is NaN. */
void vly_neuron_start(const vly_neuron_model *model, const double *params,
                      double dt_ms, double *values);
/* The condition that the parameters violate ("tau_ms other than 0"); NULL: they
 * fit. */
const char *vly_neuron_unfit(const vly_neuron_model *model,
                             const double *params, double dt_ms);

#endif

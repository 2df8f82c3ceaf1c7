/* SPDX-License-Identifier: Apache-2.0
 * The tables of plasticity rules (kernels/rules/NAME.def) as data and
 * functions: for checks, messages, documentation, and for the coefficients and
 * traces that a backend reads. ("Rule" alone is a rule of connections:
 * rule_info.h.)
 */
#ifndef VOLLEY_GENOME_PLASTICITY_INFO_H
#define VOLLEY_GENOME_PLASTICITY_INFO_H

#include "genome/model_info.h"

#define VLY_TRACE_BURSTS_MAX (UINT32_C(1) << 24)
/* m is at most this: a weight is an int16 */
#define VLY_MASTER_MAX (INT32_C(32767) << 16)

/* x<index> of the source or y<index> of the target. */
typedef struct vly_trace_info {
    bool of_target;
    uint32_t index;
    uint32_t param; /* its time constant */
} vly_trace_info;

/* What the expressions of a table read. */
typedef struct vly_plasticity_input {
    const double *params; /* [n_params] */
    double w_max;         /* magnitude, in the unit of the target's port */
    double unit;          /* of the stored weights, 2^-q 2^shift */
    double dt_ms;
} vly_plasticity_input;

/* The rule itself: m after a spike arrived, or after the target fired. x, y:
 * traces before this burst. */
typedef int32_t vly_plasticity_step(int32_t m, const uint32_t *coefs,
                                    const float x[2], const float y[2]);

typedef struct vly_plasticity_info {
    const char *id;
    const char *text;
    const char *source;
    const char *equations;
    uint64_t table_hash;
    const vly_param_info *params; /* unit "weight": the unit of the weights */
    const vly_coef_info *coefs;
    const vly_trace_info *traces;
    uint32_t n_params;
    uint32_t n_coefs;
    uint32_t n_traces;
    bool modulated;         /* its synapses have an eligibility */
    uint32_t modulator_tau; /* parameters, if it is modulated */
    uint32_t modulator_interval;
    void (*coefs_of)(const vly_plasticity_input *input, uint32_t *words);
    /* the condition that inconsistent parameters violate; NULL: consistent */
    const char *(*check_of)(const vly_plasticity_input *input);
    vly_plasticity_step *pre;
    vly_plasticity_step *post;
} vly_plasticity_info;

/* NULL if there is no such rule. [any-thread] */
const vly_plasticity_info *vly_plasticity_find(const char *id);
const vly_plasticity_info *vly_plasticity_at(uint32_t index);
uint32_t vly_plasticity_count(void);

/* Whether the parameter is in the unit of the weights. */
bool vly_plasticity_scaled(const vly_plasticity_info *info, uint32_t param);

/* Whether the parameter is a time that states depend on: those of the traces
 * and of the modulator. They stay while a net runs. */
bool vly_plasticity_fixed(const vly_plasticity_info *info, uint32_t param);
/* The nearest whole number of bursts; 0: less than half a burst. */
double vly_plasticity_interval(double interval_ms, double dt_ms);
/* Decay of the modulator and bursts between changes of the weights; both 0 if
 * the rule has none. */
void vly_plasticity_modulator(const vly_plasticity_info *info,
                              const double *params, double dt_ms,
                              vly_learning_trace *modulator,
                              uint32_t *interval);

/* w_max in 2^-16 of the unit: the bound of m */
uint32_t vly_plasticity_most(const vly_plasticity_input *input);
/* words [n_coefs] */
void vly_plasticity_coefs(const vly_plasticity_info *info,
                          const vly_plasticity_input *input, uint32_t *words);
/* Bursts after which a trace counts as 0: 15 halvings, at least 1. As a double,
 * since it may be above VLY_TRACE_BURSTS_MAX. */
double vly_trace_bursts(double tau_ms, double dt_ms);
/* The longest time constant whose trace is within VLY_TRACE_BURSTS_MAX, to
 * 1e-6 ms. */
double vly_trace_tau_max(double dt_ms);
/* Traces [2] of source and target; those that the rule does not have are 0.
 * Every trace must be within VLY_TRACE_BURSTS_MAX. */
void vly_plasticity_traces(const vly_plasticity_info *info,
                           const double *params, double dt_ms,
                           vly_learning_trace source[2],
                           vly_learning_trace target[2]);

#endif

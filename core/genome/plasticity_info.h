/* SPDX-License-Identifier: Apache-2.0
 * The tables of plasticity rules (kernels/rules/NAME.def) as data and
 * functions: for checks, messages, documentation, and for the coefficients and
 * traces that a backend reads. ("Rule" alone is a rule of connections:
 * rule_info.h.) Rules of short-term plasticity are among them: their weights
 * stay as they are, so they have no bound and no functions pre and post.
 */
#ifndef VOLLEY_GENOME_PLASTICITY_INFO_H
#define VOLLEY_GENOME_PLASTICITY_INFO_H

#include "genome/model_info.h"
#include "kernels/rules/short_term.h"

#define VLY_TRACE_BURSTS_MAX (UINT32_C(1) << 24)
#define VLY_INTERVAL_BURSTS_MAX UINT32_MAX
/* most coefficients of a built-in rule */
#define VLY_RULE_COEFS 16u
/* most coefficients of a rule of short-term plasticity */
#define VLY_SHORT_TERM_COEFS 16u
/* Eligibilities have room for so many times the largest coefficient that is
 * added to them: pairs at 200 Hz on both sides, with traces of 20 ms and a
 * decay of 1 s, need 800. */
#define VLY_ELIGIBILITY_ROOM 1024.0
/* of vly_plasticity_loses */
#define VLY_LOSS_SIZE 320u
/* m is at most this: a weight is an int16 */
#define VLY_MASTER_MAX (INT32_C(32767) << 16)

/* x<index> of the source or y<index> of the target. */
typedef struct vly_trace_info {
    bool of_target;
    uint32_t index;
    uint32_t param; /* its time constant; of a rule of windows: bursts */
} vly_trace_info;

/* The state of a source that a parameter of short-term plasticity gives at the
 * start of a run. */
enum { VLY_START_X, VLY_START_U, VLY_START_Y };
typedef struct vly_start_info {
    uint32_t state; /* VLY_START_* */
    uint32_t param;
} vly_start_info;

/* What the expressions of a table read. */
typedef struct vly_plasticity_input {
    const double *params; /* [n_params] */
    double w_max;         /* magnitude, in the unit of the target's port */
    double unit;          /* of the stored weights, 2^-q 2^shift */
    double dt_ms;
    double scale; /* of eligibilities; 0: that of vly_plasticity_scale */
} vly_plasticity_input;

/* What a coefficient has to do with an eligibility: rule_table.h. */
enum {
    VLY_ELIGIBILITY_NONE,
    VLY_ELIGIBILITY_ADDED,
    VLY_ELIGIBILITY_SHARE,
    VLY_ELIGIBILITY_FADE
};

/* The rule itself: m after a spike arrived, or after the target fired. x, y:
 * traces before this burst. */
typedef int32_t vly_plasticity_step(int32_t m, const uint32_t *coefs,
                                    const float x[2], const float y[2]);

/* Short-term plasticity: the state after a spike that comes h bursts after the
 * one before. */
typedef vly_short_term vly_short_term_step(vly_short_term state,
                                           const uint32_t *coefs, uint32_t h);

typedef struct vly_user_rule vly_user_rule; /* user_rule.c */

typedef struct vly_plasticity_info {
    const char *id;
    const char *text;
    const char *source;
    const char *equations;
    uint64_t table_hash;
    const vly_param_info *params; /* unit "weight": the unit of the weights */
    const vly_coef_info *coefs;
    const vly_trace_info *traces;
    const vly_start_info *starts; /* short-term plasticity, otherwise none */
    uint32_t n_params;
    uint32_t n_coefs;
    uint32_t n_traces;
    bool modulated;         /* its synapses have an eligibility */
    uint32_t modulator_tau; /* parameters, if it is modulated */
    uint32_t modulator_interval;
    uint32_t n_starts;
    bool short_term;
    bool window;         /* a rule of windows: rule.h */
    vly_user_rule *user; /* a [synapse]; then these two are NULL: call
                          * vly_plasticity_coefs and vly_plasticity_unfit */
    /* coefficients before they are rounded and scaled */
    void (*values_of)(const vly_plasticity_input *input, double *values);
    const char *const *coef_texts; /* [n_coefs] with P(name) of a parameter */
    const uint8_t *eligibility;    /* [n_coefs] VLY_ELIGIBILITY_* */
    /* the condition that inconsistent parameters violate; NULL: consistent */
    const char *(*check_of)(const vly_plasticity_input *input);
    vly_plasticity_step *pre;
    vly_plasticity_step *post;
    vly_short_term_step *spike; /* short-term plasticity, otherwise NULL */
} vly_plasticity_info;

/* NULL if there is no such rule. [any-thread] */
const vly_plasticity_info *vly_plasticity_find(const char *id);
const vly_plasticity_info *vly_plasticity_at(uint32_t index);
uint32_t vly_plasticity_count(void);

/* Whether the rule has this key of vly_keys_plasticity: of short-term
 * plasticity only `rule`; `modulator` only a rule with an eligibility. */
bool vly_plasticity_has_key(const vly_plasticity_info *info, const char *key);
/* Whether the parameter is in the unit of the weights. */
bool vly_plasticity_scaled(const vly_plasticity_info *info, uint32_t param);

/* Whether the parameter stays as compiled while a net runs: a time that states
 * depend on (of the traces, of the modulator), or a value at the start. */
bool vly_plasticity_fixed(const vly_plasticity_info *info, uint32_t param);
/* The nearest whole number of bursts; 0: less than half a burst. */
double vly_plasticity_interval(double interval_ms, double dt_ms);
/* Decay of the modulator and bursts between changes of the weights; both 0 if
 * the rule has none. */
void vly_plasticity_modulator(const vly_plasticity_info *info,
                              const double *params, double dt_ms,
                              vly_learning_trace *modulator,
                              uint32_t *interval);

/* The magnitude of a bound with a sign: w_max of vly_plasticity_input. */
static inline double vly_plasticity_size(double w_max)
{
    return w_max < 0.0 ? -w_max : w_max;
}
/* w_max in 2^-16 of the unit: the bound of m */
uint32_t vly_plasticity_most(const vly_plasticity_input *input);
/* The unit of eligibilities, in that of the map: the least power of two from 1
 * on that leaves VLY_ELIGIBILITY_ROOM for these parameters. 1 for rules without
 * eligibilities. A net keeps that of its connectome: its eligibilities have it.
 */
double vly_plasticity_scale(const vly_plasticity_info *info,
                            const vly_plasticity_input *input);
/* A parameter that is more than eligibilities of input->scale leave room for,
 * its value and the most that they do, in the unit of the weights; NULL: none
 * is. */
const char *vly_plasticity_outgrows(const vly_plasticity_info *info,
                                    const vly_plasticity_input *input,
                                    double *found, double *most);
/* words [n_coefs] */
void vly_plasticity_coefs(const vly_plasticity_info *info,
                          const vly_plasticity_input *input, uint32_t *words);
/* The condition that the parameters violate; NULL: they fit. */
const char *vly_plasticity_unfit(const vly_plasticity_info *info,
                                 const vly_plasticity_input *input);

/* With the unit of a map: what is wanted, if a coefficient (of a user's rule a
 * constant of them) is not 0 but counts as 0, or is above what a rule may read;
 * otherwise NULL. text: where it may be written. */
const char *vly_plasticity_loses(const vly_plasticity_info *info,
                                 const vly_plasticity_input *input,
                                 char text[VLY_LOSS_SIZE]);

/* One more user, or one less, of a user's rule, which the last one frees;
 * nothing for a built-in one and (drop) NULL. [any-thread] */
void vly_plasticity_hold(const vly_plasticity_info *rule);
void vly_plasticity_drop(const vly_plasticity_info *rule);
/* The table [synapse.NAME] as TOML; NULL: a built-in rule */
const char *vly_plasticity_definition(const vly_plasticity_info *rule);
/* As backends know the rule: vly_learning_desc.rule. */
const char *vly_plasticity_backend_id(const vly_plasticity_info *rule);
/* Of user_rule.c */
void vly_user_rule_coefs(const vly_user_rule *user,
                         const vly_plasticity_input *input, uint32_t *words);
bool vly_user_rule_loses(const vly_user_rule *user,
                         const vly_plasticity_input *input);
const char *vly_user_rule_unfit(const vly_user_rule *user,
                                const vly_plasticity_input *input);
/* Bursts after which a trace counts as 0: 15 halvings, at least 1. As a double,
 * since it may be above VLY_TRACE_BURSTS_MAX. */
double vly_trace_bursts(double tau_ms, double dt_ms);
/* The longest time constant whose trace is within VLY_TRACE_BURSTS_MAX, to
 * 1e-6 ms. */
double vly_trace_tau_max(double dt_ms);
/* The same of trace number i of a rule. */
double vly_plasticity_bursts(const vly_plasticity_info *info,
                             const double *params, uint32_t i, double dt_ms);
/* Traces [2] of source and target; those that the rule does not have are 0.
 * Every trace must be within VLY_TRACE_BURSTS_MAX. */
void vly_plasticity_traces(const vly_plasticity_info *info,
                           const double *params, double dt_ms,
                           vly_learning_trace source[2],
                           vly_learning_trace target[2]);
/* Short-term plasticity: bursts after which a spike leaves no trace, 24
 * halvings of the longest time constant: less than a gain resolves. */
uint32_t vly_short_term_bursts(const vly_plasticity_info *info,
                               const double *params, double dt_ms);
/* The state of every source at the start of a run. Its age is 0 bursts, or
 * none if y is below 0. */
vly_short_term vly_short_term_start(const vly_plasticity_info *info,
                                    const double *params);

#endif

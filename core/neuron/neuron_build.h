/* SPDX-License-Identifier: Apache-2.0
 * A neuron model while it is made. Internal to core/neuron.
 */
#ifndef VOLLEY_NEURON_NEURON_BUILD_H
#define VOLLEY_NEURON_NEURON_BUILD_H

#include "neuron/neuron_tree.h"

#define VLY_NO_VALUE UINT32_MAX
#define VLY_NEURON_SLOTS (4u * VLY_NEURON_OPS_MAX)
/* Assignments of one text: each makes an operation, and is emitted alone. */
#define VLY_STATEMENTS_MAX 512u
#define VLY_NUMBER_MOST 1e30 /* of a number in an expression */

/* One of eq, update, on.PORT or reset. */
typedef struct vly_statement {
    bool local;      /* the target is a name of `update` */
    bool derivative; /* target' = node */
    bool add;        /* target += node */
    bool hold;       /* stands still while refractory */
    bool compensated;
    uint32_t target;
    vly_node *node;
    const void *place;
    uint32_t at;
} vly_statement;

typedef struct vly_statements {
    vly_statement *items;
    uint32_t n;
    uint32_t room;
} vly_statements;

typedef struct vly_state {
    vly_node *start;
    vly_unit unit;
    vly_node *rate; /* right side of its equation, or NULL */
    bool hold;
    uint32_t residual;  /* the field of a compensated one; 0: none */
    bool exact;         /* solved by the propagator */
    uint32_t row;       /* of the exact system */
    vly_node *linear;   /* not exact: rate = constant + linear x + rest, */
    vly_node *constant; /* NULL: 0 */
    vly_node *rest;
} vly_state;

typedef enum vly_coef_kind {
    VLY_COEF_NODE,
    VLY_COEF_WHOLE, /* propagator of a burst: row, column (n: constant) */
    VLY_COEF_HALF,  /* of half a burst */
    VLY_COEF_BURSTS /* of a time: whole bursts */
} vly_coef_kind;

typedef struct vly_coef {
    vly_coef_kind kind;
    const vly_node *node;
    bool held; /* propagator with the held variables standing still */
    bool driven;
    bool low; /* propagator: 2^24 times what a float does not hold of it */
    uint32_t row;
    uint32_t column;
} vly_coef;

typedef enum vly_method {
    VLY_METHOD_AUTO,
    VLY_METHOD_EXACT,
    VLY_METHOD_EXPONENTIAL,
    VLY_METHOD_HEUN,
    VLY_METHOD_RK4,
    VLY_METHOD_EULER,
    VLY_METHODS
} vly_method;

/* Bounds of a value that has not overflowed. */
typedef struct vly_bounds {
    double lo;
    double hi;
    bool finite; /* it never does, and nothing that does has an effect */
} vly_bounds;

struct vly_neuron_model {
    vly_arena arena;
    const vly_neuron_source *source; /* while it is made */
    vly_neuron_fault *fault;
    vly_names names;
    bool synapse; /* of a [synapse] */

    vly_neuron_param *params;
    int *decimals; /* [n_params] of their units */
    uint32_t n_params;
    vly_neuron_port *ports;
    vly_unit *port_units;
    uint32_t n_ports;
    vly_neuron_field *fields;
    vly_state *states;
    uint32_t n_states;
    uint32_t n_fields;  /* and `refractory`, if there is one */
    uint32_t first_sum; /* field of the sum of port 0, its residual, those of
                         * port 1, ...; 0: none */
    uint32_t input;
    uint32_t refractory_param;
    vly_node *refractory; /* NULL: none */

    vly_statements eq;
    vly_statements update;
    vly_statements arrivals[VLY_NEURON_PORTS_MAX];
    vly_statements reset;
    vly_node *spike;
    uint32_t n_locals;
    uint32_t n_draws; /* uniform( ) and normal( ) */
    vly_method method;
    uint32_t substeps;

    /* the exact system x' = matrix x + constant; NULL: 0 */
    uint32_t n_exact;
    uint32_t exact[VLY_NEURON_FIELDS_MAX]; /* states */
    vly_node *matrix[VLY_NEURON_FIELDS_MAX][VLY_NEURON_FIELDS_MAX];
    vly_node *constant[VLY_NEURON_FIELDS_MAX];
    bool reach[VLY_NEURON_FIELDS_MAX][VLY_NEURON_FIELDS_MAX + 1];
    bool two_systems; /* one with the held variables standing still */
    /* its constant and the factors of others are not below 0 */
    bool stays[VLY_NEURON_FIELDS_MAX];

    vly_coef coefs[VLY_NEURON_COEFS_MAX];
    uint32_t n_coefs;
    vly_program_op ops[VLY_NEURON_OPS_MAX];
    uint32_t types[VLY_NEURON_OPS_MAX];
    vly_bounds bounds[VLY_NEURON_OPS_MAX]; /* of ops */
    uint16_t slots[VLY_NEURON_SLOTS]; /* 1 + operation, by its hash; 0: none */
    uint32_t n_ops;
    uint32_t outs[VLY_NEURON_FIELDS_MAX + 1];
    vly_program program;
    char scheme[480];
    /* what is wanted of a parameter that is 0 and divides; NULL: it does not */
    const char *divisors[VLY_NEURON_PARAMS_MAX];
    char unfit[240]; /* the condition on a reset, or "" */
    bool strict;     /* the condition is below, not at most */
    vly_node *reset_value;
    vly_node *threshold;
    uint32_t cut; /* state that equations do not take beyond the threshold */
    uint64_t hash;
};

/* What a program computes at one place of the texts. */
typedef struct vly_env {
    uint32_t stamp;
    uint32_t state[VLY_NEURON_FIELDS_MAX];
    uint32_t low[VLY_NEURON_FIELDS_MAX]; /* VLY_NO_VALUE: not compensated */
    bool dirty[VLY_NEURON_FIELDS_MAX];   /* not stored yet */
    bool raw; /* reading stores nothing: stages of a method */
} vly_env;

typedef struct vly_emitter {
    vly_neuron_model *model;
    vly_env *env;
    const vly_env *before; /* at the start of the burst, for rises( ) */
    uint32_t n_stamps;
    uint32_t local[VLY_NEURON_OPS_MAX / 8];
    uint32_t ready; /* not refractory; VLY_NO_VALUE: always */
    uint32_t substep;
    uint32_t n_first; /* operations of the first substep */
    bool failed;
} vly_emitter;

/* neuron_names.c: parameters, ports and state variables, and a refusal at a
 * place. All give false after a fault, or without memory. */
bool vly_neuron_names(vly_neuron_model *model);
bool vly_neuron_refuse(vly_neuron_model *model, const void *place,
                       const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool vly_neuron_refuse_at(vly_neuron_model *model, const void *place,
                          uint32_t at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
bool vly_neuron_name_good(vly_neuron_model *model, const char *name,
                          const void *place);
bool vly_neuron_name_add(vly_neuron_model *model, const char *name,
                         vly_node_kind kind, uint32_t index, vly_unit unit,
                         const void *place);
/* NAME_unit, as users write it in an area; NULL: no memory */
const char *vly_neuron_key(vly_neuron_model *model, const char *name,
                           const char *unit);
vly_text vly_neuron_text_of(vly_neuron_model *model,
                            const vly_neuron_text *from);
/* neuron_read.c: everything from the source */
bool vly_neuron_read(vly_neuron_model *model);
/* What a [synapse] does at a spike: assignments to its weight. */
bool vly_neuron_changes(vly_neuron_model *model, const vly_neuron_text *from,
                        vly_statements *list);
/* neuron_check.c: tau = "1 ms" and tau_ms = 1 would both be tau_ms */
bool vly_neuron_keys_differ(vly_neuron_model *model);
/* neuron_check.c: what the parts say together */
bool vly_neuron_check(vly_neuron_model *model);
/* neuron_linear.c */
bool vly_neuron_linear(vly_neuron_model *model);
/* node = constant + linear * state + rest, each NULL for 0; false: no memory */
bool vly_node_split(vly_arena *arena, vly_node *node, uint32_t state,
                    vly_node *out[3]);
bool vly_node_depends(const vly_node *node, uint32_t state);
/* neuron_bounds.c: of an operation, from those of its operands */
vly_bounds vly_bounds_of(const vly_neuron_model *model,
                         const vly_program_op *op);
/* Whether a value may be below 0; of numbers, parameters and dt likewise. */
bool vly_bounds_below_0(const vly_emitter *emitter, uint32_t value);
bool vly_bounds_host_below_0(const vly_neuron_model *model,
                             const vly_node *node);
bool vly_bounds_above_0(const vly_emitter *emitter, uint32_t value);
/* A value is known not to be below 0 but for rounding. */
void vly_bounds_claim(vly_emitter *emitter, uint32_t value);
/* neuron_emit.c */
uint32_t vly_emit(vly_emitter *emitter, vly_node *node);
uint32_t vly_emit_op(vly_emitter *emitter, vly_program_code code, uint32_t a,
                     uint32_t b, uint32_t c);
uint32_t vly_emit_number(vly_emitter *emitter, float number);
uint32_t vly_emit_coef(vly_emitter *emitter, const vly_coef *coef);
uint32_t vly_emit_select(vly_emitter *emitter, uint32_t truth, uint32_t a,
                         uint32_t b);
/* (1 - e^-x) / x */
uint32_t vly_emit_decay_mean(vly_emitter *emitter, uint32_t x);
/* The value of a state where it is read. */
uint32_t vly_emit_state(vly_emitter *emitter, uint32_t state);
/* A new environment, a copy of the current one. */
void vly_emit_fork(vly_emitter *emitter, vly_env *env);
/* neuron_residual.c: fields of compensated variables, and what is done with a
 * variable and its residual; the low part of an added pair may be VLY_NO_VALUE
 */
typedef struct vly_twin {
    uint32_t high;
    uint32_t low;
} vly_twin;

bool vly_neuron_residuals(vly_neuron_model *model);
/* Adds a field of a pair, in [-most, most]; text is NULL for the second one,
 * what single precision does not hold of the first. False: it was refused. */
bool vly_neuron_twin_field(vly_neuron_model *model, const char *name,
                           const char *unit, const char *text, float most);
vly_twin vly_emit_pair_add(vly_emitter *emitter, vly_twin x, vly_twin add);
vly_twin vly_emit_pair_select(vly_emitter *emitter, uint32_t truth, vly_twin a,
                              vly_twin b);
/* Of a row of the exact system in a step. */
vly_twin vly_emit_change(vly_emitter *emitter, uint32_t row, bool held);
/* The low part of a value as it is stored beside the high one: beyond the range
 * of `high` that is stored as the bound, with nothing beside. */
uint32_t vly_emit_low_store(vly_emitter *emitter, const vly_neuron_field *high,
                            const vly_neuron_field *low, vly_twin value);
/* Stores the residual; value: the variable before it is stored. */
void vly_emit_residual_store(vly_emitter *emitter, uint32_t state,
                             uint32_t value);
/* neuron_sums.c: fields with the sums of what arrives, and what adds to them */
bool vly_neuron_sums(vly_neuron_model *model);
void vly_emit_sums(vly_emitter *emitter);
/* neuron_scheme.c: the equations of one burst */
void vly_emit_equations(vly_emitter *emitter);
void vly_neuron_say_scheme(vly_neuron_model *model);
/* neuron_program.c: the whole burst */
bool vly_neuron_emit(vly_neuron_model *model);
/* neuron_values.c: the answer of vly_neuron_unfit to a refractory time that is
 * below 0 or too long */
extern const char vly_neuron_unfit_bursts[];
/* model NULL: of numbers only */
double vly_node_value(const vly_neuron_model *model, const vly_node *node,
                      const double *params, double dt_ms, double dc,
                      const double *states);

#endif

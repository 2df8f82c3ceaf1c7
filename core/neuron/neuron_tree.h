/* SPDX-License-Identifier: Apache-2.0
 * Expressions of a neuron model as trees, with units checked as they are made.
 * Internal to core/neuron.
 */
#ifndef VOLLEY_NEURON_NEURON_TREE_H
#define VOLLEY_NEURON_NEURON_TREE_H

#include "neuron/neuron_arena.h"
#include "neuron/neuron_model.h"
#include "neuron/neuron_unit.h"

typedef enum vly_node_kind {
    VLY_NODE_NUMBER,
    VLY_NODE_PARAM, /* index */
    VLY_NODE_DT,
    VLY_NODE_STATE,   /* index */
    VLY_NODE_LOCAL,   /* index: a name of `update` */
    VLY_NODE_INPUT,   /* index: of a port in this burst */
    VLY_NODE_UNIFORM, /* index: of the draw */
    VLY_NODE_NORMAL,  /* likewise */
    VLY_NODE_NEGATE,
    VLY_NODE_ADD,
    VLY_NODE_SUBTRACT,
    VLY_NODE_MULTIPLY,
    VLY_NODE_DIVIDE,
    VLY_NODE_POWER,    /* a ^ index, a whole number */
    VLY_NODE_FUNCTION, /* index: vly_function */
    VLY_NODE_IF,       /* if a then b else c */
    VLY_NODE_LESS,     /* a < b */
    VLY_NODE_AT_MOST,  /* a <= b */
    VLY_NODE_AND,
    VLY_NODE_OR,
    VLY_NODE_NOT,
    VLY_NODE_RISES /* a reaches b in this burst */
} vly_node_kind;

typedef enum vly_function {
    VLY_FUNCTION_EXP,
    VLY_FUNCTION_EXPREL,
    VLY_FUNCTION_DECAY_MEAN,
    VLY_FUNCTION_SQRT,
    VLY_FUNCTION_SIGMOID,
    VLY_FUNCTION_TANH,
    VLY_FUNCTION_ABS,
    VLY_FUNCTION_MIN,
    VLY_FUNCTION_MAX,
    VLY_FUNCTION_CLIP,
    /* of parameters only */
    VLY_FUNCTION_LOG,
    VLY_FUNCTION_EXPM1,
    VLY_FUNCTION_PROPAGATOR,
    VLY_FUNCTION_PROPAGATOR_RISE,
    VLY_FUNCTIONS
} vly_function;

typedef struct vly_node vly_node;
struct vly_node {
    vly_node_kind kind;
    uint32_t at; /* offset in its text */
    int32_t index;
    vly_unit unit;
    bool truth;    /* a condition */
    bool any;      /* the number 0, which fits every unit */
    bool host;     /* of numbers, parameters and dt only */
    bool numeric;  /* of numbers only */
    bool arrives;  /* names an input */
    uint32_t uses; /* bit for each state that it names */
    uint32_t size; /* nodes, those of an alias each time */
    double number;
    vly_node *a;
    vly_node *b;
    vly_node *c;
    uint32_t seen; /* emission: the environment of value */
    uint32_t value;
};

typedef struct vly_names vly_names;

/* Most nodes of one expression: an alias counts each time it is named, so that
 * nothing that walks a tree takes long. */
#define VLY_NODES_MAX 2000u

/* One text being read. */
typedef struct vly_text {
    vly_arena *arena;
    size_t (*scan)(const char *text, double *number);
    const vly_names *names;
    vly_neuron_fault *fault;
    const void *place;
    const char *text;
    const char *at;
    bool inputs;  /* ports may be named */
    bool rises;   /* rises( ) may be used */
    bool synapse; /* of a [synapse] */
    uint32_t *
        n_draws; /* uniform( ) and normal( ) so far; NULL: it may not be used */
    bool in;     /* `in` is the arriving input of port in_port */
    uint32_t in_port;
    uint32_t depth;
    uint32_t open; /* brackets: within them lines may end */
} vly_text;

/* What an expression may name. */
typedef struct vly_named {
    const char *name;
    vly_node_kind kind; /* PARAM, STATE, LOCAL, INPUT */
    uint32_t index;
    vly_unit unit;
    vly_node *alias; /* in place of kind */
    const void *place;
    bool used;
    bool divides; /* stands below a division */
} vly_named;

struct vly_names {
    vly_named *items;
    uint32_t n;
    uint32_t room;
};

/* All return NULL after a fault. */
vly_node *vly_fault_at(vly_text *text, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
vly_node *vly_node_new(vly_arena *arena, vly_node_kind kind, uint32_t at);
vly_node *vly_node_number(vly_arena *arena, double number, vly_unit unit);
vly_node *vly_node_too_large(vly_text *text, const char *at);
/* Sets what follows from its parts a, b and c. */
void vly_node_join(vly_node *node);
/* How `in` stands in an expression: 0: not at all, 1: the expression is
 * proportional to it; -1: neither. */
int vly_node_degree(const vly_node *node);
/* a and b with units checked; at: place of the operator */
vly_node *vly_node_binary(vly_text *text, const char *at, vly_node_kind kind,
                          vly_node *a, vly_node *b);
vly_node *vly_node_power(vly_text *text, const char *at, vly_node *a,
                         int32_t power);
vly_node *vly_node_negate(vly_arena *arena, vly_node *a);
vly_node *vly_node_call(vly_text *text, const char *at, vly_function function,
                        vly_node *const *arguments, uint32_t n);
/* Index of a function; VLY_FUNCTIONS: no such one */
vly_function vly_function_find(const char *name, size_t n);
const char *vly_function_name(vly_function function);

const vly_named *vly_names_find(const vly_names *names, const char *name,
                                size_t n);

/* neuron_hint.c: refuses what stands at text->at. The message says `wanted`, or
 * for a sign of another language what to write instead. Returns NULL. */
vly_node *vly_unexpected(vly_text *text, const char *wanted);
vly_node *vly_unknown_name(vly_text *text, const char *at, size_t n);
vly_node *vly_unknown_function(vly_text *text, const char *at, size_t n);
/* Refuses a left side of another simulator, such as dv/dt; false: it is not
 * one. */
bool vly_foreign_derivative(vly_text *text, const char *at);

/* Reads an expression (or a condition) at text->at. */
vly_node *vly_expression_read(vly_text *text);
/* Blanks, and comments up to the end of the line; not the end of the line. */
void vly_text_skip(vly_text *text);
/* Blanks, comments, ends of lines and semicolons. */
void vly_text_skip_lines(vly_text *text);
/* Length of the name at text->at, 0: none. */
size_t vly_text_word(const vly_text *text);

#endif

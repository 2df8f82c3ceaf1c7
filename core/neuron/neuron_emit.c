/* SPDX-License-Identifier: Apache-2.0
 * From trees to operations: each value once, parameters as coefficients.
 */
#include "neuron/neuron_build.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/random.h"

static uint32_t fail(vly_emitter *emitter, const char *format, uint32_t most)
    __attribute__((format(printf, 2, 0)));

static uint32_t fail(vly_emitter *emitter, const char *format, uint32_t most)
{
    vly_neuron_fault *fault = emitter->model->fault;
    emitter->failed = true;
    if (!fault->sentence[0]) {
        (void)snprintf(fault->sentence, sizeof fault->sentence, format, most);
        fault->place = emitter->model->source->place;
        fault->at = UINT32_MAX;
    }
    return 0;
}

static uint32_t too_many(vly_emitter *emitter)
{
    const vly_neuron_model *model = emitter->model;
    vly_neuron_fault *fault = model->fault;
    if (emitter->substep == 0 || fault->sentence[0])
        return fail(emitter,
                    "the model has more than %u operations, wanted a smaller "
                    "one",
                    VLY_NEURON_OPS_MAX);
    (void)snprintf(fault->sentence, sizeof fault->sentence,
                   "substeps is %u, and the first substep has %u operations: "
                   "more than %u in all, wanted substeps of at most %u",
                   model->substeps, emitter->n_first, VLY_NEURON_OPS_MAX,
                   emitter->substep);
    fault->place = model->source->substeps_place;
    fault->at = UINT32_MAX;
    emitter->failed = true;
    return 0;
}

/* The slot of an operation, or the one that it gets. */
static uint16_t *slot_of(vly_neuron_model *model, const vly_program_op *op)
{
    uint64_t hash = vly_mix64((uint64_t)op->code << 32 | op->a);
    hash = vly_mix64(hash ^ ((uint64_t)op->b << 32 | op->c));
    uint32_t at = (uint32_t)(hash % VLY_NEURON_SLOTS);
    while (model->slots[at] &&
           memcmp(&model->ops[model->slots[at] - 1], op, sizeof *op) != 0)
        at = (at + 1) % VLY_NEURON_SLOTS;
    return &model->slots[at];
}

uint32_t vly_emit_op(vly_emitter *emitter, vly_program_code code, uint32_t a,
                     uint32_t b, uint32_t c)
{
    vly_neuron_model *model = emitter->model;
    const vly_program_op op = {.code = (uint32_t)code, .a = a, .b = b, .c = c};
    uint16_t *slot = slot_of(model, &op);
    if (*slot)
        return *slot - 1u;
    if (model->n_ops == VLY_NEURON_OPS_MAX)
        return too_many(emitter);
    model->ops[model->n_ops] = op;
    model->bounds[model->n_ops] = vly_bounds_of(model, &op);
    *slot = (uint16_t)++model->n_ops;
    return model->n_ops - 1;
}

uint32_t vly_emit_number(vly_emitter *emitter, float number)
{
    return vly_emit_op(emitter, VLY_PROGRAM_NUMBER, vly_float_bits(number), 0,
                       0);
}

/* A part of an equation that is made of numbers only. */
static uint32_t constant(vly_emitter *emitter, const vly_node *node)
{
    double value = vly_node_value(emitter->model, node, NULL, 0.0, 0.0, NULL);
    if (!(value >= -VLY_NUMBER_MOST && value <= VLY_NUMBER_MOST))
        return fail(emitter,
                    "a division by a number near 0, or numbers whose product "
                    "is beyond 1e%u",
                    30);
    return vly_emit_number(emitter, (float)value);
}

static bool same_node(const vly_node *a, const vly_node *b)
{
    if (a == b)
        return true;
    if (!a || !b || a->kind != b->kind || a->index != b->index ||
        vly_float_bits((float)a->number) != vly_float_bits((float)b->number) ||
        a->number < b->number || a->number > b->number)
        return false;
    return same_node(a->a, b->a) && same_node(a->b, b->b) &&
           same_node(a->c, b->c);
}

static bool driven(const vly_neuron_model *model, const vly_node *node)
{
    return node && ((node->kind == VLY_NODE_PARAM &&
                     (uint32_t)node->index == model->input) ||
                    driven(model, node->a) || driven(model, node->b) ||
                    driven(model, node->c));
}

uint32_t vly_emit_coef(vly_emitter *emitter, const vly_coef *coef)
{
    vly_neuron_model *model = emitter->model;
    uint32_t i = 0;
    for (; i < model->n_coefs; i++) {
        const vly_coef *at = &model->coefs[i];
        if (at->kind == coef->kind && at->row == coef->row &&
            at->column == coef->column && at->held == coef->held &&
            at->low == coef->low &&
            (coef->node ? at->node && same_node(at->node, coef->node)
                        : !at->node))
            break;
    }
    if (i == VLY_NEURON_COEFS_MAX)
        return fail(emitter,
                    model->n_exact > 10
                        ? "the model has more than %u coefficients (values of "
                          "its parameters), wanted fewer linear equations or "
                          "method = rk4, which needs no matrix"
                        : "the model has more than %u coefficients (values of "
                          "its parameters), wanted a smaller one",
                    VLY_NEURON_COEFS_MAX);
    if (i == model->n_coefs) {
        model->coefs[i] = *coef;
        model->coefs[i].driven = coef->node && driven(model, coef->node);
        model->n_coefs++;
    }
    return vly_emit_op(emitter, VLY_PROGRAM_COEF, i, 0, 0);
}

uint32_t vly_emit_select(vly_emitter *emitter, uint32_t truth, uint32_t a,
                         uint32_t b)
{
    if (a == b || truth == VLY_NO_VALUE)
        return a;
    return vly_emit_op(emitter, VLY_PROGRAM_SELECT, truth, a, b);
}

void vly_emit_fork(vly_emitter *emitter, vly_env *env)
{
    *env = *emitter->env;
    env->stamp = ++emitter->n_stamps;
}

uint32_t vly_emit_state(vly_emitter *emitter, uint32_t state)
{
    vly_env *env = emitter->env;
    const vly_neuron_field *field = &emitter->model->fields[state];
    if (env->dirty[state] && !env->raw) {
        if (env->low[state] != VLY_NO_VALUE)
            vly_emit_residual_store(emitter, state, env->state[state]);
        env->state[state] =
            vly_emit_op(emitter, VLY_PROGRAM_STORE, env->state[state],
                        vly_float_bits(field->lo), vly_float_bits(field->hi));
        env->dirty[state] = false;
    }
    return env->state[state];
}

/* ---- trees -------------------------------------------------------------- */

static uint32_t power(vly_emitter *emitter, uint32_t base, uint32_t exponent)
{
    if (exponent == 1)
        return base;
    uint32_t half = power(emitter, base, exponent / 2);
    uint32_t square = vly_emit_op(emitter, VLY_PROGRAM_MULTIPLY, half, half, 0);
    return exponent % 2 == 0
               ? square
               : vly_emit_op(emitter, VLY_PROGRAM_MULTIPLY, square, base, 0);
}

/* 1/x of numbers and parameters is a number or coefficient. */
static uint32_t inverse(vly_emitter *emitter, vly_node *x)
{
    if (!x->host)
        return vly_emit_op(emitter, VLY_PROGRAM_INVERSE, vly_emit(emitter, x),
                           0, 0);
    vly_arena *arena = &emitter->model->arena;
    vly_node *one = vly_node_number(arena, 1.0, (vly_unit){0});
    vly_node *node = vly_node_new(arena, VLY_NODE_DIVIDE, x->at);
    if (!one || !node) {
        emitter->failed = true;
        return 0;
    }
    node->a = one;
    node->b = x;
    vly_node_join(node);
    return vly_emit(emitter, node);
}

static uint32_t divide(vly_emitter *emitter, const vly_node *node)
{
    uint32_t b = inverse(emitter, node->b);
    if (node->a->numeric && node->a->number >= 1.0 && node->a->number <= 1.0)
        return b;
    return vly_emit_op(emitter, VLY_PROGRAM_MULTIPLY,
                       vly_emit(emitter, node->a), b, 0);
}

/* The mean of a decay by |x|, times e^|x| on one side of 0. */
static uint32_t mean_of_size(vly_emitter *emitter, uint32_t x, bool below)
{
    uint32_t zero = vly_emit_number(emitter, 0.0f);
    uint32_t size = vly_emit_op(emitter, VLY_PROGRAM_ABSOLUTE, x, 0, 0);
    uint32_t mean = vly_emit_op(emitter, VLY_PROGRAM_DECAY_MEAN, size, 0, 0);
    uint32_t grows = vly_emit_op(emitter, VLY_PROGRAM_LESS, below ? x : zero,
                                 below ? zero : x, 0);
    uint32_t e = vly_emit_op(emitter, VLY_PROGRAM_EXP, below ? size : x, 0, 0);
    uint32_t grown = vly_emit_op(emitter, VLY_PROGRAM_MULTIPLY, mean, e, 0);
    return vly_emit_select(emitter, grows, grown, mean);
}

/* The operation is 1 below 0. */
uint32_t vly_emit_decay_mean(vly_emitter *emitter, uint32_t x)
{
    return vly_bounds_below_0(emitter, x)
               ? mean_of_size(emitter, x, true)
               : vly_emit_op(emitter, VLY_PROGRAM_DECAY_MEAN, x, 0, 0);
}

/* (e^x - 1) / x */
static uint32_t exprel(vly_emitter *emitter, uint32_t x)
{
    return mean_of_size(emitter, x, false);
}

static uint32_t sigmoid(vly_emitter *emitter, uint32_t x)
{
    uint32_t e =
        vly_emit_op(emitter, VLY_PROGRAM_EXP,
                    vly_emit_op(emitter, VLY_PROGRAM_NEGATE, x, 0, 0), 0, 0);
    uint32_t one = vly_emit_number(emitter, 1.0f);
    return vly_emit_op(emitter, VLY_PROGRAM_INVERSE,
                       vly_emit_op(emitter, VLY_PROGRAM_ADD, one, e, 0), 0, 0);
}

static uint32_t lesser(vly_emitter *emitter, uint32_t a, uint32_t b)
{
    return vly_emit_select(
        emitter, vly_emit_op(emitter, VLY_PROGRAM_LESS, a, b, 0), a, b);
}

static uint32_t greater(vly_emitter *emitter, uint32_t a, uint32_t b)
{
    return vly_emit_select(
        emitter, vly_emit_op(emitter, VLY_PROGRAM_LESS, b, a, 0), a, b);
}

static uint32_t call(vly_emitter *emitter, const vly_node *node)
{
    uint32_t a = vly_emit(emitter, node->a);
    uint32_t b = node->b ? vly_emit(emitter, node->b) : 0;
    switch ((vly_function)node->index) {
    case VLY_FUNCTION_EXP:
        return vly_emit_op(emitter, VLY_PROGRAM_EXP, a, 0, 0);
    case VLY_FUNCTION_EXPREL:
        return exprel(emitter, a);
    case VLY_FUNCTION_DECAY_MEAN:
        return vly_emit_decay_mean(emitter, a);
    case VLY_FUNCTION_SQRT:
        return vly_emit_op(emitter, VLY_PROGRAM_ROOT, a, 0, 0);
    case VLY_FUNCTION_SIGMOID:
        return sigmoid(emitter, a);
    case VLY_FUNCTION_TANH: { /* 2 sigmoid(2 x) - 1 */
        uint32_t s =
            sigmoid(emitter, vly_emit_op(emitter, VLY_PROGRAM_ADD, a, a, 0));
        return vly_emit_op(emitter, VLY_PROGRAM_SUBTRACT,
                           vly_emit_op(emitter, VLY_PROGRAM_ADD, s, s, 0),
                           vly_emit_number(emitter, 1.0f), 0);
    }
    case VLY_FUNCTION_ABS:
        return vly_emit_op(emitter, VLY_PROGRAM_ABSOLUTE, a, 0, 0);
    case VLY_FUNCTION_MIN:
        return lesser(emitter, a, b);
    case VLY_FUNCTION_MAX:
        return greater(emitter, a, b);
    default: /* CLIP: the others are of parameters only */
        return lesser(emitter, greater(emitter, a, b),
                      vly_emit(emitter, node->c));
    }
}

static bool compensated(const vly_emitter *emitter, const vly_node *node)
{
    return node->kind == VLY_NODE_STATE && !emitter->env->raw &&
           emitter->env->low[node->index] != VLY_NO_VALUE;
}

/* Whether a < b or a <= b. If one side is a compensated variable, the sign of
 * their difference decides, rounded after the residual is added: the sides may
 * differ by less than single precision shows. */
static uint32_t compare(vly_emitter *emitter, vly_program_code code,
                        vly_node *a, vly_node *b)
{
    uint32_t left = vly_emit(emitter, a);
    uint32_t right = vly_emit(emitter, b);
    bool first = compensated(emitter, a);
    if (first == compensated(emitter, b))
        return vly_emit_op(emitter, code, left, right, 0);
    uint32_t zero = vly_emit_number(emitter, 0.0f);
    uint32_t low = emitter->env->low[(first ? a : b)->index];
    uint32_t over = vly_emit_op(emitter, VLY_PROGRAM_SUBTRACT,
                                first ? left : right, first ? right : left, 0);
    over = vly_emit_op(emitter, VLY_PROGRAM_ADD, over, low, 0);
    return first ? vly_emit_op(emitter, code, over, zero, 0)
                 : vly_emit_op(emitter, code, zero, over, 0);
}

/* Reached in this burst: not yet at its start. */
static uint32_t rises(vly_emitter *emitter, vly_node *node)
{
    vly_env *now = emitter->env;
    vly_env start = *emitter->before;
    uint32_t reached = compare(emitter, VLY_PROGRAM_AT_MOST, node->b, node->a);
    start.stamp = ++emitter->n_stamps;
    emitter->env = &start;
    uint32_t already = compare(emitter, VLY_PROGRAM_AT_MOST, node->b, node->a);
    emitter->env = now;
    return vly_emit_op(emitter, VLY_PROGRAM_AND, reached,
                       vly_emit_op(emitter, VLY_PROGRAM_NOT, already, 0, 0), 0);
}

static uint32_t operation(vly_emitter *emitter, vly_node *node)
{
    static const vly_program_code codes[] = {
        [VLY_NODE_ADD] = VLY_PROGRAM_ADD,
        [VLY_NODE_SUBTRACT] = VLY_PROGRAM_SUBTRACT,
        [VLY_NODE_MULTIPLY] = VLY_PROGRAM_MULTIPLY,
        [VLY_NODE_LESS] = VLY_PROGRAM_LESS,
        [VLY_NODE_AT_MOST] = VLY_PROGRAM_AT_MOST,
        [VLY_NODE_AND] = VLY_PROGRAM_AND,
        [VLY_NODE_OR] = VLY_PROGRAM_OR,
    };
    uint32_t a;
    uint32_t b;
    switch (node->kind) {
    case VLY_NODE_NEGATE:
        return vly_emit_op(emitter, VLY_PROGRAM_NEGATE,
                           vly_emit(emitter, node->a), 0, 0);
    case VLY_NODE_NOT:
        return vly_emit_op(emitter, VLY_PROGRAM_NOT, vly_emit(emitter, node->a),
                           0, 0);
    case VLY_NODE_IF:
        a = vly_emit(emitter, node->b);
        b = vly_emit(emitter, node->c);
        return vly_emit_select(emitter, vly_emit(emitter, node->a), a, b);
    case VLY_NODE_LESS:
    case VLY_NODE_AT_MOST:
        return compare(emitter, codes[node->kind], node->a, node->b);
    default:
        a = vly_emit(emitter, node->a);
        b = vly_emit(emitter, node->b);
        return vly_emit_op(emitter, codes[node->kind], a, b, 0);
    }
}

/* The stream of a draw, from the name of the model, the number of the draw and
 * the substep: other models and stimuli have other streams. */
static uint32_t stream(const vly_emitter *emitter, const char *kind,
                       uint32_t draw)
{
    char text[128];
    int n = snprintf(text, sizeof text, "neuron/%.80s/%s%u",
                     emitter->model->source->name, kind, draw);
    if (emitter->substep)
        n += snprintf(text + n, sizeof text - (size_t)n, "/%u",
                      emitter->substep);
    const vly_hash none = {{0, 0}};
    return (uint32_t)vly_hash_bytes(none, text, (size_t)n).lane[0];
}

/* A standard normal number: the sum s of four uniform ones in [-2, 2], and an
 * odd polynomial of degree 9 that takes its quantiles to those of the normal
 * distribution: least squares weighted by 1 + z^4 / 3, scaled to variance 1.
 * Exact moments: mean 0, variance 1 + 4e-8, kurtosis 2.9991, sixth moment
 * 15.000 (of 15). Quantiles are off by 0.0015 within +-1, 0.006 within +-3,
 * 0.02 within +-4 (all but 6e-5); none is beyond 5.305. No probability is off
 * by more than 5e-4. Source: Teichroew 1953, in Knuth, The Art of Computer
 * Programming, volume 2
 */
static uint32_t normal(vly_emitter *emitter, uint32_t draw)
{
    static const float factors[] = {0.00889997277f, -0.040762268f, 0.07990475f,
                                    0.0072768908f, 1.67523229f};
    uint32_t u[4];
    for (uint32_t k = 0; k < 4; k++) {
        char kind[24];
        (void)snprintf(kind, sizeof kind, "normal/%u/", k);
        u[k] = vly_emit_op(emitter, VLY_PROGRAM_UNIFORM,
                           stream(emitter, kind, draw), 0, 0);
    }
    uint32_t s = vly_emit_op(emitter, VLY_PROGRAM_ADD, u[0], u[1], 0);
    uint32_t more = vly_emit_op(emitter, VLY_PROGRAM_ADD, u[2], u[3], 0);
    s = vly_emit_op(emitter, VLY_PROGRAM_ADD, s, more, 0);
    /* the middle of numbers from 0 to 4 - 2^-22 */
    s = vly_emit_op(emitter, VLY_PROGRAM_SUBTRACT, s,
                    vly_emit_number(emitter, 2.0f - 0x1p-23f), 0);
    uint32_t square = vly_emit_op(emitter, VLY_PROGRAM_MULTIPLY, s, s, 0);
    uint32_t sum = vly_emit_number(emitter, factors[0]);
    for (int k = 1; k < 5; k++) {
        sum = vly_emit_op(emitter, VLY_PROGRAM_MULTIPLY, sum, square, 0);
        sum = vly_emit_op(emitter, VLY_PROGRAM_ADD, sum,
                          vly_emit_number(emitter, factors[k]), 0);
    }
    return vly_emit_op(emitter, VLY_PROGRAM_MULTIPLY, sum, s, 0);
}

static uint32_t emit_node(vly_emitter *emitter, vly_node *node)
{
    uint32_t value;
    if (node->numeric && !node->truth)
        return constant(emitter, node);
    if (node->host && !node->truth)
        return vly_emit_coef(emitter, &(vly_coef){.node = node});
    switch (node->kind) {
    case VLY_NODE_STATE:
        return vly_emit_state(emitter, (uint32_t)node->index);
    case VLY_NODE_LOCAL:
        return emitter->local[node->index];
    case VLY_NODE_UNIFORM:
        return vly_emit_op(emitter, VLY_PROGRAM_UNIFORM,
                           stream(emitter, "", (uint32_t)node->index), 0, 0);
    case VLY_NODE_NORMAL:
        return normal(emitter, (uint32_t)node->index);
    case VLY_NODE_INPUT:
        return vly_emit_op(emitter, VLY_PROGRAM_INPUT, (uint32_t)node->index, 0,
                           0);
    case VLY_NODE_DIVIDE:
        return divide(emitter, node);
    case VLY_NODE_POWER:
        if (node->index == 0)
            return vly_emit_number(emitter, 1.0f);
        value = power(emitter, vly_emit(emitter, node->a),
                      (uint32_t)(node->index < 0 ? -node->index : node->index));
        return node->index > 0
                   ? value
                   : vly_emit_op(emitter, VLY_PROGRAM_INVERSE, value, 0, 0);
    case VLY_NODE_FUNCTION:
        return call(emitter, node);
    case VLY_NODE_RISES:
        return rises(emitter, node);
    default:
        return operation(emitter, node);
    }
}

uint32_t vly_emit(vly_emitter *emitter, vly_node *node)
{
    if (emitter->failed)
        return 0;
    /* once a variable is assigned, values made of it before are out of date */
    if (node->seen == emitter->env->stamp)
        return node->value;
    uint32_t stamp = emitter->env->stamp;
    uint32_t value = emit_node(emitter, node);
    if (emitter->env->stamp == stamp) {
        node->seen = stamp;
        node->value = value;
    }
    return value;
}

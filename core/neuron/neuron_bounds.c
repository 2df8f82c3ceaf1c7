/* SPDX-License-Identifier: Apache-2.0
 * Between what bounds the values of a program lie, as far as its operations,
 * the ranges of parameters and those of variables tell: what is known not to
 * be below 0 needs fewer operations.
 *
 * Rounded sums and products are monotone in their operands, so the operation
 * itself at the bounds of its operands, rounded as the program rounds, gives
 * bounds that hold with rounding. They tell nothing of what has overflowed to
 * infinity or NaN, and of what is made of it, unless `finite` says that no such
 * value is among the operands or that it has no effect. 0 counts as above -0: a
 * lower bound of 0 says that the sign is not set, which 1/x keeps.
 */
#include "neuron/neuron_build.h"

#include <math.h>

#include "kernels/models/model.h"

#define LEAST_STORED 0x1p-40

static const vly_bounds any = {-(double)INFINITY, (double)INFINITY, false};
static const vly_bounds from_0 = {0.0, (double)INFINITY, false};
static const vly_bounds to_0 = {-(double)INFINITY, -0.0, false};

static bool sign_set(double x)
{
    return signbit(x) != 0;
}

static double least(double a, double b)
{
    if (a < b || (a <= b && sign_set(a)))
        return a;
    return b;
}

static double greatest(double a, double b)
{
    return -least(-a, -b);
}

/* Of the same type as the operands: single where `single` says so. */
static double rounded(double x, bool single)
{
    return single ? (double)(float)x : x;
}

/* ---- operations --------------------------------------------------------- */

static vly_bounds negated(vly_bounds a)
{
    return (vly_bounds){-a.hi, -a.lo, a.finite};
}

/* inf - inf as a bound tells nothing. */
static vly_bounds sum(vly_bounds a, vly_bounds b, bool single)
{
    const double lo = rounded(a.lo + b.lo, single);
    const double hi = rounded(a.hi + b.hi, single);
    return (vly_bounds){lo != lo ? any.lo : lo, hi != hi ? any.hi : hi, false};
}

/* 0 times what has no bound is 0. */
static double product_at(double a, double b, bool single)
{
    const double made = rounded(a * b, single);
    if (made == made)
        return made;
    return sign_set(a) != sign_set(b) ? -0.0 : 0.0;
}

static vly_bounds product(vly_bounds a, vly_bounds b, bool single)
{
    const double at[4] = {
        product_at(a.lo, b.lo, single), product_at(a.lo, b.hi, single),
        product_at(a.hi, b.lo, single), product_at(a.hi, b.hi, single)};
    return (vly_bounds){
        least(least(at[0], at[1]), least(at[2], at[3])),
        greatest(greatest(at[0], at[1]), greatest(at[2], at[3])), false};
}

static vly_bounds size_of(vly_bounds a)
{
    if (!sign_set(a.lo))
        return a;
    return (vly_bounds){0.0, greatest(-a.lo, a.hi), a.finite};
}

static vly_bounds either(vly_bounds a, vly_bounds b)
{
    return (vly_bounds){least(a.lo, b.lo), greatest(a.hi, b.hi),
                        a.finite && b.finite};
}

/* b < a ? a : b; b if a is NaN, and of two zeros */
static vly_bounds greater(vly_bounds a, vly_bounds b)
{
    vly_bounds made = {a.finite ? greatest(a.lo, b.lo) : b.lo,
                       greatest(a.hi, b.hi), a.finite && b.finite};
    if (made.lo >= 0.0 && made.lo <= 0.0 && sign_set(b.lo))
        made.lo = -0.0;
    return made;
}

/* a < b ? a : b; likewise */
static vly_bounds lesser(vly_bounds a, vly_bounds b)
{
    return negated(greater(negated(a), negated(b)));
}

/* As a variable or a coefficient is stored: NaN becomes lo. */
static vly_bounds stored(double lo, double hi)
{
    if (lo > 0.0 && lo < LEAST_STORED)
        lo = 0.0;
    if (hi < 0.0 && hi > -LEAST_STORED)
        hi = 0.0;
    return (vly_bounds){lo, hi, true};
}

/* ---- parameters, in double ---------------------------------------------- */

static vly_bounds host(const vly_neuron_model *model, const vly_node *node);

static vly_bounds param_of(const vly_neuron_model *model, uint32_t index)
{
    if (index == model->n_params) /* w_max */
        return from_0;
    if (index == model->input)
        return any; /* and what stimuli add */
    const vly_neuron_param *param = &model->params[index];
    if (model->synapse) /* weights are scaled by the unit of the map */
        return param->lo >= 0.0 ? from_0 : any;
    return (vly_bounds){vly_decimal(param->lo, model->decimals[index]),
                        vly_decimal(param->hi, model->decimals[index]), true};
}

/* From least on, and of 0 with the sign of x. */
static vly_bounds with_sign(vly_bounds x, double least_of_all)
{
    return (vly_bounds){sign_set(x.lo) ? least_of_all : 0.0,
                        x.hi <= 0.0 ? 0.0 : any.hi, false};
}

static vly_bounds host_call(const vly_neuron_model *model, const vly_node *node)
{
    const vly_bounds a = host(model, node->a);
    const vly_bounds b = node->b ? host(model, node->b) : any;
    switch ((vly_function)node->index) {
    case VLY_FUNCTION_EXP:
    case VLY_FUNCTION_EXPREL:
    case VLY_FUNCTION_DECAY_MEAN:
    case VLY_FUNCTION_SIGMOID:
        return from_0;
    case VLY_FUNCTION_SQRT:
        return sign_set(a.lo) ? any : from_0; /* sqrt(-0) is -0 */
    case VLY_FUNCTION_TANH:
    case VLY_FUNCTION_EXPM1:
        return with_sign(a, -1.0);
    case VLY_FUNCTION_ABS:
        return size_of(a);
    case VLY_FUNCTION_MIN:
        return lesser(a, b);
    case VLY_FUNCTION_MAX:
        return greater(a, b);
    case VLY_FUNCTION_CLIP:
        return lesser(greater(a, b), host(model, node->c));
    default:
        return any;
    }
}

/* 1/x; a coefficient that is not finite is refused. */
static vly_bounds host_inverse(vly_bounds x)
{
    return !sign_set(x.lo) ? from_0 : x.hi < 0.0 ? to_0 : any;
}

static vly_bounds host(const vly_neuron_model *model, const vly_node *node)
{
    switch (node->kind) {
    case VLY_NODE_NUMBER:
        return (vly_bounds){node->number, node->number, true};
    case VLY_NODE_PARAM:
        return param_of(model, (uint32_t)node->index);
    case VLY_NODE_DT:
        return (vly_bounds){0.0, any.hi, true};
    case VLY_NODE_NEGATE:
        return negated(host(model, node->a));
    case VLY_NODE_ADD:
        return sum(host(model, node->a), host(model, node->b), false);
    case VLY_NODE_SUBTRACT:
        return sum(host(model, node->a), negated(host(model, node->b)), false);
    case VLY_NODE_MULTIPLY:
        return product(host(model, node->a), host(model, node->b), false);
    case VLY_NODE_DIVIDE:
        return product(host(model, node->a), host_inverse(host(model, node->b)),
                       false);
    case VLY_NODE_POWER:
        return node->index % 2 == 0 || !sign_set(host(model, node->a).lo)
                   ? from_0
                   : any;
    case VLY_NODE_FUNCTION:
        return host_call(model, node);
    case VLY_NODE_IF:
        return either(host(model, node->b), host(model, node->c));
    default:
        return any;
    }
}

bool vly_bounds_host_below_0(const vly_neuron_model *model,
                             const vly_node *node)
{
    return host(model, node).lo < 0.0;
}

/* ---- operations of a program -------------------------------------------- */

static vly_bounds field_of(const vly_neuron_model *model, uint32_t index)
{
    if (model->synapse)
        return from_0; /* the size of a weight, and traces */
    const vly_neuron_field *field = &model->fields[index];
    return field->type == VLY_TYPE_F32
               ? stored((double)field->lo, (double)field->hi)
               : any;
}

static vly_bounds coef_of(const vly_neuron_model *model, uint32_t index)
{
    const vly_coef *coef = &model->coefs[index];
    if (coef->kind != VLY_COEF_NODE)
        return any;
    const vly_bounds of = host(model, coef->node);
    return stored(rounded(of.lo, true), rounded(of.hi, true));
}

/* 1/NaN counts as above 0. */
static vly_bounds inverse_of(vly_bounds x)
{
    return !sign_set(x.lo) ? from_0 : x.hi < 0.0 && x.finite ? to_0 : any;
}

static vly_bounds select_of(const vly_neuron_model *model,
                            const vly_program_op *op)
{
    const vly_program_op *truth = &model->ops[op->a];
    const vly_bounds b = model->bounds[op->b];
    const vly_bounds c = model->bounds[op->c];
    if (truth->code == VLY_PROGRAM_LESS && truth->a == op->c &&
        truth->b == op->b)
        return greater(b, c);
    if (truth->code == VLY_PROGRAM_LESS && truth->a == op->b &&
        truth->b == op->c)
        return lesser(b, c);
    return either(b, c);
}

vly_bounds vly_bounds_of(const vly_neuron_model *model,
                         const vly_program_op *op)
{
    const vly_bounds *at = model->bounds;
    vly_bounds square;
    switch (op->code) {
    case VLY_PROGRAM_NUMBER: {
        const double number = (double)vly_float(op->a);
        return (vly_bounds){number, number, true};
    }
    case VLY_PROGRAM_FIELD:
        return field_of(model, op->a);
    case VLY_PROGRAM_COEF:
        return coef_of(model, op->a);
    case VLY_PROGRAM_UNIFORM:
        return (vly_bounds){0.0, 1.0, true};
    case VLY_PROGRAM_ADD:
        return sum(at[op->a], at[op->b], true);
    case VLY_PROGRAM_SUBTRACT:
        return sum(at[op->a], negated(at[op->b]), true);
    case VLY_PROGRAM_MULTIPLY:
        square = size_of(at[op->a]);
        return op->a == op->b ? product(square, square, true)
                              : product(at[op->a], at[op->b], true);
    case VLY_PROGRAM_NEGATE:
        return negated(at[op->a]);
    case VLY_PROGRAM_ABSOLUTE:
        return size_of(at[op->a]);
    case VLY_PROGRAM_INVERSE:
        return inverse_of(at[op->a]);
    case VLY_PROGRAM_ROOT:
    case VLY_PROGRAM_EXP: /* also of NaN */
        return (vly_bounds){0.0, any.hi, true};
    case VLY_PROGRAM_DECAY_MEAN:
        return from_0;
    case VLY_PROGRAM_SELECT:
        return select_of(model, op);
    case VLY_PROGRAM_STORE:
        return stored((double)vly_float(op->b), (double)vly_float(op->c));
    default:
        return any;
    }
}

bool vly_bounds_below_0(const vly_emitter *emitter, uint32_t value)
{
    return emitter->model->bounds[value].lo < 0.0;
}

bool vly_bounds_above_0(const vly_emitter *emitter, uint32_t value)
{
    return emitter->model->bounds[value].hi > 0.0;
}

/* -0, since rounding may leave a little below 0: enough for a mean over a
 * decay, which is 1 on both sides of 0, and not for 1/x. */
void vly_bounds_claim(vly_emitter *emitter, uint32_t value)
{
    vly_bounds *of = &emitter->model->bounds[value];
    of->lo = greatest(of->lo, -0.0);
}

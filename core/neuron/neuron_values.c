/* SPDX-License-Identifier: Apache-2.0
 * Values of parameters' expressions in double, and the propagator of the exact
 * system by scaling, a Taylor polynomial and squaring.
 * Source: Moler and Van Loan 2003, doi:10.1137/S00361445024180
 */
#include "neuron/neuron_build.h"

#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/propagator.h"

#define COEF_MAX 1099511627776.0 /* 2^40 */
#define BURSTS_MAX 4294967040.0

/* ---- expressions -------------------------------------------------------- */

typedef struct reading {
    const vly_neuron_model *model;
    const double *params;
    const double *states; /* NULL: none is read */
    double dt_ms;
    double dc;
} reading;

static double value(const reading *r, const vly_node *node);

static double call(const reading *r, const vly_node *node)
{
    double a = value(r, node->a);
    double b = node->b ? value(r, node->b) : 0.0;
    double size = a < 0 ? -a : a;
    switch ((vly_function)node->index) {
    case VLY_FUNCTION_EXP:
        return vly_exp(a);
    case VLY_FUNCTION_EXPREL:
        return size <= 0 ? 1.0 : vly_expm1(a) / a;
    case VLY_FUNCTION_DECAY_MEAN:
        return size <= 0 ? 1.0 : -vly_expm1(-a) / a;
    case VLY_FUNCTION_SQRT:
        return vly_sqrt(a);
    case VLY_FUNCTION_SIGMOID:
        return 1.0 / (1.0 + vly_exp(-a));
    case VLY_FUNCTION_TANH:
        return 2.0 / (1.0 + vly_exp(-2.0 * a)) - 1.0;
    case VLY_FUNCTION_ABS:
        return size;
    case VLY_FUNCTION_MIN:
        return a < b ? a : b;
    case VLY_FUNCTION_MAX:
        return a > b ? a : b;
    case VLY_FUNCTION_CLIP: {
        double c = value(r, node->c);
        a = a > b ? a : b;
        return a < c ? a : c;
    }
    case VLY_FUNCTION_LOG:
        return vly_log(a);
    case VLY_FUNCTION_EXPM1:
        return vly_expm1(a);
    case VLY_FUNCTION_PROPAGATOR:
        return vly_propagator(r->dt_ms, a, b);
    case VLY_FUNCTION_PROPAGATOR_RISE:
        return vly_propagator_rise(r->dt_ms, a, b);
    default:
        return (double)NAN;
    }
}

static double power(double base, int32_t exponent)
{
    double made = 1.0;
    for (int32_t i = 0; i < exponent || i < -exponent; i++)
        made *= base;
    return exponent < 0 ? 1.0 / made : made;
}

static bool truth(const reading *r, const vly_node *node)
{
    switch (node->kind) {
    case VLY_NODE_LESS:
        return value(r, node->a) < value(r, node->b);
    case VLY_NODE_AT_MOST:
        return value(r, node->a) <= value(r, node->b);
    case VLY_NODE_AND:
        return truth(r, node->a) && truth(r, node->b);
    case VLY_NODE_OR:
        return truth(r, node->a) || truth(r, node->b);
    case VLY_NODE_NOT:
        return !truth(r, node->a);
    default:
        return false;
    }
}

static double value(const reading *r, const vly_node *node)
{
    const vly_neuron_model *model = r->model;
    uint32_t index = (uint32_t)node->index;
    switch (node->kind) {
    case VLY_NODE_NUMBER:
        return node->number;
    case VLY_NODE_PARAM: {
        double x = r->params[index] + (index == model->input ? r->dc : 0.0);
        return vly_decimal(x, model->decimals[index]);
    }
    case VLY_NODE_DT:
        return r->dt_ms;
    case VLY_NODE_STATE:
        return r->states ? r->states[index] : (double)NAN;
    case VLY_NODE_NEGATE:
        return -value(r, node->a);
    case VLY_NODE_ADD:
        return value(r, node->a) + value(r, node->b);
    case VLY_NODE_SUBTRACT:
        return value(r, node->a) - value(r, node->b);
    case VLY_NODE_MULTIPLY:
        return value(r, node->a) * value(r, node->b);
    case VLY_NODE_DIVIDE:
        return value(r, node->a) / value(r, node->b);
    case VLY_NODE_POWER:
        return power(value(r, node->a), node->index);
    case VLY_NODE_FUNCTION:
        return call(r, node);
    case VLY_NODE_IF:
        return value(r, truth(r, node->a) ? node->b : node->c);
    default:
        return (double)NAN;
    }
}

double vly_node_value(const vly_neuron_model *model, const vly_node *node,
                      const double *params, double dt_ms, double dc,
                      const double *states)
{
    const reading r = {.model = model,
                       .params = params,
                       .states = states,
                       .dt_ms = dt_ms,
                       .dc = dc};
    return value(&r, node);
}

/* ---- the propagator ----------------------------------------------------- */

typedef struct square {
    uint32_t n;
    double at[VLY_NEURON_FIELDS_MAX + 1][VLY_NEURON_FIELDS_MAX + 1];
} square;

static void multiply(const square *a, const square *b, square *out)
{
    out->n = a->n;
    for (uint32_t i = 0; i < a->n; i++)
        for (uint32_t j = 0; j < a->n; j++) {
            double sum = 0.0;
            for (uint32_t k = 0; k < a->n; k++)
                sum += a->at[i][k] * b->at[k][j];
            out->at[i][j] = sum;
        }
}

static double norm(const square *a)
{
    double most = 0.0;
    for (uint32_t i = 0; i < a->n; i++) {
        double sum = 0.0;
        for (uint32_t j = 0; j < a->n; j++)
            sum += a->at[i][j] < 0 ? -a->at[i][j] : a->at[i][j];
        if (!(sum <= most))
            most = sum;
    }
    return most;
}

/* *a becomes e^a - 1. With |a| / 2^s below 1/2, 14 terms leave less than
 * 2^-14 / 15! = 5e-17 of it. Squaring keeps the form without the 1: (1 + q)^2 -
 * 1 = q (q + 2), so that a small change keeps its digits. */
static void expm1_of(square *a, square *term, square *sum, square *work)
{
    uint32_t n = a->n;
    double size = norm(a);
    int s = 0;
    double share = 1.0;
    while (size * share > 0.5 && s < 1100) {
        share *= 0.5;
        s++;
    }
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++)
            a->at[i][j] *= share;
    *term = *a;
    *sum = *a;
    for (int k = 2; k <= 14; k++) {
        multiply(term, a, work);
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t j = 0; j < n; j++) {
                term->at[i][j] = work->at[i][j] / k;
                sum->at[i][j] += term->at[i][j];
            }
    }
    for (int k = 0; k < s; k++) {
        *term = *sum;
        for (uint32_t i = 0; i < n; i++)
            term->at[i][i] += 2.0;
        multiply(sum, term, work);
        *sum = *work;
    }
    *a = *sum;
}

/* The matrix of the system with its constant as one more column, times h. */
static void fill(const reading *r, bool held, double h, square *a)
{
    const vly_neuron_model *model = r->model;
    uint32_t n = model->n_exact;
    memset(a, 0, sizeof *a);
    a->n = n + 1;
    for (uint32_t i = 0; i < n; i++) {
        if (held && model->states[model->exact[i]].hold)
            continue;
        for (uint32_t j = 0; j < n; j++)
            if (model->matrix[i][j])
                a->at[i][j] = h * value(r, model->matrix[i][j]);
        if (model->constant[i])
            a->at[i][n] = h * value(r, model->constant[i]);
    }
}

typedef struct propagators {
    square made[2][2]; /* [half][held] */
    square work[3];
    bool ready[2][2];
} propagators;

static double entry(const reading *r, propagators *p, const vly_coef *coef)
{
    bool half = coef->kind == VLY_COEF_HALF;
    square *a = &p->made[half][coef->held];
    if (!p->ready[half][coef->held]) {
        fill(r, coef->held, half ? 0.5 * r->dt_ms : r->dt_ms, a);
        expm1_of(a, &p->work[0], &p->work[1], &p->work[2]);
        p->ready[half][coef->held] = true;
    }
    return a->at[coef->row][coef->column];
}

/* The length of a step: dt in expressions. */
static double step_of(const vly_neuron_model *model, double dt_ms)
{
    return dt_ms / model->substeps;
}

/* As a coefficient holds it. */
static double stored(double value)
{
    return (double)vly_float_store(value, -(float)COEF_MAX, (float)COEF_MAX);
}

void vly_neuron_coefs(const vly_neuron_model *model, const double *params,
                      double dt_ms, double dc, double *values)
{
    const double step_ms = step_of(model, dt_ms);
    const reading r = {
        .model = model, .params = params, .dt_ms = step_ms, .dc = dc};
    propagators p; /* 35 KB: the stack has room, and cannot fail */
    memset(p.ready, 0, sizeof p.ready);
    for (uint32_t i = 0; i < model->n_coefs; i++) {
        const vly_coef *coef = &model->coefs[i];
        if (coef->kind == VLY_COEF_NODE)
            values[i] = value(&r, coef->node);
        else if (coef->kind == VLY_COEF_BURSTS)
            values[i] = vly_floor(value(&r, coef->node) / step_ms + 0.5);
        else
            values[i] = entry(&r, &p, coef);
        if (coef->low)
            values[i] = 0x1p24 * (values[i] - stored(values[i]));
    }
}

void vly_neuron_start(const vly_neuron_model *model, const double *params,
                      double dt_ms, double *values)
{
    const reading r = {.model = model,
                       .params = params,
                       .dt_ms = step_of(model, dt_ms),
                       .states = values};
    for (uint32_t i = 0; i < model->n_states; i++)
        if (values[i] != values[i])
            values[i] = value(&r, model->states[i].start);
    if (model->refractory && values[model->n_states] != values[model->n_states])
        values[model->n_states] = 0.0;
    for (uint32_t i = model->first_sum; i && i < model->n_fields; i++)
        if (values[i] != values[i])
            values[i] = 0.0;
    for (uint32_t i = 0; i < model->n_states; i++) {
        const vly_neuron_field *field = &model->fields[i];
        uint32_t residual = model->states[i].residual;
        if (residual && values[residual] != values[residual])
            values[residual] = values[i] - (double)vly_float_store(
                                               values[i], field->lo, field->hi);
    }
}

const char vly_neuron_unfit_bursts[] =
    "a refractory time from 0 to 4294967040 bursts";

const char *vly_neuron_unfit(const vly_neuron_model *model,
                             const double *params, double dt_ms)
{
    double values[VLY_NEURON_COEFS_MAX];
    for (uint32_t i = 0; i < model->n_fields; i++)
        values[i] = (double)NAN;
    vly_neuron_start(model, params, dt_ms, values);
    for (uint32_t i = 0; i < model->n_states; i++)
        if (values[i] != values[i])
            return "a number as the start of every state variable";
    if (model->reset_value) {
        double step_ms = step_of(model, dt_ms);
        double at = vly_node_value(model, model->reset_value, params, step_ms,
                                   0.0, NULL);
        double threshold =
            vly_node_value(model, model->threshold, params, step_ms, 0.0, NULL);
        float reset = vly_float_store(at, -(float)COEF_MAX, (float)COEF_MAX);
        float most =
            vly_float_store(threshold, -(float)COEF_MAX, (float)COEF_MAX);
        if (!(model->strict ? reset < most : reset <= most))
            return model->unfit;
    }
    vly_neuron_coefs(model, params, dt_ms, 0.0, values);
    for (uint32_t i = 0; i < model->n_coefs; i++) {
        if (model->coefs[i].kind == VLY_COEF_BURSTS &&
            !(values[i] >= 0.0 && values[i] <= BURSTS_MAX))
            return vly_neuron_unfit_bursts;
        if (values[i] >= -COEF_MAX && values[i] <= COEF_MAX)
            continue;
        for (uint32_t p = 0; p < model->n_params; p++)
            if (model->divisors[p] && params[p] >= 0.0 && params[p] <= 0.0)
                return model->divisors[p];
        return "no division by 0 and no value above 2^40 = 1.1e12 in its "
               "equations";
    }
    return NULL;
}

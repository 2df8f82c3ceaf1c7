/* SPDX-License-Identifier: Apache-2.0
 * Variables marked `compensated`: a further field keeps what single precision
 * cannot hold of the variable, so that the two have about twice its digits. The
 * parts are added, and multiplied by the propagator, without loss, by sums and
 * products of single precision only.
 * Sources: Knuth 1969, The Art of Computer Programming, volume 2 (sum); Dekker
 * 1971, doi:10.1007/BF01397083 (product)
 */
#include "neuron/neuron_build.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"

/* Half the spacing of floats is at most 2^-24 of their size. */
#define RESIDUAL_SHARE 0x1p-24f

static uint32_t op(vly_emitter *e, vly_program_code code, uint32_t a,
                   uint32_t b)
{
    return vly_emit_op(e, code, a, b, 0);
}

/* ---- fields ------------------------------------------------------------- */

bool vly_neuron_twin_field(vly_neuron_model *model, const char *name,
                           const char *unit, const char *text, float most)
{
    const char *copy = vly_arena_text(&model->arena, name, strlen(name));
    const char *key = copy ? vly_neuron_key(model, copy, unit) : NULL;
    if (!key)
        return false;
    /* only the first field of a pair is reported at its bound */
    model->fields[model->n_fields++] = (vly_neuron_field){
        .key = key,
        .name = copy,
        .unit = unit,
        .text = text ? text : "what single precision does not hold",
        .type = VLY_TYPE_F32,
        .lo = -most,
        .hi = most,
        .declared = !text};
    return true;
}

static bool add_field(vly_neuron_model *model, uint32_t state)
{
    const vly_neuron_field *of = &model->fields[state];
    char name[64];
    (void)snprintf(name, sizeof name, "%s_residual", of->name);
    float most = of->hi > -of->lo ? of->hi : -of->lo;
    model->states[state].residual = model->n_fields;
    return vly_neuron_twin_field(model, name, of->unit, NULL,
                                 most * RESIDUAL_SHARE);
}

bool vly_neuron_residuals(vly_neuron_model *model)
{
    for (uint32_t i = 0; i < model->eq.n; i++) {
        const vly_statement *at = &model->eq.items[i];
        if (!at->compensated)
            continue;
        if (model->n_fields == VLY_NEURON_FIELDS_MAX)
            return vly_neuron_refuse_at(
                model, at->place, at->at,
                "more than %u variables with `refractory` and those for "
                "compensated ones, wanted fewer",
                VLY_NEURON_FIELDS_MAX);
        if (!add_field(model, at->target))
            return false;
    }
    return true;
}

/* ---- operations --------------------------------------------------------- */

static vly_twin two_sum(vly_emitter *e, uint32_t a, uint32_t b)
{
    uint32_t sum = op(e, VLY_PROGRAM_ADD, a, b);
    uint32_t of_b = op(e, VLY_PROGRAM_SUBTRACT, sum, a);
    uint32_t of_a = op(e, VLY_PROGRAM_SUBTRACT, sum, of_b);
    uint32_t left_a = op(e, VLY_PROGRAM_SUBTRACT, a, of_a);
    uint32_t left_b = op(e, VLY_PROGRAM_SUBTRACT, b, of_b);
    return (vly_twin){sum, op(e, VLY_PROGRAM_ADD, left_a, left_b)};
}

/* The upper 12 bits and the lower ones. */
static vly_twin split(vly_emitter *e, uint32_t x)
{
    uint32_t scaled =
        op(e, VLY_PROGRAM_MULTIPLY, vly_emit_number(e, 4097.0f), x);
    uint32_t over = op(e, VLY_PROGRAM_SUBTRACT, scaled, x);
    uint32_t high = op(e, VLY_PROGRAM_SUBTRACT, scaled, over);
    return (vly_twin){high, op(e, VLY_PROGRAM_SUBTRACT, x, high)};
}

static vly_twin two_product(vly_emitter *e, uint32_t a, uint32_t b)
{
    uint32_t product = op(e, VLY_PROGRAM_MULTIPLY, a, b);
    vly_twin x = split(e, a);
    vly_twin y = split(e, b);
    uint32_t low = op(e, VLY_PROGRAM_MULTIPLY, x.high, y.high);
    low = op(e, VLY_PROGRAM_SUBTRACT, low, product);
    low =
        op(e, VLY_PROGRAM_ADD, low, op(e, VLY_PROGRAM_MULTIPLY, x.high, y.low));
    low =
        op(e, VLY_PROGRAM_ADD, low, op(e, VLY_PROGRAM_MULTIPLY, x.low, y.high));
    low =
        op(e, VLY_PROGRAM_ADD, low, op(e, VLY_PROGRAM_MULTIPLY, x.low, y.low));
    return (vly_twin){product, low};
}

vly_twin vly_emit_pair_add(vly_emitter *e, vly_twin x, vly_twin add)
{
    vly_twin sum = two_sum(e, x.high, add.high);
    uint32_t low = sum.low;
    if (add.low != VLY_NO_VALUE)
        low = op(e, VLY_PROGRAM_ADD, low, add.low);
    low = op(e, VLY_PROGRAM_ADD, x.low, low);
    uint32_t high = op(e, VLY_PROGRAM_ADD, sum.high, low);
    uint32_t more = op(e, VLY_PROGRAM_SUBTRACT, high, sum.high);
    return (vly_twin){high, op(e, VLY_PROGRAM_SUBTRACT, low, more)};
}

vly_twin vly_emit_pair_select(vly_emitter *e, uint32_t truth, vly_twin a,
                              vly_twin b)
{
    /* one after the other: an initialiser has no order */
    uint32_t high = vly_emit_select(e, truth, a.high, b.high);
    return (vly_twin){high, vly_emit_select(e, truth, a.low, b.low)};
}

/* An entry of the propagator, and what a float does not hold of it: times 2^24,
 * since coefficients below 2^-40 are stored as 0. */
static vly_twin entry(vly_emitter *e, uint32_t row, uint32_t column, bool held)
{
    vly_coef coef = {
        .kind = VLY_COEF_WHOLE, .row = row, .column = column, .held = held};
    uint32_t high = vly_emit_coef(e, &coef);
    coef.low = true;
    uint32_t low = vly_emit_coef(e, &coef);
    return (vly_twin){
        high, op(e, VLY_PROGRAM_MULTIPLY, low, vly_emit_number(e, 0x1p-24f))};
}

vly_twin vly_emit_change(vly_emitter *e, uint32_t row, bool held)
{
    const vly_neuron_model *model = e->model;
    vly_twin sum = {VLY_NO_VALUE, VLY_NO_VALUE};
    for (uint32_t j = 0; j <= model->n_exact; j++) {
        if (!model->reach[row][j])
            continue;
        vly_twin term = entry(e, row, j, held);
        if (j < model->n_exact) {
            uint32_t x = e->env->state[model->exact[j]];
            uint32_t rest = e->env->low[model->exact[j]];
            vly_twin q = term;
            term = two_product(e, q.high, x);
            term.low = op(e, VLY_PROGRAM_ADD, term.low,
                          op(e, VLY_PROGRAM_MULTIPLY, q.low, x));
            if (rest != VLY_NO_VALUE)
                term.low = op(e, VLY_PROGRAM_ADD, term.low,
                              op(e, VLY_PROGRAM_MULTIPLY, q.high, rest));
        }
        sum = sum.high == VLY_NO_VALUE ? term : vly_emit_pair_add(e, sum, term);
    }
    return sum;
}

uint32_t vly_emit_low_store(vly_emitter *e, const vly_neuron_field *high,
                            const vly_neuron_field *of, vly_twin value)
{
    uint32_t lo = vly_emit_number(e, high->lo);
    uint32_t hi = vly_emit_number(e, high->hi);
    uint32_t above = op(e, VLY_PROGRAM_AT_MOST, lo, value.high);
    uint32_t below = op(e, VLY_PROGRAM_AT_MOST, value.high, hi);
    uint32_t within = op(e, VLY_PROGRAM_AND, above, below);
    uint32_t low =
        vly_emit_select(e, within, value.low, vly_emit_number(e, 0.0f));
    return vly_emit_op(e, VLY_PROGRAM_STORE, low, vly_float_bits(of->lo),
                       vly_float_bits(of->hi));
}

void vly_emit_residual_store(vly_emitter *e, uint32_t state, uint32_t value)
{
    const vly_neuron_field *fields = e->model->fields;
    e->env->low[state] = vly_emit_low_store(
        e, &fields[state], &fields[e->model->states[state].residual],
        (vly_twin){value, e->env->low[state]});
}

/* SPDX-License-Identifier: Apache-2.0
 * The program of one burst, in this order: equations or `update`, arrivals,
 * spike, reset, stored values. Every variable is stored (bounds, nothing below
 * 2^-40) at the end, and before an expression reads what was assigned in the
 * same burst; `x += y` adds before x is stored. With substeps the burst is so
 * many such steps one after the other, and what arrives in it acts in the last
 * one.
 */
#include "neuron/neuron_build.h"

#include <string.h>

static uint32_t op(vly_emitter *e, vly_program_code code, uint32_t a,
                   uint32_t b)
{
    return vly_emit_op(e, code, a, b, 0);
}

static void start(vly_emitter *e, vly_env *env)
{
    memset(env, 0, sizeof *env);
    env->stamp = ++e->n_stamps;
    for (uint32_t i = 0; i < e->model->n_states; i++)
        env->state[i] = op(e, VLY_PROGRAM_FIELD, i, 0);
    for (uint32_t i = 0; i < e->model->n_states; i++) {
        uint32_t residual = e->model->states[i].residual;
        env->low[i] =
            residual ? op(e, VLY_PROGRAM_FIELD, residual, 0) : VLY_NO_VALUE;
    }
    if (e->model->refractory)
        e->ready = op(e, VLY_PROGRAM_IS_ZERO,
                      op(e, VLY_PROGRAM_FIELD, e->model->n_states, 0), 0);
}

/* One assignment; `when`: only where this holds (VLY_NO_VALUE: always). */
static void assign(vly_emitter *e, const vly_statement *statement,
                   uint32_t when)
{
    vly_env *env = e->env;
    uint32_t value = vly_emit(e, statement->node);
    if (statement->local) {
        e->local[statement->target] = value;
        return;
    }
    uint32_t old = env->state[statement->target];
    uint32_t old_low = env->low[statement->target];
    if (old_low != VLY_NO_VALUE) {
        const vly_twin from = {old, old_low};
        vly_twin made = {value, VLY_NO_VALUE};
        if (statement->add)
            made = vly_emit_pair_add(e, from, made);
        else
            made.low = vly_emit_number(e, 0.0f);
        value = made.high;
        env->low[statement->target] =
            vly_emit_select(e, when, made.low, old_low);
    } else if (statement->add) {
        value = op(e, VLY_PROGRAM_ADD, old, value);
    }
    env->state[statement->target] = vly_emit_select(e, when, value, old);
    env->dirty[statement->target] = true;
    env->stamp = ++e->n_stamps; /* what reads it is another value now */
}

static void assign_all(vly_emitter *e, const vly_statements *list,
                       uint32_t when)
{
    for (uint32_t i = 0; i < list->n; i++)
        assign(e, &list->items[i], when);
}

static void update(vly_emitter *e)
{
    for (uint32_t i = 0; i < e->model->update.n; i++) {
        const vly_statement *statement = &e->model->update.items[i];
        assign(e, statement, statement->hold ? e->ready : VLY_NO_VALUE);
    }
}

/* What arrives at a variable that stands still is lost. */
static void arrive(vly_emitter *e)
{
    const vly_neuron_model *model = e->model;
    bool held[VLY_NEURON_FIELDS_MAX] = {false};
    for (uint32_t i = 0; i < model->n_states; i++)
        held[i] = model->states[i].hold;
    for (uint32_t port = 0; port < model->n_ports; port++)
        for (uint32_t i = 0; i < model->arrivals[port].n; i++) {
            const vly_statement *statement = &model->arrivals[port].items[i];
            assign(e, statement,
                   held[statement->target] ? e->ready : VLY_NO_VALUE);
        }
}

static uint32_t countdown(vly_emitter *e, uint32_t left, uint32_t fired)
{
    uint32_t less = op(e, VLY_PROGRAM_COUNT_DOWN, left, 0);
    uint32_t whole = vly_emit_coef(
        e, &(vly_coef){.kind = VLY_COEF_BURSTS, .node = e->model->refractory});
    return vly_emit_select(e, fired, whole, less);
}

static const uint8_t program_reads[VLY_PROGRAM_CODES] = {
#define READS(name, reads, text) reads,
    VLY_PROGRAM_TABLE(READS)
#undef READS
};

static uint32_t *operand(vly_program_op *op, uint32_t k)
{
    return k == 0 ? &op->a : k == 1 ? &op->b : &op->c;
}

/* Removes operations that nothing reads; the others keep their order. */
static void remove_unused(vly_neuron_model *model)
{
    bool used[VLY_NEURON_OPS_MAX] = {false};
    uint32_t place[VLY_NEURON_OPS_MAX] = {0};
    uint32_t n = 0;
    for (uint32_t i = 0; i < model->n_fields; i++)
        used[model->outs[i]] = true;
    used[model->program.fired] = true;
    for (uint32_t i = model->n_ops; i-- > 0;)
        for (uint32_t k = 0; used[i] && k < 3; k++)
            if (program_reads[model->ops[i].code] > k)
                used[*operand(&model->ops[i], k)] = true;
    for (uint32_t i = 0; i < model->n_ops; i++) {
        if (!used[i])
            continue;
        vly_program_op made = model->ops[i];
        for (uint32_t k = 0; k < program_reads[made.code]; k++)
            *operand(&made, k) = place[*operand(&made, k)];
        place[i] = n;
        model->bounds[n] = model->bounds[i];
        model->ops[n++] = made;
    }
    model->n_ops = n;
    for (uint32_t i = 0; i < model->n_fields; i++)
        model->outs[i] = place[model->outs[i]];
    model->program.fired = place[model->program.fired];
}

static uint32_t type_of(const vly_neuron_model *model, const vly_program_op *op)
{
    switch (op->code) {
    case VLY_PROGRAM_FIELD:
        return model->fields[op->a].type;
    case VLY_PROGRAM_COEF:
        return vly_neuron_coef_type(model, op->a);
    case VLY_PROGRAM_SELECT:
        return model->types[op->b];
    case VLY_PROGRAM_LESS:
    case VLY_PROGRAM_AT_MOST:
    case VLY_PROGRAM_AND:
    case VLY_PROGRAM_OR:
    case VLY_PROGRAM_NOT:
    case VLY_PROGRAM_IS_ZERO:
    case VLY_PROGRAM_COUNT_DOWN:
        return VLY_TYPE_U32;
    default:
        return VLY_TYPE_F32;
    }
}

/* One step: equations or `update`, in the last step arrivals, spike and reset.
 * Returns whether the neuron fired. */
static uint32_t one_step(vly_emitter *e, vly_env *before, bool last,
                         uint32_t *left)
{
    vly_neuron_model *model = e->model;
    if (model->eq.n)
        vly_emit_equations(e);
    else
        update(e);
    if (last)
        arrive(e);
    uint32_t fired = vly_emit(e, model->spike);
    if (e->ready != VLY_NO_VALUE)
        fired = op(e, VLY_PROGRAM_AND, fired, e->ready);
    assign_all(e, &model->reset, fired);
    for (uint32_t i = 0; i < model->n_states; i++)
        (void)vly_emit_state(e, i);
    if (model->refractory) {
        *left = countdown(e, *left, fired);
        e->ready = op(e, VLY_PROGRAM_IS_ZERO, *left, 0);
    }
    e->env->stamp = ++e->n_stamps;
    *before = *e->env;
    return fired;
}

bool vly_neuron_emit(vly_neuron_model *model)
{
    vly_emitter e = {.model = model, .ready = VLY_NO_VALUE};
    vly_env before;
    vly_env now;
    uint32_t left = 0;
    uint32_t fired = VLY_NO_VALUE;
    e.env = &now;
    e.before = &before;
    start(&e, &now);
    before = now;
    vly_emit_sums(&e);
    if (model->refractory)
        left = op(&e, VLY_PROGRAM_FIELD, model->n_states, 0);
    for (e.substep = 0; e.substep < model->substeps && !e.failed; e.substep++) {
        bool last = e.substep + 1 == model->substeps;
        uint32_t once = one_step(&e, &before, last, &left);
        fired =
            fired == VLY_NO_VALUE ? once : op(&e, VLY_PROGRAM_OR, fired, once);
        e.n_first = e.substep ? e.n_first : model->n_ops;
    }
    if (e.failed)
        return false;
    for (uint32_t i = 0; i < model->n_states; i++)
        model->outs[i] = now.state[i];
    if (model->refractory)
        model->outs[model->n_states] = left;
    for (uint32_t i = 0; i < model->n_states; i++)
        if (model->states[i].residual)
            model->outs[model->states[i].residual] = now.low[i];
    model->program.fired = fired;
    remove_unused(model);
    for (uint32_t i = 0; i < model->n_ops; i++)
        model->types[i] = type_of(model, &model->ops[i]);
    return true;
}

/* SPDX-License-Identifier: Apache-2.0
 * One burst of the equations. The exact system advances by its propagator, x <-
 * x + (Q x + c) with Q = e^(A h) - 1, so that single precision rounds the step
 * and not the whole. Of the others each has its method:
 *     exponential  the linear part exactly with coefficients of the middle of
 *                  the burst, the rest at the middle; the middle by a first
 *                  step of the same kind: 2nd order
 *     heun, rk4, euler  the classical ones
 * Source: Rotter and Diesmann 1999, doi:10.1007/s004220050570 (propagator);
 * Sundnes et al. 2009, doi:10.1016/j.jcp.2009.04.012 (exponential, 2nd order)
 */
#include "neuron/neuron_build.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"

static uint32_t op(vly_emitter *e, vly_program_code code, uint32_t a,
                   uint32_t b)
{
    return vly_emit_op(e, code, a, b, 0);
}

/* dt, dt / 2, ... as a coefficient */
static uint32_t step(vly_emitter *e, double share)
{
    vly_arena *arena = &e->model->arena;
    vly_node *dt = vly_node_new(arena, VLY_NODE_DT, 0);
    vly_node *part = vly_node_number(arena, share, (vly_unit){0});
    vly_node *node = vly_node_new(arena, VLY_NODE_MULTIPLY, 0);
    if (!dt || !part || !node) {
        e->failed = true;
        return 0;
    }
    dt->host = true;
    node->a = part;
    node->b = dt;
    vly_node_join(node);
    return vly_emit_coef(e, &(vly_coef){.node = node});
}

/* ---- the exact system --------------------------------------------------- */

/* Q x + c of one row */
static uint32_t change(vly_emitter *e, vly_coef_kind kind, uint32_t row,
                       bool held)
{
    vly_neuron_model *model = e->model;
    uint32_t n = model->n_exact;
    uint32_t sum = VLY_NO_VALUE;
    for (uint32_t j = 0; j <= n; j++) {
        if (!model->reach[row][j])
            continue;
        uint32_t term = vly_emit_coef(
            e,
            &(vly_coef){.kind = kind, .row = row, .column = j, .held = held});
        if (j < n)
            term = op(e, VLY_PROGRAM_MULTIPLY, term,
                      e->env->state[model->exact[j]]);
        sum = sum == VLY_NO_VALUE ? term : op(e, VLY_PROGRAM_ADD, sum, term);
    }
    return sum;
}

/* The same with the residual; at the end of a burst only. */
static void advance_pair(vly_emitter *e, uint32_t row, vly_env *to)
{
    const vly_neuron_model *model = e->model;
    uint32_t state = model->exact[row];
    const vly_twin old = {e->env->state[state], e->env->low[state]};
    vly_twin moved = vly_emit_change(e, row, false);
    if (moved.high == VLY_NO_VALUE)
        return; /* x' = 0 */
    if (model->two_systems && !model->states[state].hold)
        moved = vly_emit_pair_select(e, e->ready, moved,
                                     vly_emit_change(e, row, true));
    moved = vly_emit_pair_add(e, old, moved);
    if (model->states[state].hold && e->ready != VLY_NO_VALUE)
        moved = vly_emit_pair_select(e, e->ready, moved, old);
    to->state[state] = moved.high;
    to->low[state] = moved.low;
    to->dirty[state] = true;
}

/* A variable whose row and all that it depends on stay at 0 or above, and are
 * there now. */
static void claim_exact(vly_emitter *e, uint32_t row, const vly_env *to)
{
    const vly_neuron_model *model = e->model;
    for (uint32_t j = 0; j < model->n_exact; j++)
        if ((j == row || model->reach[row][j]) &&
            (!model->stays[j] ||
             vly_bounds_below_0(e, e->env->state[model->exact[j]])))
            return;
    vly_bounds_claim(e, to->state[model->exact[row]]);
}

/* The exact variables after a burst or half of it, in `to`. */
static void advance_exact(vly_emitter *e, vly_coef_kind kind, vly_env *to)
{
    vly_neuron_model *model = e->model;
    for (uint32_t i = 0; i < model->n_exact; i++) {
        uint32_t state = model->exact[i];
        uint32_t old = e->env->state[state];
        if (model->states[state].residual && !to->raw) {
            advance_pair(e, i, to);
            continue;
        }
        uint32_t moved = change(e, kind, i, false);
        if (moved == VLY_NO_VALUE)
            continue; /* x' = 0 */
        if (model->two_systems && !model->states[state].hold) {
            uint32_t held = change(e, kind, i, true);
            moved = vly_emit_select(e, e->ready, moved, held);
        }
        moved = op(e, VLY_PROGRAM_ADD, old, moved);
        if (model->states[state].hold && e->ready != VLY_NO_VALUE)
            moved = vly_emit_select(e, e->ready, moved, old);
        to->state[state] = moved;
        to->dirty[state] = true;
        claim_exact(e, i, to);
    }
}

/* ---- the others --------------------------------------------------------- */

/* Far beyond all ranges, which end at 2^40. */
#define FAR 0x1p60f

/* A compensated variable after a change. The residual of an infinite sum would
 * be NaN and make the variable NaN, too: such a sum is taken as +-FAR. */
static vly_twin pair_moved(vly_emitter *e, vly_twin old, uint32_t change)
{
    const vly_twin added = {change, VLY_NO_VALUE};
    const vly_twin exact = vly_emit_pair_add(e, old, added);
    uint32_t sum = op(e, VLY_PROGRAM_ADD, old.high, change);
    uint32_t size = op(e, VLY_PROGRAM_ABSOLUTE, sum, 0);
    uint32_t is_far = op(e, VLY_PROGRAM_AT_MOST, vly_emit_number(e, FAR), size);
    vly_twin most = {VLY_NO_VALUE, vly_emit_number(e, 0.0f)};
    most.high = vly_emit_op(e, VLY_PROGRAM_STORE, sum, vly_float_bits(-FAR),
                            vly_float_bits(FAR));
    return vly_emit_pair_select(e, is_far, most, exact);
}

/* Whether what has come to `now` goes on: it is below the threshold, or the
 * neuron is refractory and cannot fire there. A variable that then stands still
 * needs no such question. */
static uint32_t goes_on(vly_emitter *e, uint32_t state, uint32_t now,
                        uint32_t most)
{
    uint32_t less = op(e, VLY_PROGRAM_LESS, now, most);
    if (e->ready == VLY_NO_VALUE || e->model->states[state].hold)
        return less;
    return op(e, VLY_PROGRAM_OR, less, op(e, VLY_PROGRAM_NOT, e->ready, 0));
}

/* The variable moves by `change` from `from`. */
static void put(vly_emitter *e, vly_env *to, const vly_env *from,
                uint32_t state, uint32_t change)
{
    const vly_twin old = {from->state[state], from->low[state]};
    bool pair = old.low != VLY_NO_VALUE && !to->raw;
    vly_twin now = {change, VLY_NO_VALUE};
    if (pair)
        now = pair_moved(e, old, change);
    else
        now.high = op(e, VLY_PROGRAM_ADD, old.high, change);
    if (state == e->model->cut) {
        uint32_t most = vly_emit(e, e->model->threshold);
        uint32_t on = goes_on(e, state, now.high, most);
        now.high = vly_emit_select(e, on, now.high, most);
        if (pair)
            now.low = vly_emit_select(e, on, now.low, vly_emit_number(e, 0.0f));
    }
    if (e->model->states[state].hold && e->ready != VLY_NO_VALUE) {
        now.high = vly_emit_select(e, e->ready, now.high, old.high);
        if (pair)
            now.low = vly_emit_select(e, e->ready, now.low, old.low);
    }
    to->state[state] = now.high;
    if (pair)
        to->low[state] = now.low;
    to->dirty[state] = true;
}

/* The value of a tree in another environment. */
static uint32_t at(vly_emitter *e, vly_env *env, vly_node *node)
{
    vly_env *before = e->env;
    e->env = env;
    uint32_t value = vly_emit(e, node);
    e->env = before;
    return value;
}

static bool others(const vly_state *state)
{
    return state->rate && !state->exact;
}

/* The change in one exponential step from `from`, with everything else as in
 * `env`. */
static uint32_t exponential(vly_emitter *e, vly_env *env, const vly_env *from,
                            uint32_t i, uint32_t h)
{
    const vly_state *state = &e->model->states[i];
    uint32_t sum = VLY_NO_VALUE;
    uint32_t mean = VLY_NO_VALUE;
    if (state->constant)
        sum = at(e, env, state->constant);
    if (state->linear) {
        uint32_t rate = at(e, env, state->linear);
        uint32_t term = op(e, VLY_PROGRAM_MULTIPLY, rate, from->state[i]);
        sum = sum == VLY_NO_VALUE ? term : op(e, VLY_PROGRAM_ADD, sum, term);
        uint32_t decay = op(e, VLY_PROGRAM_NEGATE, rate, 0);
        mean = vly_emit_decay_mean(e, op(e, VLY_PROGRAM_MULTIPLY, decay, h));
    }
    if (state->rest) {
        uint32_t rest = at(e, env, state->rest);
        sum = sum == VLY_NO_VALUE ? rest : op(e, VLY_PROGRAM_ADD, sum, rest);
    }
    sum = op(e, VLY_PROGRAM_MULTIPLY, h, sum);
    if (mean != VLY_NO_VALUE)
        sum = op(e, VLY_PROGRAM_MULTIPLY, mean, sum);
    return sum;
}

/* Whether such a step from 0 or above ends there: x goes towards a value that
 * is not below 0, and does not pass it. */
static bool stays(vly_emitter *e, vly_env *env, const vly_env *from, uint32_t i)
{
    const vly_state *state = &e->model->states[i];
    vly_node *const parts[] = {state->constant, state->rest};
    if (vly_bounds_below_0(e, from->state[i]))
        return false;
    for (int k = 0; k < 2; k++)
        if (parts[k] && vly_bounds_below_0(e, at(e, env, parts[k])))
            return false;
    return !state->linear || !vly_bounds_above_0(e, at(e, env, state->linear));
}

/* h rate(env) */
static uint32_t explicit_step(vly_emitter *e, vly_env *env, const vly_env *from,
                              uint32_t i, uint32_t h)
{
    (void)from;
    return op(e, VLY_PROGRAM_MULTIPLY, h, at(e, env, e->model->states[i].rate));
}

typedef uint32_t step_of(vly_emitter *e, vly_env *env, const vly_env *from,
                         uint32_t i, uint32_t h);

/* All other variables in `to`, from `from`, with rates as in env. */
static void stage(vly_emitter *e, step_of *one, vly_env *env,
                  const vly_env *from, vly_env *to, uint32_t h)
{
    for (uint32_t i = 0; i < e->model->n_states; i++) {
        if (!others(&e->model->states[i]))
            continue;
        put(e, to, from, i, one(e, env, from, i, h));
        if (one == exponential && i != e->model->cut && stays(e, env, from, i))
            vly_bounds_claim(e, to->state[i]);
    }
}

static void run_exponential(vly_emitter *e, const vly_env *start, vly_env *end)
{
    vly_env first = *start;
    vly_env middle;
    first.raw = true;
    first.stamp = ++e->n_stamps;
    vly_emit_fork(e, &middle);
    middle.raw = true;
    advance_exact(e, VLY_COEF_HALF, &middle);
    stage(e, exponential, &first, start, &middle, step(e, 0.5));
    stage(e, exponential, &middle, start, end, step(e, 1.0));
}

/* x + h / 2 (k1 + k2), or h / 6 (k1 + 2 k2 + 2 k3 + k4) */
static void run_stages(vly_emitter *e, const vly_env *start, vly_env *end,
                       uint32_t n_stages)
{
    vly_env stages[4];
    uint32_t h = step(e, 1.0);
    uint32_t half = step(e, 0.5);
    stages[0] = *start;
    stages[0].raw = true;
    stages[0].stamp = ++e->n_stamps;
    for (uint32_t k = 1; k < n_stages; k++) {
        bool full = n_stages == 2 || k == 3;
        vly_emit_fork(e, &stages[k]);
        stages[k].raw = true;
        advance_exact(e, full ? VLY_COEF_WHOLE : VLY_COEF_HALF, &stages[k]);
        stage(e, explicit_step, &stages[k - 1], start, &stages[k],
              full ? h : half);
    }
    uint32_t share = n_stages == 4 ? step(e, 1.0 / 6.0) : half;
    for (uint32_t i = 0; i < e->model->n_states; i++) {
        vly_node *rate = e->model->states[i].rate;
        uint32_t k[4];
        if (!others(&e->model->states[i]))
            continue;
        for (uint32_t s = 0; s < n_stages; s++)
            k[s] = at(e, &stages[s], rate);
        uint32_t sum = k[0];
        if (n_stages == 4) {
            uint32_t middle = op(e, VLY_PROGRAM_ADD, k[1], k[2]);
            sum = op(e, VLY_PROGRAM_ADD, sum,
                     op(e, VLY_PROGRAM_ADD, middle, middle));
        }
        sum = op(e, VLY_PROGRAM_ADD, sum, k[n_stages - 1]);
        put(e, end, start, i, op(e, VLY_PROGRAM_MULTIPLY, share, sum));
    }
}

void vly_emit_equations(vly_emitter *e)
{
    const vly_env start = *e->env;
    vly_env end;
    bool left = false;
    for (uint32_t i = 0; i < e->model->n_states; i++)
        left |= others(&e->model->states[i]);
    vly_emit_fork(e, &end);
    advance_exact(e, VLY_COEF_WHOLE, &end);
    if (left && e->model->method <= VLY_METHOD_EXPONENTIAL)
        run_exponential(e, &start, &end);
    else if (left && e->model->method == VLY_METHOD_HEUN)
        run_stages(e, &start, &end, 2);
    else if (left && e->model->method == VLY_METHOD_RK4)
        run_stages(e, &start, &end, 4);
    else if (left)
        stage(e, explicit_step, e->env, &start, &end, step(e, 1.0));
    end.stamp = ++e->n_stamps;
    *e->env = end;
}

/* ---- in words ----------------------------------------------------------- */

static size_t put_names(const vly_neuron_model *model, bool exact, char *out,
                        size_t size)
{
    size_t used = 0;
    for (uint32_t i = 0; i < model->n_states && used + 50 < size; i++)
        if (model->states[i].rate && model->states[i].exact == exact)
            used += (size_t)snprintf(out + used, size - used, "%s%s",
                                     used ? ", " : "", model->fields[i].name);
    return used;
}

void vly_neuron_say_scheme(vly_neuron_model *model)
{
    static const char *const methods[VLY_METHODS] = {
        "exponential Euler at the middle of the burst, 2nd order",
        "",
        "exponential Euler at the middle of the burst, 2nd order",
        "Heun, 2nd order",
        "Runge-Kutta, 4th order",
        "Euler, 1st order"};
    char exact[100] = "";
    char rest[100] = "";
    size_t n_exact = put_names(model, true, exact, sizeof exact);
    size_t n_rest = put_names(model, false, rest, sizeof rest);
    (void)snprintf(model->scheme, sizeof model->scheme, "%s%s%s%s%s%s", exact,
                   n_exact ? " exactly (matrix exponential)" : "",
                   n_exact && n_rest ? "; " : "", rest, n_rest ? ": " : "",
                   n_rest ? methods[model->method] : "");
    if (model->n_exact + n_rest == 0)
        (void)snprintf(model->scheme, sizeof model->scheme,
                       "assignments as written in `update`");
    size_t used = strlen(model->scheme);
    for (uint32_t i = 0, n = 0; i < model->n_states; i++)
        if (model->states[i].residual && used + 60 < sizeof model->scheme)
            used += (size_t)snprintf(
                model->scheme + used, sizeof model->scheme - used, "%s %s",
                n++ ? "," : "; compensated:", model->fields[i].name);
    if (model->substeps > 1)
        (void)snprintf(model->scheme + used, sizeof model->scheme - used,
                       "; %u steps a burst", model->substeps);
}

/* SPDX-License-Identifier: Apache-2.0
 * Which equations are linear: the largest set whose right sides are sums of its
 * own variables times parameters, and of parameters, is solved exactly. Of the
 * others the part that is linear in the variable itself is found.
 */
#include "neuron/neuron_build.h"

#include <string.h>

enum { CONSTANT, LINEAR, REST };

bool vly_node_depends(const vly_node *node, uint32_t state)
{
    return node && (node->uses >> state & 1u) != 0;
}

static vly_node *make(vly_arena *arena, vly_node_kind kind, vly_node *a,
                      vly_node *b)
{
    vly_node *node = vly_node_new(arena, kind, a->at);
    if (!node)
        return NULL;
    node->a = a;
    node->b = b;
    node->unit = a->unit;
    vly_node_join(node);
    if (kind == VLY_NODE_MULTIPLY)
        (void)vly_unit_times(a->unit, b->unit, 1, &node->unit);
    if (kind == VLY_NODE_DIVIDE)
        (void)vly_unit_times(a->unit, b->unit, -1, &node->unit);
    return node;
}

/* out[i] = a[i] + b[i], where NULL is 0 */
static bool add(vly_arena *arena, vly_node_kind kind, vly_node *const a[3],
                vly_node *const b[3], vly_node *out[3])
{
    for (int i = 0; i < 3; i++) {
        if (!b[i])
            out[i] = a[i];
        else if (a[i])
            out[i] = make(arena, kind, a[i], b[i]);
        else
            out[i] = kind == VLY_NODE_ADD ? b[i] : vly_node_negate(arena, b[i]);
        if (!out[i] && (a[i] || b[i]))
            return false;
    }
    return true;
}

/* A product or quotient of which one side does not depend on the state. */
static bool scale(vly_arena *arena, vly_node *node, uint32_t state,
                  vly_node *out[3])
{
    vly_node *parts[3];
    bool left = vly_node_depends(node->a, state);
    if (!vly_node_split(arena, left ? node->a : node->b, state, parts))
        return false;
    for (int i = 0; i < 3; i++) {
        if (parts[i])
            out[i] = left ? make(arena, node->kind, parts[i], node->b)
                          : make(arena, node->kind, node->a, parts[i]);
        if (parts[i] && !out[i])
            return false;
    }
    return true;
}

bool vly_node_split(vly_arena *arena, vly_node *node, uint32_t state,
                    vly_node *out[3])
{
    vly_node *a[3] = {NULL, NULL, NULL};
    vly_node *b[3] = {NULL, NULL, NULL};
    memset(out, 0, 3 * sizeof *out);
    if (!vly_node_depends(node, state)) {
        out[CONSTANT] = node;
        return true;
    }
    bool left = vly_node_depends(node->a, state);
    bool right = vly_node_depends(node->b, state);
    switch (node->kind) {
    case VLY_NODE_STATE:
        out[LINEAR] = vly_node_number(arena, 1.0, (vly_unit){0});
        return out[LINEAR] != NULL;
    case VLY_NODE_NEGATE:
        if (!vly_node_split(arena, node->a, state, a))
            return false;
        for (int i = 0; i < 3; i++)
            if (a[i] && !(out[i] = vly_node_negate(arena, a[i])))
                return false;
        return true;
    case VLY_NODE_ADD:
    case VLY_NODE_SUBTRACT:
        return vly_node_split(arena, node->a, state, a) &&
               vly_node_split(arena, node->b, state, b) &&
               add(arena, node->kind, a, b, out);
    case VLY_NODE_MULTIPLY:
        if (left != right)
            return scale(arena, node, state, out);
        break;
    case VLY_NODE_DIVIDE:
        if (!right)
            return scale(arena, node, state, out);
        break;
    default:
        break;
    }
    out[REST] = node;
    return true;
}

/* ---- the exact system --------------------------------------------------- */

/* The rate of an exact state as factors of the exact states and a constant. */
static bool row_of(vly_neuron_model *model, uint32_t state, vly_node **row,
                   vly_node **constant)
{
    vly_node *left = model->states[state].rate;
    vly_node *parts[3];
    for (uint32_t i = 0; i < model->n_states; i++) {
        row[i] = NULL;
        if (!model->states[i].exact || !left)
            continue;
        if (!vly_node_split(&model->arena, left, i, parts))
            return false;
        row[i] = parts[LINEAR];
        left = parts[CONSTANT];
    }
    *constant = left;
    return true;
}

/* Whether a node is a sum of exact states times parameters, and of parameters:
 * 0: of parameters only, 1: yes, 2: no. */
static int form_of(const vly_neuron_model *model, const vly_node *node)
{
    int a;
    int b;
    if (node->host)
        return 0;
    switch (node->kind) {
    case VLY_NODE_STATE:
        return model->states[node->index].exact ? 1 : 2;
    case VLY_NODE_NEGATE:
        return form_of(model, node->a);
    case VLY_NODE_ADD:
    case VLY_NODE_SUBTRACT:
        a = form_of(model, node->a);
        b = form_of(model, node->b);
        return a > b ? a : b;
    case VLY_NODE_MULTIPLY:
        a = form_of(model, node->a);
        b = form_of(model, node->b);
        return a == 0 || b == 0 ? a + b : 2;
    case VLY_NODE_DIVIDE:
        return node->b->host ? form_of(model, node->a) : 2;
    default:
        return 2;
    }
}

/* Removes states until all rates are linear in those that are left. */
static void find_exact(vly_neuron_model *model)
{
    bool changed = true;
    for (uint32_t i = 0; i < model->n_states; i++)
        model->states[i].exact =
            model->states[i].rate && model->method <= VLY_METHOD_EXPONENTIAL;
    while (changed) {
        changed = false;
        for (uint32_t i = 0; i < model->n_states; i++) {
            vly_state *state = &model->states[i];
            if (state->exact && form_of(model, state->rate) == 2) {
                state->exact = false;
                changed = true;
            }
        }
    }
}

static bool fill_exact(vly_neuron_model *model)
{
    vly_node *row[VLY_NEURON_FIELDS_MAX];
    for (uint32_t i = 0; i < model->n_states; i++)
        if (model->states[i].exact) {
            model->states[i].row = model->n_exact;
            model->exact[model->n_exact++] = i;
        }
    for (uint32_t i = 0; i < model->n_exact; i++) {
        if (!row_of(model, model->exact[i], row, &model->constant[i]))
            return false;
        for (uint32_t j = 0; j < model->n_exact; j++)
            model->matrix[i][j] = row[model->exact[j]];
    }
    return true;
}

/* reach[i][j]: whether variable i depends on j (column n: the constant) over a
 * burst: which entries of the propagator are not 0 whatever the parameters. */
static void find_reach(vly_neuron_model *model)
{
    uint32_t n = model->n_exact;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++)
            model->reach[i][j] = model->matrix[i][j] != NULL;
        model->reach[i][n] = model->constant[i] != NULL;
    }
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t j = 0; model->reach[i][k] && j <= n; j++)
                model->reach[i][j] |= model->reach[k][j];
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++) {
            const vly_state *own = &model->states[model->exact[i]];
            const vly_state *other = &model->states[model->exact[j]];
            model->two_systems |= model->reach[i][j] && !own->hold &&
                                  other->hold && model->refractory;
        }
}

/* Which variables stay at 0 or above if those they depend on are there: of such
 * a system no entry of e^(A h) is below 0. */
static void find_stays(vly_neuron_model *model)
{
    for (uint32_t i = 0; i < model->n_exact; i++) {
        const vly_node *constant = model->constant[i];
        model->stays[i] =
            !constant || !vly_bounds_host_below_0(model, constant);
        for (uint32_t j = 0; model->stays[i] && j < model->n_exact; j++)
            model->stays[i] =
                i == j || !model->matrix[i][j] ||
                !vly_bounds_host_below_0(model, model->matrix[i][j]);
    }
}

bool vly_neuron_linear(vly_neuron_model *model)
{
    find_exact(model);
    if (!fill_exact(model))
        return false;
    find_reach(model);
    find_stays(model);
    for (uint32_t i = 0; i < model->n_states; i++) {
        vly_state *state = &model->states[i];
        vly_node *parts[3];
        if (!state->rate || state->exact)
            continue;
        if (!vly_node_split(&model->arena, state->rate, i, parts))
            return false;
        state->constant = parts[CONSTANT];
        state->linear = parts[LINEAR];
        state->rest = parts[REST];
    }
    return true;
}

/* SPDX-License-Identifier: Apache-2.0
 * Checks of a whole neuron model: names that users write in an area, inputs
 * that nothing reads, starts outside a range; and notes.
 */
#include "neuron/neuron_build.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- keys --------------------------------------------------------------- */

static const char *key_at(const vly_neuron_model *model, uint32_t i)
{
    return i < model->n_params ? model->params[i].key
                               : model->fields[i - model->n_params].key;
}

bool vly_neuron_keys_differ(vly_neuron_model *model)
{
    const vly_neuron_source *source = model->source;
    uint32_t n = model->n_params + model->n_fields;
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t j = 0; j < i; j++) {
            uint32_t state = i - model->n_params;
            if (strcmp(key_at(model, i), key_at(model, j)) != 0)
                continue;
            return vly_neuron_refuse(
                model,
                i < model->n_params       ? source->params[i].place
                : state < model->n_states ? source->states[state].place
                                          : source->place,
                "two names give the key %s in %s, wanted another name",
                key_at(model, i),
                model->synapse ? "a [plasticity]" : "an area");
        }
    return true;
}

/* ---- parts -------------------------------------------------------------- */

static bool equations_given(vly_neuron_model *model)
{
    const vly_neuron_source *source = model->source;
    bool derivative = model->update.n > 0;
    for (uint32_t i = 0; i < model->eq.n; i++)
        derivative |= model->eq.items[i].derivative;
    if (derivative)
        return true;
    return source->eq.text
               ? vly_neuron_refuse(model, source->eq.place,
                                   "eq has no equation, wanted one such as v' "
                                   "= (e_l - v)/tau_m")
               : vly_neuron_refuse(model, source->update.place,
                                   "update has no assignment, wanted one such "
                                   "as v = v + dt*i/c_m");
}

static bool inputs_read(vly_neuron_model *model)
{
    for (uint32_t i = 0; i < model->n_ports; i++) {
        const char *name = model->ports[i].name;
        const vly_named *named =
            vly_names_find(&model->names, name, strlen(name));
        if (model->arrivals[i].n || (named && named->used))
            continue;
        return vly_neuron_refuse(
            model, model->source->ports[i].place,
            "nothing reads port %s, wanted on.%s = \"x += "
            "in\"%s",
            name, name, model->update.n ? ", or its name in `update`" : "");
    }
    return true;
}

/* Of the parameters by default. */
static bool starts_good(vly_neuron_model *model)
{
    double params[VLY_NEURON_PARAMS_MAX];
    double values[VLY_NEURON_FIELDS_MAX];
    for (uint32_t i = 0; i < model->n_params; i++)
        params[i] = model->params[i].init;
    for (uint32_t i = 0; i < model->n_states; i++) {
        const vly_neuron_field *field = &model->fields[i];
        values[i] = vly_node_value(model, model->states[i].start, params, 0.1,
                                   0.0, values);
        if (!(values[i] >= (double)field->lo && values[i] <= (double)field->hi))
            return vly_neuron_refuse(
                model, model->source->states[i].place,
                "%s starts at %g%s%s, wanted %g to %g, its range", field->name,
                values[i], strcmp(field->unit, "1") == 0 ? "" : " ",
                strcmp(field->unit, "1") == 0 ? "" : field->unit,
                (double)field->lo, (double)field->hi);
    }
    return true;
}

static bool divisors_name(vly_neuron_model *model)
{
    char text[160];
    for (uint32_t i = 0; i < model->n_params; i++) {
        if (!model->names.items[i].divides)
            continue;
        int n = snprintf(text, sizeof text, "%s other than 0",
                         model->params[i].key);
        model->divisors[i] = vly_arena_text(&model->arena, text, (size_t)n);
        if (!model->divisors[i])
            return false;
    }
    return true;
}

/* ---- notes -------------------------------------------------------------- */

static bool note(vly_neuron_model *model, const void *place, const char *format,
                 ...) __attribute__((format(printf, 3, 4)));

static bool note(vly_neuron_model *model, const void *place, const char *format,
                 ...)
{
    const vly_neuron_source *source = model->source;
    char sentence[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return !source->note || source->note(source->context, place, sentence);
}

static bool changes_in(const vly_statements *list, uint32_t state)
{
    for (uint32_t i = 0; i < list->n; i++)
        if (!list->items[i].local && list->items[i].target == state)
            return true;
    return false;
}

static bool changes(const vly_neuron_model *model, uint32_t state)
{
    bool found = changes_in(&model->eq, state) ||
                 changes_in(&model->update, state) ||
                 changes_in(&model->reset, state);
    for (uint32_t i = 0; i < model->n_ports; i++)
        found = found || changes_in(&model->arrivals[i], state);
    return found;
}

static bool names_step(const vly_node *node)
{
    if (!node)
        return false;
    return node->kind == VLY_NODE_DT ||
           (node->kind == VLY_NODE_FUNCTION &&
            node->index == VLY_FUNCTION_PROPAGATOR) ||
           names_step(node->a) || names_step(node->b) || names_step(node->c);
}

/* Bounds of a value with the parameters by default, whatever the state;
 * false: they are not known. */
static bool bounds_of(const vly_neuron_model *model, const vly_node *node,
                      double *lo, double *hi)
{
    double params[VLY_NEURON_PARAMS_MAX];
    if (node->kind == VLY_NODE_STATE) {
        *lo = (double)model->fields[node->index].lo;
        *hi = (double)model->fields[node->index].hi;
        return true;
    }
    if (!node->host || names_step(node))
        return false;
    for (uint32_t i = 0; i < model->n_params; i++)
        params[i] = model->params[i].init;
    *lo = *hi = vly_node_value(model, node, params, 0.1, 0.0, NULL);
    return true;
}

typedef struct known {
    bool always;
    bool never;
} known;

static known condition_known(const vly_neuron_model *model,
                             const vly_node *node)
{
    double lo[2];
    double hi[2];
    known a = {false, false};
    known b = {false, false};
    switch (node->kind) {
    case VLY_NODE_LESS:
    case VLY_NODE_AT_MOST:
        if (!bounds_of(model, node->a, &lo[0], &hi[0]) ||
            !bounds_of(model, node->b, &lo[1], &hi[1]))
            return a;
        if (node->kind == VLY_NODE_LESS)
            return (known){hi[0] < lo[1], lo[0] >= hi[1]};
        return (known){hi[0] <= lo[1], lo[0] > hi[1]};
    case VLY_NODE_NOT:
        a = condition_known(model, node->a);
        return (known){a.never, a.always};
    case VLY_NODE_AND:
    case VLY_NODE_OR:
        a = condition_known(model, node->a);
        b = condition_known(model, node->b);
        return node->kind == VLY_NODE_AND
                   ? (known){a.always && b.always, a.never || b.never}
                   : (known){a.always || b.always, a.never && b.never};
    default:
        return a;
    }
}

/* spike = "v >= v_th" without a change of v: one spike in every burst */
static bool note_spike(vly_neuron_model *model)
{
    const vly_node *spike = model->spike;
    if (condition_known(model, spike).always)
        return note(model, model->source->spike.place,
                    "spike is true in every state with the parameters by "
                    "default: the neuron fires in every burst%s",
                    model->refractory ? " in which it is not refractory" : "");
    if ((spike->kind != VLY_NODE_AT_MOST && spike->kind != VLY_NODE_LESS) ||
        spike->b->kind != VLY_NODE_STATE || !spike->a->host ||
        changes_in(&model->reset, (uint32_t)spike->b->index))
        return true;
    const char *name = model->fields[spike->b->index].name;
    return note(model, model->source->spike.place,
                "no reset of %s: the neuron fires in every burst in which %s "
                "is above its threshold; rises(%s, ...) fires once",
                name, name, name);
}

static bool notes(vly_neuron_model *model)
{
    for (uint32_t i = 0; i < model->names.n; i++) {
        const vly_named *named = &model->names.items[i];
        bool local = named->kind == VLY_NODE_LOCAL;
        if (named->used || (named->kind != VLY_NODE_PARAM && !local))
            continue;
        if (!note(model, named->place, "%s %s is not used",
                  local ? "the name" : "parameter", named->name))
            return false;
    }
    for (uint32_t i = 0; i < model->n_states; i++)
        if (!changes(model, i) &&
            !note(model, model->source->states[i].place,
                  "state variable %s never changes", model->fields[i].name))
            return false;
    return note_spike(model);
}

bool vly_neuron_check(vly_neuron_model *model)
{
    return vly_neuron_keys_differ(model) && equations_given(model) &&
           inputs_read(model) && starts_good(model) && divisors_name(model) &&
           notes(model);
}

/* SPDX-License-Identifier: Apache-2.0
 * The names of a neuron model with their values, ranges and units: parameters,
 * ports and state variables.
 */
#include "neuron/neuron_build.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define STORED_MAX 0x1p40 /* of a bound of a variable */

bool vly_neuron_refuse_at(vly_neuron_model *model, const void *place,
                          uint32_t at, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(model->fault->sentence, sizeof model->fault->sentence, format,
              arguments);
    va_end(arguments);
    model->fault->place = place;
    model->fault->at = at;
    return false;
}

bool vly_neuron_refuse(vly_neuron_model *model, const void *place,
                       const char *format, ...)
{
    char sentence[sizeof model->fault->sentence];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return vly_neuron_refuse_at(model, place, UINT32_MAX, "%s", sentence);
}

vly_text vly_neuron_text_of(vly_neuron_model *model,
                            const vly_neuron_text *from)
{
    return (vly_text){.arena = &model->arena,
                      .scan = model->source->scan,
                      .names = &model->names,
                      .fault = model->fault,
                      .place = from->place,
                      .text = from->text,
                      .at = from->text};
}

/* ---- names -------------------------------------------------------------- */

/* What a name is. */
static const char *word_of(const vly_neuron_model *model, const vly_named *name)
{
    if (name->kind == VLY_NODE_PARAM)
        return "a parameter";
    if (name->kind == VLY_NODE_INPUT)
        return "a port";
    if (name->kind == VLY_NODE_LOCAL)
        return "a name of an expression";
    return !model->synapse                ? "a variable"
           : strcmp(name->name, "w") == 0 ? "the weight"
                                          : "a trace";
}

bool vly_neuron_name_good(vly_neuron_model *model, const char *name,
                          const void *place)
{
    static const char *const taken[] = {
        "dt",      "in",     "if",         "then",       "else",
        "and",     "or",     "not",        "hold",       "rises",
        "uniform", "normal", "refractory", "compensated"};
    size_t n = strlen(name);
    vly_unit unit;
    int decimal;
    bool good = n > 0 && n <= 40 && !vly_is_digit(*name);
    for (size_t i = 0; i < n; i++)
        good = good && vly_is_word(name[i]);
    if (!good)
        return vly_neuron_refuse(
            model, place,
            "name \"%.60s\", wanted at most 40 letters (a to z, A to Z), "
            "digits and _, and no digit first",
            name);
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
        if (strcmp(name, taken[i]) == 0)
            return vly_neuron_refuse(
                model, place,
                "%s is a word of the language, wanted another name", name);
    if (vly_function_find(name, n) != VLY_FUNCTIONS)
        return vly_neuron_refuse(model, place,
                                 "%s is a function, wanted another name", name);
    if (vly_unit_symbol(name, n, &unit, &decimal))
        return vly_neuron_refuse(model, place,
                                 "%s is a unit, wanted another name", name);
    const vly_named *found = vly_names_find(&model->names, name, n);
    if (found)
        return vly_neuron_refuse(model, place,
                                 "%s is %s already, wanted another name here",
                                 name, word_of(model, found));
    return true;
}

bool vly_neuron_name_add(vly_neuron_model *model, const char *name,
                         vly_node_kind kind, uint32_t index, vly_unit unit,
                         const void *place)
{
    vly_names *names = &model->names;
    if (names->n == names->room) {
        uint32_t room = names->room * 2 + 32;
        vly_named *items = vly_arena_take(&model->arena, room, sizeof *items);
        if (!items)
            return false;
        if (names->n)
            memcpy(items, names->items, names->n * sizeof *items);
        names->items = items;
        names->room = room;
    }
    names->items[names->n++] = (vly_named){.name = name,
                                           .kind = kind,
                                           .index = index,
                                           .unit = unit,
                                           .place = place};
    return true;
}

/* "10 ms": a number with its unit as it is written. */
typedef struct quantity {
    double value; /* in the written unit */
    vly_unit unit;
    int decimal;
    const char *written; /* "1" without a unit */
} quantity;

static bool quantity_read(vly_neuron_model *model, const vly_neuron_text *from,
                          const char *what, quantity *out)
{
    const char *at = from->text;
    double sign = 1;
    while (*at == ' ')
        at++;
    if (*at == '-' || *at == '+')
        sign = *at++ == '-' ? -1 : 1;
    size_t n = model->source->scan(at, &out->value);
    if (n == 0)
        return vly_neuron_refuse(
            model, from->place,
            "%s is \"%.60s\", wanted a number and a unit such as "
            "\"10 ms\"",
            what, from->text);
    at += n;
    out->value *= sign;
    while (*at == ' ')
        at++;
    size_t length = strlen(at);
    while (length > 0 && at[length - 1] == ' ')
        length--;
    char per[64] = "1";
    if (*at == '/' && length + 1 < sizeof per) { /* 0.02/ms: 0.02 of 1/ms */
        memcpy(per + 1, at, length);
        at = per;
        length++;
    }
    out->unit = (vly_unit){0};
    out->decimal = 0;
    out->written = "1";
    if (length == 0)
        return true;
    if (model->synapse && length == 6 && memcmp(at, "weight", 6) == 0)
        out->unit.weight = 1;
    else if (!vly_unit_parse(at, length, &out->unit, &out->decimal))
        return vly_neuron_refuse(
            model, from->place, "%s has the unit \"%.60s\", wanted %s", what,
            at,
            strncmp(at, "\xc2\xb5", 2) == 0 || strncmp(at, "\xce\xbc", 2) == 0
                ? "u for micro, as in us"
            : strstr(at, "\xce\xa9") || strstr(at, "\xe2\x84\xa6")
                ? "Ohm, as in MOhm"
            : model->synapse
                ? "weight, that of the map's weights, or one such as ms, 1/ms"
                : "one such as mV, pA/ms, nS, pF, GOhm, 1/s, mM");
    out->written = vly_arena_text(&model->arena, at, length);
    return out->written != NULL;
}

const char *vly_neuron_key(vly_neuron_model *model, const char *name,
                           const char *unit)
{
    char suffix[VLY_UNIT_TEXT];
    char key[128];
    vly_unit_suffix(unit, suffix);
    int n =
        snprintf(key, sizeof key, "%s%s%s", name, *suffix ? "_" : "", suffix);
    return vly_arena_text(&model->arena, key, (size_t)n);
}

static bool bound_read(vly_neuron_model *model, const vly_neuron_text *from,
                       const char *name, const quantity *like, double *out)
{
    quantity q = {0};
    char what[80];
    if (!from->text)
        return true;
    (void)snprintf(what, sizeof what, "a bound of %s", name);
    if (!quantity_read(model, from, what, &q))
        return false;
    bool zero = q.value >= 0.0 && q.value <= 0.0 && vly_unit_none(q.unit);
    if (!zero && !vly_unit_equal(q.unit, like->unit))
        return vly_neuron_refuse(
            model, from->place, "a bound of %s is %s%s, wanted %s%s", name,
            vly_unit_none(q.unit) ? "a pure number" : "in ",
            vly_unit_none(q.unit) ? "" : q.written,
            vly_unit_none(like->unit) ? "a pure number"
                                      : "the unit of its value, ",
            vly_unit_none(like->unit) ? "" : like->written);
    *out = vly_decimal(q.value, q.decimal - like->decimal);
    return true;
}

/* Bounds that are not in order. */
static bool range_refuse(vly_neuron_model *model, const vly_neuron_name *from,
                         const quantity *like, double lo, double hi)
{
    const bool bare = strcmp(like->written, "1") == 0;
    const char *unit = bare ? "" : like->written;
    const char *space = bare ? "" : " ";
    const char *quote = bare ? "" : "\"";
    if (!(lo > hi))
        return vly_neuron_refuse(model, from->place,
                                 "both bounds of %s are %g%s%s, wanted the "
                                 "second one above the first",
                                 from->name, lo, space, unit);
    return vly_neuron_refuse(model, from->place,
                             "range of %s is %g%s%s to %g%s%s, wanted the "
                             "lower bound first: [%s%g%s%s%s, %s%g%s%s%s]",
                             from->name, lo, space, unit, hi, space, unit,
                             quote, hi, space, unit, quote, quote, lo, space,
                             unit, quote);
}

static bool params_read(vly_neuron_model *model)
{
    const vly_neuron_source *source = model->source;
    for (uint32_t i = 0; i < source->n_params; i++) {
        const vly_neuron_name *from = &source->params[i];
        vly_neuron_param *to = &model->params[i];
        quantity q = {0};
        if (!vly_neuron_name_good(model, from->name, from->place) ||
            !quantity_read(model, &from->value, from->name, &q))
            return false;
        *to = (vly_neuron_param){
            /* the unit of the weights is that of a map: not known here */
            .key = vly_neuron_key(model, from->name,
                                  q.unit.weight ? "1" : q.written),
            .name =
                vly_arena_text(&model->arena, from->name, strlen(from->name)),
            .unit = q.written,
            .text = from->text ? vly_arena_text(&model->arena, from->text,
                                                strlen(from->text))
                               : "",
            .init = q.value,
            .lo = -1e9,
            .hi = 1e9};
        model->decimals[i] = q.decimal;
        /* a time, a capacitance or the like of 0 divides by 0 */
        if (q.unit.ms == 1 && q.unit.pa == q.unit.mv * -1)
            to->lo = 0;
        if (!bound_read(model, &from->lo, from->name, &q, &to->lo) ||
            !bound_read(model, &from->hi, from->name, &q, &to->hi))
            return false;
        if (!(to->lo <= to->hi))
            return range_refuse(model, from, &q, to->lo, to->hi);
        if (to->init < 0.0 && to->lo >= 0.0 && !from->lo.text)
            return vly_neuron_refuse(
                model, from->place,
                "%s is %g %s, wanted 0 or more, or a range that allows it: "
                "{ value = \"%g %s\", range = [...] }",
                from->name, q.value, q.written, q.value, q.written);
        if (!(to->lo <= to->init && to->init <= to->hi))
            return vly_neuron_refuse(
                model, from->place,
                "%s is %g %s, wanted a value from %g to %g, its range",
                from->name, q.value,
                strcmp(q.written, "1") == 0 ? "(without a unit)" : q.written,
                to->lo, to->hi);
        if (!to->key || !to->name || !to->text ||
            !vly_neuron_name_add(model, to->name, VLY_NODE_PARAM, i, q.unit,
                                 from->place))
            return false;
    }
    return true;
}

static bool ports_read(vly_neuron_model *model)
{
    const vly_neuron_source *source = model->source;
    char suffix[VLY_UNIT_TEXT];
    for (uint32_t i = 0; i < source->n_ports; i++) {
        const vly_neuron_name *from = &source->ports[i];
        const char *unit = from->value.text;
        int decimal = 0;
        if (!vly_neuron_name_good(model, from->name, from->place))
            return false;
        if (!vly_unit_parse(unit, strlen(unit), &model->port_units[i],
                            &decimal) ||
            decimal != 0)
            return vly_neuron_refuse(
                model, from->value.place,
                "port %s has the unit \"%.60s\", wanted mV, pA, nS, "
                "pA/ms, \"1\" or another one without a factor to "
                "these",
                from->name, unit);
        vly_unit_suffix(unit, suffix);
        model->ports[i] = (vly_neuron_port){
            .name =
                vly_arena_text(&model->arena, from->name, strlen(from->name)),
            .unit = vly_arena_text(&model->arena, unit, strlen(unit)),
            .suffix = vly_arena_text(&model->arena, suffix, strlen(suffix))};
        if (!model->ports[i].name || !model->ports[i].unit ||
            !model->ports[i].suffix ||
            !vly_neuron_name_add(model, model->ports[i].name, VLY_NODE_INPUT, i,
                                 model->port_units[i], from->place))
            return false;
    }
    if (source->n_ports == 2 &&
        strcmp(model->ports[0].suffix, model->ports[1].suffix) != 0)
        return vly_neuron_refuse(
            model, source->ports[1].place,
            "ports %s and %s have different units, wanted one: the "
            "sign of a weight chooses the port",
            model->ports[0].name, model->ports[1].name);
    return true;
}

static void default_range(vly_unit unit, float *lo, float *hi)
{
    bool mv = vly_unit_equal(unit, (vly_unit){.mv = 1});
    *hi = mv ? 16384.0f : 1073741824.0f;
    *lo = -*hi;
}

static bool state_read(vly_neuron_model *model, uint32_t i)
{
    const vly_neuron_name *from = &model->source->states[i];
    vly_neuron_field *field = &model->fields[i];
    vly_state *state = &model->states[i];
    char unit[VLY_UNIT_TEXT];
    vly_text text = vly_neuron_text_of(model, &from->value);
    if (!vly_neuron_name_good(model, from->name, from->place))
        return false;
    state->start = vly_expression_read(&text);
    if (!state->start)
        return false;
    vly_text_skip(&text);
    if (*text.at)
        return vly_unexpected(&text, "an operator or the end");
    if (state->start->truth)
        return vly_fault_at(&text, text.text,
                            "%s starts with a condition, wanted a value",
                            from->name);
    state->unit = state->start->unit;
    vly_unit_print(state->unit, unit);
    *field = (vly_neuron_field){
        .key = vly_neuron_key(model, from->name, unit),
        .name = vly_arena_text(&model->arena, from->name, strlen(from->name)),
        .unit = vly_arena_text(&model->arena, unit, strlen(unit)),
        .text = from->text ? vly_arena_text(&model->arena, from->text,
                                            strlen(from->text))
                           : "",
        .type = VLY_TYPE_F32};
    default_range(state->unit, &field->lo, &field->hi);
    field->declared = from->lo.text || from->hi.text;
    const quantity like = {.unit = state->unit, .written = field->unit};
    double lo = (double)field->lo;
    double hi = (double)field->hi;
    if (!bound_read(model, &from->lo, from->name, &like, &lo) ||
        !bound_read(model, &from->hi, from->name, &like, &hi))
        return false;
    if (!(lo < hi))
        return range_refuse(model, from, &like, lo, hi);
    if (!(lo >= -STORED_MAX && hi <= STORED_MAX))
        return vly_neuron_refuse(model, from->place,
                                 "range of %s is %g to %g %s, wanted both "
                                 "within 2^40 = 1.1e12",
                                 from->name, lo, hi, field->unit);
    field->lo = (float)lo;
    field->hi = (float)hi;
    return field->key && field->name && field->unit && field->text &&
           vly_neuron_name_add(model, field->name, VLY_NODE_STATE, i,
                               state->unit, from->place);
}

bool vly_neuron_names(vly_neuron_model *model)
{
    if (!params_read(model) || !ports_read(model))
        return false;
    for (uint32_t i = 0; i < model->n_states; i++)
        if (!state_read(model, i))
            return false;
    return true;
}

/* SPDX-License-Identifier: Apache-2.0
 * Reads the tables of a neuron model: its names with their units, and its
 * statements.
 */
#include "neuron/neuron_build.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool fault(vly_neuron_model *model, const void *place,
                  const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool fault(vly_neuron_model *model, const void *place,
                  const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(model->fault->sentence, sizeof model->fault->sentence, format,
              arguments);
    va_end(arguments);
    model->fault->place = place;
    model->fault->at = UINT32_MAX;
    return false;
}

static vly_text text_of(vly_neuron_model *model, const vly_neuron_text *from)
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

static bool name_good(vly_neuron_model *model, const char *name,
                      const void *place)
{
    static const char *const taken[] = {
        "dt",  "in",   "if",    "then",    "else",   "and",       "or",
        "not", "hold", "rises", "uniform", "normal", "refractory"};
    size_t n = strlen(name);
    vly_unit unit;
    int decimal;
    if (n == 0 || n > 40 || !(isalpha((unsigned char)*name) || *name == '_'))
        return fault(model, place,
                     "name \"%.60s\", wanted a letter first and at most 40 "
                     "letters, digits and _",
                     name);
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)name[i]) && name[i] != '_')
            return fault(model, place,
                         "name \"%.60s\", wanted letters, digits "
                         "and _",
                         name);
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
        if (strcmp(name, taken[i]) == 0)
            return fault(model, place,
                         "%s is a word of the language, wanted "
                         "another name",
                         name);
    if (vly_function_find(name, n) != VLY_FUNCTIONS)
        return fault(model, place, "%s is a function, wanted another name",
                     name);
    if (vly_unit_symbol(name, n, &unit, &decimal))
        return fault(model, place, "%s is a unit, wanted another name", name);
    if (vly_names_find(&model->names, name, n))
        return fault(model, place, "%s is named twice", name);
    return true;
}

static bool name_add(vly_neuron_model *model, const char *name,
                     vly_node_kind kind, uint32_t index, vly_unit unit)
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
    names->items[names->n++] =
        (vly_named){.name = name, .kind = kind, .index = index, .unit = unit};
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
        return fault(model, from->place,
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
    out->unit = (vly_unit){0};
    out->decimal = 0;
    out->written = "1";
    if (length == 0)
        return true;
    if (!vly_unit_parse(at, length, &out->unit, &out->decimal))
        return fault(model, from->place,
                     "%s has the unit \"%.60s\", wanted one such as mV, pA/ms, "
                     "nS, pF, GOhm, 1/s, mM",
                     what, at);
    out->written = vly_arena_text(&model->arena, at, length);
    return out->written != NULL;
}

/* NAME_unit, as users write it in an area */
static const char *key_of(vly_neuron_model *model, const char *name,
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
    if (!vly_unit_equal(q.unit, like->unit))
        return fault(model, from->place,
                     "a bound of %s is in %s, wanted the unit of its value, %s",
                     name, q.written, like->written);
    *out = vly_decimal(q.value, q.decimal - like->decimal);
    return true;
}

static bool params_read(vly_neuron_model *model)
{
    const vly_neuron_source *source = model->source;
    for (uint32_t i = 0; i < source->n_params; i++) {
        const vly_neuron_name *from = &source->params[i];
        vly_neuron_param *to = &model->params[i];
        quantity q = {0};
        if (!name_good(model, from->name, from->place) ||
            !quantity_read(model, &from->value, from->name, &q))
            return false;
        *to = (vly_neuron_param){
            .key = key_of(model, from->name, q.written),
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
        if (q.unit.ms == 1 && q.unit.pa == q.unit.mv * -1 && q.value >= 0)
            to->lo = 0;
        if (!bound_read(model, &from->lo, from->name, &q, &to->lo) ||
            !bound_read(model, &from->hi, from->name, &q, &to->hi))
            return false;
        if (!(to->lo <= to->init && to->init <= to->hi))
            return fault(model, from->place,
                         "%s is %g %s, which is outside its range of %g to %g",
                         from->name, q.value, q.written, to->lo, to->hi);
        if (!to->key || !to->name || !to->text ||
            !name_add(model, to->name, VLY_NODE_PARAM, i, q.unit))
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
        if (!name_good(model, from->name, from->place))
            return false;
        if (!vly_unit_parse(unit, strlen(unit), &model->port_units[i],
                            &decimal) ||
            decimal != 0)
            return fault(model, from->value.place,
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
            !name_add(model, model->ports[i].name, VLY_NODE_INPUT, i,
                      model->port_units[i]))
            return false;
    }
    if (source->n_ports == 2 &&
        strcmp(model->ports[0].suffix, model->ports[1].suffix) != 0)
        return fault(model, source->ports[1].place,
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
    vly_text text = text_of(model, &from->value);
    if (!name_good(model, from->name, from->place))
        return false;
    state->start = vly_expression_read(&text);
    if (!state->start)
        return false;
    vly_text_skip(&text);
    if (*text.at)
        return vly_fault_at(&text, text.at,
                            "unexpected text after the start "
                            "of %s",
                            from->name);
    if (state->start->truth)
        return vly_fault_at(&text, text.text,
                            "%s starts with a condition, "
                            "wanted a value",
                            from->name);
    state->unit = state->start->unit;
    vly_unit_print(state->unit, unit);
    *field = (vly_neuron_field){
        .key = key_of(model, from->name, unit),
        .name = vly_arena_text(&model->arena, from->name, strlen(from->name)),
        .unit = vly_arena_text(&model->arena, unit, strlen(unit)),
        .text = from->text ? vly_arena_text(&model->arena, from->text,
                                            strlen(from->text))
                           : "",
        .type = VLY_TYPE_F32};
    default_range(state->unit, &field->lo, &field->hi);
    const quantity like = {.unit = state->unit, .written = field->unit};
    double lo = (double)field->lo;
    double hi = (double)field->hi;
    if (!bound_read(model, &from->lo, from->name, &like, &lo) ||
        !bound_read(model, &from->hi, from->name, &like, &hi))
        return false;
    if (!(lo < hi && lo >= -1099511627776.0 && hi <= 1099511627776.0))
        return fault(model, from->place,
                     "range of %s is %g to %g, wanted the lower bound first, "
                     "and both within 2^40 = 1.1e12",
                     from->name, lo, hi);
    field->lo = (float)lo;
    field->hi = (float)hi;
    return field->key && field->name && field->unit && field->text &&
           name_add(model, field->name, VLY_NODE_STATE, i, state->unit);
}

/* ---- statements --------------------------------------------------------- */

static bool statement_add(vly_neuron_model *model, vly_statements *list,
                          const vly_statement *statement)
{
    if (list->n == list->room) {
        uint32_t room = list->room * 2 + 8;
        vly_statement *items =
            vly_arena_take(&model->arena, room, sizeof *items);
        if (!items)
            return false;
        if (list->n)
            memcpy(items, list->items, list->n * sizeof *items);
        list->items = items;
        list->room = room;
    }
    list->items[list->n++] = *statement;
    return true;
}

typedef enum text_part {
    PART_EQ,
    PART_UPDATE,
    PART_ARRIVAL,
    PART_RESET
} text_part;

/* The left side up to and with = or +=; *minus for -= */
static bool target_read(vly_neuron_model *model, vly_text *text, text_part part,
                        vly_statement *to, const char **name, size_t *n,
                        bool *minus)
{
    *name = text->at;
    *n = vly_text_word(text);
    to->at = (uint32_t)(text->at - text->text);
    to->place = text->place;
    if (*n == 0)
        return vly_fault_at(text, text->at,
                            part == PART_EQ ? "wanted an equation here: x' = "
                                              "... or a name = ..."
                                            : "wanted an assignment here: x = "
                                              "... or x += ...");
    const vly_named *found = vly_names_find(&model->names, *name, *n);
    text->at += *n;
    to->derivative = *text->at == '\'';
    text->at += to->derivative;
    vly_text_skip(text);
    *minus = *text->at == '-';
    to->add = *text->at == '+' || *minus;
    text->at += to->add;
    if (*text->at != '=')
        return vly_fault_at(text, text->at, "wanted = after %.*s",
                            (int)(*n < 60 ? *n : 60), *name);
    text->at++;
    if (to->derivative && part != PART_EQ)
        return vly_fault_at(text, *name, "a derivative is only for `eq`");
    if (part == PART_EQ && to->add)
        return vly_fault_at(text, *name,
                            "%s= in an equation, wanted =", *minus ? "-" : "+");
    to->local = !found || found->kind == VLY_NODE_LOCAL || found->alias;
    if (found && !to->local && found->kind != VLY_NODE_STATE)
        return vly_fault_at(text, *name,
                            "%s is %s, wanted a state variable on the left "
                            "side",
                            found->name,
                            found->kind == VLY_NODE_PARAM ? "a parameter"
                                                          : "a port");
    if (to->local && (to->derivative || part >= PART_ARRIVAL || to->add))
        return vly_fault_at(text, *name,
                            "%.*s is not in `state`, wanted one of its names",
                            (int)(*n < 60 ? *n : 60), *name);
    if (!to->local && part == PART_EQ && !to->derivative)
        return vly_fault_at(text, *name,
                            "%s is a state variable, wanted %s' = ... (or "
                            "another name for an alias)",
                            found->name, found->name);
    to->target = to->local ? model->n_locals : found->index;
    return true;
}

static bool units_fit(vly_neuron_model *model, vly_text *text,
                      const vly_statement *to)
{
    char wanted[VLY_UNIT_TEXT];
    char found[VLY_UNIT_TEXT];
    vly_unit unit = model->states[to->target].unit;
    if (to->derivative)
        (void)vly_unit_times(unit, (vly_unit){.ms = 1}, -1, &unit);
    if (to->node->any || vly_unit_equal(unit, to->node->unit))
        return true;
    vly_unit_print(unit, wanted);
    vly_unit_print(to->node->unit, found);
    vly_unit per_time = to->node->unit;
    (void)vly_unit_times(per_time, (vly_unit){.ms = 1}, -1, &per_time);
    return vly_fault_at(text, text->text + to->at,
                        "%s%s has the unit %s, the right side has %s%s",
                        model->fields[to->target].name,
                        to->derivative ? "'" : "", wanted, found,
                        to->derivative && vly_unit_equal(unit, per_time)
                            ? ": a time constant is missing"
                            : "");
}

/* A name that `eq` or `update` makes: an alias stands for its expression. */
static bool local_add(vly_neuron_model *model, vly_text *text, text_part part,
                      vly_statement *to, const char *name, size_t n)
{
    const vly_named *found = vly_names_find(&model->names, name, n);
    char *copy = vly_arena_text(&model->arena, name, n);
    if (!copy)
        return false;
    if (found) /* made before in this text */
        return vly_fault_at(text, name, "%s is made twice, wanted another name",
                            copy);
    if (!name_good(model, copy, text->place)) {
        model->fault->at = to->at;
        return false;
    }
    if (model->n_locals >= VLY_NEURON_OPS_MAX / 8)
        return vly_fault_at(text, name, "more than %u names",
                            VLY_NEURON_OPS_MAX / 8);
    to->target = model->n_locals++;
    if (!name_add(model, copy, VLY_NODE_LOCAL, to->target, to->node->unit))
        return false;
    if (part == PART_EQ)
        model->names.items[model->names.n - 1].alias = to->node;
    return true;
}

static bool statement_read(vly_neuron_model *model, vly_text *text,
                           text_part part, vly_statements *list)
{
    vly_statement made = {0};
    const char *name = NULL;
    size_t n = 0;
    bool minus = false;
    if (!target_read(model, text, part, &made, &name, &n, &minus))
        return false;
    made.node = vly_expression_read(text);
    if (!made.node)
        return false;
    if (made.node->truth)
        return vly_fault_at(text, name,
                            "a condition on the right side, wanted "
                            "if ... then ... else ...");
    if (minus)
        made.node = vly_node_negate(&model->arena, made.node);
    vly_text_skip(text);
    if (vly_text_word(text) == 4 && memcmp(text->at, "hold", 4) == 0) {
        if (part > PART_UPDATE || made.local)
            return vly_fault_at(text, text->at,
                                "hold is for equations and state variables of "
                                "`update`");
        made.hold = true;
        text->at += 4;
        vly_text_skip(text);
    }
    if (*text->at && *text->at != '\n' && *text->at != ';')
        return vly_fault_at(text, text->at,
                            "unexpected text, wanted the end of the line");
    if (!made.node || (!made.local && !units_fit(model, text, &made)))
        return false;
    if (made.local && !local_add(model, text, part, &made, name, n))
        return false;
    return statement_add(model, list, &made);
}

static bool statements_read(vly_neuron_model *model,
                            const vly_neuron_text *from, text_part part,
                            uint32_t port, vly_statements *list)
{
    if (!from->text)
        return true;
    vly_text text = text_of(model, from);
    text.inputs = part == PART_UPDATE;
    text.in = part == PART_ARRIVAL;
    text.in_port = port;
    for (;;) {
        vly_text_skip_lines(&text);
        if (!*text.at)
            return true;
        if (!statement_read(model, &text, part, list))
            return false;
    }
}

/* ---- the parts ---------------------------------------------------------- */

static vly_node *whole_text(vly_neuron_model *model,
                            const vly_neuron_text *from, bool truth)
{
    vly_text text = text_of(model, from);
    text.rises = truth;
    vly_text_skip_lines(&text);
    vly_node *node = vly_expression_read(&text);
    if (!node)
        return NULL;
    vly_text_skip_lines(&text);
    if (*text.at)
        return vly_fault_at(&text, text.at, "unexpected text after the end");
    if (node->truth != truth)
        return vly_fault_at(&text, text.text,
                            truth ? "spike is a value, wanted a condition such "
                                    "as v >= v_th"
                                  : "a condition, wanted a value");
    return node;
}

static bool refractory_read(vly_neuron_model *model)
{
    const vly_neuron_text *from = &model->source->refractory;
    if (!from->text)
        return true;
    model->refractory = whole_text(model, from, false);
    if (!model->refractory)
        return false;
    if (!model->refractory->host ||
        !vly_unit_equal(model->refractory->unit, (vly_unit){.ms = 1}))
        return fault(model, from->place,
                     "refractory is no time of parameters, wanted one such as "
                     "\"t_ref\" in ms");
    if (model->refractory->kind == VLY_NODE_PARAM)
        model->refractory_param = (uint32_t)model->refractory->index;
    model->fields[model->n_states] = (vly_neuron_field){.key = "refractory",
                                                        .name = "refractory",
                                                        .unit = "bursts",
                                                        .text = "left",
                                                        .type = VLY_TYPE_U32,
                                                        .lo = 0,
                                                        .hi = 4294967040.0f};
    model->n_fields++;
    return true;
}

static bool method_read(vly_neuron_model *model)
{
    static const char *const names[VLY_METHODS] = {
        "auto", "exact", "exponential", "heun", "rk4", "euler"};
    const vly_neuron_text *from = &model->source->method;
    if (!from->text)
        return true;
    for (int i = 0; i < VLY_METHODS; i++)
        if (strcmp(from->text, names[i]) == 0) {
            model->method = (vly_method)i;
            return true;
        }
    return fault(model, from->place,
                 "method is \"%.40s\", wanted auto, exact, exponential, heun, "
                 "rk4 or euler",
                 from->text);
}

static bool input_read(vly_neuron_model *model)
{
    const vly_neuron_text *from = &model->source->input;
    const char *name = from->text ? from->text : "i_e";
    for (uint32_t i = 0; i < model->n_params; i++)
        if (strcmp(model->params[i].name, name) == 0)
            model->input = i;
    if (from->text && model->input == UINT32_MAX)
        return fault(model, from->place,
                     "input is \"%.60s\", wanted the name of a parameter",
                     from->text);
    return true;
}

static bool rates_read(vly_neuron_model *model)
{
    for (uint32_t i = 0; i < model->eq.n; i++) {
        const vly_statement *at = &model->eq.items[i];
        if (!at->derivative)
            continue;
        vly_state *state = &model->states[at->target];
        if (state->rate)
            return fault(model, at->place, "%s' is given twice",
                         model->fields[at->target].name);
        state->rate = at->node;
        state->hold = at->hold;
    }
    return true;
}

bool vly_neuron_read(vly_neuron_model *model)
{
    const vly_neuron_source *source = model->source;
    model->n_params = source->n_params;
    model->n_ports = source->n_ports;
    model->n_states = model->n_fields = source->n_states;
    model->input = model->refractory_param = UINT32_MAX;
    if (!params_read(model) || !ports_read(model))
        return false;
    for (uint32_t i = 0; i < source->n_states; i++)
        if (!state_read(model, i))
            return false;
    if (!source->eq.text == !source->update.text)
        return fault(model, source->place,
                     "[neuron.%s] has %s, wanted eq or update", source->name,
                     source->eq.text ? "both eq and update" : "no equations");
    if (!source->spike.text)
        return fault(model, source->place,
                     "[neuron.%s] has no spike, wanted a condition such as "
                     "spike = \"v >= v_th\"",
                     source->name);
    if (!refractory_read(model) || !method_read(model) || !input_read(model) ||
        !statements_read(model, &source->eq, PART_EQ, 0, &model->eq) ||
        !statements_read(model, &source->update, PART_UPDATE, 0,
                         &model->update) ||
        !rates_read(model))
        return false;
    for (uint32_t i = 0; i < source->n_ports; i++)
        if (!statements_read(model, &source->ports[i].arrives, PART_ARRIVAL, i,
                             &model->arrivals[i]))
            return false;
    model->spike = whole_text(model, &source->spike, true);
    return model->spike &&
           statements_read(model, &source->reset, PART_RESET, 0, &model->reset);
}

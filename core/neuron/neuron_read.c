/* SPDX-License-Identifier: Apache-2.0
 * Reads the statements of a neuron model: equations, assignments, what arrivals
 * and spikes do.
 */
#include "neuron/neuron_build.h"

#include <stdio.h>
#include <string.h>

#include "base/suggest.h"

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
    PART_CHANGE, /* of a [synapse] */
    PART_ARRIVAL,
    PART_RESET
} text_part;

/* "V_m is not a state variable, wanted v or w" */
static bool not_state(vly_neuron_model *model, vly_text *text, const char *name,
                      size_t n)
{
    vly_suggest near = {0};
    char word[64];
    char hint[VLY_HINT_SIZE];
    (void)snprintf(word, sizeof word, "%.*s", (int)(n < 60 ? n : 60), name);
    for (uint32_t i = 0; i < model->n_states; i++)
        vly_suggest_offer(&near, word, model->fields[i].name);
    if (model->synapse)
        return vly_fault_at(text, name, "%s on the left side, wanted w", word);
    return vly_fault_at(text, name, "%s is not in `state`%s", word,
                        vly_suggest_choice(&near, hint, sizeof hint));
}

/* A [synapse] adds to its weight, which is held finer than what expressions
 * read of it; spikes alone change a trace. */
static bool weight_good(vly_text *text, vly_statement *to,
                        const vly_named *found, const char *name)
{
    to->target = found->index;
    if (found->index != 0)
        return vly_fault_at(text, name,
                            "%s is a trace, which each spike raises by 1, "
                            "wanted w on the left side",
                            found->name);
    if (!to->add)
        return vly_fault_at(text, name,
                            "w = ..., wanted the change of w: w += ... or w -= "
                            "...");
    return true;
}

/* The left side up to and with = or +=; *minus for -= */
static bool target_read(vly_neuron_model *model, vly_text *text, text_part part,
                        vly_statement *to, const char **name, size_t *n,
                        bool *minus)
{
    *name = text->at;
    *n = vly_text_word(text);
    if (vly_foreign_derivative(text, text->at))
        return false;
    to->at = (uint32_t)(text->at - text->text);
    to->place = text->place;
    if (*n == 0)
        return vly_unexpected(text, part == PART_EQ
                                        ? "an equation: x' = ... or a "
                                          "name = ..."
                                        : "an assignment: x = ... or x += "
                                          "...");
    const vly_named *found = vly_names_find(&model->names, *name, *n);
    text->at += *n;
    to->derivative = *text->at == '\'';
    text->at += to->derivative;
    vly_text_skip(text);
    *minus = *text->at == '-';
    to->add = *text->at == '+' || *minus;
    text->at += to->add;
    if (*text->at == '=' && text->at[1] == '=')
        return vly_fault_at(text, text->at, "unexpected ==, wanted =");
    if (*text->at != '=')
        return vly_unexpected(text, part == PART_EQ ? "= after the left side"
                                                    : "=, += or -= after the "
                                                      "left side");
    text->at++;
    if (to->derivative && part != PART_EQ)
        return vly_fault_at(text, *name,
                            model->synapse
                                ? "a derivative, wanted w += ... or w -= ...: "
                                  "a weight changes at spikes only"
                                : "a derivative, wanted an assignment: "
                                  "equations are in `eq`");
    if (part == PART_EQ && to->add)
        return vly_fault_at(text, *name,
                            "%s= in an equation, wanted =", *minus ? "-" : "+");
    to->local = !found || found->kind == VLY_NODE_LOCAL || found->alias;
    if (found && !to->local && found->kind != VLY_NODE_STATE)
        return vly_fault_at(
            text, *name, "%s is %s, wanted %s on the left side", found->name,
            found->kind == VLY_NODE_PARAM ? "a parameter" : "a port",
            model->synapse ? "w" : "a state variable");
    if (part == PART_CHANGE && !to->local && !to->derivative)
        return weight_good(text, to, found, *name);
    if (to->local && (to->derivative || part >= PART_ARRIVAL || to->add))
        return not_state(model, text, *name, *n);
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
                        "the right side has the unit %s, wanted %s, that of "
                        "%s%s%s",
                        found, wanted, model->fields[to->target].name,
                        to->derivative ? "'" : "",
                        to->derivative && vly_unit_equal(unit, per_time)
                            ? ": a time constant is missing"
                        : unit.weight && vly_unit_none(to->node->unit)
                            ? ": a factor such as w_max is missing"
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
    if (!vly_neuron_name_good(model, copy, text->place)) {
        model->fault->at = to->at;
        return false;
    }
    if (model->n_locals >= VLY_NEURON_OPS_MAX / 8)
        return vly_fault_at(text, name, "more than %u names, wanted fewer",
                            VLY_NEURON_OPS_MAX / 8);
    to->target = model->n_locals++;
    if (!vly_neuron_name_add(model, copy, VLY_NODE_LOCAL, to->target,
                             to->node->unit, text->place))
        return false;
    if (part == PART_EQ || part == PART_CHANGE)
        model->names.items[model->names.n - 1].alias = to->node;
    return true;
}

/* Arrivals are added up in a burst, and what on.PORT says is done in every
 * burst, also where nothing arrived. */
static bool arrival_good(vly_text *text, const vly_statement *made,
                         const char *name)
{
    if (!made->add)
        return vly_fault_at(text, name,
                            "an assignment in `on`, wanted x += ... or x -= "
                            "..., which can be done in every burst");
    if (made->node && vly_node_degree(made->node) != 1)
        return vly_fault_at(
            text, name,
            "the added value is not proportional to `in`, wanted a "
            "product with it such as x += 2*in");
    return true;
}

static bool marked(vly_text *text, const char *word)
{
    size_t n = strlen(word);
    return vly_text_word(text) == n && memcmp(text->at, word, n) == 0;
}

/* `hold` and `compensated` after an expression, each at most once */
static bool marks_read(const vly_neuron_model *model, vly_text *text,
                       text_part part, vly_statement *made)
{
    for (vly_text_skip(text);; vly_text_skip(text)) {
        if (!made->compensated && marked(text, "compensated")) {
            if (!made->derivative)
                return vly_fault_at(text, text->at,
                                    "compensated, wanted only after an "
                                    "equation x' = ...");
            made->compensated = true;
            text->at += strlen("compensated");
            continue;
        }
        if (made->hold || !marked(text, "hold"))
            return true;
        if (part > PART_UPDATE || made->local)
            return vly_fault_at(text, text->at,
                                "hold, wanted only after an equation or after "
                                "an assignment to a state variable in "
                                "`update`");
        if (!model->refractory)
            return vly_fault_at(text, text->at,
                                "hold without `refractory`, wanted a time in "
                                "which it stands still");
        made->hold = true;
        text->at += strlen("hold");
    }
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
    if (!marks_read(model, text, part, &made))
        return false;
    if (*text->at && *text->at != '\n' && *text->at != ';')
        return vly_unexpected(text, "an operator, the end of the line or a ;");
    if (part == PART_ARRIVAL && !arrival_good(text, &made, name))
        return false;
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
    vly_text text = vly_neuron_text_of(model, from);
    text.inputs = part == PART_UPDATE;
    text.n_draws = part == PART_EQ ? NULL : &model->n_draws;
    text.synapse = part == PART_CHANGE;
    text.in = part == PART_ARRIVAL;
    text.in_port = port;
    for (;;) {
        vly_text_skip_lines(&text);
        if (!*text.at)
            return true;
        if (list->n == VLY_STATEMENTS_MAX)
            return vly_fault_at(&text, text.at,
                                "more than %u lines, wanted fewer",
                                VLY_STATEMENTS_MAX);
        if (!statement_read(model, &text, part, list))
            return false;
    }
}

bool vly_neuron_changes(vly_neuron_model *model, const vly_neuron_text *from,
                        vly_statements *list)
{
    return statements_read(model, from, PART_CHANGE, 0, list);
}

/* ---- the parts ---------------------------------------------------------- */

static vly_node *whole_text(vly_neuron_model *model,
                            const vly_neuron_text *from, bool truth)
{
    vly_text text = vly_neuron_text_of(model, from);
    text.rises = truth;
    text.n_draws = truth ? &model->n_draws : NULL;
    text.open = 1;
    vly_text_skip_lines(&text);
    vly_node *node = vly_expression_read(&text);
    if (!node)
        return NULL;
    vly_text_skip_lines(&text);
    if (*text.at)
        return vly_unexpected(&text, "an operator or the end");
    if (node->truth != truth)
        return vly_fault_at(&text, text.text,
                            truth ? "spike is a value, wanted a condition such "
                                    "as v >= v_th"
                                  : "a condition, wanted a time");
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
        return vly_neuron_refuse(
            model, from->place,
            "refractory is not a time made of parameters, wanted one such as "
            "\"t_ref\" in ms");
    /* areas round what is in ms to bursts, and say so */
    if (model->refractory->kind == VLY_NODE_PARAM &&
        model->decimals[model->refractory->index] == 0)
        model->refractory_param = (uint32_t)model->refractory->index;
    model->fields[model->n_states] =
        (vly_neuron_field){.key = "refractory",
                           .name = "refractory",
                           .unit = model->substeps > 1 ? "substeps" : "bursts",
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
    return vly_neuron_refuse(
        model, from->place,
        "method is \"%.40s\", wanted auto, exact, exponential, heun, "
        "rk4 or euler",
        from->text);
}

static bool substeps_read(vly_neuron_model *model)
{
    const vly_neuron_source *source = model->source;
    model->substeps = source->substeps ? source->substeps : 1;
    if (source->substeps > VLY_NEURON_SUBSTEPS_MAX)
        return vly_neuron_refuse(model, source->substeps_place,
                                 "substeps is %u, wanted 1 to %u",
                                 source->substeps, VLY_NEURON_SUBSTEPS_MAX);
    return true;
}

/* What arrives in a burst is the sum of all of it: no substep has a share. */
static bool substeps_fit(vly_neuron_model *model)
{
    for (uint32_t i = 0; model->substeps > 1 && i < model->update.n; i++)
        if (model->update.items[i].node->arrives)
            return vly_neuron_refuse_at(
                model, model->update.items[i].place, model->update.items[i].at,
                "a port in `update` with substeps, wanted on.PORT = \"x += "
                "in\", which is done once a burst");
    return true;
}

static bool input_read(vly_neuron_model *model)
{
    const vly_neuron_text *from = &model->source->input;
    const char *name = from->text ? from->text : "i_e";
    for (uint32_t i = 0; i < model->n_params; i++)
        if (strcmp(model->params[i].name, name) == 0)
            model->input = i;
    if (from->text && model->input == UINT32_MAX)
        return vly_neuron_refuse(
            model, from->place,
            "input is \"%.60s\", wanted the name of a parameter", from->text);
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
            return vly_neuron_refuse_at(model, at->place, at->at,
                                        "%s' is given twice, wanted one "
                                        "equation of a variable",
                                        model->fields[at->target].name);
        state->rate = at->node;
        state->hold = at->hold;
    }
    return true;
}

static bool parts_given(vly_neuron_model *model)
{
    const vly_neuron_source *source = model->source;
    if (!source->eq.text == !source->update.text)
        return vly_neuron_refuse(
            model, source->place, "[neuron.%s] has %s, wanted eq or update",
            source->name,
            source->eq.text ? "both eq and update" : "no equations");
    if (!source->spike.text)
        return vly_neuron_refuse(model, source->place,
                                 "[neuron.%s] has no spike, wanted a condition "
                                 "such as spike = \"v >= v_th\"",
                                 source->name);
    return true;
}

bool vly_neuron_read(vly_neuron_model *model)
{
    const vly_neuron_source *source = model->source;
    if (!parts_given(model))
        return false;
    model->n_params = source->n_params;
    model->n_ports = source->n_ports;
    model->n_states = model->n_fields = source->n_states;
    model->input = model->refractory_param = UINT32_MAX;
    if (!substeps_read(model) || !vly_neuron_names(model))
        return false;
    if (!refractory_read(model) || !method_read(model) || !input_read(model) ||
        !statements_read(model, &source->eq, PART_EQ, 0, &model->eq) ||
        !statements_read(model, &source->update, PART_UPDATE, 0,
                         &model->update) ||
        !rates_read(model) || !substeps_fit(model) ||
        !vly_neuron_residuals(model) || !vly_neuron_sums(model))
        return false;
    for (uint32_t i = 0; i < source->n_ports; i++)
        if (!statements_read(model, &source->ports[i].arrives, PART_ARRIVAL, i,
                             &model->arrivals[i]))
            return false;
    model->spike = whole_text(model, &source->spike, true);
    return model->spike &&
           statements_read(model, &source->reset, PART_RESET, 0, &model->reset);
}

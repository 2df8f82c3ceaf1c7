/* SPDX-License-Identifier: Apache-2.0
 * Makes a rule of plasticity of a user's texts. Names, statements and trees are
 * those of neuron models; weights are in units of the map throughout, so that a
 * part of an expression that is made of parameters and w_max has the bits of
 * the same coefficient of a built-in rule.
 */
#include "neuron/synapse_build.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"

#define COEF_MAX 1099511627776.0 /* 2^40, as of models */

static const char *const part_name[2] = {"on_pre", "on_post"};

/* ---- what backends rely on ---------------------------------------------- */

/* Whether a value is 0 where all traces of the source are, whatever the rest is
 * (backends look at no later spike of the target). */
static bool vanishes(const vly_node *node)
{
    if (node->any)
        return true;
    switch (node->kind) {
    case VLY_NODE_STATE:
        return node->index == FIELD_OF(0, 0) || node->index == FIELD_OF(0, 1);
    case VLY_NODE_NEGATE:
    case VLY_NODE_DIVIDE:
        return vanishes(node->a);
    case VLY_NODE_POWER:
        return node->index > 0 && vanishes(node->a);
    case VLY_NODE_ADD:
    case VLY_NODE_SUBTRACT:
        return vanishes(node->a) && vanishes(node->b);
    case VLY_NODE_MULTIPLY:
        return vanishes(node->a) || vanishes(node->b);
    case VLY_NODE_IF:
        return vanishes(node->b) && vanishes(node->c);
    case VLY_NODE_FUNCTION:
        switch ((vly_function)node->index) {
        case VLY_FUNCTION_SQRT:
        case VLY_FUNCTION_TANH:
        case VLY_FUNCTION_ABS:
            return vanishes(node->a);
        case VLY_FUNCTION_MIN:
        case VLY_FUNCTION_MAX:
            return vanishes(node->a) && vanishes(node->b);
        default:
            return false;
        }
    default:
        return false;
    }
}

/* ---- operations --------------------------------------------------------- */

/* Operations that the value needs, in their order, as words. */
static bool pack(vly_synapse_model *model, uint32_t part, uint32_t value)
{
    const vly_neuron_model *build = &model->build;
    bool used[VLY_NEURON_OPS_MAX] = {false};
    uint32_t place[VLY_NEURON_OPS_MAX];
    uint32_t n = 0;
    used[value] = true;
    for (uint32_t i = value + 1; i-- > 0;) {
        const vly_program_op *op = &build->ops[i];
        const uint32_t from[3] = {op->a, op->b, op->c};
        for (uint32_t k = 0; used[i] && k < vly_rule_operands(op->code); k++)
            used[from[k]] = true;
        n += used[i];
    }
    if (n > VLY_RULE_PROGRAM_OPS)
        return vly_neuron_refuse(&model->build,
                                 part ? model->from->on_post.place
                                      : model->from->on_pre.place,
                                 "%s has %u operations, wanted at most %u",
                                 part_name[part], n, VLY_RULE_PROGRAM_OPS);
    model->n_ops[part] = n;
    n = 0;
    for (uint32_t i = 0; i <= value; i++) {
        if (!used[i])
            continue;
        const vly_program_op *op = &build->ops[i];
        const uint32_t reads = vly_rule_operands(op->code);
        uint32_t *to = &model->ops[part][4 * n];
        to[0] = op->code;
        to[1] = reads > 0 ? place[op->a] : op->a;
        to[2] = reads > 1 ? place[op->b] : op->b;
        to[3] = reads > 2 ? place[op->c] : op->c;
        place[i] = n++;
    }
    return true;
}

static bool emit(vly_synapse_model *model, uint32_t part, vly_node *node)
{
    vly_env env = {.stamp = part + 1};
    vly_emitter e = {.model = &model->build,
                     .env = &env,
                     .n_stamps = part + 1,
                     .ready = VLY_NO_VALUE};
    for (uint32_t i = 0; i < VLY_RULE_PROGRAM_FIELDS; i++) {
        env.state[i] = vly_emit_op(&e, VLY_PROGRAM_FIELD, i, 0, 0);
        env.low[i] = VLY_NO_VALUE;
    }
    uint32_t value = vly_emit(&e, node);
    if (e.failed)
        return false;
    if (model->build.n_coefs > VLY_RULE_PROGRAM_COEFS)
        return vly_neuron_refuse(&model->build, model->from->place,
                                 "[synapse.%s] has more than %u coefficients "
                                 "(values of its parameters), wanted a smaller "
                                 "one",
                                 model->from->name, VLY_RULE_PROGRAM_COEFS);
    return pack(model, part, value);
}

/* A name that one text made is not known to the other. */
static bool names_end(vly_synapse_model *model, uint32_t n_names)
{
    vly_names *names = &model->build.names;
    char sentence[160];
    for (uint32_t i = n_names; i < names->n; i++) {
        if (names->items[i].used || !model->from->note)
            continue;
        (void)snprintf(sentence, sizeof sentence, "the name %s is not used",
                       names->items[i].name);
        if (!model->from->note(model->from->context, names->items[i].place,
                               sentence))
            return false;
    }
    names->n = n_names;
    return true;
}

static bool part_read(vly_synapse_model *model, uint32_t part)
{
    vly_neuron_model *build = &model->build;
    const vly_neuron_text *from =
        part ? &model->from->on_post : &model->from->on_pre;
    const uint32_t n_names = build->names.n;
    vly_statements list = {0};
    vly_node *change = NULL;
    if (!from->text)
        return true;
    if (!vly_neuron_changes(build, from, &list))
        return false;
    for (uint32_t i = 0; i < list.n; i++) {
        const vly_statement *at = &list.items[i];
        if (at->local)
            continue;
        if (change)
            return vly_neuron_refuse_at(build, at->place, at->at,
                                        "w is changed twice, wanted one sum");
        change = at->node;
        if (part && !vanishes(change))
            return vly_neuron_refuse_at(
                build, at->place, at->at,
                "%s changes w also where the source has not fired (its traces "
                "are 0), wanted a product with a trace of pre",
                part_name[part]);
    }
    if (!change)
        return vly_neuron_refuse(build, from->place,
                                 "%s does not change w, wanted w += ... or w "
                                 "-= ...",
                                 part_name[part]);
    return names_end(model, n_names) && emit(model, part, change);
}

/* ---- making ------------------------------------------------------------- */

static bool notes(const vly_synapse_model *model)
{
    const vly_names *names = &model->build.names;
    char sentence[160];
    for (uint32_t i = 0; model->from->note && i < names->n; i++) {
        const vly_named *named = &names->items[i];
        if (named->used || named->place == model->from->place) /* w, w_max */
            continue;
        (void)snprintf(sentence, sizeof sentence, "%s %s is not used",
                       named->kind == VLY_NODE_PARAM ? "parameter" : "trace",
                       named->name);
        if (!model->from->note(model->from->context, named->place, sentence))
            return false;
    }
    return true;
}

static bool defaults_fit(vly_synapse_model *model)
{
    vly_neuron_model *build = &model->build;
    double params[VLY_SYNAPSE_PARAMS_MAX];
    for (uint32_t i = 0; i < build->n_params; i++)
        params[i] = build->params[i].init;
    /* w_max and dt_ms are not known here: what fails for two odd pairs of them
     * does not depend on them */
    const char *unfit = vly_synapse_unfit(model, params, 1.0, 0.1);
    if (!unfit || !vly_synapse_unfit(model, params, 161.8, 0.0707))
        return true;
    for (uint32_t i = 0; i < build->names.n; i++) {
        const vly_named *named = &build->names.items[i];
        if (named->kind == VLY_NODE_PARAM && named->divides &&
            named->index < build->n_params && params[named->index] >= 0.0 &&
            params[named->index] <= 0.0)
            return vly_neuron_refuse(build, named->place,
                                     "%s is 0 and a change of w divides by it, "
                                     "wanted another value",
                                     named->name);
    }
    return vly_neuron_refuse(build, model->from->place,
                             "the default parameters do not fit, wanted %s",
                             unfit);
}

static bool build_all(vly_synapse_model *model)
{
    const vly_neuron_source params = {.scan = model->from->scan,
                                      .name = model->from->name,
                                      .place = model->from->place,
                                      .params = model->from->params,
                                      .n_params = model->from->n_params};
    vly_neuron_model *build = &model->build;
    uint32_t *words = NULL;
    build->source = &params;
    build->synapse = true;
    if (!vly_synapse_names(model) || !part_read(model, 0) ||
        !part_read(model, 1) || !notes(model) || !defaults_fit(model))
        return false;
    model->n_words = VLY_RULE_PROGRAM_HEAD + build->n_coefs +
                     4 * (model->n_ops[0] + model->n_ops[1]);
    words = vly_arena_take(&build->arena, model->n_words, sizeof *words);
    if (!words)
        return false;
    double values[VLY_SYNAPSE_PARAMS_MAX];
    for (uint32_t i = 0; i < build->n_params; i++)
        values[i] = build->params[i].init;
    vly_synapse_words(model, values, 1.0, 1.0, 0.1, 0, words);
    model->hash = vly_rule_program_hash(words, model->n_words);
    return true;
}

vly_status vly_synapse_compile(const vly_synapse_source *source,
                               vly_synapse_model **model,
                               vly_neuron_fault *fault)
{
    memset(fault, 0, sizeof *fault);
    vly_synapse_model *made = vly_calloc(1, sizeof *made);
    if (!made)
        return VLY_E_NOMEM;
    made->from = source;
    made->build.fault = fault;
    bool good = build_all(made);
    made->from = NULL;
    made->build.source = NULL;
    made->build.fault = NULL;
    if (!good) {
        for (char *at = fault->sentence; *at; at++)
            if ((unsigned char)*at < ' ')
                *at = ' ';
        vly_synapse_destroy(made);
        return fault->sentence[0] ? VLY_E_PARSE : VLY_E_NOMEM;
    }
    *model = made;
    return VLY_OK;
}

void vly_synapse_destroy(vly_synapse_model *model)
{
    if (!model)
        return;
    vly_arena_deinit(&model->build.arena);
    vly_free(model);
}

/* ---- reading it --------------------------------------------------------- */

const vly_neuron_param *vly_synapse_params(const vly_synapse_model *model,
                                           uint32_t *n)
{
    *n = model->build.n_params;
    return model->build.params;
}

uint32_t vly_synapse_n_traces(const vly_synapse_model *model, uint32_t side)
{
    return model->n_traces[side];
}

uint32_t vly_synapse_trace(const vly_synapse_model *model, uint32_t side,
                           uint32_t index)
{
    return model->tau[side][index];
}

uint32_t vly_synapse_n_words(const vly_synapse_model *model)
{
    return model->n_words;
}

uint64_t vly_synapse_hash(const vly_synapse_model *model)
{
    return model->hash;
}

/* Coefficients: the expressions read parameters and w_max with weights in units
 * of the map, a power of two, so that nothing is rounded. */
static void coefs_of(const vly_synapse_model *model, const double *params,
                     double w_max, double unit, double dt_ms, double *values)
{
    const vly_neuron_model *build = &model->build;
    double scaled[VLY_SYNAPSE_PARAMS_MAX + 1];
    for (uint32_t i = 0; i < build->n_params; i++)
        scaled[i] = strcmp(build->params[i].unit, "weight") == 0
                        ? params[i] / unit
                        : params[i];
    scaled[build->n_params] = w_max / unit;
    vly_neuron_coefs(build, scaled, dt_ms, 0.0, values);
}

void vly_synapse_words(const vly_synapse_model *model, const double *params,
                       double w_max, double unit, double dt_ms, uint32_t most,
                       uint32_t *words)
{
    const vly_neuron_model *build = &model->build;
    double values[VLY_NEURON_COEFS_MAX];
    uint32_t n = VLY_RULE_PROGRAM_HEAD;
    coefs_of(model, params, w_max, unit, dt_ms, values);
    words[0] = most;
    words[1] = build->n_coefs;
    words[2] = model->n_ops[0];
    words[3] = model->n_ops[1];
    for (uint32_t i = 0; i < build->n_coefs; i++)
        words[n++] = vly_float_bits(
            vly_float_store(values[i], -(float)COEF_MAX, (float)COEF_MAX));
    for (uint32_t part = 0; part < 2; part++) {
        memcpy(words + n, model->ops[part],
               4 * (size_t)model->n_ops[part] * sizeof *words);
        n += 4 * model->n_ops[part];
    }
}

bool vly_synapse_loses(const vly_synapse_model *model, const double *params,
                       double w_max, double unit, double dt_ms)
{
    double values[VLY_NEURON_COEFS_MAX];
    coefs_of(model, params, w_max, unit, dt_ms, values);
    for (uint32_t i = 0; i < model->build.n_coefs; i++) {
        const double size = values[i] < 0.0 ? -values[i] : values[i];
        if (size > 0.0 && !(size >= 1.0 / COEF_MAX && size <= COEF_MAX))
            return true;
    }
    return false;
}

const char *vly_synapse_unfit(const vly_synapse_model *model,
                              const double *params, double w_max, double dt_ms)
{
    double values[VLY_NEURON_COEFS_MAX];
    coefs_of(model, params, w_max, 1.0, dt_ms, values);
    for (uint32_t i = 0; i < model->build.n_coefs; i++)
        if (!(values[i] >= -COEF_MAX && values[i] <= COEF_MAX))
            return "no division by 0 and no value above 2^40 = 1.1e12 in the "
                   "changes of w";
    return NULL;
}

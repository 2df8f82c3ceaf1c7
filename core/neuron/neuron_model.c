/* SPDX-License-Identifier: Apache-2.0
 * Makes a neuron model of its texts.
 */
#include "neuron/neuron_build.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"

/* ---- what a reset must be below ----------------------------------------- */

/* With spike = "x >= a" and a reset of x the equations stop x at a: the neuron
 * fires there, and beyond a x may grow without bound (AdEx), with all that the
 * other equations read of it. Without a reset of x (Hodgkin and Huxley) x goes
 * on. With reset = "x = b" b must be below a: otherwise the neuron would fire
 * for ever. */
static void find_reset(vly_neuron_model *model)
{
    const vly_node *spike = model->spike;
    model->cut = UINT32_MAX;
    if (spike->kind != VLY_NODE_AT_MOST && spike->kind != VLY_NODE_LESS)
        return;
    if (spike->b->kind != VLY_NODE_STATE || !spike->a->host)
        return;
    for (uint32_t i = 0; i < model->reset.n; i++) {
        const vly_statement *at = &model->reset.items[i];
        if (at->target != (uint32_t)spike->b->index)
            continue;
        model->reset_value = at->node->host && !at->add ? at->node : NULL;
        if (spike->kind == VLY_NODE_AT_MOST)
            model->cut = at->target;
    }
    model->threshold = spike->a;
    model->strict = spike->kind == VLY_NODE_AT_MOST;
    if (!model->reset_value)
        return;
    bool named = model->reset_value->kind == VLY_NODE_PARAM &&
                 model->threshold->kind == VLY_NODE_PARAM;
    if (named)
        (void)snprintf(model->unfit, sizeof model->unfit,
                       model->strict ? "%s below %s" : "%s at most %s",
                       model->params[model->reset_value->index].key,
                       model->params[model->threshold->index].key);
    else
        (void)snprintf(model->unfit, sizeof model->unfit,
                       model->strict ? "a reset of %s below its threshold"
                                     : "a reset of %s at most its threshold",
                       model->fields[spike->b->index].key);
}

/* ---- identity ----------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t word)
{
    return vly_mix64(hash ^ word) + word;
}

/* A backend depends on the operations and on the kinds of its inputs. */
static uint64_t hash_of(const vly_neuron_model *model)
{
    uint64_t hash = mix(0, model->n_ports);
    hash = mix(hash, model->n_fields);
    hash = mix(hash, model->n_coefs);
    for (uint32_t i = 0; i < model->n_ops; i++) {
        const vly_program_op *op = &model->ops[i];
        hash = mix(hash, (uint64_t)op->code << 32 | op->a);
        hash = mix(hash, (uint64_t)op->b << 32 | op->c);
    }
    for (uint32_t i = 0; i < model->n_fields; i++)
        hash = mix(hash, model->outs[i]);
    return mix(hash, model->program.fired);
}

/* ---- making ------------------------------------------------------------- */

static bool lists_take(vly_neuron_model *model)
{
    const vly_neuron_source *s = model->source;
    vly_arena *arena = &model->arena;
    model->params =
        vly_arena_take(arena, s->n_params + 1, sizeof *model->params);
    model->decimals =
        vly_arena_take(arena, s->n_params + 1, sizeof *model->decimals);
    model->ports = vly_arena_take(arena, s->n_ports + 1, sizeof *model->ports);
    model->port_units =
        vly_arena_take(arena, s->n_ports + 1, sizeof *model->port_units);
    model->fields =
        vly_arena_take(arena, VLY_NEURON_FIELDS_MAX, sizeof *model->fields);
    model->states =
        vly_arena_take(arena, s->n_states + 1, sizeof *model->states);
    return model->params && model->decimals && model->ports &&
           model->port_units && model->fields && model->states;
}

static bool sizes_good(const vly_neuron_source *source, vly_neuron_fault *fault)
{
    static const char *const what[] = {"parameters", "ports",
                                       "state variables"};
    const uint32_t found[] = {source->n_params, source->n_ports,
                              source->n_states};
    const uint32_t least[] = {0, 1, 1};
    const uint32_t most[] = {VLY_NEURON_PARAMS_MAX, VLY_NEURON_PORTS_MAX,
                             VLY_NEURON_FIELDS_MAX - 1};
    for (int i = 0; i < 3; i++)
        if (found[i] < least[i] || found[i] > most[i]) {
            (void)snprintf(fault->sentence, sizeof fault->sentence,
                           "[neuron.%s] has %u %s, wanted %u to %u",
                           source->name, found[i], what[i], least[i], most[i]);
            fault->place = source->place;
            fault->at = UINT32_MAX;
            return false;
        }
    return true;
}

/* A method that was asked for must fit. */
static bool method_fits(vly_neuron_model *model)
{
    const vly_neuron_text *text = &model->source->method;
    if (text->text && model->update.n)
        return vly_neuron_refuse(
            model, text->place, "method beside update, wanted it with eq only");
    for (uint32_t i = 0; i < model->n_states; i++)
        if (model->method == VLY_METHOD_EXACT && model->states[i].rate &&
            !model->states[i].exact)
            return vly_neuron_refuse(
                model, text->place,
                "method is exact, but the equation of %s is not linear with "
                "constant coefficients; exponential fits",
                model->fields[i].name);
    return true;
}

/* The defaults must make a model, too. */
static bool defaults_fit(vly_neuron_model *model)
{
    double params[VLY_NEURON_PARAMS_MAX];
    for (uint32_t i = 0; i < model->n_params; i++)
        params[i] = model->params[i].init;
    const char *unfit = vly_neuron_unfit(model, params, 0.1);
    if (!unfit)
        return true;
    if (unfit == model->unfit)
        return vly_neuron_refuse(model, model->source->reset.place,
                                 "after its reset the neuron would fire again "
                                 "at once, wanted %s",
                                 unfit);
    for (uint32_t i = 0; i < model->n_params; i++)
        if (unfit == model->divisors[i])
            return vly_neuron_refuse(
                model, model->source->params[i].place,
                "%s is 0 and the equations divide by it, wanted another value",
                model->params[i].name);
    bool bursts = unfit == vly_neuron_unfit_bursts;
    return vly_neuron_refuse(
        model, bursts ? model->source->refractory.place : model->source->place,
        "the default parameters do not fit, wanted %s", unfit);
}

static bool build(vly_neuron_model *model)
{
    if (!lists_take(model) || !vly_neuron_read(model) ||
        !vly_neuron_check(model) || !vly_neuron_linear(model) ||
        !method_fits(model))
        return false;
    find_reset(model);
    if (!vly_neuron_emit(model))
        return false;
    vly_neuron_say_scheme(model);
    /* any entry of a propagator may depend on the input */
    for (uint32_t c = 0; c < model->n_coefs; c++) {
        vly_coef *coef = &model->coefs[c];
        if (coef->kind == VLY_COEF_WHOLE || coef->kind == VLY_COEF_HALF)
            coef->driven = model->input != UINT32_MAX;
    }
    model->program.struct_size = sizeof model->program;
    model->program.ops = model->ops;
    model->program.n_ops = model->n_ops;
    model->program.out = model->outs;
    model->program.types = model->types;
    model->program.n_fields = model->n_fields;
    model->hash = hash_of(model);
    return defaults_fit(model);
}

vly_status vly_neuron_compile(const vly_neuron_source *source,
                              vly_neuron_model **model, vly_neuron_fault *fault)
{
    memset(fault, 0, sizeof *fault);
    if (!sizes_good(source, fault))
        return VLY_E_PARSE;
    vly_neuron_model *made = vly_calloc(1, sizeof *made);
    if (!made)
        return VLY_E_NOMEM;
    made->source = source;
    made->fault = fault;
    bool good = build(made);
    made->source = NULL;
    made->fault = NULL;
    if (!good) {
        /* a sentence is one line, whatever text it has from the user */
        for (char *at = fault->sentence; *at; at++)
            if ((unsigned char)*at < ' ')
                *at = ' ';
        vly_neuron_destroy(made);
        return fault->sentence[0] ? VLY_E_PARSE : VLY_E_NOMEM;
    }
    *model = made;
    return VLY_OK;
}

void vly_neuron_destroy(vly_neuron_model *model)
{
    if (!model)
        return;
    vly_arena_deinit(&model->arena);
    vly_free(model);
}

/* ---- reading it --------------------------------------------------------- */

const vly_program *vly_neuron_program(const vly_neuron_model *model)
{
    return &model->program;
}

const vly_neuron_param *vly_neuron_params(const vly_neuron_model *model,
                                          uint32_t *n)
{
    *n = model->n_params;
    return model->params;
}

const vly_neuron_field *vly_neuron_fields(const vly_neuron_model *model,
                                          uint32_t *n)
{
    *n = model->n_fields;
    return model->fields;
}

const vly_neuron_port *vly_neuron_ports(const vly_neuron_model *model,
                                        uint32_t *n)
{
    *n = model->n_ports;
    return model->ports;
}

const char *vly_neuron_scheme(const vly_neuron_model *model)
{
    return model->scheme;
}

uint64_t vly_neuron_hash(const vly_neuron_model *model)
{
    return model->hash;
}

uint32_t vly_neuron_input(const vly_neuron_model *model)
{
    return model->input;
}

uint32_t vly_neuron_refractory(const vly_neuron_model *model)
{
    return model->refractory_param;
}

uint32_t vly_neuron_sum(const vly_neuron_model *model, uint32_t port)
{
    return model->first_sum ? model->first_sum + 2 * port : UINT32_MAX;
}

uint32_t vly_neuron_substeps(const vly_neuron_model *model)
{
    return model->substeps;
}

uint32_t vly_neuron_n_coefs(const vly_neuron_model *model)
{
    return model->n_coefs;
}

uint32_t vly_neuron_coef_type(const vly_neuron_model *model, uint32_t index)
{
    return model->coefs[index].kind == VLY_COEF_BURSTS ? VLY_TYPE_U32
                                                       : VLY_TYPE_F32;
}

bool vly_neuron_coef_driven(const vly_neuron_model *model, uint32_t index)
{
    return model->coefs[index].driven;
}

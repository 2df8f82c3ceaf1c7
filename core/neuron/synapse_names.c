/* SPDX-License-Identifier: Apache-2.0
 * The names of a [synapse]: its parameters, the weight and its bound, traces.
 */
#include "neuron/synapse_build.h"

#include <stdio.h>
#include <string.h>

#define TAU_LEAST_MS 1e-3
#define TAU_MOST_MS 1e6

static const char *const side_name[2] = {"pre", "post"};

static bool lists_take(vly_synapse_model *model)
{
    vly_neuron_model *build = &model->build;
    vly_arena *arena = &build->arena;
    uint32_t n = model->from->n_params + 1; /* and w_max */
    build->params = vly_arena_take(arena, n, sizeof *build->params);
    build->decimals = vly_arena_take(arena, n, sizeof *build->decimals);
    build->fields =
        vly_arena_take(arena, VLY_RULE_PROGRAM_FIELDS, sizeof *build->fields);
    build->states =
        vly_arena_take(arena, VLY_RULE_PROGRAM_FIELDS, sizeof *build->states);
    return build->params && build->decimals && build->fields && build->states;
}

static bool sizes_good(vly_synapse_model *model)
{
    const vly_synapse_source *from = model->from;
    static const char *const of[2] = {"source", "target"};
    if (from->n_params > VLY_SYNAPSE_PARAMS_MAX)
        return vly_neuron_refuse(&model->build, from->place,
                                 "[synapse.%s] has %u parameters, wanted at "
                                 "most %u",
                                 from->name, from->n_params,
                                 VLY_SYNAPSE_PARAMS_MAX);
    for (uint32_t side = 0; side < 2; side++)
        if (from->n_traces[side] > VLY_SYNAPSE_TRACES_MAX ||
            (side == 0 && from->n_traces[side] == 0))
            return vly_neuron_refuse(
                &model->build, from->place,
                "[synapse.%s] has %u traces of the %s (%s), wanted %s",
                from->name, from->n_traces[side], of[side], side_name[side],
                side == 0 ? "1 or 2" : "at most 2");
    if (!from->on_pre.text && !from->on_post.text)
        return vly_neuron_refuse(&model->build, from->place,
                                 "[synapse.%s] has neither on_pre nor on_post, "
                                 "wanted what a spike adds to w",
                                 from->name);
    return true;
}

/* w_max stands after the parameters, as it does among their values; parameters
 * and traces have other names. */
static bool weight_names(vly_synapse_model *model)
{
    vly_neuron_model *build = &model->build;
    const vly_unit weight = {.weight = 1};
    const void *place = model->from->place;
    for (uint32_t side = 0; side < 3; side++) {
        uint32_t n =
            side == 0 ? model->from->n_params : model->from->n_traces[side - 1];
        const vly_neuron_name *names =
            side == 0 ? model->from->params : model->from->traces[side - 1];
        for (uint32_t i = 0; i < n; i++)
            if (strcmp(names[i].name, "w") == 0 ||
                strcmp(names[i].name, "w_max") == 0)
                return vly_neuron_refuse(
                    build, names[i].place, "%s is %s, wanted another name",
                    names[i].name,
                    names[i].name[1] ? "the bound of the weights, which "
                                       "[plasticity] gives"
                                     : "the weight of the synapse");
    }
    build->fields[0].name = "w";
    build->states[0].unit = weight;
    return vly_neuron_names(build) &&
           vly_neuron_name_add(build, "w_max", VLY_NODE_PARAM, build->n_params,
                               weight, place) &&
           vly_neuron_name_add(build, "w", VLY_NODE_STATE, 0, weight, place);
}

/* "tau_plus": a parameter that is a time in ms */
static bool trace_read(vly_synapse_model *model, uint32_t side, uint32_t index)
{
    vly_neuron_model *build = &model->build;
    const vly_neuron_name *from = &model->from->traces[side][index];
    uint32_t field = FIELD_OF(side, index);
    uint32_t i = 0;
    if (!vly_neuron_name_good(build, from->name, from->place))
        return false;
    while (i < build->n_params &&
           strcmp(build->params[i].name, from->value.text) != 0)
        i++;
    if (i == build->n_params)
        return vly_neuron_refuse(
            build, from->value.place,
            "the time constant of trace %s is \"%.60s\", wanted the name of a "
            "parameter, a time in ms",
            from->name, from->value.text);
    vly_neuron_param *tau = &build->params[i];
    if (strcmp(tau->unit, "ms") != 0)
        return vly_neuron_refuse(build, from->value.place,
                                 "the time constant of trace %s is %s, which "
                                 "is %s%s, wanted a time in ms",
                                 from->name, tau->name,
                                 strcmp(tau->unit, "1") == 0 ? "a pure number"
                                                             : "in ",
                                 strcmp(tau->unit, "1") == 0 ? "" : tau->unit);
    tau->lo = tau->lo > TAU_LEAST_MS ? tau->lo : TAU_LEAST_MS;
    tau->hi = tau->hi < TAU_MOST_MS ? tau->hi : TAU_MOST_MS;
    if (!(tau->init >= tau->lo && tau->init <= tau->hi))
        return vly_neuron_refuse(
            build, model->from->params[i].place,
            "%s is %g ms and the time constant of trace %s, wanted %g to %g ms",
            tau->name, tau->init, from->name, tau->lo, tau->hi);
    for (uint32_t n = 0; n < build->names.n; n++)
        if (strcmp(build->names.items[n].name, tau->name) == 0)
            build->names.items[n].used = true;
    model->tau[side][index] = i;
    build->fields[field].name =
        vly_arena_text(&build->arena, from->name, strlen(from->name));
    return build->fields[field].name &&
           vly_neuron_name_add(build, build->fields[field].name, VLY_NODE_STATE,
                               field, (vly_unit){0}, from->place);
}

bool vly_synapse_names(vly_synapse_model *model)
{
    vly_neuron_model *build = &model->build;
    build->n_params = model->from->n_params;
    build->input = build->refractory_param = UINT32_MAX;
    build->substeps = 1;
    if (!sizes_good(model) || !lists_take(model) || !weight_names(model) ||
        !vly_neuron_keys_differ(build))
        return false;
    build->n_states = build->n_fields = 1;
    for (uint32_t side = 0; side < 2; side++) {
        model->n_traces[side] = model->from->n_traces[side];
        for (uint32_t i = 0; i < model->n_traces[side]; i++)
            if (!trace_read(model, side, i))
                return false;
    }
    return true;
}

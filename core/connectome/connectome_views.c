/* SPDX-License-Identifier: Apache-2.0
 * The descriptions that backends and the engine read, made from the results of
 * the build's steps.
 */
#include "connectome/connectome_views.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "connectome/connectome_image.h"
#include "connectome/learning_layout.h"
#include "connectome/learning_make.h"
#include "connectome/short_term_make.h"

static vly_status areas_view(vly_maker *maker, vly_connectome *connectome)
{
    const vly_genome *genome = maker->genome;
    vly_storage *storage = maker->storage;
    uint32_t n = genome->n_areas;
    vly_connectome_area *areas =
        vly_storage_alloc(storage, n, sizeof(*areas), true);
    vly_area_desc *descs = vly_storage_alloc(storage, n, sizeof(*descs), true);
    if (!areas || !descs)
        return vly_fail_nomem(maker->error, n * sizeof(*areas), "areas");
    for (uint32_t a = 0; a < n; a++) {
        const vly_area *from = &genome->areas[a];
        const vly_made_area *made = &maker->areas[a];
        const vly_model_info *model = from->model;
        vly_connectome_area *area = &areas[a];
        *area = (vly_connectome_area){
            .name = vly_storage_text(storage, from->name),
            .model = model,
            .first = from->first,
            .n_neurons = from->n_neurons,
            .has_voxels = from->has_voxels,
            .neurons_per_voxel = from->has_voxels ? from->neurons_per_voxel : 1,
            .params = made->params};
        if (!area->name || !vly_storage_model(storage, model))
            return vly_fail_nomem(maker->error, strlen(from->name) + 1,
                                  "an area");
        descs[a] = (vly_area_desc){.name = area->name,
                                   .model = model->id,
                                   .model_hash = model->table_hash,
                                   .first = from->first,
                                   .n_neurons = from->n_neurons,
                                   .flags = model->flags,
                                   .n_ports = model->n_ports,
                                   .coefs = made->coefs,
                                   .n_coefs = model->n_coefs,
                                   .n_fields = model->n_fields,
                                   .program = vly_model_program(model)};
        for (int i = 0; i < 3; i++) {
            area->voxels[i] = from->has_voxels ? from->voxels[i] : 0;
            area->at[i] = from->at[i];
        }
        for (uint32_t port = 0; port < model->n_ports; port++) {
            area->q[port] = made->q[port];
            area->load[port] = made->load[port];
            *vly_area_scale(&descs[a], port) =
                (float)vly_power_of_two(-made->q[port]);
        }
    }
    connectome->areas = areas;
    connectome->desc.areas = descs;
    connectome->desc.n_areas = n;
    return VLY_OK;
}

static void projection_view(const vly_maker *maker, const vly_made_pair *made,
                            const char *map, vly_projection_desc *desc,
                            vly_connectome_projection *projection)
{
    const vly_pair *pair = made->pair;
    const vly_area *to = &maker->genome->areas[pair->to];
    bool feagi = to->model->flags & VLY_AREA_FEAGI;
    uint32_t port = made->by_sign ? 0 : made->port;
    double unit = feagi ? 1.0
                        : vly_power_of_two((int32_t)made->shift -
                                           maker->areas[pair->to].q[port]);
    *desc = (vly_projection_desc){.map = map,
                                  .source_area = pair->from,
                                  .target_area = pair->to,
                                  .row = made->row,
                                  .target = made->target,
                                  .weight = made->weight,
                                  .delay = made->delay,
                                  .base_delay = made->base_delay,
                                  .delay_max = made->delay_max,
                                  .port = made->port,
                                  .flags = feagi ? VLY_PROJECTION_GAIN : 0,
                                  .shift = made->shift,
                                  .one_weight =
                                      made->weight ? 0 : made->weight_min};
    *projection = (vly_connectome_projection){
        .map = map,
        .n_synapses = made->n_synapses,
        .worst_rounding = made->worst_rounding,
        .weight_min = made->weight_min * unit,
        .weight_max = made->weight_max * unit,
        .unit = unit,
        .share_coarse = made->share_coarse,
        .worst_coarse = made->worst_coarse,
        .mean_coarse = made->mean_coarse,
        .pair = (uint32_t)(pair - maker->genome->pairs)};
}

static vly_status projections_view(vly_maker *maker, vly_connectome *connectome)
{
    vly_status status = VLY_OK;
    vly_storage *storage = maker->storage;
    vly_net_desc *net = &connectome->desc;
    uint32_t n = maker->n_projections;
    vly_connectome_projection *projections =
        vly_storage_alloc(storage, n, sizeof(*projections), true);
    vly_projection_desc *descs =
        vly_storage_alloc(storage, n, sizeof(*descs), true);
    if (!projections || !descs)
        return vly_fail_nomem(maker->error, n * sizeof(*descs), "projections");
    net->max_delay = 1;
    for (uint32_t p = 0; p < n; p++) {
        const vly_made_pair *made = &maker->projections[p];
        char *map = vly_storage_text(storage, made->pair->map);
        if (!map)
            return vly_fail_nomem(maker->error, strlen(made->pair->map) + 1,
                                  "a name");
        projection_view(maker, made, map, &descs[p], &projections[p]);
        if (made->pair->plasticity) {
            descs[p].flags |= VLY_PROJECTION_PLASTIC;
            VLY_TRY(vly_learning_view(maker, made, projections[p].unit,
                                      &descs[p].learning));
            VLY_TRY(vly_learning_given(maker, made->pair->plasticity,
                                       &projections[p].learning));
        }
        if (made->pair->short_term) {
            descs[p].flags |= VLY_PROJECTION_SHORT_TERM;
            VLY_TRY(vly_short_term_view(maker, made, &descs[p].short_term));
            VLY_TRY(vly_learning_given(maker, made->pair->short_term,
                                       &projections[p].short_term));
        }
        net->n_synapses += made->n_synapses;
        uint32_t reach = vly_projection_reach(&descs[p]);
        net->max_delay = net->max_delay < reach ? reach : net->max_delay;
    }
    connectome->projections = projections;
    net->projections = descs;
    net->n_projections = n;
out:
    return status;
}

/* Spike lists: the same value for every spike. */
static void inputs_fill(const vly_maker *maker,
                        const vly_connectome_stimulus *stimulus,
                        vly_input *inputs)
{
    int32_t q = maker->areas[stimulus->area].q[stimulus->port];
    double value = vly_weight_scaled(stimulus->weight, q);
    for (uint64_t i = 0; i < stimulus->n_inputs; i++)
        inputs[i].value = (int32_t)value;
}

static vly_status stimulus_view(vly_maker *maker, uint32_t s,
                                vly_connectome_stimulus *stimulus,
                                vly_stimulus_desc *desc)
{
    vly_status status;
    uint64_t reach;
    vly_draws draws;
    int32_t q = maker->areas[stimulus->area].q[stimulus->port];
    vly_error why = VLY_ERROR_INIT;
    status = vly_stimulus_table(stimulus, maker->genome->dt_ms, q, desc, &reach,
                                &why);
    VLY_TRY(vly_stimulus_placed(maker, s, status, &why));
    void *thresholds;
    memcpy(&thresholds, &desc->thresholds, sizeof(thresholds));
    if (!vly_storage_adopt(maker->storage, thresholds,
                           desc->n_thresholds * 4)) {
        vly_free(thresholds);
        VLY_TRY(
            vly_fail_nomem(maker->error, desc->n_thresholds * 4, "a stimulus"));
    }
    if (vly_draws_init(&draws, 0, "stimulus:", maker->genome->stimuli[s].stream,
                       "", "") != VLY_OK)
        VLY_TRY(vly_fail_nomem(maker->error, 256, "a name"));
    desc->stream = draws.name[0];
    desc->first = stimulus->first;
    desc->n_neurons = stimulus->n_neurons;
    desc->start = stimulus->start;
    desc->stop = stimulus->stop;
    desc->port = stimulus->port;
out:
    return status;
}

static vly_status stimuli_view(vly_maker *maker, vly_connectome *connectome)
{
    vly_status status = VLY_OK;
    vly_net_desc *net = &connectome->desc;
    uint32_t n = maker->genome->n_stimuli;
    vly_stimulus_desc *descs =
        vly_storage_alloc(maker->storage, n, sizeof(*descs), true);
    if (!descs)
        return vly_fail_nomem(maker->error, n * sizeof(*descs), "stimuli");
    for (uint32_t s = 0; s < n; s++) {
        vly_connectome_stimulus *stimulus = &maker->stimuli[s];
        vly_input *inputs;
        memcpy(&inputs, &stimulus->inputs, sizeof(inputs));
        if (stimulus->kind == VLY_STIMULUS_SPIKES)
            inputs_fill(maker, stimulus, inputs);
        if (!vly_stimulus_draws(stimulus->kind))
            continue;
        stimulus->desc_index = net->n_stimuli;
        VLY_TRY(stimulus_view(maker, s, stimulus, &descs[net->n_stimuli]));
        net->n_stimuli++;
    }
    net->stimuli = descs;
    connectome->stimuli = maker->stimuli;
    connectome->n_stimuli = n;
out:
    return status;
}

vly_status vly_views_make(vly_maker *maker, uint64_t n_state_words,
                          vly_connectome *connectome)
{
    vly_status status;
    const vly_genome *genome = maker->genome;
    vly_net_desc *net = &connectome->desc;
    vly_snapshot *start = &connectome->start;
    net->struct_size = sizeof(*net);
    net->area_size = sizeof(vly_area_desc);
    net->projection_size = sizeof(vly_projection_desc);
    net->stimulus_size = sizeof(vly_stimulus_desc);
    VLY_TRY(areas_view(maker, connectome));
    VLY_TRY(projections_view(maker, connectome));
    VLY_TRY(stimuli_view(maker, connectome));
    net->n_neurons = genome->n_neurons;
    net->out_degree = maker->out_degree;
    net->seed_input = genome->seed_input;
    net->feagi_q = maker->feagi_q;
    net->dt_ms = genome->dt_ms;
    net->genome_hash[0] = genome->hash.lane[0];
    net->genome_hash[1] = genome->hash.lane[1];
    start->struct_size = sizeof(*start);
    start->n_state_words = n_state_words;
    start->state = maker->state;
    start->fired_row =
        vly_storage_alloc(maker->storage, 1, sizeof(uint64_t), true);
    connectome->resolved = vly_storage_text(
        maker->storage, genome->resolved ? genome->resolved : "");
    if (!start->fired_row || !connectome->resolved)
        VLY_TRY(vly_fail_nomem(maker->error,
                               genome->resolved ? strlen(genome->resolved) : 8,
                               "the resolved genome"));
    VLY_TRY(vly_learning_start_make(
        maker->storage, net, connectome->projections, start, maker->error));
    VLY_TRY(
        vly_memories_view(maker->storage, genome, connectome, maker->error));
    connectome->n_bursts = genome->n_bursts;
    connectome->seed_network = genome->seed_network;
    connectome->seed_state = genome->seed_state;
    connectome->genome_hash = genome->hash;
out:
    return status;
}

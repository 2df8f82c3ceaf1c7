/* SPDX-License-Identifier: Apache-2.0
 * What genomes and connectomes hold: see volley/host.h.
 */
#include <volley/host.h>

#include <string.h>

#include "base/error.h"
#include "connectome/connectome.h"
#include "connectome/connectome_digest.h"
#include "genome/genome.h"
#include "genome/rule_info.h"

_Static_assert(sizeof(((vly_area_info *)0)->q) / sizeof(int32_t) ==
                   VLY_PORTS_MAX,
               "an area has as many ports");

vly_status vly_genome_get_info(const vly_genome *genome, vly_genome_info *info)
{
    const vly_genome_info made = {
        .n_areas = genome->n_areas,
        .n_neurons = genome->n_neurons,
        .n_pairs = genome->n_pairs,
        .n_stimuli = genome->n_stimuli,
        .dt_ms = genome->dt_ms,
        .n_bursts = genome->n_bursts,
        .seed_network = genome->seed_network,
        .seed_state = genome->seed_state,
        .seed_input = genome->seed_input,
        .n_synapses_max = genome->n_synapses_max,
        .hash = {genome->hash.lane[0], genome->hash.lane[1]},
        .path = genome->path,
        .title = genome->title,
        .resolved = genome->resolved,
    };
    return vly_struct_fill(info, &made, sizeof made);
}

static void add_model(const vly_model_info *model, vly_area_info *info)
{
    info->model = model->id;
    info->n_ports = model->n_ports;
    for (uint32_t p = 0; p < model->n_ports; p++)
        info->port_unit[p] = model->ports[p].unit ? model->ports[p].unit : "";
}

vly_status vly_genome_area_info(const vly_genome *genome, uint32_t index,
                                vly_area_info *info)
{
    if (index >= genome->n_areas)
        return VLY_E_INVALID;
    const vly_area *area = &genome->areas[index];
    vly_area_info made = {
        .first = area->first,
        .n_neurons = area->n_neurons,
        .neurons_per_voxel = area->neurons_per_voxel,
        .name = area->name,
        .generator = area->generator,
    };
    if (area->has_voxels)
        memcpy(made.voxels, area->voxels, sizeof made.voxels);
    memcpy(made.at, area->at, sizeof made.at);
    add_model(area->model, &made);
    return vly_struct_fill(info, &made, sizeof made);
}

vly_status vly_genome_pair_info(const vly_genome *genome, uint32_t index,
                                vly_pair_info *info)
{
    if (index >= genome->n_pairs)
        return VLY_E_INVALID;
    const vly_pair *pair = &genome->pairs[index];
    const vly_pair_info made = {
        .source_area = pair->from,
        .target_area = pair->to,
        .learns = pair->plasticity != NULL,
        .map = pair->map,
        .rule = vly_rules[pair->rule].name,
    };
    return vly_struct_fill(info, &made, sizeof made);
}

vly_status vly_connectome_get_info(const vly_connectome *connectome,
                                   vly_connectome_info *info)
{
    const vly_net_desc *desc = &connectome->desc;
    const vly_connectome_info made = {
        .n_areas = desc->n_areas,
        .n_neurons = desc->n_neurons,
        .n_projections = desc->n_projections,
        .max_delay = desc->max_delay,
        .n_stimuli = connectome->n_stimuli,
        .n_synapses = vly_connectome_n_whole(connectome),
        .n_bytes = connectome->n_bytes,
        .n_bursts = connectome->n_bursts,
        .seed_network = connectome->seed_network,
        .seed_state = connectome->seed_state,
        .seed_input = desc->seed_input,
        .dt_ms = desc->dt_ms,
        .hash = {connectome->hash.lane[0], connectome->hash.lane[1]},
        .genome_hash = {connectome->genome_hash.lane[0],
                        connectome->genome_hash.lane[1]},
        .feagi_q = desc->feagi_q,
    };
    return vly_struct_fill(info, &made, sizeof made);
}

vly_status vly_connectome_area_info(const vly_connectome *connectome,
                                    uint32_t index, vly_area_info *info)
{
    if (index >= connectome->desc.n_areas)
        return VLY_E_INVALID;
    const vly_connectome_area *area = &connectome->areas[index];
    vly_area_info made = {
        .first = area->first,
        .n_neurons = area->n_neurons,
        .neurons_per_voxel = area->neurons_per_voxel,
        .name = area->name,
    };
    if (area->has_voxels)
        memcpy(made.voxels, area->voxels, sizeof made.voxels);
    memcpy(made.at, area->at, sizeof made.at);
    memcpy(made.q, area->q, sizeof made.q);
    add_model(area->model, &made);
    return vly_struct_fill(info, &made, sizeof made);
}

void vly_connectome_get_digest(const vly_connectome *connectome,
                               uint32_t n_threads, uint64_t digest[2])
{
    const vly_hash made = vly_connectome_digest(connectome, n_threads);
    digest[0] = made.lane[0];
    digest[1] = made.lane[1];
}

vly_status vly_connectome_rows(const vly_connectome *connectome, uint32_t index,
                               uint32_t source, uint32_t n, uint64_t *first,
                               uint64_t *end, vly_error *error)
{
    if (index >= connectome->desc.n_projections)
        return vly_fail(error, VLY_E_INVALID,
                        "projection %u, and there are %u (from 0)", index,
                        connectome->desc.n_projections);
    const vly_projection_desc *desc = &connectome->desc.projections[index];
    const uint32_t n_rows = connectome->areas[desc->source_area].n_neurons;
    if (source > n_rows)
        return vly_fail(error, VLY_E_INVALID,
                        "source %u of projection %u, which has %u (from 0)",
                        source, index, n_rows);
    *first = desc->row[source];
    *end = desc->row[source + (n < n_rows - source ? n : n_rows - source)];
    return VLY_OK;
}

const char *vly_connectome_weight_suffix(const vly_connectome *connectome,
                                         uint32_t index)
{
    if (index >= connectome->desc.n_projections)
        return "";
    const vly_projection_desc *desc = &connectome->desc.projections[index];
    const vly_model_info *model = connectome->areas[desc->target_area].model;
    return model->ports[desc->port < model->n_ports ? desc->port : 0].suffix;
}

/* SPDX-License-Identifier: Apache-2.0
 * Statistics of a net, and the digest of its state.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "engine/engine.h"

vly_status vly_state_get_info(const vly_state *state, vly_state_info *info,
                              vly_error *error)
{
    const vly_status status =
        vly_struct_check(info, sizeof *info, "info", error);
    if (status != VLY_OK)
        return status;
    const vly_snapshot *snapshot = &state->snapshot;
    vly_state_info made = {
        .n_neurons = state->n_neurons,
        .bursts = snapshot->burst,
        .spikes = state->counters.spikes,
        .events = state->counters.events,
        .digest = state->digest,
        .state_digest = vly_state_words_digest(state),
        .genome_hash = {state->genome_hash.lane[0], state->genome_hash.lane[1]},
        .connectome_hash = {state->connectome_hash.lane[0],
                            state->connectome_hash.lane[1]},
        .connectome_digest = {state->connectome_digest.lane[0],
                              state->connectome_digest.lane[1]},
        .n_bytes = 4 * snapshot->n_state_words + 8 * snapshot->n_fired +
                   8 * (uint64_t)snapshot->n_fired_bursts +
                   sizeof(vly_pending_input) * state->pending.n +
                   snapshot->n_weight_bytes + 4 * state->memory.n_words +
                   8 * (uint64_t)state->overlay->n_learned};
    for (uint32_t p = 0; p < state->overlay->n_params; p++)
        made.n_bytes += 8 * (uint64_t)state->overlay->n_value[p];
    (void)vly_struct_fill(info, &made, sizeof made);
    return VLY_OK;
}

static vly_status read_stats(vly_net *net, vly_stats *stats, vly_error *error)
{
    const vly_net_desc *desc = &net->connectome->desc;
    vly_net_info info = {.struct_size = sizeof info};
    vly_error why = VLY_ERROR_INIT;
    vly_status status = vly_struct_check(stats, sizeof *stats, "stats", error);
    if (status != VLY_OK)
        return status;
    vly_stats made = {
        .n_areas = desc->n_areas,
        .bursts = net->burst,
        .neurons = desc->n_neurons,
        .synapses = vly_connectome_n_whole(net->connectome),
        .spikes = net->counters.spikes,
        .events = net->counters.events,
        .candidates = net->counters.candidates,
        .run_ns = net->run_ns,
        .delivery_ns = net->delivery_ns,
        .dynamics_ns = net->dynamics_ns,
        .exchange_ns = net->exchange_ns,
        .drain_ns = net->drain_ns,
        .connectome_bytes = net->connectome->n_bytes,
        .dt_ms = desc->dt_ms,
        .spikes_squared = net->counters.squares,
    };
    /* a dead net still reports its statistics */
    if (net->dead.status == VLY_OK) {
        status = net->device.backend->net_info(net->device.net, &info, &why);
        if (status != VLY_OK)
            return vly_net_failed(net, status, false, &why, error);
    }
    made.host_bytes = info.host_bytes;
    made.device_bytes = info.device_bytes;
    (void)snprintf(made.backend, sizeof made.backend, "%s", net->device.name);
    (void)snprintf(made.device, sizeof made.device, "%s", net->device.model);
    (void)snprintf(made.plan, sizeof made.plan, "%.255s", info.plan);
    (void)vly_struct_fill(stats, &made, sizeof made);
    return VLY_OK;
}

vly_status vly_net_stats(vly_net *net, vly_stats *stats, vly_error *error)
{
    vly_status status = VLY_OK;
    do
        status = read_stats(net, stats, error);
    while (vly_failover_again(net, &status, error));
    return status;
}

vly_status vly_net_area_stats(vly_net *net, uint32_t area,
                              vly_area_stats *stats)
{
    const vly_connectome *connectome = net->connectome;
    if (area >= connectome->desc.n_areas)
        return VLY_E_INVALID;
    const vly_connectome_area *from = &connectome->areas[area];
    vly_area_stats made = {
        .first = from->first,
        .n_neurons = from->n_neurons,
        .n_ports = from->model->n_ports,
        .name = from->name,
        .model = from->model->id,
        .q = {from->q[0], from->q[1]},
        .q_more = {from->q[2], from->q[3]},
        .spikes = net->area_spikes[area],
    };
    return vly_struct_fill(stats, &made, sizeof made);
}

static vly_status state_digest(vly_net *net, uint64_t *digest, vly_error *error)
{
    const vly_engine_device *device = &net->device;
    vly_snapshot snapshot = {0};
    vly_memory_words memory = {0};
    vly_error why = VLY_ERROR_INIT;
    vly_status status = VLY_OK;
    VLY_TRY(vly_net_alive(net, error));
    VLY_TRY(vly_memory_words_take(net->memory, &memory, error));
    if (device->backend->state_digest) {
        uint64_t sum = 0;
        status = device->backend->state_digest(device->net, &sum, &why);
        if (status == VLY_OK)
            *digest = sum;
    } else {
        status = vly_snapshot_take(net, &snapshot, &why);
        if (status == VLY_OK)
            *digest = vly_snapshot_digest(net->connectome, &snapshot);
    }
    if (status == VLY_OK)
        *digest += vly_memory_words_digest(&memory);
    else
        status = vly_net_failed(net, status, false, &why, error);
out:
    vly_memory_words_release(&memory);
    vly_snapshot_release(&snapshot);
    return status;
}

vly_status vly_net_state_digest(vly_net *net, uint64_t *digest,
                                vly_error *error)
{
    vly_status status = VLY_OK;
    do
        status = state_digest(net, digest, error);
    while (vly_failover_again(net, &status, error));
    return status;
}

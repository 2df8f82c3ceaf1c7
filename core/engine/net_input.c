/* SPDX-License-Identifier: Apache-2.0
 * Input of the host: injection, and what a chunk of bursts takes of it and of
 * the spike lists. Sums are int64, clamped once at the end, so that the order
 * of the calls cannot matter.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "engine/engine.h"

/* One injection, in units of the accumulator, is cut here: 2^22 of them can be
 * summed in int64 without a thought, and the sum is clamped far below. */
#define ONE_MAX 1099511627776.0

vly_status vly_net_inject(vly_net *net, uint64_t burst, const char *area,
                          uint32_t index, uint32_t port, double value,
                          vly_error *error)
{
    uint32_t a = 0;
    vly_status status = vly_net_alive(net, error);
    if (status == VLY_OK)
        status = vly_net_area(net, area, &a, error);
    if (status != VLY_OK)
        return status;
    const vly_area_desc *desc = &net->connectome->desc.areas[a];
    if (burst < net->burst)
        return vly_fail(
            error, VLY_E_INVALID, "burst %llu is done, wanted %llu or later",
            (unsigned long long)burst, (unsigned long long)net->burst);
    if (index >= desc->n_neurons)
        return vly_fail(error, VLY_E_INVALID,
                        "neuron %u of area %s, which has %u", index, area,
                        desc->n_neurons);
    if (port >= desc->n_ports)
        return vly_fail(error, VLY_E_INVALID,
                        "port %u of area %s, which has %u", port, area,
                        desc->n_ports);
    if (!isfinite(value))
        return vly_fail(error, VLY_E_INVALID,
                        "value is %g, wanted a finite number", value);
    double units = vly_floor(value / (double)desc->scale[port] + 0.5);
    units = units > -ONE_MAX ? units : -ONE_MAX;
    units = units < ONE_MAX ? units : ONE_MAX;
    vly_pending_input entry = {.burst = burst,
                               .value = (int64_t)units,
                               .neuron = desc->first + index,
                               .port = port};
    return vly_pending_add(&net->pending, &entry, error);
}

/* ---- what a chunk takes ------------------------------------------------ */

static uint64_t first_input(const vly_connectome_stimulus *stimulus,
                            uint64_t burst)
{
    uint64_t low = 0;
    uint64_t high = stimulus->n_inputs;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (stimulus->inputs[middle].burst < burst)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Spikes of one list in [burst, end), with the weight that holds now. */
static vly_status add_spikes(const vly_net *net, uint32_t index, uint64_t burst,
                             uint64_t end, vly_pending *taken, vly_error *error)
{
    const vly_connectome *connectome = net->connectome;
    const vly_connectome_stimulus *was = &connectome->stimuli[index];
    uint64_t i = first_input(was, burst);
    int32_t value = 0;
    vly_status status = VLY_OK;
    if (i == was->n_inputs || was->inputs[i].burst >= end)
        return VLY_OK;
    bool changed =
        vly_overlay_stimulus_changed(net->live.overlay, connectome, index);
    if (changed) {
        vly_connectome_stimulus now =
            vly_overlay_stimulus_now(net->live.overlay, connectome, index);
        VLY_TRY(vly_live_spike_value(connectome, &now, &value, error));
    }
    for (; i < was->n_inputs && was->inputs[i].burst < end; i++) {
        const vly_input *input = &was->inputs[i];
        vly_pending_input entry = {.burst = input->burst,
                                   .value = changed ? value : input->value,
                                   .neuron = input->neuron,
                                   .port = input->port};
        VLY_TRY(vly_pending_add(taken, &entry, error));
    }
out:
    return status;
}

static vly_status collect(vly_net *net, uint64_t end, vly_pending *taken,
                          vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t s = 0; s < net->connectome->n_stimuli; s++)
        if (net->connectome->stimuli[s].kind == VLY_STIMULUS_SPIKES)
            VLY_TRY(add_spikes(net, s, net->burst, end, taken, error));
    vly_pending_sort(&net->pending);
    for (uint64_t i = vly_pending_find(&net->pending, net->burst);
         i < net->pending.n && net->pending.entries[i].burst < end; i++)
        VLY_TRY(vly_pending_add(taken, &net->pending.entries[i], error));
    vly_pending_sort(taken);
out:
    return status;
}

static vly_status reserve(vly_engine_buffers *buffers, uint64_t n,
                          vly_error *error)
{
    if (n <= buffers->inputs_capacity)
        return VLY_OK;
    vly_input *grown =
        vly_realloc(buffers->inputs, (size_t)n, sizeof *buffers->inputs);
    if (!grown)
        return vly_fail_nomem(error, n * sizeof *grown, "inputs");
    buffers->inputs = grown;
    buffers->inputs_capacity = n;
    return VLY_OK;
}

vly_status vly_net_inputs(vly_net *net, uint64_t n_bursts, uint64_t *n_inputs,
                          vly_error *error)
{
    vly_pending taken = {0};
    vly_status status = VLY_OK;
    VLY_TRY(collect(net, net->burst + n_bursts, &taken, error));
    VLY_TRY(reserve(&net->buffers, taken.n, error));
    for (uint64_t i = 0; i < taken.n; i++) {
        const vly_pending_input *entry = &taken.entries[i];
        int64_t value = entry->value;
        value = value < VLY_INPUT_MAX ? value : VLY_INPUT_MAX;
        value = value > -VLY_INPUT_MAX ? value : -VLY_INPUT_MAX;
        net->buffers.inputs[i] = (vly_input){.burst = entry->burst,
                                             .neuron = entry->neuron,
                                             .value = (int32_t)value,
                                             .port = entry->port};
    }
    *n_inputs = taken.n;
out:
    vly_pending_deinit(&taken);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0
 * Input of the host: injection, and collecting the input of a chunk of bursts
 * from it and from the spike lists. Sums are int64, clamped once at the end, so
 * that the order of the calls cannot matter.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "engine/engine.h"
#include "engine/net_modulate.h"

/* Limit of one injection, in units of the accumulator: 2^22 of them can be
 * summed in int64 without overflow, and the sum is clamped far below. */
#define ONE_MAX 1099511627776.0

/* Whether an area is a generator: in a connectome, its stimulus is called
 * "generator/NAME" (genome_generator.c). */
static bool is_generator(const vly_connectome *connectome, uint32_t area)
{
    static const char prefix[] = "generator/";
    const size_t n = sizeof prefix - 1;
    for (uint32_t i = 0; i < connectome->n_stimuli; i++)
        if (connectome->stimuli[i].area == area &&
            strncmp(connectome->stimuli[i].id, prefix, n) == 0 &&
            strcmp(connectome->stimuli[i].id + n,
                   connectome->areas[area].name) == 0)
            return true;
    return false;
}

/* Checks all arguments before anything is injected. */
static vly_status check_place(const vly_net *net, uint64_t burst, uint32_t area,
                              uint32_t port, vly_error *error)
{
    const vly_area_desc *desc = &net->connectome->desc.areas[area];
    if (burst < net->burst)
        return vly_fail(
            error, VLY_E_INVALID, "burst %llu is done, wanted %llu or later",
            (unsigned long long)burst, (unsigned long long)net->burst);
    if (port >= desc->n_ports)
        return vly_fail(error, VLY_E_INVALID,
                        "port %u of area %s, which has %u", port, desc->name,
                        desc->n_ports);
    if (is_generator(net->connectome, area))
        return vly_fail(error, VLY_E_INVALID,
                        "area %s is a generator, which nothing reaches: wanted "
                        "an area of neurons",
                        desc->name);
    return VLY_OK;
}

/* Values that a port accepts: finite, and of one sign for conductances. */
typedef struct value_range {
    double lo;
    double hi;
} value_range;

static value_range range_of(const vly_model_info *model, uint32_t port)
{
    return (value_range){vly_port_takes(model, port, -1.0) ? -DBL_MAX : 0.0,
                         vly_port_takes(model, port, 1.0) ? DBL_MAX : 0.0};
}

static vly_status check_one(const vly_area_desc *desc, uint32_t index,
                            double value, value_range range, vly_error *error)
{
    if (index >= desc->n_neurons)
        return vly_fail(error, VLY_E_INVALID,
                        "neuron %u of area %s, which has %u", index, desc->name,
                        desc->n_neurons);
    if (!isfinite(value))
        return vly_fail(error, VLY_E_INVALID,
                        "value is %g, wanted a finite number", value);
    if (!(value >= range.lo && value <= range.hi))
        return vly_fail(error, VLY_E_INVALID,
                        "value is %g nS, wanted 0 or %s: area %s has a port "
                        "for each sign",
                        value, range.lo < 0.0 ? "less" : "more", desc->name);
    return VLY_OK;
}

/* Most inputs are valid: all are checked without branches, and the first
 * invalid one is searched only if there is one. */
static vly_status check_all(const vly_area_desc *desc, const uint32_t *indices,
                            const double *values, uint32_t n, value_range range,
                            vly_error *error)
{
    uint32_t bad = 0;
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < n; i++)
        bad |= (uint32_t)(indices[i] >= desc->n_neurons) |
               (uint32_t) !(values[i] >= range.lo) |
               (uint32_t) !(values[i] <= range.hi);
    for (uint32_t i = 0; bad != 0 && i < n; i++)
        VLY_TRY(check_one(desc, indices[i], values[i], range, error));
out:
    return status;
}

/* floor(value / scale + 0.5), cut at ONE_MAX, which leaves int64 room. */
static int64_t to_units(double value, double scale)
{
    double units = value / scale + 0.5;
    units = units > -ONE_MAX ? units : -ONE_MAX;
    units = units < ONE_MAX ? units : ONE_MAX;
    int64_t whole = (int64_t)units; /* toward 0 */
    return whole - ((double)whole > units);
}

/* Room is reserved. The order is checked by the indices: reading the last
 * written entry again took 20 of 33 ns an entry. */
static void append_all(vly_pending *pending, uint64_t burst,
                       const vly_area_desc *desc, uint32_t port,
                       const uint32_t *indices, const double *values,
                       uint32_t n)
{
    vly_pending_input *to = pending->entries + pending->n;
    double scale = (double)desc->scale[port];
    uint32_t unsorted = 0;
    for (uint32_t i = 0; i < n; i++) {
        to[i] = (vly_pending_input){.burst = burst,
                                    .value = to_units(values[i], scale),
                                    .neuron = desc->first + indices[i],
                                    .port = port};
        unsorted |= (uint32_t)(i > 0 && indices[i] <= indices[i - 1]);
    }
    vly_pending_input first = to[0];
    vly_pending_append(pending, &first);
    pending->n += n - 1;
    pending->sorted = pending->sorted && unsorted == 0;
}

vly_status vly_net_inject_many(vly_net *net, uint64_t burst, const char *area,
                               uint32_t port, const uint32_t *indices,
                               const double *values, uint32_t n,
                               vly_error *error)
{
    uint32_t a = 0;
    vly_status status = VLY_OK;
    VLY_TRY(vly_net_alive(net, error));
    VLY_TRY(vly_net_area(net, area, &a, error));
    VLY_TRY(check_place(net, burst, a, port, error));
    const vly_area_desc *desc = &net->connectome->desc.areas[a];
    VLY_TRY(check_all(desc, indices, values, n,
                      range_of(net->connectome->areas[a].model, port), error));
    VLY_TRY(vly_pending_reserve(&net->pending, n, error));
    VLY_TRY(vly_failover_reserve(net, n, error));
    if (n > 0)
        append_all(&net->pending, burst, desc, port, indices, values, n);
    for (uint32_t i = 0; net->failover && i < n; i++)
        vly_failover_append(net->failover,
                            &net->pending.entries[net->pending.n - n + i]);
out:
    return status;
}

vly_status vly_net_inject(vly_net *net, uint64_t burst, const char *area,
                          uint32_t index, uint32_t port, double value,
                          vly_error *error)
{
    return vly_net_inject_many(net, burst, area, port, &index, &value, 1,
                               error);
}

/* ---- input of a chunk -------------------------------------------------- */

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

/* Spikes of one list in [burst, end), with the current weight. */
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

/* Injection and spike lists of bursts up to `end`, sorted. */
static vly_status collect(vly_net *net, uint64_t end, vly_pending *taken,
                          vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint64_t i = vly_pending_find(&net->pending, net->burst);
         i < net->pending.n && net->pending.entries[i].burst < end; i++)
        VLY_TRY(vly_pending_add(taken, &net->pending.entries[i], error));
    for (uint32_t s = 0; s < net->connectome->n_stimuli; s++)
        if (net->connectome->stimuli[s].kind == VLY_STIMULUS_SPIKES)
            VLY_TRY(add_spikes(net, s, net->burst, end, taken, error));
    vly_pending_sort(taken);
out:
    return status;
}

static bool has_lists(const vly_net *net)
{
    for (uint32_t s = 0; s < net->connectome->n_stimuli; s++)
        if (net->connectome->stimuli[s].kind == VLY_STIMULUS_SPIKES)
            return true;
    return false;
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

static void clamp_inputs(const vly_pending_input *entries, uint64_t n,
                         vly_input *inputs)
{
    for (uint64_t i = 0; i < n; i++) {
        int64_t value = entries[i].value;
        value = value < VLY_INPUT_MAX ? value : VLY_INPUT_MAX;
        value = value > -VLY_INPUT_MAX ? value : -VLY_INPUT_MAX;
        inputs[i] = (vly_input){.burst = entries[i].burst,
                                .neuron = entries[i].neuron,
                                .value = (int32_t)value,
                                .port = entries[i].port};
    }
}

/* Nearly all nets have no modulator: then the inputs are not read again. */
static vly_status modulations_apart(vly_net *net, uint64_t *n_inputs,
                                    vly_error *error)
{
    const vly_connectome *connectome = net->connectome;
    vly_engine_buffers *buffers = &net->buffers;
    bool modulated = false;
    vly_status status = VLY_OK;
    buffers->n_modulations = 0;
    if (*n_inputs == 0)
        return VLY_OK;
    for (uint32_t p = 0; p < connectome->desc.n_projections; p++)
        modulated = modulated || vly_projection_modulated(connectome, p);
    if (!modulated)
        return VLY_OK;
    VLY_TRY(reserve(buffers, 2 * *n_inputs, error));
    buffers->modulations = buffers->inputs + *n_inputs;
    buffers->n_modulations =
        vly_modulations_apart(connectome->desc.n_neurons, buffers->inputs,
                              *n_inputs, buffers->modulations);
    *n_inputs -= buffers->n_modulations;
out:
    return status;
}

vly_status vly_net_inputs(vly_net *net, uint64_t n_bursts, uint64_t *n_inputs,
                          vly_error *error)
{
    uint64_t end = net->burst + n_bursts;
    vly_pending taken = {0};
    vly_status status = VLY_OK;
    vly_pending_sort(&net->pending);
    if (has_lists(net)) {
        VLY_TRY(collect(net, end, &taken, error));
        VLY_TRY(reserve(&net->buffers, taken.n, error));
        clamp_inputs(taken.entries, taken.n, net->buffers.inputs);
        *n_inputs = taken.n;
    } else {
        uint64_t from = vly_pending_find(&net->pending, net->burst);
        uint64_t n = vly_pending_find(&net->pending, end) - from;
        VLY_TRY(reserve(&net->buffers, n, error));
        if (n != 0)
            clamp_inputs(net->pending.entries + from, n, net->buffers.inputs);
        *n_inputs = n;
    }
    VLY_TRY(modulations_apart(net, n_inputs, error));
out:
    vly_pending_deinit(&taken);
    return status;
}

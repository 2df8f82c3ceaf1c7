/* SPDX-License-Identifier: Apache-2.0
 * Values that the host adds to the modulator of a plasticity rule (reward).
 * Until its burst a value waits with the injected input, so that snapshots,
 * fail-over and checkpoints keep it; its "neuron" is the number of neurons plus
 * the projection.
 */
#include "engine/net_modulate.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "genome/foreign_names.h"

#define VALUE_UNIT 65536.0
/* 1/s. The sum of a burst is clamped to VLY_INPUT_MAX units, as all input is.
 */
#define VALUE_MOST 16383.0

bool vly_projection_modulated(const vly_connectome *connectome, uint32_t p)
{
    const vly_connectome_learning *given = connectome->projections[p].learning;
    return given && given->info->modulated;
}

static vly_status check_value(double value, vly_error *error)
{
    if (!(value >= -VALUE_MOST && value <= VALUE_MOST))
        return vly_fail(error, VLY_E_INVALID,
                        "value for a modulator is %g 1/s, wanted -%g to %g",
                        value, VALUE_MOST, VALUE_MOST);
    if (value != 0.0 && fabs(value) * VALUE_UNIT < 0.5)
        return vly_fail(error, VLY_E_INVALID,
                        "value for a modulator is %g 1/s, which is rounded to "
                        "0: wanted 0 or at least 7.7e-6",
                        value);
    return VLY_OK;
}

/* The number of projections with a modulator that learn by [plasticity.NAME].
 */
static vly_status count_named(const vly_connectome *connectome,
                              const char *name, uint32_t *n, vly_error *error)
{
    vly_suggest near = {0};
    char text[160];
    *n = 0;
    for (uint32_t p = 0; p < connectome->desc.n_projections; p++) {
        const vly_connectome_learning *given =
            connectome->projections[p].learning;
        if (!given)
            continue;
        bool same = strcmp(given->name, name) == 0;
        if (same && !given->info->modulated)
            return vly_fail(error, VLY_E_INVALID,
                            "plasticity.%s has no modulator: its rule is %s",
                            name, given->info->id);
        if (given->info->modulated)
            vly_foreign_offer(&near, name, given->name);
        *n += same;
    }
    if (*n != 0)
        return VLY_OK;
    return vly_fail(error, VLY_E_INVALID,
                    "no synapse learns by a [plasticity.%s]%s", name,
                    vly_suggest_text(&near, text, sizeof text));
}

vly_status vly_net_modulate_now(vly_net *net, uint64_t burst,
                                const char *plasticity, double value, bool log,
                                vly_error *error)
{
    uint32_t n = 0;
    vly_status status = VLY_OK;
    VLY_TRY(vly_net_alive(net, error));
    if (!plasticity)
        return vly_fail(error, VLY_E_INVALID,
                        "plasticity is NULL, wanted the name of a "
                        "[plasticity.NAME]");
    if (burst < net->burst)
        return vly_fail(
            error, VLY_E_INVALID, "burst %llu is done, wanted %llu or later",
            (unsigned long long)burst, (unsigned long long)net->burst);
    VLY_TRY(check_value(value, error));
    VLY_TRY(count_named(net->connectome, plasticity, &n, error));
    VLY_TRY(vly_pending_reserve(&net->pending, n, error));
    if (log)
        VLY_TRY(vly_failover_reserve(net, n, error));
    for (uint32_t p = 0; p < net->connectome->desc.n_projections; p++) {
        const vly_connectome_learning *given =
            net->connectome->projections[p].learning;
        if (!given || strcmp(given->name, plasticity) != 0)
            continue;
        vly_pending_input entry = {
            .burst = burst,
            .value = (int64_t)vly_floor(value * VALUE_UNIT + 0.5),
            .neuron = net->connectome->desc.n_neurons + p};
        vly_pending_append(&net->pending, &entry);
        if (log)
            vly_failover_append(net->failover, &entry);
    }
out:
    return status;
}

vly_status vly_net_modulate(vly_net *net, uint64_t burst,
                            const char *plasticity, double value,
                            vly_error *error)
{
    return vly_net_modulate_now(net, burst, plasticity, value, true, error);
}

uint64_t vly_modulations_apart(uint32_t n_neurons, vly_input *inputs,
                               uint64_t n, vly_input *modulations)
{
    uint64_t kept = 0;
    uint64_t n_apart = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (inputs[i].neuron < n_neurons) {
            inputs[kept++] = inputs[i];
            continue;
        }
        modulations[n_apart] = inputs[i];
        modulations[n_apart++].neuron -= n_neurons;
    }
    return n_apart;
}

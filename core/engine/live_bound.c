/* SPDX-License-Identifier: Apache-2.0
 * The bound of 2^30 a neuron and port, checked again when a running net is
 * changed: gains of FEAGI areas change the load of their targets, stimuli the
 * input that is added to it. Injected input is not counted here: it is clamped
 * below 2^30, and both together fit int32.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "connectome/connectome_make.h"
#include "engine/engine.h"
#include "engine/live.h"

static const uint32_t *load_now(const vly_live *change, const vly_live *now,
                                const vly_connectome *connectome, uint32_t area,
                                uint32_t port)
{
    uint32_t i = VLY_PORTS_MAX * area + port;
    if (change->load && change->load[i])
        return change->load[i];
    if (now->load && now->load[i])
        return now->load[i];
    return connectome->areas[area].load[port];
}

bool vly_live_loads(const vly_live *change, uint32_t area)
{
    for (uint32_t p = 0; p < VLY_PORTS_MAX; p++)
        if (change->load[VLY_PORTS_MAX * area + p])
            return true;
    return false;
}

/* ---- gains ------------------------------------------------------------- */

/* The three coefficients that make the gain of a FEAGI spike. */
typedef struct gain_columns {
    const vly_column *psp;
    const vly_column *mp_driven;
    const vly_column *uniform_psp;
} gain_columns;

static gain_columns gains_of(const vly_model_info *model,
                             const vly_column *columns)
{
    return (gain_columns){
        .psp = &columns[vly_model_with(model, VLY_ROLE_GAIN)],
        .mp_driven = &columns[vly_model_with(model, VLY_ROLE_GAIN_DRIVEN)],
        .uniform_psp = &columns[vly_model_with(model, VLY_ROLE_GAIN_UNIFORM)],
    };
}

static uint32_t word_at(const vly_column *column, uint32_t i)
{
    return column->words[column->uniform ? 0 : i];
}

/* The largest gain of neuron i: a membrane-driven spike reaches 255. */
static int64_t gain_max(const gain_columns *gains, uint32_t i, uint32_t q,
                        uint32_t out_degree)
{
    int64_t psp =
        word_at(gains->mp_driven, i) != 0 ? 255 : word_at(gains->psp, i);
    int64_t gain = psp * (INT64_C(1) << q);
    if (word_at(gains->uniform_psp, i) == 0 && out_degree > 1)
        gain = (gain + out_degree - 1) / out_degree;
    return gain;
}

static bool gains_change(const gain_columns *a, const gain_columns *b,
                         uint32_t n, uint32_t q)
{
    for (uint32_t i = 0; i < n; i++)
        if (gain_max(a, i, q, 1) != gain_max(b, i, q, 1) ||
            word_at(a->uniform_psp, i) != word_at(b->uniform_psp, i))
            return true;
    return false;
}

static void add_projection(const vly_connectome *connectome,
                           const vly_projection_desc *projection,
                           const gain_columns *old, const gain_columns *new,
                           int64_t *const sums[2])
{
    const vly_net_desc *desc = &connectome->desc;
    const vly_area_desc *source = &desc->areas[projection->source_area];
    uint32_t base = desc->areas[projection->target_area].first;
    for (uint32_t k = 0; k < source->n_neurons; k++) {
        uint32_t out_degree = desc->out_degree[source->first + k];
        int64_t step = gain_max(new, k, desc->feagi_q, out_degree) -
                       gain_max(old, k, desc->feagi_q, out_degree);
        for (uint64_t i = projection->row[k]; i < projection->row[k + 1]; i++) {
            /* of FEAGI targets only: no shift, one port */
            int64_t weight = vly_weight_at(projection, i);
            if (projection->learning) /* it may reach its bound */
                weight = (projection->learning->most + 0x8000) >> 16;
            sums[projection->port][projection->target[i] - base] +=
                (weight < 0 ? -weight : weight) * step;
        }
    }
}

/* sums into a new load, if all of them keep the bound */
static vly_status keep_load(vly_live *change, const vly_connectome *connectome,
                            uint32_t target, uint32_t port, const int64_t *sums,
                            vly_error *error)
{
    const vly_connectome_area *area = &connectome->areas[target];
    uint32_t *load = vly_malloc(area->n_neurons, sizeof *load);
    if (!load)
        return vly_fail_nomem(error, area->n_neurons * sizeof *load,
                              "the load of an area");
    for (uint32_t i = 0; i < area->n_neurons; i++) {
        if (sums[i] < 0 || (uint64_t)sums[i] > VLY_LOAD_MAX) {
            vly_free(load);
            return vly_fail(error, VLY_E_INVALID,
                            "neuron %u of area %s could get %lld units of "
                            "2^-%u in one burst, wanted at most 2^30: a "
                            "smaller postsynaptic potential",
                            i, area->name, (long long)sums[i],
                            connectome->desc.feagi_q);
        }
        load[i] = (uint32_t)sums[i];
    }
    vly_free(change->load[VLY_PORTS_MAX * target + port]);
    change->load[VLY_PORTS_MAX * target + port] = load;
    return VLY_OK;
}

static vly_status load_target(vly_live *change, const vly_live *now,
                              const vly_connectome *connectome, uint32_t source,
                              uint32_t target, const gain_columns *old,
                              const gain_columns *new, vly_error *error)
{
    const vly_net_desc *desc = &connectome->desc;
    uint32_t n = desc->areas[target].n_neurons;
    uint32_t n_ports = desc->areas[target].n_ports;
    vly_status status = VLY_OK;
    bool any = false;
    int64_t *sums[VLY_PORTS_MAX] = {NULL};
    for (uint32_t p = 0; p < n_ports; p++) {
        const uint32_t *load = load_now(change, now, connectome, target, p);
        sums[p] = vly_malloc(n, sizeof **sums);
        if (!sums[p]) {
            status = vly_fail_nomem(error, n * sizeof **sums, "loads");
            goto out;
        }
        for (uint32_t i = 0; i < n; i++)
            sums[p][i] = load ? load[i] : 0;
    }
    for (uint32_t p = 0; p < desc->n_projections; p++) {
        const vly_projection_desc *projection = &desc->projections[p];
        if (projection->source_area != source ||
            projection->target_area != target ||
            (projection->flags & VLY_PROJECTION_GAIN) == 0)
            continue;
        add_projection(connectome, projection, old, new, sums);
        any = true;
    }
    for (uint32_t p = 0; any && p < n_ports; p++)
        VLY_TRY(keep_load(change, connectome, target, p, sums[p], error));
out:
    for (uint32_t p = 0; p < VLY_PORTS_MAX; p++)
        vly_free(sums[p]);
    return status;
}

vly_status vly_live_make_load(vly_live *change, const vly_live *now,
                              const vly_connectome *connectome, uint32_t area,
                              vly_error *error)
{
    vly_status status = VLY_OK;
    const vly_net_desc *desc = &connectome->desc;
    const vly_model_info *model = connectome->areas[area].model;
    if ((model->flags & VLY_AREA_FEAGI) == 0)
        return VLY_OK;
    gain_columns old = gains_of(model, vly_live_columns(now, connectome, area));
    gain_columns new = gains_of(model, change->columns[area]);
    if (!gains_change(&old, &new, desc->areas[area].n_neurons, desc->feagi_q))
        return VLY_OK;
    for (uint32_t t = 0; t < desc->n_areas; t++) {
        if ((desc->areas[t].flags & VLY_AREA_FEAGI) == 0)
            continue;
        VLY_TRY(
            load_target(change, now, connectome, area, t, &old, &new, error));
    }
out:
    return status;
}

/* ---- stimuli ----------------------------------------------------------- */

/* sums: [2 * neurons] scratch */
static vly_status check_port(const vly_live *change, const vly_live *now,
                             const vly_connectome *connectome, uint32_t area,
                             uint32_t port, uint64_t *sums, vly_error *error)
{
    const double dt_ms = connectome->desc.dt_ms;
    vly_status status = VLY_OK;
    const vly_connectome_area *target = &connectome->areas[area];
    const uint32_t *load = load_now(change, now, connectome, area, port);
    const vly_overlay *overlay = change->overlay;
    vly_reach reach = {sums, sums + target->n_neurons, target->n_neurons,
                       target->first, NULL};
    for (uint32_t i = 0; i < target->n_neurons; i++) {
        sums[i] = load ? load[i] : 0;
        reach.listed[i] = 0;
    }
    for (uint32_t s = 0; s < connectome->n_stimuli; s++) {
        vly_connectome_stimulus stimulus =
            vly_overlay_stimulus_now(overlay, connectome, s);
        if (stimulus.area != area || stimulus.port != port)
            continue;
        VLY_TRY(
            vly_reach_add(&reach, &stimulus, dt_ms, target->q[port], error));
    }
    VLY_TRY(vly_reach_add(&reach, NULL, dt_ms, target->q[port], error));
    for (uint32_t i = 0; i < target->n_neurons; i++)
        if (sums[i] > VLY_LOAD_MAX)
            return vly_fail(error, VLY_E_INVALID,
                            "neuron %u of area %s could get %llu units of "
                            "2^%d in one burst, wanted at most 2^30",
                            i, target->name, (unsigned long long)sums[i],
                            (int)-target->q[port]);
out:
    return status;
}

vly_status vly_live_check(const vly_live *change, const vly_live *now,
                          const vly_connectome *connectome, uint32_t area,
                          vly_error *error)
{
    uint32_t n = connectome->areas[area].n_neurons;
    uint64_t *sums = vly_malloc(n, 2 * sizeof *sums);
    if (!sums)
        return vly_fail_nomem(error, 2 * n * sizeof *sums,
                              "the check of inputs");
    vly_status status = VLY_OK;
    for (uint32_t p = 0; p < connectome->desc.areas[area].n_ports; p++)
        VLY_TRY(check_port(change, now, connectome, area, p, sums, error));
out:
    vly_free(sums);
    return status;
}

vly_status vly_live_spike_value(const vly_connectome *connectome,
                                const vly_connectome_stimulus *stimulus,
                                int32_t *value, vly_error *error)
{
    const vly_connectome_area *area = &connectome->areas[stimulus->area];
    uint32_t port = stimulus->port;
    double whole = vly_weight_scaled(stimulus->weight, area->q[port]);
    if (!(whole >= -(double)VLY_INPUT_MAX && whole <= (double)VLY_INPUT_MAX))
        return vly_fail(error, VLY_E_INVALID,
                        "stimulus.%s.weight is %g: %g units of 2^%d, wanted "
                        "less than 2^30",
                        stimulus->id, stimulus->weight, whole,
                        (int)-area->q[port]);
    if (whole == 0.0 && stimulus->weight != 0.0)
        return vly_fail(error, VLY_E_INVALID,
                        "stimulus.%s.weight is %g, which becomes 0 in units "
                        "of 2^%d",
                        stimulus->id, stimulus->weight, (int)-area->q[port]);
    *value = (int32_t)whole;
    return VLY_OK;
}

/* SPDX-License-Identifier: Apache-2.0
 * Checks of a state that was read from a file: first for consistency, then
 * against the connectome that will be resumed. Checksums show that a file is as
 * it was written; these checks show that every index is in range.
 */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "connectome/connectome_digest.h"
#include "connectome/learning_layout.h"
#include "engine/engine.h"
#include "engine/net_modulate.h"
#include "kernels/rules/eligibility.h"

static vly_status wrong(vly_error *error, const char *what, uint64_t found,
                        uint64_t wanted)
{
    return vly_fail(error, VLY_E_PARSE, "%s %" PRIu64 ", wanted %" PRIu64, what,
                    found, wanted);
}

/* ---- consistency ------------------------------------------------------- */

static vly_status check_areas(const vly_state *state, vly_error *error)
{
    uint64_t neurons = 0;
    uint64_t words = 0;
    uint64_t params = 0;
    for (uint32_t a = 0; a < state->n_areas; a++) {
        const vly_state_area *area = &state->areas[a];
        if (area->first != neurons)
            return wrong(error, "an area that begins at neuron", area->first,
                         neurons);
        neurons += area->n_neurons;
        params += area->n_params;
        if (area->n_neurons != 0 &&
            area->n_fields > (UINT64_MAX - words) / area->n_neurons)
            return wrong(error, "fields of an area", area->n_fields, 0);
        words += (uint64_t)area->n_fields * area->n_neurons;
    }
    if (neurons != state->n_neurons)
        return wrong(error, "neurons of all areas", neurons, state->n_neurons);
    if (words != state->snapshot.n_state_words)
        return wrong(error, "words of state", state->snapshot.n_state_words,
                     words);
    if (params != state->overlay->n_params)
        return wrong(error, "parameters", state->overlay->n_params, params);
    return VLY_OK;
}

static vly_status check_set(const vly_state *state, uint32_t set,
                            vly_error *error)
{
    const uint64_t *row = state->snapshot.fired_row;
    const uint32_t *ids = state->snapshot.fired;
    if (row[set + 1] < row[set] || row[set + 1] > state->snapshot.n_fired)
        return wrong(error, "a row of fired neurons that ends at", row[set + 1],
                     state->snapshot.n_fired);
    for (uint64_t i = row[set]; i < row[set + 1]; i++) {
        if (ids[i] >= state->n_neurons)
            return vly_fail(error, VLY_E_PARSE,
                            "fired neuron %" PRIu32 " of %" PRIu32, ids[i],
                            state->n_neurons);
        if (i != row[set] && ids[i] <= ids[i - 1])
            return vly_fail(error, VLY_E_PARSE,
                            "fired neuron %" PRIu32 " after %" PRIu32, ids[i],
                            ids[i - 1]);
    }
    return VLY_OK;
}

static vly_status check_fired(const vly_state *state, vly_error *error)
{
    vly_status status = VLY_OK;
    const vly_snapshot *snapshot = &state->snapshot;
    const uint64_t *row = snapshot->fired_row;
    uint32_t n = snapshot->n_fired_bursts;
    if (n > snapshot->burst)
        return wrong(error, "bursts of fired neurons", n, snapshot->burst);
    if (row[0] != 0)
        return wrong(error, "a first row at", row[0], 0);
    if (row[n] != snapshot->n_fired)
        return wrong(error, "fired neurons", row[n], snapshot->n_fired);
    for (uint32_t j = 0; j < n; j++) {
        VLY_TRY(check_set(state, j, error));
    }
out:
    return status;
}

static vly_status check_changed(const vly_state *state, vly_error *error)
{
    const vly_overlay *overlay = state->overlay;
    if (overlay->n_areas != state->n_areas)
        return wrong(error, "areas with parameters", overlay->n_areas,
                     state->n_areas);
    for (uint32_t a = 0; a < state->n_areas; a++) {
        const vly_state_area *area = &state->areas[a];
        uint32_t first = overlay->first[a];
        if (overlay->first[a + 1] - first != area->n_params)
            return wrong(error, "parameters of an area",
                         overlay->first[a + 1] - first, area->n_params);
        for (uint32_t p = first; p < overlay->first[a + 1]; p++) {
            uint32_t n = overlay->n_value[p];
            bool given = overlay->values[p] != NULL;
            if (given ? n != 1 && n != area->n_neurons : n != 0)
                return wrong(error, "values of a parameter", n,
                             area->n_neurons);
        }
    }
    return VLY_OK;
}

static vly_status check_pending(const vly_state *state, vly_error *error)
{
    for (uint64_t i = 0; i < state->pending.n; i++) {
        const vly_pending_input *entry = &state->pending.entries[i];
        /* numbers after those of the neurons: modulators of projections */
        bool modulates = entry->neuron >= state->n_neurons &&
                         state->snapshot.n_weight_bytes != 0;
        if (entry->port >= VLY_PORTS_MAX || (modulates && entry->port != 0) ||
            (!modulates && entry->neuron >= state->n_neurons))
            return vly_fail(error, VLY_E_PARSE,
                            "input for neuron %" PRIu32 " of %" PRIu32
                            ", port %" PRIu32,
                            entry->neuron, state->n_neurons, entry->port);
        if (entry->burst < state->snapshot.burst)
            return wrong(error, "input for burst", entry->burst,
                         state->snapshot.burst);
    }
    return VLY_OK;
}

vly_status vly_state_shape_check(const vly_state *state, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(check_areas(state, error));
    VLY_TRY(check_fired(state, error));
    VLY_TRY(check_changed(state, error));
    VLY_TRY(check_pending(state, error));
out:
    return status;
}

/* ---- against a connectome ---------------------------------------------- */

/* By the connectome's digest; a file of version 1 has only its hash. */
static vly_status check_hashes(const vly_state *state,
                               const vly_connectome *connectome,
                               vly_error *error)
{
    bool known = (state->connectome_digest.lane[0] |
                  state->connectome_digest.lane[1]) != 0;
    const vly_hash hashes[] = {
        state->genome_hash,
        known ? state->connectome_digest : state->connectome_hash,
        connectome->genome_hash,
        known ? vly_connectome_digest(connectome, 0) : connectome->hash};
    char text[4][33];
    if (memcmp(&hashes[0], &hashes[2], 2 * sizeof hashes[0]) == 0)
        return VLY_OK;
    for (int i = 0; i < 4; i++)
        vly_hash_print(hashes[i], text[i]);
    return vly_fail(error, VLY_E_INVALID,
                    "the state is of another genome: %s (connectome %s), the "
                    "net's is %s (connectome %s)",
                    text[0], text[1], text[2], text[3]);
}

static vly_status misfit(vly_error *error, const char *what, uint64_t found,
                         uint64_t wanted)
{
    return vly_fail(error, VLY_E_INVALID,
                    "the state has %s %" PRIu64 ", wanted %" PRIu64, what,
                    found, wanted);
}

static vly_status fits_shape(const vly_state *state,
                             const vly_connectome *connectome, vly_error *error)
{
    const vly_net_desc *desc = &connectome->desc;
    uint64_t burst = state->snapshot.burst;
    uint64_t sets = burst < desc->max_delay ? burst : desc->max_delay;
    if (state->n_areas != desc->n_areas)
        return misfit(error, "areas", state->n_areas, desc->n_areas);
    for (uint32_t a = 0; a < desc->n_areas; a++) {
        const vly_area_desc *area = &desc->areas[a];
        const vly_state_area *found = &state->areas[a];
        if (found->n_neurons != area->n_neurons)
            return misfit(error, "neurons of an area", found->n_neurons,
                          area->n_neurons);
        if (found->n_fields != area->n_fields)
            return misfit(error, "fields of an area", found->n_fields,
                          area->n_fields);
        if (found->n_params != connectome->areas[a].model->n_params)
            return misfit(error, "parameters of an area", found->n_params,
                          connectome->areas[a].model->n_params);
    }
    if (state->overlay->n_stimuli != connectome->n_stimuli)
        return misfit(error, "stimuli", state->overlay->n_stimuli,
                      connectome->n_stimuli);
    if (state->overlay->n_learned != vly_learned_values_all(connectome))
        return misfit(error, "parameters of plasticity rules",
                      state->overlay->n_learned,
                      vly_learned_values_all(connectome));
    if (state->snapshot.n_fired_bursts != sets)
        return misfit(error, "bursts of fired neurons",
                      state->snapshot.n_fired_bursts, sets);
    if (state->snapshot.n_weight_bytes != 4 * vly_learning_words_all(desc))
        return misfit(error, "bytes of weights", state->snapshot.n_weight_bytes,
                      4 * vly_learning_words_all(desc));
    return VLY_OK;
}

/* A neuron's area; ids ascend, so the search continues from the last one. */
static const vly_area_desc *area_from(const vly_net_desc *desc, uint32_t *area,
                                      uint32_t id)
{
    while (id - desc->areas[*area].first >= desc->areas[*area].n_neurons)
        *area = *area + 1 < desc->n_areas ? *area + 1 : 0;
    return &desc->areas[*area];
}

/* A psp is at most 255; sources of other models have gain 1 << Q. */
static vly_status fits_gains(const vly_state *state,
                             const vly_connectome *connectome, vly_error *error)
{
    const vly_net_desc *desc = &connectome->desc;
    const vly_snapshot *snapshot = &state->snapshot;
    uint32_t one = UINT32_C(1) << desc->feagi_q;
    uint32_t area = 0;
    for (uint64_t i = 0; i < snapshot->n_fired; i++) {
        const vly_area_desc *source =
            area_from(desc, &area, snapshot->fired[i]);
        bool feagi = (source->flags & VLY_AREA_FEAGI) != 0;
        uint32_t gain = snapshot->fired_gain[i];
        if (feagi ? gain > 255 * one : gain != one)
            return misfit(error, "a spike of gain", gain, one);
    }
    return VLY_OK;
}

static vly_status fits_params(const vly_state *state,
                              const vly_connectome *connectome,
                              vly_error *error)
{
    const vly_overlay *overlay = state->overlay;
    for (uint32_t a = 0; a < connectome->desc.n_areas; a++) {
        const vly_connectome_area *area = &connectome->areas[a];
        for (uint32_t i = 0; i < area->model->n_params; i++) {
            uint32_t p = overlay->first[a] + i;
            const vly_param_info *param = &area->model->params[i];
            for (uint32_t k = 0; k < overlay->n_value[p]; k++) {
                double value = overlay->values[p][k];
                if (!(value >= param->lo && value <= param->hi))
                    return vly_fail(error, VLY_E_INVALID,
                                    "the state has area.%s.%s %g, wanted %g "
                                    "to %g",
                                    area->name, param->name, value, param->lo,
                                    param->hi);
            }
        }
    }
    return VLY_OK;
}

/* A trace is 0 and never had a spike, or it is the value at its last spike, at
 * least 1, and its age is below that at which it counts as 0; 2^25 is above any
 * sum of decaying spikes. */
static bool trace_fits(const uint32_t *value, const uint32_t *age, uint32_t n,
                       uint32_t bursts)
{
    uint32_t least = vly_float_bits(1.0f); /* bits of floats from 0 ascend */
    uint32_t most = vly_float_bits(0x1p25f);
    for (uint32_t i = 0; i < n; i++) {
        bool never = value[i] == 0 && age[i] == VLY_NEVER;
        if (!never && (value[i] < least || value[i] > most || age[i] == 0 ||
                       age[i] >= bursts))
            return false;
    }
    return true;
}

/* Of a rule of windows: the same of a number of bursts up to the window. */
static bool runs_fit(const uint32_t *value, const uint32_t *age, uint32_t n,
                     uint32_t bursts)
{
    if (!trace_fits(value, age, n, bursts))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        float run = vly_float_from_bits(value[i]);
        if (run > (float)bursts || (float)(uint32_t)run != run)
            return false;
    }
    return true;
}

/* Any eligibility; a modulator that is finite and has not expired. */
static bool modulator_fits(const vly_learning_desc *learning,
                           const vly_learning_layout *layout,
                           const uint32_t *words)
{
    if (layout->e == VLY_NO_TRACE)
        return true;
    for (uint64_t i = 0; i < layout->n_synapses; i++)
        if (words[layout->e + i] + VLY_ELIGIBILITY_MOST >
            2u * VLY_ELIGIBILITY_MOST)
            return false;
    uint32_t value = words[layout->modulator];
    uint32_t age = words[layout->modulator + 1];
    return (value == 0 && age == VLY_NEVER) ||
           ((value & 0x7f800000u) != 0x7f800000u && age != 0 &&
            age < learning->modulator.bursts);
}

/* Shares within their bounds; without a past, or with an age below `bursts`. */
static bool short_term_fits(const vly_short_term_desc *short_term,
                            const vly_learning_layout *layout,
                            const uint32_t *words)
{
    for (uint32_t i = 0; i < layout->n_sources; i++) {
        uint32_t age = words[layout->short_term_age + i];
        float s[3];
        for (uint32_t k = 0; k < 3; k++)
            memcpy(&s[k], &words[layout->short_term[k] + i], sizeof s[k]);
        bool fits = s[0] >= 0.0f && s[0] <= 1.0f && s[1] >= -1.0f &&
                    s[1] <= 1.0f && s[2] >= -1.0f && s[2] <= 1.0f;
        if (!fits || (s[2] < 0.0f) != (age == VLY_NEVER) ||
            (age != VLY_NEVER && (age >= short_term->bursts || s[1] < 0.0f)))
            return false;
    }
    return true;
}

static bool side_fits(const vly_learning_desc *learning, uint32_t n,
                      const uint64_t *values, const uint64_t *ages,
                      const vly_learning_trace *traces, const uint32_t *words)
{
    bool window = learning->flags & VLY_LEARNING_WINDOW;
    for (uint32_t k = 0; k < 2; k++)
        if (values[k] != VLY_NO_TRACE &&
            !(window ? runs_fit : trace_fits)(
                words + values[k], words + ages[k], n, traces[k].bursts))
            return false;
    return true;
}

static bool weights_fit(const vly_learning_desc *learning,
                        const vly_learning_layout *layout,
                        const uint32_t *words)
{
    for (uint64_t i = 0; i < layout->n_synapses; i++)
        if (words[i] > learning->most)
            return false;
    return modulator_fits(learning, layout, words) &&
           side_fits(learning, layout->n_sources, layout->x, layout->x_age,
                     learning->source, words) &&
           side_fits(learning, layout->n_targets, layout->y, layout->y_age,
                     learning->target, words);
}

static vly_status fits_weights(const vly_state *state,
                               const vly_connectome *connectome,
                               vly_error *error)
{
    const vly_net_desc *desc = &connectome->desc;
    const uint32_t *words = state->snapshot.weights;
    if (state->snapshot.n_weight_bytes == 0)
        return VLY_OK;
    for (uint32_t p = 0; p < desc->n_projections; p++) {
        const vly_projection_desc *map = &desc->projections[p];
        vly_learning_layout layout;
        vly_learning_layout_of(desc, p, &layout);
        bool fits = map->short_term
                        ? short_term_fits(map->short_term, &layout, words)
                    : map->learning ? weights_fit(map->learning, &layout, words)
                                    : true;
        if (!fits)
            return vly_fail(error, VLY_E_INVALID,
                            "the state has a weight or a trace of map %s that "
                            "is out of range",
                            map->map);
        words += layout.n_words;
    }
    return VLY_OK;
}

/* What vly_net_set would take: in range, time constants as compiled. */
static const char *learned_fault(const vly_connectome *connectome, uint32_t p,
                                 const double *now)
{
    const vly_connectome_learning *given =
        vly_connectome_rule(&connectome->projections[p]);
    const vly_plasticity_info *info = given->info;
    const vly_plasticity_input input = {.params = now,
                                        .w_max =
                                            vly_plasticity_size(given->w_max),
                                        .unit = 1.0,
                                        .dt_ms = connectome->desc.dt_ms};
    for (uint32_t i = 0; i < info->n_params; i++)
        if (!(now[i] >= info->params[i].lo && now[i] <= info->params[i].hi))
            return info->params[i].name;
    for (uint32_t i = 0; i < info->n_params; i++)
        if (vly_plasticity_fixed(info, i) && now[i] != given->params[i])
            return info->params[i].name;
    if (now[info->n_params] != 0.0 &&
        (now[info->n_params] != 1.0 || info->short_term))
        return "frozen";
    return vly_plasticity_unfit(info, &input);
}

static vly_status fits_learned(const vly_state *state,
                               const vly_connectome *connectome,
                               vly_error *error)
{
    const double *now = state->overlay->learned;
    for (uint32_t p = 0; p < connectome->desc.n_projections; p++) {
        if (!vly_connectome_rule(&connectome->projections[p]))
            continue;
        const char *fault = learned_fault(connectome, p, now);
        if (fault)
            return vly_fail(
                error, VLY_E_INVALID,
                "the state has another or an invalid value for "
                "plasticity.%s: %s",
                vly_connectome_rule(&connectome->projections[p])->name, fault);
        now += vly_learned_values(connectome, p);
    }
    return VLY_OK;
}

/* Changed parameters must be in the ranges that vly_net_set allows. */
static bool in_range(double now, double was, double lo, double hi)
{
    return now == was || (now >= lo && now <= hi);
}

static vly_status fits_stimuli(const vly_state *state,
                               const vly_connectome *connectome,
                               vly_error *error)
{
    for (uint32_t s = 0; s < connectome->n_stimuli; s++) {
        const vly_connectome_stimulus *was = &connectome->stimuli[s];
        const vly_overlay_stimulus *now = &state->overlay->stimuli[s];
        if (!in_range(now->rate_hz, was->rate_hz, 0.0, 1e12) ||
            !in_range(now->weight, was->weight, -1e9, 1e9) ||
            !in_range(now->mean, was->mean, -1e9, 1e9) ||
            !in_range(now->sd, was->sd, 0.0, 1e9))
            return vly_fail(error, VLY_E_INVALID,
                            "the state has a stimulus.%s that is out of range",
                            was->id);
    }
    return VLY_OK;
}

static vly_status fits_pending(const vly_state *state,
                               const vly_connectome *connectome,
                               vly_error *error)
{
    const vly_net_desc *desc = &connectome->desc;
    uint32_t area = 0;
    for (uint64_t i = 0; i < state->pending.n; i++) {
        const vly_pending_input *entry = &state->pending.entries[i];
        if (entry->neuron >= desc->n_neurons) {
            uint32_t p = entry->neuron - desc->n_neurons;
            if (p >= desc->n_projections ||
                !vly_projection_modulated(connectome, p))
                return misfit(error, "input of a neuron", entry->neuron,
                              desc->n_neurons);
            continue;
        }
        const vly_area_desc *target = area_from(desc, &area, entry->neuron);
        if (entry->port >= target->n_ports)
            return misfit(error, "input of a port", entry->port,
                          target->n_ports);
    }
    return VLY_OK;
}

vly_status vly_state_fits(const vly_state *state,
                          const vly_connectome *connectome, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(check_hashes(state, connectome, error));
    VLY_TRY(fits_shape(state, connectome, error));
    VLY_TRY(fits_gains(state, connectome, error));
    VLY_TRY(fits_weights(state, connectome, error));
    VLY_TRY(fits_params(state, connectome, error));
    VLY_TRY(fits_stimuli(state, connectome, error));
    VLY_TRY(fits_learned(state, connectome, error));
    VLY_TRY(fits_pending(state, connectome, error));
    VLY_TRY(vly_memory_words_fit(connectome, &state->memory, error));
out:
    return status;
}

/* SPDX-License-Identifier: Apache-2.0
 * Pairs whose synapses learn: the unit by their bound w_max, which every weight
 * may reach, and the description for backends.
 */
#include "connectome/learning_make.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

#define WEIGHT_MOST 32767.0

static double size_of(double x)
{
    return x < 0.0 ? -x : x;
}

static double w_max_of(const vly_made_pair *made)
{
    return size_of(made->pair->plasticity->w_max);
}

static vly_status check_pair(vly_maker *maker, const vly_made_pair *made)
{
    const vly_pair *pair = made->pair;
    const vly_genome *genome = maker->genome;
    double w_max = pair->plasticity->w_max;
    double lo = w_max < 0.0 ? w_max : 0.0;
    double hi = w_max < 0.0 ? 0.0 : w_max;
    char place[VLY_PLACE_BYTES];
    if (made->n_synapses == 0 || (made->law.lo >= lo && made->law.hi <= hi))
        return VLY_OK;
    vly_place_print(genome, &pair->origin, place);
    return vly_fail(maker->error, VLY_E_PARSE,
                    "%smap %s (%s -> %s): its weights reach from %.9g to %.9g, "
                    "wanted %.9g to %.9g: w_max of [plasticity.%s]",
                    place, pair->map, genome->areas[pair->from].name,
                    genome->areas[pair->to].name, made->law.lo, made->law.hi,
                    lo, hi, pair->plasticity->name);
}

vly_status vly_learning_check(vly_maker *maker)
{
    vly_status status = VLY_OK;
    for (uint32_t p = 0; p < maker->genome->n_pairs; p++)
        if (maker->genome->pairs[p].plasticity)
            VLY_TRY(check_pair(maker, &maker->pairs[p]));
out:
    return status;
}

bool vly_learning_fits(const vly_made_pair *made, int32_t q)
{
    return w_max_of(made) * vly_power_of_two(q) <= WEIGHT_MOST;
}

bool vly_learning_coarse(const vly_made_pair *made, int32_t q)
{
    return 0.5 * vly_power_of_two(-q) > VLY_COARSE_CONSTANT * w_max_of(made);
}

int32_t vly_learning_q(const vly_made_pair *made, int32_t q)
{
    while (!vly_weights_fit(made, q))
        q -= (int32_t)VLY_SHIFT_STEP;
    return q;
}

static uint32_t most_of(const vly_made_pair *made, int32_t q)
{
    const vly_plasticity_input input = {.w_max = w_max_of(made),
                                        .unit = vly_power_of_two(-q)};
    return vly_plasticity_most(&input);
}

int32_t vly_learning_cap(const vly_made_pair *made, int32_t q)
{
    return (int32_t)(most_of(made, q) >> 16);
}

int32_t vly_learning_delivered(const vly_made_pair *made, int32_t q)
{
    return (int32_t)((most_of(made, q) + (UINT32_C(1) << 15)) >> 16);
}

void vly_learning_clamp(vly_made_pair *made, int32_t q)
{
    int32_t cap = vly_learning_cap(made, q);
    if (made->weight_min >= -cap && made->weight_max <= cap)
        return;
    for (uint64_t i = 0; i < made->n_synapses; i++) {
        int32_t weight = made->weight[i];
        weight = weight < -cap ? -cap : weight;
        made->weight[i] = (int16_t)(weight > cap ? cap : weight);
    }
    made->weight_min = made->weight_min < -cap ? -cap : made->weight_min;
    made->weight_max = made->weight_max > cap ? cap : made->weight_max;
}

static uint32_t flags_of(const vly_plasticity *plasticity)
{
    return (plasticity->w_max < 0.0 ? VLY_LEARNING_NEGATIVE : 0) |
           (plasticity->dendritic ? VLY_LEARNING_DENDRITIC : 0) |
           (plasticity->nearest ? VLY_LEARNING_NEAREST : 0) |
           (plasticity->frozen ? VLY_LEARNING_FROZEN : 0) |
           (plasticity->info->window ? VLY_LEARNING_WINDOW : 0);
}

vly_status vly_learning_keeps(const vly_maker *maker, const vly_made_pair *made,
                              const vly_plasticity *plasticity,
                              const vly_plasticity_input *input)
{
    char text[VLY_LOSS_SIZE];
    char place[VLY_PLACE_BYTES];
    const char *lost = vly_plasticity_loses(plasticity->info, input, text);
    if (!lost)
        return VLY_OK;
    vly_place_print(maker->genome,
                    plasticity->info->user ? &plasticity->w_max_origin
                                           : &plasticity->origin,
                    place);
    return vly_fail(maker->error, VLY_E_PARSE,
                    "%smap %s: [plasticity.%s]: wanted %s", place,
                    made->pair->map, plasticity->name, lost);
}

vly_status vly_learning_view(const vly_maker *maker, const vly_made_pair *made,
                             double unit, const vly_learning_desc **learning)
{
    const vly_plasticity *plasticity = made->pair->plasticity;
    const vly_plasticity_info *info = plasticity->info;
    const vly_plasticity_input input = {.params = plasticity->params,
                                        .w_max = w_max_of(made),
                                        .unit = unit,
                                        .dt_ms = maker->genome->dt_ms};
    vly_learning_desc *desc =
        vly_storage_alloc(maker->storage, 1, sizeof(*desc), true);
    uint32_t *coefs =
        vly_storage_alloc(maker->storage, info->n_coefs, sizeof(*coefs), true);
    if (!desc || !coefs)
        return vly_fail_nomem(maker->error,
                              sizeof(*desc) + info->n_coefs * sizeof(*coefs),
                              "how a map learns");
    vly_status status = vly_learning_keeps(maker, made, plasticity, &input);
    if (status != VLY_OK)
        return status;
    vly_plasticity_coefs(info, &input, coefs);
    desc->struct_size = sizeof(*desc);
    desc->flags = flags_of(plasticity);
    desc->rule = vly_plasticity_backend_id(info);
    desc->rule_hash = info->table_hash;
    desc->coefs = coefs;
    desc->n_coefs = info->n_coefs;
    desc->most = vly_plasticity_most(&input);
    vly_plasticity_traces(info, plasticity->params, input.dt_ms, desc->source,
                          desc->target);
    vly_plasticity_modulator(info, plasticity->params, input.dt_ms,
                             &desc->modulator, &desc->interval);
    desc->modulator_area = info->modulated ? plasticity->modulator : 0;
    *learning = desc;
    return VLY_OK;
}

vly_status vly_learning_given(const vly_maker *maker,
                              const vly_plasticity *plasticity,
                              const vly_connectome_learning **learning)
{
    uint32_t n = plasticity->info->n_params;
    uint32_t n_values = vly_learning_values(plasticity->info);
    vly_connectome_learning *given =
        vly_storage_alloc(maker->storage, 1, sizeof(*given), true);
    double *values =
        vly_storage_alloc(maker->storage, n_values, sizeof(*values), true);
    char *name = vly_storage_text(maker->storage, plasticity->name);
    if (!given || !values || !name ||
        !vly_storage_rule(maker->storage, plasticity->info))
        return vly_fail_nomem(maker->error, n_values * sizeof(*values),
                              "the rule of a map");
    memcpy(values, plasticity->params, n * sizeof(*values));
    values[n] = plasticity->w_max;
    if (plasticity->info->modulated)
        values[n + 1] = plasticity->modulator;
    *given = (vly_connectome_learning){.name = name,
                                       .info = plasticity->info,
                                       .params = values,
                                       .w_max = plasticity->w_max};
    *learning = given;
    return VLY_OK;
}

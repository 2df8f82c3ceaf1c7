/* SPDX-License-Identifier: Apache-2.0
 * Weights that are not 0 and would become 0 in the unit of their port.
 */
#include "connectome/quantise_parts.h"

#include <stdio.h>

#include "base/error.h"
#include "connectome/learning_make.h"

vly_status vly_pair_fail(vly_maker *maker, const vly_made_pair *made,
                         const char *text)
{
    const vly_pair *pair = made->pair;
    char place[VLY_PLACE_BYTES];
    vly_place_print(
        maker->genome,
        pair->weight.origin.line ? &pair->weight.origin : &pair->origin, place);
    return vly_fail(maker->error, VLY_E_PARSE, "%smap %s (%s -> %s): %s", place,
                    pair->map, maker->genome->areas[pair->from].name,
                    maker->genome->areas[pair->to].name, text);
}

static vly_status check_zero(vly_maker *maker, const vly_made_pair *made,
                             const vly_port_plan *plan)
{
    const vly_law *law = &made->law;
    char text[400];
    const vly_plasticity *plasticity = made->pair->plasticity;
    int32_t q = plasticity ? vly_learning_q(made, plan->q) : plan->q;
    bool none = plasticity && vly_learning_cap(made, q) == 0;
    if (!none && law->mean == 0.0 && law->kind == VLY_VALUE_NUMBER)
        return VLY_OK;
    bool gone = law->mean != 0.0 && vly_weight_scaled(law->mean, q) == 0;
    vly_integers range =
        vly_law_integers(law, vly_power_of_two(-q), VLY_ROUND_INSIDE, -1e300);
    if (!none && !gone && (range.first != 0.0 || range.last != 0.0))
        return VLY_OK;
    double lost = law->mean != 0.0 ? law->mean : vly_law_extreme(law);
    snprintf(text, sizeof(text),
             "%s %.9g would become 0: q is %d (units of 2^%d), because of %s",
             none ? "w_max" : "weight", none ? plasticity->w_max : lost, (int)q,
             (int)-q, plan->cause);
    return vly_pair_fail(maker, made, text);
}

/* At FEAGI areas the unit is 1. A distribution around 0 may have a mean that
 * rounds to 0, if the stored weights still have that mean. */
vly_status vly_zero_check_feagi(vly_maker *maker, const vly_made_pair *made)
{
    const vly_law *law = &made->law;
    char text[200];
    if (law->kind == VLY_VALUE_NUMBER)
        return VLY_OK;
    vly_integers range = vly_law_integers(law, 1.0, VLY_ROUND_INSIDE, -1e300);
    bool none = range.first == 0.0 && range.last == 0.0;
    bool gone =
        vly_weight_scaled(law->mean, 0) == 0.0 && made->worst_rounding >= 0.5;
    if (!none && !gone)
        return VLY_OK;
    snprintf(text, sizeof(text),
             "weight %.9g would become 0, wanted whole numbers from -255 to "
             "255 (target model feagi)",
             law->mean != 0.0 ? law->mean : vly_law_extreme(law));
    return vly_pair_fail(maker, made, text);
}

vly_status vly_zero_check_stimuli(vly_maker *maker, uint32_t area,
                                  uint32_t port, const vly_port_plan *plan)
{
    const vly_genome *genome = maker->genome;
    for (uint32_t s = 0; s < genome->n_stimuli; s++) {
        const vly_stimulus *stimulus = &genome->stimuli[s];
        if (stimulus->to != area || stimulus->port != port ||
            stimulus->kind == VLY_STIMULUS_DC)
            continue;
        double asked = stimulus->weight;
        if (stimulus->kind == VLY_STIMULUS_NORMAL)
            asked = stimulus->mean != 0.0 ? stimulus->mean : stimulus->sd;
        if (asked == 0.0 || vly_weight_scaled(asked, plan->q) != 0.0)
            continue;
        char place[VLY_PLACE_BYTES];
        vly_place_print(genome, &stimulus->origin, place);
        return vly_fail(maker->error, VLY_E_PARSE,
                        "%sstimulus %s onto area %s: %.9g would become 0: q "
                        "is %d (units of 2^%d), because of %s",
                        place, stimulus->id, genome->areas[area].name, asked,
                        (int)plan->q, (int)-plan->q, plan->cause);
    }
    return VLY_OK;
}

vly_status vly_zeros_check(vly_maker *maker, uint32_t area, uint32_t port,
                           const vly_port_plan *plan)
{
    vly_status status = VLY_OK;
    for (uint32_t p = 0; p < maker->genome->n_pairs; p++) {
        if (!vly_pair_uses(&maker->pairs[p], area, port))
            continue;
        VLY_TRY(check_zero(maker, &maker->pairs[p], plan));
    }
    status = vly_zero_check_stimuli(maker, area, port, plan);
out:
    return status;
}

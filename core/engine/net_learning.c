/* SPDX-License-Identifier: Apache-2.0
 * Parameters of plasticity rules, changed between two bursts. What an age of
 * traces or the bound of the weights depends on stays as compiled: time
 * constants, w_max, delay and nearest.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "engine/engine.h"
#include "engine/net_modulate.h"
#include "genome/foreign_names.h"

/* The suffix of weights at the projection's target; "" none. */
static const char *suffix_of(const vly_connectome *connectome, uint32_t p)
{
    return vly_projection_port(connectome, p)->suffix;
}

/* The parameter of the rule, with the unit of the weights or without. */
static bool param_named(const vly_plasticity_info *info, uint32_t param,
                        const char *suffix, const char *key)
{
    const char *name = info->params[param].name;
    size_t n = strlen(name);
    if (strncmp(name, key, n) != 0)
        return false;
    return key[n] == 0 || (vly_plasticity_scaled(info, param) && suffix[0] &&
                           key[n] == '_' && strcmp(key + n + 1, suffix) == 0);
}

static bool is_start(const vly_plasticity_info *info, uint32_t param)
{
    for (uint32_t i = 0; i < info->n_starts; i++)
        if (info->starts[i].param == param)
            return true;
    return false;
}

static bool is_of_modulator(const vly_plasticity_info *info, uint32_t param)
{
    return info->modulated &&
           (param == info->modulator_tau || param == info->modulator_interval);
}

/* Parameters whose names with a unit are offered. */
#define NAMES_MAX 32u

static vly_status refuse_key(const vly_connectome_learning *given,
                             const char *suffix, const char *key,
                             vly_error *error)
{
    const vly_plasticity_info *info = given->info;
    vly_suggest near = {0};
    char text[VLY_HINT_SIZE];
    char names[NAMES_MAX][VLY_WORD_MAX + 1];
    if ((strncmp(key, "w_max", 5) == 0 && (key[5] == 0 || key[5] == '_')) ||
        strcmp(key, "delay") == 0 || strcmp(key, "nearest") == 0 ||
        (info->modulated && strcmp(key, "modulator") == 0) ||
        strcmp(key, "rule") == 0)
        return vly_fail(error, VLY_E_INVALID,
                        "plasticity.%s.%s cannot change in a running net, "
                        "wanted a parameter of %s%s",
                        given->name, key, info->id,
                        info->short_term ? "" : " or frozen");
    for (uint32_t i = 0; i < info->n_params && i < NAMES_MAX; i++) {
        const bool unit = vly_plasticity_scaled(info, i) && suffix[0];
        (void)snprintf(names[i], sizeof names[i], "%s%s%s",
                       info->params[i].name, unit ? "_" : "",
                       unit ? suffix : "");
        if (!vly_plasticity_fixed(info, i))
            vly_foreign_offer(&near, key, names[i]);
    }
    if (!info->short_term)
        vly_foreign_offer(&near, key, "frozen");
    if (info->modulated)
        vly_foreign_offer(&near, key, VLY_MODULATE_KEY);
    return vly_fail(error, VLY_E_INVALID,
                    "%s (plasticity %s) has no parameter %s%s", info->id,
                    given->name, key,
                    vly_suggest_choice(&near, text, sizeof text));
}

/* The place of the key in the values of a projection. */
static vly_status find_value(const vly_connectome *connectome, uint32_t p,
                             const char *key, double value, uint32_t *at,
                             vly_error *error)
{
    const vly_connectome_learning *given =
        vly_connectome_rule(&connectome->projections[p]);
    const vly_plasticity_info *info = given->info;
    const char *suffix = suffix_of(connectome, p);
    if (strcmp(key, "frozen") == 0 && !info->short_term) {
        *at = info->n_params;
        if (value == 0.0 || value == 1.0)
            return VLY_OK;
        return vly_fail(error, VLY_E_INVALID,
                        "plasticity.%s.frozen is %g, wanted 0 or 1",
                        given->name, value);
    }
    for (uint32_t i = 0; i < info->n_params; i++) {
        const vly_param_info *param = &info->params[i];
        if (!param_named(info, i, suffix, key))
            continue;
        if (vly_plasticity_fixed(info, i))
            return vly_fail(error, VLY_E_INVALID,
                            "plasticity.%s.%s cannot change in a running net: "
                            "%s",
                            given->name, key,
                            is_start(info, i) ? "it is of the start"
                            : is_of_modulator(info, i)
                                ? "the modulator depends on it"
                                : "the traces of past spikes decay by it");
        if (!(value >= param->lo && value <= param->hi))
            return vly_fail(error, VLY_E_INVALID,
                            "plasticity.%s.%s is %g, wanted %g to %g",
                            given->name, key, value, param->lo, param->hi);
        *at = i;
        return VLY_OK;
    }
    return refuse_key(given, suffix, key, error);
}

vly_status vly_learning_key_check(const vly_connectome *connectome, uint32_t p,
                                  const char *key, vly_error *error)
{
    const vly_plasticity_info *info =
        vly_connectome_rule(&connectome->projections[p])->info;
    uint32_t at = 0;
    if (info->modulated && strcmp(key, VLY_MODULATE_KEY) == 0)
        return VLY_OK;
    double good = 0.0; /* of frozen; of a parameter its default */
    for (uint32_t i = 0; i < info->n_params; i++)
        if (param_named(info, i, suffix_of(connectome, p), key))
            good = info->params[i].init;
    return find_value(connectome, p, key, good, &at, error);
}

/* Puts the value into the change, for one projection. learned: its values in
 * the change's overlay. */
static vly_status change_projection(vly_net *net, vly_live *change, uint32_t p,
                                    double *learned, const char *key,
                                    double value, vly_error *error)
{
    const vly_connectome *connectome = net->connectome;
    const vly_connectome_learning *given =
        vly_connectome_rule(&connectome->projections[p]);
    uint32_t at = 0;
    vly_status status = VLY_OK;
    VLY_TRY(find_value(connectome, p, key, value, &at, error));
    learned[at] = value;
    const vly_plasticity_input input = {.params = learned,
                                        .w_max =
                                            vly_plasticity_size(given->w_max),
                                        .unit = 1.0,
                                        .dt_ms = connectome->desc.dt_ms};
    const char *unfit = vly_plasticity_unfit(given->info, &input);
    if (unfit)
        return vly_fail(error, VLY_E_INVALID,
                        "plasticity.%s.%s is %g: wanted %s", given->name, key,
                        value, unfit);
    VLY_TRY(vly_live_make_learning(change, connectome, learned, p, error));
out:
    return status;
}

vly_status vly_net_set_learning(vly_net *net, const char *name, const char *key,
                                double value, vly_error *error)
{
    const vly_connectome *connectome = net->connectome;
    vly_live change = {0};
    vly_suggest near = {0};
    char text[VLY_HINT_SIZE];
    uint32_t n_found = 0;
    uint32_t at = 0;
    vly_status status = VLY_OK;
    if (strcmp(key, VLY_MODULATE_KEY) == 0)
        return vly_net_modulate_now(net, net->burst, name, value, false, error);
    VLY_TRY(vly_net_change_begin(net, &change, error));
    for (uint32_t p = 0; p < connectome->desc.n_projections; p++) {
        const vly_connectome_learning *given =
            vly_connectome_rule(&connectome->projections[p]);
        double *learned = change.overlay->learned + at;
        at += vly_learned_values(connectome, p);
        if (!given)
            continue;
        vly_foreign_offer(&near, name, given->name);
        if (strcmp(given->name, name) != 0)
            continue;
        n_found++;
        VLY_TRY(change_projection(net, &change, p, learned, key, value, error));
    }
    if (n_found == 0) {
        status = vly_fail(error, VLY_E_INVALID,
                          "no synapse learns by a [plasticity.%s]%s", name,
                          vly_suggest_choice(&near, text, sizeof text));
        goto out;
    }
    VLY_TRY(vly_net_change_end(net, &change, error));
out:
    vly_live_deinit(&change);
    return status;
}

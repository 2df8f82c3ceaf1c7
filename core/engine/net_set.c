/* SPDX-License-Identifier: Apache-2.0
 * Parameters changed between two bursts. A change is made apart from the values
 * in force, checked against the ranges of the tables and the bound of 2^30,
 * written to the backend, and only then committed: on failure nothing has
 * changed.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "connectome/connectome_make.h"
#include "engine/engine.h"
#include "genome/foreign_names.h"

/* ---- a change ---------------------------------------------------------- */

vly_status vly_net_change_begin(vly_net *net, vly_live *change,
                                vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_live_init(change, net->connectome, error));
    VLY_TRY(vly_overlay_copy(net->live.overlay, &change->overlay, error));
out:
    return status;
}

vly_status vly_net_change_end(vly_net *net, vly_live *change, vly_error *error)
{
    vly_error why = VLY_ERROR_INIT;
    bool lost = false;
    vly_status status = VLY_OK;
    if (!net->on_trial)
        status =
            vly_live_apply(change, &net->live, net->connectome,
                           net->device.backend, net->device.net, &lost, &why);
    if (status != VLY_OK)
        return vly_net_failed(net, status, lost, &why, error);
    vly_live_commit(change, &net->live);
    return VLY_OK;
}

/* Genome tables return E_PARSE; here the call is wrong, so E_INVALID. */
static vly_status as_call(vly_status status, vly_error *error)
{
    if (status == VLY_E_PARSE) {
        status = VLY_E_INVALID;
        if (error)
            error->status = status;
    }
    return status;
}

/* ---- areas ------------------------------------------------------------- */

static vly_status find_param(const vly_connectome_area *area, const char *name,
                             uint32_t *param, vly_error *error)
{
    const vly_model_info *model = area->model;
    vly_suggest near = {0};
    char text[VLY_HINT_SIZE];
    for (uint32_t p = 0; p < model->n_params; p++) {
        if (strcmp(model->params[p].name, name) == 0) {
            *param = p;
            return VLY_OK;
        }
        vly_foreign_offer(&near, name, model->params[p].name);
    }
    for (uint32_t f = 0; f < model->n_fields; f++)
        if (strcmp(model->fields[f].name, name) == 0)
            return vly_fail(error, VLY_E_INVALID,
                            "area.%s.%s is state, not a parameter: "
                            "vly_net_write changes it",
                            area->name, name);
    return vly_fail(error, VLY_E_INVALID, "%s (area %s) has no parameter %s%s",
                    model->id, area->name, name,
                    vly_suggest_text(&near, text, sizeof text));
}

static vly_status check_param(const vly_connectome_area *area,
                              const vly_param_info *param, const double *values,
                              uint32_t n, vly_error *error)
{
    bool whole = vly_unit_is_whole(param->unit);
    for (uint32_t i = 0; i < n; i++) {
        char place[32] = "";
        if (n > 1)
            (void)snprintf(place, sizeof place, "[%u]", i);
        if (!(values[i] >= param->lo && values[i] <= param->hi))
            return vly_fail(error, VLY_E_INVALID,
                            "area.%s.%s%s is %g, wanted %g to %g", area->name,
                            param->name, place, values[i], param->lo,
                            param->hi);
        if (whole && values[i] != vly_floor(values[i]))
            return vly_fail(error, VLY_E_INVALID,
                            "area.%s.%s%s is %g, wanted a whole number",
                            area->name, param->name, place, values[i]);
    }
    return VLY_OK;
}

static vly_status set_area(vly_net *net, uint32_t area, const char *name,
                           const double *values, uint32_t n, vly_error *error)
{
    const vly_connectome *connectome = net->connectome;
    const vly_connectome_area *target = &connectome->areas[area];
    vly_live change = {0};
    uint32_t param = 0;
    vly_status status = VLY_OK;
    VLY_TRY(find_param(target, name, &param, error));
    VLY_TRY(
        check_param(target, &target->model->params[param], values, n, error));
    VLY_TRY(vly_net_change_begin(net, &change, error));
    VLY_TRY(vly_overlay_set(change.overlay, area, param, values, n, error));
    VLY_TRY(as_call(vly_live_make_columns(&change, connectome, change.overlay,
                                          area, net->burst, error),
                    error));
    VLY_TRY(vly_live_make_load(&change, &net->live, connectome, area, error));
    for (uint32_t a = 0; a < connectome->desc.n_areas; a++)
        if (vly_live_loads(&change, a))
            VLY_TRY(vly_live_check(&change, &net->live, connectome, a, error));
    VLY_TRY(vly_net_change_end(net, &change, error));
out:
    vly_live_deinit(&change);
    return status;
}

static vly_status set_each(vly_net *net, const char *area, const char *param,
                           const double *values, uint32_t n_values,
                           vly_error *error)
{
    uint32_t a = 0;
    vly_status status = VLY_OK;
    VLY_TRY(vly_net_alive(net, error));
    VLY_TRY(vly_net_area(net, area, &a, error));
    uint32_t n = net->connectome->desc.areas[a].n_neurons;
    if (!param || !values || n_values != n)
        return vly_fail(error, VLY_E_INVALID,
                        "area.%s.%s: %u values, wanted %u, one a neuron", area,
                        param ? param : "(NULL)", values ? n_values : 0, n);
    status = set_area(net, a, param, values, n_values, error);
out:
    return status;
}

vly_status vly_net_set_each(vly_net *net, const char *area, const char *param,
                            const double *values, uint32_t n_values,
                            vly_error *error)
{
    vly_change change = {0};
    vly_status status = VLY_OK;
    VLY_TRY(
        vly_failover_note(net, area, param, values, n_values, &change, error));
    do
        status = set_each(net, area, param, values, n_values, error);
    while (vly_failover_again(net, &status, error));
    vly_failover_noted(net, VLY_CHANGE_SET_EACH, 0, &change, status);
out:
    return status;
}

/* ---- stimuli ----------------------------------------------------------- */

/* Parameters of stimuli: which kinds have each, and its place. A name may have
 * the unit of the port as a suffix, as in the genome: weight_pa. */
typedef struct stimulus_key {
    const char *name;
    uint32_t kinds; /* bits 1 << vly_stimulus_kind */
    bool has_unit;
    size_t offset; /* in vly_overlay_stimulus */
    double lo;     /* as in the genome */
    double hi;
} stimulus_key;

#define KIND(kind) (1u << VLY_STIMULUS_##kind)
#define AT(member) offsetof(vly_overlay_stimulus, member)
static const stimulus_key stimulus_keys[] = {
    {"rate_hz", KIND(POISSON) | KIND(BERNOULLI), false, AT(rate_hz), 0.0, 1e12},
    {"weight", KIND(POISSON) | KIND(SPIKES) | KIND(BERNOULLI), true, AT(weight),
     -1e9, 1e9},
    {"mean", KIND(NORMAL), true, AT(mean), -1e9, 1e9},
    {"sd", KIND(NORMAL), true, AT(sd), 0.0, 1e9},
    {"amplitude", KIND(DC), true, AT(mean), -1e9, 1e9},
};
#define N_STIMULUS_KEYS (sizeof stimulus_keys / sizeof stimulus_keys[0])

static bool key_matches(const stimulus_key *key, const char *name,
                        const char *suffix)
{
    size_t n = strlen(key->name);
    if (strncmp(key->name, name, n) != 0)
        return false;
    if (name[n] == 0)
        return true;
    return key->has_unit && suffix[0] != 0 && name[n] == '_' &&
           strcmp(name + n + 1, suffix) == 0;
}

/* dc has the unit of the model's constant input (i_e_pa), the others that of
 * the port. */
static const char *unit_suffix(const vly_connectome_stimulus *stimulus,
                               const vly_model_info *model)
{
    if (stimulus->kind != VLY_STIMULUS_DC)
        return model
            ->ports[stimulus->port < model->n_ports ? stimulus->port : 0]
            .suffix;
    return model->dc_suffix;
}

static vly_status find_key(const vly_connectome *connectome, uint32_t stimulus,
                           const char *name, const stimulus_key **key,
                           vly_error *error)
{
    const vly_connectome_stimulus *target = &connectome->stimuli[stimulus];
    const vly_model_info *model = connectome->areas[target->area].model;
    const char *suffix = unit_suffix(target, model);
    char list[96] = "";
    size_t used = 0;
    for (size_t k = 0; k < N_STIMULUS_KEYS; k++) {
        if ((stimulus_keys[k].kinds & 1u << target->kind) == 0)
            continue;
        if (key_matches(&stimulus_keys[k], name, suffix)) {
            *key = &stimulus_keys[k];
            return VLY_OK;
        }
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s",
                                 used != 0 ? ", " : "", stimulus_keys[k].name);
    }
    return vly_fail(error, VLY_E_INVALID,
                    "stimulus.%s has no %s that can be changed, wanted one of "
                    "%s",
                    target->id, name, list);
}

vly_status vly_stimulus_key_check(const vly_connectome *connectome,
                                  uint32_t stimulus, const char *name,
                                  vly_error *error)
{
    const stimulus_key *key = NULL;
    return find_key(connectome, stimulus, name, &key, error);
}

/* The sign chose the port when the net was compiled, if there are two. */
static vly_status check_sign(const vly_connectome *connectome,
                             const vly_connectome_stimulus *was,
                             const vly_connectome_stimulus *now,
                             vly_error *error)
{
    bool normal = was->kind == VLY_STIMULUS_NORMAL;
    double before = normal ? was->mean : was->weight;
    double after = normal ? now->mean : now->weight;
    if (was->kind == VLY_STIMULUS_DC ||
        connectome->desc.areas[was->area].n_ports != 2 ||
        (before < 0.0) == (after < 0.0))
        return VLY_OK;
    return vly_fail(error, VLY_E_INVALID,
                    "stimulus.%s.%s is %g, wanted the sign of %g: it goes with "
                    "the port",
                    was->id, normal ? "mean" : "weight", after, before);
}

static vly_status check_weight(const vly_connectome *connectome,
                               const vly_overlay *overlay, uint32_t s,
                               vly_error *error)
{
    const vly_connectome_stimulus *was = &connectome->stimuli[s];
    vly_connectome_stimulus now =
        vly_overlay_stimulus_now(overlay, connectome, s);
    int32_t value = 0;
    vly_status status = VLY_OK;
    VLY_TRY(check_sign(connectome, was, &now, error));
    if (was->kind == VLY_STIMULUS_NORMAL) {
        /* as when compiled: the deviation counts where the mean is 0 */
        uint32_t port = connectome->desc.stimuli[now.desc_index].port;
        int32_t q = connectome->areas[was->area].q[port];
        double asked = now.mean != 0.0 ? now.mean : now.sd;
        const vly_model_info *model = connectome->areas[was->area].model;
        if (!vly_port_takes_noise(model, port, now.mean, now.sd))
            return vly_fail(error, VLY_E_INVALID,
                            "stimulus.%s: mean %g and sd %g nS, wanted a mean "
                            "of at least 6 sd: a conductance takes one sign",
                            was->id, now.mean, now.sd);
        if (asked != 0.0 && vly_weight_scaled(asked, q) == 0.0)
            return vly_fail(error, VLY_E_INVALID,
                            "stimulus.%s.%s is %g, which becomes 0 in units "
                            "of 2^%d",
                            was->id, now.mean != 0.0 ? "mean" : "sd", asked,
                            (int)-q);
    }
    if (was->kind == VLY_STIMULUS_NORMAL || was->kind == VLY_STIMULUS_DC)
        return VLY_OK;
    status = vly_live_spike_value(connectome, &now, &value, error);
out:
    return status;
}

/* Puts the parameter of one stimulus of the id into the change. */
static vly_status change_stimulus(vly_net *net, vly_live *change, uint32_t s,
                                  const char *name, double value,
                                  vly_error *error)
{
    const vly_connectome *connectome = net->connectome;
    const vly_connectome_stimulus *target = &connectome->stimuli[s];
    const stimulus_key *key = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(find_key(connectome, s, name, &key, error));
    if (!(value >= key->lo && value <= key->hi)) {
        status = vly_fail(error, VLY_E_INVALID,
                          "stimulus.%s.%s is %g, wanted %g to %g", target->id,
                          name, value, key->lo, key->hi);
        goto out;
    }
    /* dc is the only kind that reaches a backend through columns */
    memcpy((char *)&change->overlay->stimuli[s] + key->offset, &value,
           sizeof value);
    VLY_TRY(check_weight(connectome, change->overlay, s, error));
    if (target->kind == VLY_STIMULUS_DC)
        VLY_TRY(vly_live_make_columns(change, connectome, change->overlay,
                                      target->area, net->burst, error));
    else if (target->kind != VLY_STIMULUS_SPIKES)
        VLY_TRY(vly_live_make_stimulus(change, connectome, change->overlay, s,
                                       error));
out:
    return as_call(status, error);
}

static vly_status set_stimulus(vly_net *net, const char *id, const char *name,
                               double value, vly_error *error)
{
    const vly_connectome *connectome = net->connectome;
    vly_live change = {0};
    vly_suggest near = {0};
    char text[VLY_HINT_SIZE];
    uint32_t n_found = 0;
    vly_status status = VLY_OK;
    VLY_TRY(vly_net_change_begin(net, &change, error));
    for (uint32_t s = 0; s < connectome->n_stimuli; s++) {
        vly_foreign_offer(&near, id, connectome->stimuli[s].id);
        if (strcmp(connectome->stimuli[s].id, id) != 0)
            continue;
        n_found++;
        if (connectome->stimuli[s].listed) {
            status = vly_fail(error, VLY_E_INVALID,
                              "stimulus.%s.%s: the stimulus has a list of "
                              "values by neuron or over time, which cannot "
                              "change while the net runs",
                              id, name);
            goto out;
        }
        VLY_TRY(change_stimulus(net, &change, s, name, value, error));
    }
    if (n_found == 0) {
        status = vly_fail(error, VLY_E_INVALID, "there is no stimulus %s%s", id,
                          vly_suggest_choice(&near, text, sizeof text));
        goto out;
    }
    for (uint32_t s = 0; s < connectome->n_stimuli; s++)
        if (strcmp(connectome->stimuli[s].id, id) == 0)
            VLY_TRY(as_call(vly_live_check(&change, &net->live, connectome,
                                           connectome->stimuli[s].area, error),
                            error));
    VLY_TRY(vly_net_change_end(net, &change, error));
out:
    vly_live_deinit(&change);
    return status;
}

/* ---- paths ------------------------------------------------------------- */

static vly_status refuse_kind(const char *path, const char *kind,
                              vly_error *error)
{
    vly_suggest near = {0};
    char text[160];
    vly_suggest_offer(&near, kind, "area");
    vly_suggest_offer(&near, kind, "stimulus");
    vly_suggest_offer(&near, kind, "plasticity");
    return vly_fail(error, VLY_E_INVALID,
                    "path is %s, wanted " VLY_SET_PATHS
                    ": nothing else changes in a running net%s",
                    path, vly_suggest_text(&near, text, sizeof text));
}

vly_status vly_net_set_path(vly_net *net, const char *path, double value,
                            vly_error *error)
{
    char *copy = NULL;
    uint32_t area = 0;
    vly_status status = VLY_OK;
    VLY_TRY(vly_net_alive(net, error));
    if (!path) {
        status = vly_fail(error, VLY_E_INVALID,
                          "path is NULL, wanted " VLY_SET_PATHS);
        goto out;
    }
    if (!isfinite(value)) {
        status = vly_fail(error, VLY_E_INVALID, "%s is %g, wanted a number",
                          path, value);
        goto out;
    }
    copy = vly_strdup(path);
    if (!copy) {
        status = vly_fail_nomem(error, strlen(path) + 1, "a path");
        goto out;
    }
    /* names may hold dots, parameters do not: the first and the last count */
    char *name = strchr(copy, '.');
    char *key = strrchr(copy, '.');
    if (!name || name == key) {
        status = vly_fail(error, VLY_E_INVALID,
                          "path is %s, wanted " VLY_SET_PATHS, path);
        goto out;
    }
    *name++ = 0;
    *key++ = 0;
    if (strcmp(copy, "area") == 0) {
        VLY_TRY(vly_net_area(net, name, &area, error));
        status = set_area(net, area, key, &value, 1, error);
    } else if (strcmp(copy, "stimulus") == 0) {
        status = set_stimulus(net, name, key, value, error);
    } else if (strcmp(copy, "plasticity") == 0) {
        status = vly_net_set_learning(net, name, key, value, error);
    } else {
        status = refuse_kind(path, copy, error);
    }
out:
    vly_free(copy);
    return status;
}

vly_status vly_net_set(vly_net *net, const char *path, double value,
                       vly_error *error)
{
    vly_change change = {0};
    vly_status status = VLY_OK;
    VLY_TRY(vly_failover_note(net, path, NULL, &value, 1, &change, error));
    do
        status = vly_net_set_path(net, path, value, error);
    while (vly_failover_again(net, &status, error));
    vly_failover_noted(net, VLY_CHANGE_SET, 0, &change, status);
out:
    return status;
}

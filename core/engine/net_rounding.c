/* SPDX-License-Identifier: Apache-2.0
 * The relative error of values given to vly_net_set after rounding to whole
 * units of a port, to chances of 2^-32, or to bursts.
 */
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "connectome/connectome_make.h"
#include "engine/engine.h"

static double off_by(double used, double asked)
{
    const double off = used > asked ? used - asked : asked - used;
    const double size = asked < 0.0 ? -asked : asked;
    return size > 0.0 ? off / size : 0.0;
}

/* Rounding of a stimulus with its present values. */
static double stimulus_off(const vly_net *net, uint32_t s, const char *key)
{
    const vly_connectome *connectome = net->connectome;
    const vly_connectome_stimulus now =
        vly_overlay_stimulus_now(net->live.overlay, connectome, s);
    const double dt_ms = connectome->desc.dt_ms;
    if (strcmp(key, "rate_hz") == 0)
        return off_by(vly_stimulus_rate(&now, dt_ms), now.rate_hz);
    return vly_stimulus_rounding(&now, dt_ms,
                                 connectome->areas[now.area].q[now.port]);
}

/* Rounding of a duration that becomes whole bursts, for the worst neuron; other
 * parameters are not rounded to whole numbers. */
static double param_off(const vly_net *net, uint32_t area, uint32_t param)
{
    const vly_model_info *model = net->connectome->areas[area].model;
    const vly_overlay *overlay = net->live.overlay;
    const uint32_t at = overlay->first[area] + param;
    const double dt_ms =
        net->connectome->desc.dt_ms / vly_model_substeps(model);
    double worst = 0.0;
    if (!vly_model_is(model, VLY_ROLE_IN_BURSTS, param) || !overlay->values[at])
        return 0.0;
    for (uint32_t i = 0; i < overlay->n_value[at]; i++) {
        const double asked = overlay->values[at][i];
        uint64_t bursts = 0;
        double off = 0.0;
        if (vly_bursts_from_ms(asked, dt_ms, &bursts))
            off = off_by((double)bursts * dt_ms, asked);
        worst = off > worst ? off : worst;
    }
    return worst;
}

vly_status vly_net_rounding(const vly_net *net, const char *path, double *off,
                            vly_error *error)
{
    const vly_connectome *connectome = net->connectome;
    const char *name = path ? strchr(path, '.') : NULL;
    const char *key = path ? strrchr(path, '.') : NULL;
    double worst = -1.0;
    if (name && name != key) {
        const size_t n = (size_t)(key - ++name);
        const bool areas = strncmp(path, "area.", 5) == 0;
        key++;
        for (uint32_t a = 0; areas && a < connectome->desc.n_areas; a++) {
            const vly_connectome_area *area = &connectome->areas[a];
            if (strncmp(area->name, name, n) != 0 || area->name[n] != '\0')
                continue;
            for (uint32_t p = 0; p < area->model->n_params; p++)
                if (strcmp(area->model->params[p].name, key) == 0)
                    worst = param_off(net, a, p);
        }
        const bool stimuli = strncmp(path, "stimulus.", 9) == 0;
        for (uint32_t s = 0; stimuli && s < connectome->n_stimuli; s++) {
            const char *id = connectome->stimuli[s].id;
            if (strncmp(id, name, n) != 0 || id[n] != '\0')
                continue;
            const vly_status status =
                vly_stimulus_key_check(connectome, s, key, error);
            if (status != VLY_OK)
                return status;
            const double one = stimulus_off(net, s, key);
            worst = one > worst ? one : worst;
        }
        const bool rules = strncmp(path, "plasticity.", 11) == 0;
        for (uint32_t p = 0; rules && p < connectome->desc.n_projections; p++) {
            const vly_connectome_learning *given =
                vly_connectome_rule(&connectome->projections[p]);
            if (!given || strncmp(given->name, name, n) != 0 ||
                given->name[n] != 0)
                continue;
            const vly_status status =
                vly_learning_key_check(connectome, p, key, error);
            if (status != VLY_OK)
                return status;
            worst = 0.0; /* real numbers */
        }
    }
    if (worst < 0.0)
        return vly_fail(error, VLY_E_INVALID,
                        "path is %s, wanted " VLY_SET_PATHS " of this net",
                        path ? path : "NULL");
    *off = worst;
    return VLY_OK;
}

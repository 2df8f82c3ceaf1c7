/* SPDX-License-Identifier: Apache-2.0
 * Changed parameters, copied before every change: a change is tried on the
 * copy and the copy replaces the old one only when all of it has worked.
 */
#include "engine/overlay.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

vly_status vly_overlay_alloc(uint32_t n_areas, uint32_t n_params,
                             uint32_t n_stimuli, vly_overlay **overlay,
                             vly_error *error)
{
    vly_overlay *made = vly_calloc(1, sizeof *made);
    if (!made)
        goto nomem;
    made->n_areas = n_areas;
    made->n_params = n_params;
    made->n_stimuli = n_stimuli;
    made->first = vly_calloc((size_t)n_areas + 1, sizeof *made->first);
    made->values = vly_calloc(n_params, sizeof *made->values);
    made->n_value = vly_calloc(n_params, sizeof *made->n_value);
    made->stimuli = vly_calloc(n_stimuli, sizeof *made->stimuli);
    if (!made->first || !made->values || !made->n_value || !made->stimuli)
        goto nomem;
    *overlay = made;
    return VLY_OK;
nomem:
    vly_overlay_destroy(made);
    return vly_fail_nomem(error, sizeof *made, "a copy of the parameters");
}

vly_status vly_overlay_learned_alloc(vly_overlay *overlay, uint32_t n_learned,
                                     vly_error *error)
{
    double *learned = vly_calloc(n_learned, sizeof *learned);
    if (!learned)
        return vly_fail_nomem(error, n_learned * sizeof *learned,
                              "the parameters of plasticity rules");
    vly_free(overlay->learned);
    overlay->learned = learned;
    overlay->n_learned = n_learned;
    return VLY_OK;
}

uint32_t vly_learned_values(const vly_connectome *connectome,
                            uint32_t projection)
{
    const vly_connectome_learning *given =
        vly_connectome_rule(&connectome->projections[projection]);
    return given ? given->info->n_params + 1 : 0;
}

uint32_t vly_learned_values_all(const vly_connectome *connectome)
{
    uint32_t n = 0;
    for (uint32_t p = 0; p < connectome->desc.n_projections; p++)
        n += vly_learned_values(connectome, p);
    return n;
}

void vly_learned_given(const vly_connectome *connectome, uint32_t projection,
                       double *values)
{
    const vly_connectome_learning *given =
        vly_connectome_rule(&connectome->projections[projection]);
    const vly_learning_desc *learning =
        connectome->desc.projections[projection].learning;
    uint32_t n = given->info->n_params;
    memcpy(values, given->params, n * sizeof *values);
    values[n] = learning && learning->flags & VLY_LEARNING_FROZEN ? 1.0 : 0.0;
}

static vly_status overlay_nomem(vly_error *error)
{
    return vly_fail_nomem(error, sizeof(vly_overlay),
                          "a copy of the parameters");
}

vly_status vly_overlay_create(const vly_connectome *connectome,
                              vly_overlay **overlay, vly_error *error)
{
    uint32_t n_areas = connectome->desc.n_areas;
    uint32_t n_params = 0;
    for (uint32_t a = 0; a < n_areas; a++)
        n_params += connectome->areas[a].model->n_params;
    vly_overlay *made = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_overlay_alloc(n_areas, n_params, connectome->n_stimuli, &made,
                              error));
    for (uint32_t a = 0; a < n_areas; a++)
        made->first[a + 1] =
            made->first[a] + connectome->areas[a].model->n_params;
    for (uint32_t s = 0; s < connectome->n_stimuli; s++) {
        const vly_connectome_stimulus *from = &connectome->stimuli[s];
        made->stimuli[s] = (vly_overlay_stimulus){.rate_hz = from->rate_hz,
                                                  .weight = from->weight,
                                                  .mean = from->mean,
                                                  .sd = from->sd};
    }
    VLY_TRY(vly_overlay_learned_alloc(made, vly_learned_values_all(connectome),
                                      error));
    uint32_t at = 0;
    for (uint32_t p = 0; p < connectome->desc.n_projections; p++) {
        if (vly_connectome_rule(&connectome->projections[p]))
            vly_learned_given(connectome, p, made->learned + at);
        at += vly_learned_values(connectome, p);
    }
    *overlay = made;
    made = NULL;
out:
    vly_overlay_destroy(made);
    return status;
}

vly_status vly_overlay_copy(const vly_overlay *overlay, vly_overlay **copy,
                            vly_error *error)
{
    vly_overlay *made = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_overlay_alloc(overlay->n_areas, overlay->n_params,
                              overlay->n_stimuli, &made, error));
    memcpy(made->first, overlay->first,
           ((size_t)overlay->n_areas + 1) * sizeof *made->first);
    if (overlay->n_stimuli != 0)
        memcpy(made->stimuli, overlay->stimuli,
               overlay->n_stimuli * sizeof *made->stimuli);
    VLY_TRY(vly_overlay_learned_alloc(made, overlay->n_learned, error));
    if (overlay->n_learned != 0)
        memcpy(made->learned, overlay->learned,
               overlay->n_learned * sizeof *made->learned);
    for (uint32_t p = 0; p < overlay->n_params; p++) {
        if (!overlay->values[p])
            continue;
        size_t n = overlay->n_value[p];
        made->n_value[p] = overlay->n_value[p];
        made->values[p] = vly_malloc(n, sizeof **made->values);
        if (!made->values[p]) {
            status = overlay_nomem(error);
            goto out;
        }
        memcpy(made->values[p], overlay->values[p], n * sizeof **made->values);
    }
    *copy = made;
    made = NULL;
out:
    vly_overlay_destroy(made);
    return status;
}

void vly_overlay_destroy(vly_overlay *overlay)
{
    if (!overlay)
        return;
    if (overlay->values)
        for (uint32_t p = 0; p < overlay->n_params; p++)
            vly_free(overlay->values[p]);
    vly_free(overlay->values);
    vly_free(overlay->n_value);
    vly_free(overlay->first);
    vly_free(overlay->stimuli);
    vly_free(overlay->learned);
    vly_free(overlay);
}

vly_status vly_overlay_set(vly_overlay *overlay, uint32_t area, uint32_t param,
                           const double *values, uint32_t n, vly_error *error)
{
    uint32_t p = overlay->first[area] + param;
    double *kept = vly_malloc(n, sizeof *kept);
    if (!kept)
        return vly_fail_nomem(error, n * sizeof *kept, "a parameter");
    memcpy(kept, values, n * sizeof *kept);
    vly_free(overlay->values[p]);
    overlay->values[p] = kept;
    overlay->n_value[p] = n;
    return VLY_OK;
}

bool vly_overlay_area_changed(const vly_overlay *overlay, uint32_t area)
{
    for (uint32_t p = overlay->first[area]; p < overlay->first[area + 1]; p++)
        if (overlay->values[p])
            return true;
    return false;
}

bool vly_overlay_stimulus_changed(const vly_overlay *overlay,
                                  const vly_connectome *connectome,
                                  uint32_t stimulus)
{
    const vly_overlay_stimulus *now = &overlay->stimuli[stimulus];
    const vly_connectome_stimulus *was = &connectome->stimuli[stimulus];
    return now->rate_hz != was->rate_hz || now->weight != was->weight ||
           now->mean != was->mean || now->sd != was->sd;
}

void vly_overlay_params(const vly_overlay *overlay,
                        const vly_connectome *connectome, uint32_t area,
                        vly_param_column *params)
{
    const vly_connectome_area *from = &connectome->areas[area];
    for (uint32_t i = 0; i < from->model->n_params; i++) {
        uint32_t p = overlay->first[area] + i;
        params[i] = from->params[i];
        if (overlay->values[p])
            params[i] = (vly_param_column){
                .values = overlay->values[p],
                .uniform = overlay->n_value[p] == 1,
            };
    }
}

vly_connectome_stimulus
vly_overlay_stimulus_now(const vly_overlay *overlay,
                         const vly_connectome *connectome, uint32_t stimulus)
{
    vly_connectome_stimulus now = connectome->stimuli[stimulus];
    now.rate_hz = overlay->stimuli[stimulus].rate_hz;
    now.weight = overlay->stimuli[stimulus].weight;
    now.mean = overlay->stimuli[stimulus].mean;
    now.sd = overlay->stimuli[stimulus].sd;
    return now;
}

/* SPDX-License-Identifier: Apache-2.0
 * Coefficients of plasticity rules that are in force.
 */
#include "engine/live_short_term.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "engine/engine.h"

/* Eligibilities keep the unit that they have in the connectome, so a parameter
 * can rise only as far as that leaves room. */
static vly_status keep_scale(const vly_connectome *connectome,
                             uint32_t projection, vly_plasticity_input *input,
                             vly_error *error)
{
    const vly_connectome_learning *given =
        connectome->projections[projection].learning;
    const char *suffix = vly_projection_port(connectome, projection)->suffix;
    vly_plasticity_input start = *input;
    start.params = given->params;
    input->scale = vly_plasticity_scale(given->info, &start);
    double found = 0.0;
    double most = 0.0;
    const char *param =
        vly_plasticity_outgrows(given->info, input, &found, &most);
    if (!param)
        return VLY_OK;
    return vly_fail(error, VLY_E_INVALID,
                    "plasticity.%s.%s%s%s is %.9g, wanted at most %.9g in this "
                    "net: its eligibilities are cut off at %g times that, by "
                    "their parameters at its start",
                    given->name, param, *suffix ? "_" : "", suffix, found, most,
                    VLY_ELIGIBILITY_ROOM);
}

vly_status vly_live_make_learning(vly_live *change,
                                  const vly_connectome *connectome,
                                  const double *learned, uint32_t projection,
                                  vly_error *error)
{
    const vly_connectome_projection *from =
        &connectome->projections[projection];
    const vly_connectome_learning *given = from->learning;
    if (!given)
        return vly_live_make_short_term(change, connectome, learned, projection,
                                        error);
    const vly_learning_desc *was =
        connectome->desc.projections[projection].learning;
    vly_plasticity_input input = {.params = learned,
                                  .w_max = vly_plasticity_size(given->w_max),
                                  .unit = from->unit,
                                  .dt_ms = connectome->desc.dt_ms};
    vly_status status = keep_scale(connectome, projection, &input, error);
    if (status != VLY_OK)
        return status;
    char text[VLY_LOSS_SIZE];
    const char *lost = vly_plasticity_loses(given->info, &input, text);
    if (lost)
        return vly_fail(error, VLY_E_INVALID, "plasticity.%s: wanted %s",
                        given->name, lost);
    size_t n_bytes = sizeof *was + was->n_coefs * sizeof *was->coefs;
    vly_learning_desc *made = vly_malloc(1, n_bytes);
    if (!made)
        return vly_fail_nomem(error, n_bytes, "the coefficients of a rule");
    uint32_t *coefs = (uint32_t *)(made + 1);
    *made = *was;
    made->coefs = coefs;
    vly_plasticity_coefs(given->info, &input, coefs);
    made->flags &= ~(uint32_t)VLY_LEARNING_FROZEN;
    if (learned[given->info->n_params] != 0.0)
        made->flags |= VLY_LEARNING_FROZEN;
    vly_free(change->learning[projection]);
    change->learning[projection] = made;
    return VLY_OK;
}

/* SPDX-License-Identifier: Apache-2.0
 * Coefficients of short-term plasticity that are in force.
 */
#include "engine/live_short_term.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

vly_status vly_live_make_short_term(vly_live *change,
                                    const vly_connectome *connectome,
                                    const double *learned, uint32_t projection,
                                    vly_error *error)
{
    const vly_connectome_learning *given =
        connectome->projections[projection].short_term;
    const vly_plasticity_info *info = given->info;
    const vly_short_term_desc *was =
        connectome->desc.projections[projection].short_term;
    const vly_plasticity_input input = {
        .params = learned, .unit = 1.0, .dt_ms = connectome->desc.dt_ms};
    char text[VLY_LOSS_SIZE];
    const char *lost = vly_plasticity_loses(info, &input, text);
    if (lost)
        return vly_fail(error, VLY_E_INVALID, "plasticity.%s: wanted %s",
                        given->name, lost);
    size_t n_bytes = sizeof *was + was->n_coefs * sizeof *was->coefs;
    vly_short_term_desc *made = vly_malloc(1, n_bytes);
    if (!made)
        return vly_fail_nomem(error, n_bytes, "the coefficients of a rule");
    uint32_t *coefs = (uint32_t *)(made + 1);
    *made = *was;
    made->coefs = coefs;
    vly_plasticity_coefs(info, &input, coefs);
    vly_free(change->short_term[projection]);
    change->short_term[projection] = made;
    return VLY_OK;
}

bool vly_live_same_short_term(const vly_short_term_desc *a,
                              const vly_short_term_desc *b)
{
    return memcmp(a->coefs, b->coefs, a->n_coefs * sizeof *a->coefs) == 0;
}

void vly_live_trim_short_term(vly_live *change,
                              const vly_connectome *connectome,
                              uint32_t projection)
{
    if (!vly_live_same_short_term(
            change->short_term[projection],
            connectome->desc.projections[projection].short_term))
        return;
    vly_free(change->short_term[projection]);
    change->short_term[projection] = NULL;
}

const vly_short_term_desc *vly_live_short_term(const vly_live *live,
                                               const vly_connectome *connectome,
                                               uint32_t projection)
{
    return live->short_term && live->short_term[projection]
               ? live->short_term[projection]
               : connectome->desc.projections[projection].short_term;
}

void vly_live_commit_short_term(vly_live *change, vly_live *now)
{
    for (uint32_t p = 0; p < change->n_projections; p++) {
        if (!change->short_term[p])
            continue;
        vly_free(now->short_term[p]);
        now->short_term[p] = change->short_term[p];
        change->short_term[p] = NULL;
    }
}

void vly_live_free_short_term(vly_live *live)
{
    for (uint32_t p = 0; live->short_term && p < live->n_projections; p++)
        vly_free(live->short_term[p]);
    vly_free(live->short_term);
}

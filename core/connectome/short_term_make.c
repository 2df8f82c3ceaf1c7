/* SPDX-License-Identifier: Apache-2.0
 * Pairs with short-term plasticity: the description for backends.
 */
#include "connectome/short_term_make.h"

#include <string.h>

#include "base/error.h"

vly_status vly_short_term_view(const vly_maker *maker,
                               const vly_made_pair *made,
                               const vly_short_term_desc **short_term)
{
    const vly_plasticity *plasticity = made->pair->short_term;
    const vly_plasticity_info *info = plasticity->info;
    const vly_plasticity_input input = {.params = plasticity->params,
                                        .unit = 1.0,
                                        .dt_ms = maker->genome->dt_ms};
    vly_short_term_desc *desc =
        vly_storage_alloc(maker->storage, 1, sizeof(*desc), true);
    uint32_t *coefs =
        vly_storage_alloc(maker->storage, info->n_coefs, sizeof(*coefs), true);
    if (!desc || !coefs)
        return vly_fail_nomem(maker->error,
                              sizeof(*desc) + info->n_coefs * sizeof(*coefs),
                              "the short-term plasticity of a map");
    vly_plasticity_coefs(info, &input, coefs);
    *desc = (vly_short_term_desc){
        .struct_size = sizeof(*desc),
        .rule = info->id,
        .rule_hash = info->table_hash,
        .coefs = coefs,
        .n_coefs = info->n_coefs,
        .bursts = vly_short_term_bursts(info, plasticity->params, input.dt_ms)};
    *short_term = desc;
    return VLY_OK;
}

vly_status vly_short_term_given(const vly_maker *maker,
                                const vly_made_pair *made,
                                const vly_connectome_learning **short_term)
{
    const vly_plasticity *plasticity = made->pair->short_term;
    uint32_t n = plasticity->info->n_params;
    vly_connectome_learning *given =
        vly_storage_alloc(maker->storage, 1, sizeof(*given), true);
    double *values =
        vly_storage_alloc(maker->storage, (size_t)n + 1, sizeof(*values), true);
    char *name = vly_storage_text(maker->storage, plasticity->name);
    if (!given || !values || !name)
        return vly_fail_nomem(maker->error, (n + 1) * sizeof(*values),
                              "the short-term plasticity of a map");
    memcpy(values, plasticity->params, n * sizeof(*values));
    *given = (vly_connectome_learning){
        .name = name, .info = plasticity->info, .params = values};
    *short_term = given;
    return VLY_OK;
}

/* SPDX-License-Identifier: Apache-2.0
 * Pairs with short-term plasticity: the description for backends.
 */
#include "connectome/short_term_make.h"

#include "base/error.h"
#include "connectome/learning_make.h"

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
    vly_status status = vly_learning_keeps(maker, made, plasticity, &input);
    if (status != VLY_OK)
        return status;
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

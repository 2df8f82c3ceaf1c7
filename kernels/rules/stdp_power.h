/* SPDX-License-Identifier: Apache-2.0
 * stdp_power: pair-based plasticity whose potentiation grows with a power of
 * the weight. With the traces x of the source and y of the target:
 *     the target fires    w += lambda w_0^(1 - mu) w^mu x
 *     a spike arrives     w -= lambda alpha w y
 * Source: Morrison et al. 2007, doi:10.1162/neco.2007.19.6.1437
 */
#ifndef VOLLEY_RULES_STDP_POWER_H
#define VOLLEY_RULES_STDP_POWER_H

#include "rule.h"

VLY_STRUCT(vly_stdp_power_coef)
{
    VLY_F32 up;   /* lambda w_0^(1 - mu), units of the map to that power */
    VLY_F32 down; /* lambda alpha */
    VLY_F32 mu;
    VLY_U32 most;
};

VLY_FN VLY_I32 vly_stdp_power_pre(VLY_I32 m, vly_stdp_power_coef c, VLY_F32 x0,
                                  VLY_F32 x1, VLY_F32 y0, VLY_F32 y1)
{
    VLY_F32 dw = (c.down * vly_weight_f32(m)) * y0;
    return vly_weight_lowered(m, dw);
}

VLY_FN VLY_I32 vly_stdp_power_post(VLY_I32 m, vly_stdp_power_coef c, VLY_F32 x0,
                                   VLY_F32 x1, VLY_F32 y0, VLY_F32 y1)
{
    VLY_F32 dw = (c.up * vly_power_f32(vly_weight_f32(m), c.mu)) * x0;
    return vly_weight_raised(m, dw, VLY_TO_I32(c.most));
}

#endif

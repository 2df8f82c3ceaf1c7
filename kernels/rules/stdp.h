/* SPDX-License-Identifier: Apache-2.0
 * stdp: pair-based spike-timing-dependent plasticity. With r = w / w_max in
 * [0, 1], the trace x of the source and y of the target:
 *     the target fires    w += lambda w_max (1 - r)^mu_plus x
 *     a spike arrives     w -= lambda alpha w_max r^mu_minus y
 * mu 0 is the additive rule (Song et al. 2000), mu 1 the multiplicative one.
 * Source: Guetig et al. 2003, doi:10.1523/JNEUROSCI.23-09-03697.2003
 */
#ifndef VOLLEY_RULES_STDP_H
#define VOLLEY_RULES_STDP_H

#include "rule.h"

VLY_STRUCT(vly_stdp_coef)
{
    VLY_F32 up;      /* lambda w_max, units of the map */
    VLY_F32 down;    /* lambda alpha w_max */
    VLY_F32 inverse; /* 1 / w_max */
    VLY_F32 mu_plus;
    VLY_F32 mu_minus;
    VLY_U32 most; /* w_max in 2^-16 units */
};

VLY_FN VLY_I32 vly_stdp_pre(VLY_I32 m, vly_stdp_coef c, VLY_F32 x0, VLY_F32 x1,
                            VLY_F32 y0, VLY_F32 y1)
{
    VLY_F32 r = vly_weight_f32(m) * c.inverse;
    VLY_F32 dw = (c.down * vly_power_f32(r, c.mu_minus)) * y0;
    return vly_weight_lowered(m, dw);
}

VLY_FN VLY_I32 vly_stdp_post(VLY_I32 m, vly_stdp_coef c, VLY_F32 x0, VLY_F32 x1,
                             VLY_F32 y0, VLY_F32 y1)
{
    VLY_F32 r = 1.0f - vly_weight_f32(m) * c.inverse;
    r = r > 0.0f ? r : 0.0f;
    VLY_F32 dw = (c.up * vly_power_f32(r, c.mu_plus)) * x0;
    return vly_weight_raised(m, dw, VLY_TO_I32(c.most));
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 * stdp: pair-based spike-timing-dependent plasticity. With w between 0 and
 * w_max, r = w / w_max and the traces x of the source, y of the target:
 *     at a spike of the target   w += lambda w_max (1 - r)^mu_plus x
 *     at an arriving spike       w -= lambda alpha w_max r^mu_minus y
 * mu 0 is the additive rule of Song et al. 2000, mu 1 the multiplicative rule of
 * van Rossum et al. 2000; between them Guetig et al. 2003.
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
    VLY_I32 most; /* w_max in 2^-16 units */
};

/* A spike of the source arrives; y: trace of the target before this burst. */
VLY_FN VLY_I32 vly_stdp_pre(VLY_I32 m, vly_stdp_coef c, VLY_F32 y)
{
    VLY_F32 r = vly_weight_f32(m) * c.inverse;
    return vly_weight_change(m, -((c.down * vly_power_f32(r, c.mu_minus)) * y),
                             c.most);
}

/* The target fires; x: trace of the source before this burst. */
VLY_FN VLY_I32 vly_stdp_post(VLY_I32 m, vly_stdp_coef c, VLY_F32 x)
{
    VLY_F32 r = 1.0f - vly_weight_f32(m) * c.inverse;
    r = r > 0.0f ? r : 0.0f;
    return vly_weight_change(m, (c.up * vly_power_f32(r, c.mu_plus)) * x,
                             c.most);
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 * stdp_triplet: with the fast and slow traces x0, x1 of the source and y0, y1
 * of the target:
 *     the target fires    w += w_max x0 (a2_plus + a3_plus y1)
 *     a spike arrives     w -= w_max y0 (a2_minus + a3_minus x1)
 * Source: Pfister and Gerstner 2006, doi:10.1523/JNEUROSCI.1425-06.2006
 */
#ifndef VOLLEY_RULES_STDP_TRIPLET_H
#define VOLLEY_RULES_STDP_TRIPLET_H

#include "rule.h"

VLY_STRUCT(vly_stdp_triplet_coef)
{
    VLY_F32 pair_up; /* a2_plus w_max, units of the map; and so on */
    VLY_F32 triplet_up;
    VLY_F32 pair_down;
    VLY_F32 triplet_down;
    VLY_U32 most;
};

VLY_FN VLY_I32 vly_stdp_triplet_pre(VLY_I32 m, vly_stdp_triplet_coef c,
                                    VLY_F32 x0, VLY_F32 x1, VLY_F32 y0,
                                    VLY_F32 y1)
{
    VLY_F32 dw = y0 * (c.pair_down + c.triplet_down * x1);
    return vly_weight_lowered(m, dw);
}

VLY_FN VLY_I32 vly_stdp_triplet_post(VLY_I32 m, vly_stdp_triplet_coef c,
                                     VLY_F32 x0, VLY_F32 x1, VLY_F32 y0,
                                     VLY_F32 y1)
{
    VLY_F32 dw = x0 * (c.pair_up + c.triplet_up * y1);
    return vly_weight_raised(m, dw, VLY_TO_I32(c.most));
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 * stdp_inhibitory: symmetric plasticity of inhibitory synapses, which holds the
 * rate of the target near alpha / (2 tau). With the traces x of the source and
 * y of the target, of one time constant:
 *     the target fires    w += eta x
 *     a spike arrives     w += eta (y - alpha)
 * w is the size of a weight; the map gives its sign.
 * Source: Vogels et al. 2011, doi:10.1126/science.1211095
 */
#ifndef VOLLEY_RULES_STDP_INHIBITORY_H
#define VOLLEY_RULES_STDP_INHIBITORY_H

#include "rule.h"

VLY_STRUCT(vly_stdp_inhibitory_coef)
{
    VLY_F32 eta; /* units of the map */
    VLY_F32 alpha;
    VLY_U32 most;
};

VLY_FN VLY_I32 vly_stdp_inhibitory_pre(VLY_I32 m, vly_stdp_inhibitory_coef c,
                                       VLY_F32 x0, VLY_F32 x1, VLY_F32 y0,
                                       VLY_F32 y1)
{
    return vly_weight_change(m, c.eta * (y0 - c.alpha), VLY_TO_I32(c.most));
}

VLY_FN VLY_I32 vly_stdp_inhibitory_post(VLY_I32 m, vly_stdp_inhibitory_coef c,
                                        VLY_F32 x0, VLY_F32 x1, VLY_F32 y0,
                                        VLY_F32 y1)
{
    return vly_weight_change(m, c.eta * x0, VLY_TO_I32(c.most));
}

#endif

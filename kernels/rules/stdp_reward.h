/* SPDX-License-Identifier: Apache-2.0
 * stdp_reward: STDP whose pairs make a synapse eligible; a modulator (reward,
 * dopamine) turns that into a change of its weight. With the traces x of the
 * source and y of the target, the eligibility c and the modulator n in 1/s:
 *     the target fires     c += a_plus x
 *     a spike arrives      c -= a_minus y
 *     every interval       w += interval (base + n) c, then c decays (tau_c)
 *     the area fires       n += increment for each spike; n decays (tau_n)
 * Source: Izhikevich 2007, doi:10.1093/cercor/bhl152
 */
#ifndef VOLLEY_RULES_STDP_REWARD_H
#define VOLLEY_RULES_STDP_REWARD_H

#include "eligibility.h"

VLY_STRUCT(vly_stdp_reward_coef)
{
    VLY_F32 a_plus; /* units of the eligibility: VLY_ELIGIBILITY */
    VLY_F32 a_minus;
    VLY_F32 interval;  /* s, times that unit */
    VLY_F32 base;      /* 1/s */
    VLY_F32 increment; /* 1/s */
    VLY_F32 fade;      /* of c in an interval */
    VLY_U32 most;
};

VLY_FN VLY_I32 vly_stdp_reward_pre(VLY_I32 m, vly_stdp_reward_coef c,
                                   VLY_F32 x0, VLY_F32 x1, VLY_F32 y0,
                                   VLY_F32 y1)
{
    return vly_eligibility_change(m, -(c.a_minus * y0));
}

VLY_FN VLY_I32 vly_stdp_reward_post(VLY_I32 m, vly_stdp_reward_coef c,
                                    VLY_F32 x0, VLY_F32 x1, VLY_F32 y0,
                                    VLY_F32 y1)
{
    return vly_eligibility_change(m, c.a_plus * x0);
}

VLY_FN VLY_I32 vly_stdp_reward_weight(VLY_I32 m, VLY_I32 e,
                                      vly_stdp_reward_coef c, VLY_F32 d)
{
    VLY_F32 share = c.interval * (c.base + d);
    return vly_weight_change(m, share * vly_eligibility_f32(e),
                             VLY_TO_I32(c.most));
}

VLY_FN VLY_I32 vly_stdp_reward_fade(VLY_I32 e, vly_stdp_reward_coef c)
{
    return vly_eligibility_fade(e, c.fade);
}

VLY_FN VLY_F32 vly_stdp_reward_modulator(VLY_F32 d, vly_stdp_reward_coef c,
                                         VLY_U32 n_spikes, VLY_I32 given)
{
    VLY_F32 spikes = vly_u32_f32(n_spikes) * c.increment;
    VLY_F32 more = spikes + vly_i32_f32(given) * VLY_MODULATOR_UNIT;
    return vly_modulator_store(d + more);
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 * feagi_stdp: FEAGI's rule of co-activity in a window of bursts. Once a burst,
 * after its spikes, for a synapse of which an end fired within the window:
 *     both ends fired in every burst of the window    w += up
 *     otherwise                                       w -= down
 * in whole numbers, within [0, w_max]. The order of the spikes does not matter.
 * Source: feagi-core 0.0.1-beta.18, burst engine, npu.rs
 */
#ifndef VOLLEY_RULES_FEAGI_STDP_H
#define VOLLEY_RULES_FEAGI_STDP_H

#include "rule.h"

VLY_STRUCT(vly_feagi_stdp_coef)
{
    VLY_U32 up; /* 2^-16 units */
    VLY_U32 down;
    VLY_U32 most;
};

VLY_FN VLY_I32 vly_feagi_stdp_pre(VLY_I32 m, vly_feagi_stdp_coef c, VLY_F32 x0,
                                  VLY_F32 x1, VLY_F32 y0, VLY_F32 y1)
{
    return m;
}

VLY_FN VLY_I32 vly_feagi_stdp_post(VLY_I32 m, vly_feagi_stdp_coef c, VLY_F32 x0,
                                   VLY_F32 x1, VLY_F32 y0, VLY_F32 y1)
{
    VLY_I32 most = VLY_TO_I32(c.most);
    VLY_I32 up = VLY_TO_I32(c.up);
    VLY_I32 down = VLY_TO_I32(c.down);
    VLY_I32 more = up < most - m ? m + up : most;
    VLY_I32 less = down < m ? m - down : 0;
    VLY_I32 changed = x0 + y0 > 3.5f ? more : less;
    return x0 + y0 > 0.5f ? changed : m;
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 * tsodyks2: short-term depression and facilitation. A spike h after the one
 * before finds
 *     x <- 1 + (x - x u - 1) e^(-h / tau_rec), with x and u of the spike before
 *     u <- U + u (1 - U) e^(-h / tau_fac)
 * and has the gain x u.
 * Source: Tsodyks, Pawelzik and Markram 1998, doi:10.1162/089976698300017502;
 * these equations: Maass and Markram 2002, doi:10.1016/S0893-6080(01)00144-7
 */
#ifndef VOLLEY_RULES_TSODYKS2_H
#define VOLLEY_RULES_TSODYKS2_H

#include "short_term.h"

VLY_STRUCT(vly_tsodyks2_coef)
{
    VLY_F32 U;
    VLY_F32 rec; /* dt / tau_rec */
    VLY_F32 fac; /* dt / tau_fac */
};

VLY_FN vly_short_term vly_tsodyks2_spike(vly_short_term s, vly_tsodyks2_coef c,
                                         VLY_U32 h)
{
    VLY_F32 x =
        1.0f + ((s.x - s.x * s.u) - 1.0f) * vly_short_term_decay(h, c.rec);
    VLY_F32 u = c.U + (s.u * (1.0f - c.U)) * vly_short_term_decay(h, c.fac);
    VLY_F32 start = s.u < 0.0f ? c.U : s.u;
    x = s.y < 0.0f ? s.x : x;
    u = s.y < 0.0f ? start : u;
    s.x = vly_store(x, 0.0f, 1.0f);
    s.u = vly_store(u, 0.0f, 1.0f);
    s.y = 0.0f;
    s.gain = vly_short_term_gain(s.x * s.u);
    return s;
}

#endif

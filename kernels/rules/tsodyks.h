/* SPDX-License-Identifier: Apache-2.0
 * tsodyks: short-term plasticity with resources available (x), in use (y) and
 * recovering (1 - x - y):
 *     x' = (1 - x - y) / tau_rec, y' = -y / tau_psc, u' = -u / tau_fac
 * solved exactly from spike to spike. A spike: u <- u + U (1 - u); the gain is
 * x u, which moves from x to y.
 * Source: Tsodyks, Uziel and Markram 2000,
 * doi:10.1523/JNEUROSCI.20-01-j0003.2000
 */
#ifndef VOLLEY_RULES_TSODYKS_H
#define VOLLEY_RULES_TSODYKS_H

#include "short_term.h"

VLY_STRUCT(vly_tsodyks_coef)
{
    VLY_F32 U;
    VLY_F32 rec;    /* dt / tau_rec */
    VLY_F32 fac;    /* dt / tau_fac */
    VLY_F32 psc;    /* dt / tau_psc */
    VLY_F32 by_rec; /* tau_rec / (tau_psc - tau_rec) */
    VLY_F32 by_psc; /* tau_psc / (tau_psc - tau_rec) */
};

VLY_FN vly_short_term vly_tsodyks_spike(vly_short_term s, vly_tsodyks_coef c,
                                        VLY_U32 h)
{
    VLY_F32 rec = vly_short_term_decay(h, c.rec);
    VLY_F32 psc = vly_short_term_decay(h, c.psc);
    VLY_F32 z = (1.0f - s.x) - s.y;
    VLY_F32 from_y = (rec - 1.0f) * c.by_rec - (psc - 1.0f) * c.by_psc;
    VLY_F32 x = s.x + (from_y * s.y + (1.0f - rec) * z);
    VLY_F32 y = s.y * psc;
    VLY_F32 u = s.u * vly_short_term_decay(h, c.fac);
    x = s.y < 0.0f ? 1.0f : x;
    u = s.y < 0.0f ? 0.0f : u;
    y = s.y < 0.0f ? 0.0f : y;
    s.u = vly_store(u + c.U * (1.0f - u), 0.0f, 1.0f);
    VLY_F32 used = s.u * x;
    s.x = vly_store(x - used, 0.0f, 1.0f);
    s.y = vly_store(y + used, 0.0f, 1.0f);
    s.gain = vly_short_term_gain(used);
    return s;
}

#endif

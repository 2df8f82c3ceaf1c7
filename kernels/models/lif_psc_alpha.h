/* SPDX-License-Identifier: Apache-2.0
 * lif_psc_alpha: one burst of a leaky integrate-and-fire neuron with
 * alpha-shaped synaptic currents, integrated exactly on the grid. An event of
 * weight w gives the current w (t / tau_syn) e^(1 - t / tau_syn), whose peak is
 * w at t = tau_syn.
 * Order: V with the old current (held while refractory), the current with the
 * old slope, decay of the slope, arrivals, threshold. With d = V - E_L, the
 * current I and R, its slope without decay:
 *     V <- E_L + (p33 d + ((p31 R + p32 I) + drive))
 *     I <- p11 I + p21 R,  R <- p11 R + peak * arrivals
 * Source: Rotter and Diesmann 1999, doi:10.1007/s004220050570
 */
#ifndef VOLLEY_MODELS_LIF_PSC_ALPHA_H
#define VOLLEY_MODELS_LIF_PSC_ALPHA_H

#include "model.h"

VLY_STRUCT(vly_lif_psc_alpha_state)
{
    VLY_F32 v_mv;
    VLY_F32 i_syn_pa;
    VLY_F32 rise_pa_per_ms;
    VLY_U32 refractory;
};

VLY_STRUCT(vly_lif_psc_alpha_coef)
{
    VLY_F32 p11;
    VLY_F32 p21;
    VLY_F32 p33;
    VLY_F32 p31;
    VLY_F32 p32;
    VLY_F32 peak;
    VLY_F32 drive;
    VLY_F32 e_l;
    VLY_F32 v_th;
    VLY_F32 v_reset;
    VLY_U32 t_ref;
};

VLY_STRUCT(vly_lif_psc_alpha_out)
{
    vly_lif_psc_alpha_state s;
    VLY_U32 fired;
};

/* arrived: sum of the peaks of the currents that begin in this burst, pA */
VLY_FN vly_lif_psc_alpha_out vly_lif_psc_alpha_step(vly_lif_psc_alpha_state s,
                                                    vly_lif_psc_alpha_coef c,
                                                    VLY_F32 arrived)
{
    vly_lif_psc_alpha_out o;
    VLY_F32 d = s.v_mv - c.e_l;
    VLY_F32 flow = c.p31 * s.rise_pa_per_ms + c.p32 * s.i_syn_pa;
    VLY_F32 moved = c.e_l + (c.p33 * d + (flow + c.drive));
    VLY_F32 v = s.refractory == 0u ? moved : s.v_mv;
    VLY_F32 i = c.p11 * s.i_syn_pa + c.p21 * s.rise_pa_per_ms;
    VLY_F32 rise = c.p11 * s.rise_pa_per_ms + c.peak * arrived;
    VLY_U32 left = s.refractory == 0u ? 0u : s.refractory - 1u;
    v = vly_store(v, -16384.0f, 16384.0f);
    o.fired = v >= c.v_th ? 1u : 0u;
    o.s.v_mv = o.fired != 0u ? vly_store(c.v_reset, -16384.0f, 16384.0f) : v;
    o.s.i_syn_pa = vly_store(i, -1073741824.0f, 1073741824.0f);
    o.s.rise_pa_per_ms = vly_store(rise, -1073741824.0f, 1073741824.0f);
    o.s.refractory = o.fired != 0u ? c.t_ref : left;
    return o;
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 * lif_psc_exp: one burst of a leaky integrate-and-fire neuron with
 * exponential synaptic currents, integrated exactly on the grid.
 * Order: V with the old current (held while refractory), decay of the current,
 * arrivals, threshold. With d = V - E_L and the propagators of the table:
 *     V <- E_L + (p22 d + (p21 I + drive)),  I <- p11 I + arrivals
 * Source: Rotter and Diesmann 1999, doi:10.1007/s004220050570
 */
#ifndef VOLLEY_MODELS_LIF_PSC_EXP_H
#define VOLLEY_MODELS_LIF_PSC_EXP_H

#include "model.h"

VLY_STRUCT(vly_lif_psc_exp_state)
{
    VLY_F32 v_mv;
    VLY_F32 i_syn_pa;
    VLY_U32 refractory;
};

VLY_STRUCT(vly_lif_psc_exp_coef)
{
    VLY_F32 p11;
    VLY_F32 p22;
    VLY_F32 p21;
    VLY_F32 drive;
    VLY_F32 e_l;
    VLY_F32 v_th;
    VLY_F32 v_reset;
    VLY_U32 t_ref;
};

VLY_STRUCT(vly_lif_psc_exp_out)
{
    vly_lif_psc_exp_state s;
    VLY_U32 fired;
};

/* arrived: input of this burst, pA */
VLY_FN vly_lif_psc_exp_out vly_lif_psc_exp_step(vly_lif_psc_exp_state s,
                                                vly_lif_psc_exp_coef c,
                                                VLY_F32 arrived)
{
    vly_lif_psc_exp_out o;
    VLY_F32 d = s.v_mv - c.e_l;
    VLY_F32 drift = c.p21 * s.i_syn_pa + c.drive;
    VLY_F32 moved = c.e_l + (c.p22 * d + drift);
    VLY_F32 v = s.refractory == 0u ? moved : s.v_mv;
    VLY_F32 i = c.p11 * s.i_syn_pa + arrived;
    VLY_U32 left = s.refractory == 0u ? 0u : s.refractory - 1u;
    v = vly_store(v, -16384.0f, 16384.0f);
    o.fired = v >= c.v_th ? 1u : 0u;
    o.s.v_mv = o.fired != 0u ? vly_store(c.v_reset, -16384.0f, 16384.0f) : v;
    o.s.i_syn_pa = vly_store(i, -1073741824.0f, 1073741824.0f);
    o.s.refractory = o.fired != 0u ? c.t_ref : left;
    return o;
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 * lif_psc_exp2: one burst of lif_psc_exp with two synaptic currents, each with
 * its time constant, integrated exactly on the grid. A separate model, so that
 * nets of lif_psc_exp keep their table, their digests and the code paths for
 * one port. Order: V with the old currents (held while refractory), decay of
 * the currents, arrivals, threshold. With d = V - E_L:
 *     V <- E_L + (p22 d + ((p21_ex I_ex + p21_in I_in) + drive))
 *     I_ex <- p_ex I_ex + in_ex,  I_in <- p_in I_in + in_in
 * Source: Rotter and Diesmann 1999, doi:10.1007/s004220050570
 */
#ifndef VOLLEY_MODELS_LIF_PSC_EXP2_H
#define VOLLEY_MODELS_LIF_PSC_EXP2_H

#include "model.h"

VLY_STRUCT(vly_lif_psc_exp2_state)
{
    VLY_F32 v_mv;
    VLY_F32 i_ex_pa;
    VLY_F32 i_in_pa;
    VLY_U32 refractory;
};

VLY_STRUCT(vly_lif_psc_exp2_coef)
{
    VLY_F32 p_ex;
    VLY_F32 p_in;
    VLY_F32 p22;
    VLY_F32 p21_ex;
    VLY_F32 p21_in;
    VLY_F32 drive;
    VLY_F32 e_l;
    VLY_F32 v_th;
    VLY_F32 v_reset;
    VLY_U32 t_ref;
};

VLY_STRUCT(vly_lif_psc_exp2_out)
{
    vly_lif_psc_exp2_state s;
    VLY_U32 fired;
};

/* in_ex, in_in: input of the ports in this burst, pA */
VLY_FN vly_lif_psc_exp2_out vly_lif_psc_exp2_step(vly_lif_psc_exp2_state s,
                                                  vly_lif_psc_exp2_coef c,
                                                  VLY_F32 in_ex, VLY_F32 in_in)
{
    vly_lif_psc_exp2_out o;
    VLY_F32 d = s.v_mv - c.e_l;
    VLY_F32 drift = (c.p21_ex * s.i_ex_pa + c.p21_in * s.i_in_pa) + c.drive;
    VLY_F32 moved = c.e_l + (c.p22 * d + drift);
    VLY_F32 v = s.refractory == 0u ? moved : s.v_mv;
    VLY_F32 ex = c.p_ex * s.i_ex_pa + in_ex;
    VLY_F32 inh = c.p_in * s.i_in_pa + in_in;
    VLY_U32 left = s.refractory == 0u ? 0u : s.refractory - 1u;
    v = vly_store(v, -16384.0f, 16384.0f);
    o.fired = v >= c.v_th ? 1u : 0u;
    o.s.v_mv = o.fired != 0u ? vly_store(c.v_reset, -16384.0f, 16384.0f) : v;
    o.s.i_ex_pa = vly_store(ex, -1073741824.0f, 1073741824.0f);
    o.s.i_in_pa = vly_store(inh, -1073741824.0f, 1073741824.0f);
    o.s.refractory = o.fired != 0u ? c.t_ref : left;
    return o;
}

#endif

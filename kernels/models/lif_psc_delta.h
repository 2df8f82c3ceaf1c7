/* SPDX-License-Identifier: Apache-2.0
 * lif_psc_delta: one burst of a leaky integrate-and-fire neuron whose input
 * moves the membrane potential at once:
 *     V <- (E_L + (p22 (V - E_L) + drive)) + arrivals
 * While refractory, V is held and input is lost.
 * Source: Brunel 2000, doi:10.1023/A:1008925309027
 */
#ifndef VOLLEY_MODELS_LIF_PSC_DELTA_H
#define VOLLEY_MODELS_LIF_PSC_DELTA_H

#include "model.h"

VLY_STRUCT(vly_lif_psc_delta_state)
{
    VLY_F32 v_mv;
    VLY_U32 refractory;
};

VLY_STRUCT(vly_lif_psc_delta_coef)
{
    VLY_F32 p22;
    VLY_F32 drive;
    VLY_F32 e_l;
    VLY_F32 v_th;
    VLY_F32 v_reset;
    VLY_U32 t_ref;
};

VLY_STRUCT(vly_lif_psc_delta_out)
{
    vly_lif_psc_delta_state s;
    VLY_U32 fired;
};

/* arrived: input of this burst, mV */
VLY_FN vly_lif_psc_delta_out vly_lif_psc_delta_step(vly_lif_psc_delta_state s,
                                                    vly_lif_psc_delta_coef c,
                                                    VLY_F32 arrived)
{
    vly_lif_psc_delta_out o;
    VLY_F32 d = s.v_mv - c.e_l;
    VLY_F32 moved = (c.e_l + (c.p22 * d + c.drive)) + arrived;
    VLY_F32 v = s.refractory == 0u ? moved : s.v_mv;
    VLY_U32 left = s.refractory == 0u ? 0u : s.refractory - 1u;
    v = vly_store(v, -16384.0f, 16384.0f);
    o.fired = v >= c.v_th ? 1u : 0u;
    o.s.v_mv = o.fired != 0u ? vly_store(c.v_reset, -16384.0f, 16384.0f) : v;
    o.s.refractory = o.fired != 0u ? c.t_ref : left;
    return o;
}

#endif

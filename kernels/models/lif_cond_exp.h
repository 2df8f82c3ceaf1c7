/* SPDX-License-Identifier: Apache-2.0
 * lif_cond_exp: one burst of a leaky integrate-and-fire neuron with
 * exponential conductances,
 *     C V' = g_L (E_L - V) + g_ex (E_ex - V) + g_in (E_in - V) + I.
 * Exponential Euler with the conductances' means over the burst, which the
 * host puts into k_ex and k_in: second order in the burst. V does not pass the
 * potential it is driven to, however large the conductances are. Order: V with
 * the old conductances (held while refractory), decay of the conductances,
 * arrivals, threshold:
 *     a = k_ex g_ex, b = k_in g_in
 *     x = k_l + (a + b), the burst in time constants of the moment
 *     m = ((k_l (E_L - V) + a (E_ex - V)) + b (E_in - V)) + drive
 *     V <- V + mean(x) m
 *     g_ex <- p_ex g_ex + in_ex,  g_in <- p_in g_in - in_in
 * Inhibitory weights are negative, and a conductance is never below 0.
 * Source: NEST's iaf_cond_exp (equations, order of operations, defaults);
 * Hochbruck and Ostermann 2010, doi:10.1017/S0962492910000048
 */
#ifndef VOLLEY_MODELS_LIF_COND_EXP_H
#define VOLLEY_MODELS_LIF_COND_EXP_H

#include "exponential.h"
#include "model.h"

VLY_STRUCT(vly_lif_cond_exp_state)
{
    VLY_F32 v_mv;
    VLY_F32 g_ex_ns;
    VLY_F32 g_in_ns;
    VLY_U32 refractory;
};

VLY_STRUCT(vly_lif_cond_exp_coef)
{
    VLY_F32 k_l;
    VLY_F32 k_ex;
    VLY_F32 k_in;
    VLY_F32 p_ex;
    VLY_F32 p_in;
    VLY_F32 drive;
    VLY_F32 e_l;
    VLY_F32 e_ex;
    VLY_F32 e_in;
    VLY_F32 v_th;
    VLY_F32 v_reset;
    VLY_U32 t_ref;
};

VLY_STRUCT(vly_lif_cond_exp_out)
{
    vly_lif_cond_exp_state s;
    VLY_U32 fired;
};

/* in_ex, in_in: input of the ports in this burst, nS; in_in is negative
 */
VLY_FN vly_lif_cond_exp_out vly_lif_cond_exp_step(vly_lif_cond_exp_state s,
                                                  vly_lif_cond_exp_coef c,
                                                  VLY_F32 in_ex, VLY_F32 in_in)
{
    vly_lif_cond_exp_out o;
    VLY_F32 v = s.v_mv;
    VLY_F32 a = c.k_ex * s.g_ex_ns;
    VLY_F32 b = c.k_in * s.g_in_ns;
    VLY_F32 x = c.k_l + (a + b);
    VLY_F32 m = c.k_l * (c.e_l - v) + a * (c.e_ex - v);
    m = (m + b * (c.e_in - v)) + c.drive;
    VLY_F32 moved = v + vly_decay_mean_f32(x) * m;
    VLY_U32 left = s.refractory == 0u ? 0u : s.refractory - 1u;
    v = s.refractory == 0u ? moved : v;
    v = vly_store(v, -16384.0f, 16384.0f);
    o.fired = v >= c.v_th ? 1u : 0u;
    o.s.v_mv = o.fired != 0u ? vly_store(c.v_reset, -16384.0f, 16384.0f) : v;
    o.s.g_ex_ns = vly_store(c.p_ex * s.g_ex_ns + in_ex, 0.0f, 1048576.0f);
    o.s.g_in_ns = vly_store(c.p_in * s.g_in_ns - in_in, 0.0f, 1048576.0f);
    o.s.refractory = o.fired != 0u ? c.t_ref : left;
    return o;
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 * adex: one burst of the adaptive exponential integrate-and-fire neuron,
 *     C V' = g_L (E_L - V) + g_L D e^((V - V_T) / D) - w + I
 *            + g_ex (E_ex - V) + g_in (E_in - V)
 *     tau_w w' = a (V - E_L) - w
 *     V >= V_peak: a spike, V <- V_reset, w <- w + b
 * Exponential Euler for what is linear in V, with the conductances' means over
 * the burst (as in lif_cond_exp), w at its middle and the exponential current
 * at both ends, the second from a first try of the step: second order in the
 * burst. Order: V, w (V is held while refractory, w is not), spike and reset,
 * decay of the conductances, arrivals:
 *     p = k_ex g_ex, q = k_in g_in, x = k_l + (p + q)
 *     W = w + half_w (a (V - E_L) - w)
 *     m = (((k_l (E_L - V) + p (E_ex - V)) + q (E_in - V)) + drive) - k_w W
 *     f(V) = k_spike e^(sharpness (V - V_T)), the exponent at most 60
 *     T = V + mean(x) (m + f(V)), at most V_peak
 *     U = V + mean(x) (m + 0.5 (f(V) + f(T))), cut off at V_peak
 *     w <- w + whole_w (a (0.5 (V + U) - E_L) - w)
 * Source: Brette and Gerstner 2005, doi:10.1152/jn.00686.2005 (equations,
 * parameters); NEST's aeif_cond_exp (conductances, refractory period, V clamped
 * to V_peak inside the exponential); Cox and Matthews 2002,
 * doi:10.1006/jcph.2002.6995 (the scheme)
 */
#ifndef VOLLEY_MODELS_ADEX_H
#define VOLLEY_MODELS_ADEX_H

#include "exponential.h"
#include "model.h"

VLY_STRUCT(vly_adex_state)
{
    VLY_F32 v_mv;
    VLY_F32 w_pa;
    VLY_F32 g_ex_ns;
    VLY_F32 g_in_ns;
    VLY_U32 refractory;
};

VLY_STRUCT(vly_adex_coef)
{
    VLY_F32 k_l;
    VLY_F32 k_ex;
    VLY_F32 k_in;
    VLY_F32 k_w;
    VLY_F32 k_spike;
    VLY_F32 sharpness;
    VLY_F32 p_ex;
    VLY_F32 p_in;
    VLY_F32 half_w;
    VLY_F32 whole_w;
    VLY_F32 drive;
    VLY_F32 e_l;
    VLY_F32 e_ex;
    VLY_F32 e_in;
    VLY_F32 v_t;
    VLY_F32 v_peak;
    VLY_F32 v_reset;
    VLY_F32 a;
    VLY_F32 b;
    VLY_U32 t_ref;
};

VLY_STRUCT(vly_adex_out)
{
    vly_adex_state s;
    VLY_U32 fired;
};

/* The change of V by the spike current in one burst, mV. e^60 k_spike is finite
 * for every coefficient up to 2^40. */
VLY_FN VLY_F32 vly_adex_spike(VLY_F32 v, vly_adex_coef c)
{
    VLY_F32 x = (v - c.v_t) * c.sharpness;
    return c.k_spike * vly_exp_f32(x < 60.0f ? x : 60.0f);
}

/* in_ex, in_in: input of the ports in this burst, nS; in_in is negative
 */
VLY_FN vly_adex_out vly_adex_step(vly_adex_state s, vly_adex_coef c,
                                  VLY_F32 in_ex, VLY_F32 in_in)
{
    vly_adex_out o;
    VLY_F32 v = s.v_mv;
    VLY_F32 w = s.w_pa;
    VLY_F32 p = c.k_ex * s.g_ex_ns;
    VLY_F32 q = c.k_in * s.g_in_ns;
    VLY_F32 mean = vly_decay_mean_f32(c.k_l + (p + q));
    VLY_F32 middle = w + c.half_w * (c.a * (v - c.e_l) - w);
    VLY_F32 m = c.k_l * (c.e_l - v) + p * (c.e_ex - v);
    m = ((m + q * (c.e_in - v)) + c.drive) - c.k_w * middle;
    VLY_F32 now = vly_adex_spike(v, c);
    VLY_F32 tried = v + mean * (m + now);
    tried = tried < c.v_peak ? tried : c.v_peak;
    VLY_F32 then = vly_adex_spike(tried, c);
    VLY_F32 moved = v + mean * (m + 0.5f * (now + then));
    moved = moved < c.v_peak ? moved : c.v_peak;
    VLY_F32 u = s.refractory == 0u ? moved : v;
    VLY_U32 left = s.refractory == 0u ? 0u : s.refractory - 1u;
    w = w + c.whole_w * (c.a * (0.5f * (v + u) - c.e_l) - w);
    u = vly_store(u, -16384.0f, 16384.0f);
    o.fired = u >= c.v_peak ? 1u : 0u;
    o.s.v_mv = o.fired != 0u ? vly_store(c.v_reset, -16384.0f, 16384.0f) : u;
    w = o.fired != 0u ? w + c.b : w;
    o.s.w_pa = vly_store(w, -1073741824.0f, 1073741824.0f);
    o.s.g_ex_ns = vly_store(c.p_ex * s.g_ex_ns + in_ex, 0.0f, 1048576.0f);
    o.s.g_in_ns = vly_store(c.p_in * s.g_in_ns - in_in, 0.0f, 1048576.0f);
    o.s.refractory = o.fired != 0u ? c.t_ref : left;
    return o;
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 * The words in which a plasticity rule is written, in the subset of
 * kernels/models/model.h (C11, CUDA C++, GLSL): + - *, selects, conversions and
 * integer operations, so that every backend has the same bits.
 *
 * A rule has up to two traces of the source (x0, x1) and of the target (y0, y1)
 * and two functions, which return the changed weight:
 *     vly_NAME_pre(m, c, x0, x1, y0, y1)   a spike of the source arrives
 *     vly_NAME_post(m, c, x0, x1, y0, y1)  the target fires
 * Traces are those before this burst: of two events in the same burst neither
 * sees the other.
 *
 * A rule of windows (VLY_WINDOW) is evaluated once a burst after its spikes, by
 * `post` for every synapse: x0 and y0 say how often the source and the target
 * fired in the last D bursts (vly_window_state).
 *
 * A weight is an int32 in units of 2^-16 of the unit of its map. The upper 16
 * bits, rounded, are delivered. A trace is a function of a spike train: its
 * value after its last spike, and the burst of that spike. It is decayed in one
 * step, so its value does not depend on when it is read.
 */
#ifndef VOLLEY_RULES_RULE_H
#define VOLLEY_RULES_RULE_H

#include "kernels/models/exponential.h"

/* A trace that was x at its last spike, k bursts ago; rate: dt / tau. From
 * `bursts` on, after 15 halvings (10.4 tau), it counts as 0: what a synapse
 * must know of the past is bounded. k * rate is below 10.5, so vly_exp_f32 is
 * wrong by 2.7e-7 and the product by 10.5 * 2^-23: 1.6e-6 in all, relative. */
VLY_FN VLY_F32 vly_trace_at(VLY_F32 x, VLY_U32 k, VLY_F32 rate, VLY_U32 bursts)
{
    VLY_U32 known = k < bursts ? k : 0u;
    VLY_F32 y = x * vly_exp_f32(-(VLY_TO_F32(known) * rate));
    return k < bursts ? y : 0.0f;
}

/* ln x for a normal x above 0.
 * x = 2^e f with f in [sqrt(1/2), sqrt(2)); the polynomial of degree 8 is that
 * of logf in Cephes, whose remainder is below 2^-24. Measured by test_rules.
 * Source: Moshier, Cephes Mathematical Library, logf.c */
VLY_FN VLY_F32 vly_log_f32(VLY_F32 x)
{
    VLY_U32 bits = VLY_BITS(x);
    VLY_U32 half_up = bits + 0x004afb0du; /* carries into e from sqrt(2) on */
    VLY_I32 e = VLY_TO_I32(half_up >> 23) - 127;
    VLY_F32 f = VLY_FLOAT(bits - (VLY_TO_U32(e) << 23)) - 1.0f;
    VLY_F32 z = f * f;
    VLY_F32 p = 7.0376836292e-2f;
    p = p * f - 1.1514610310e-1f;
    p = p * f + 1.1676998740e-1f;
    p = p * f - 1.2420140846e-1f;
    p = p * f + 1.4249322787e-1f;
    p = p * f - 1.6668057665e-1f;
    p = p * f + 2.0000714765e-1f;
    p = p * f - 2.4999993993e-1f;
    p = p * f + 3.3333331174e-1f;
    p = (p * f) * z;
    VLY_F32 n = VLY_TO_F32(e);
    p = p - 2.12194440e-4f * n;
    p = p - 0.5f * z;
    return (p + f) + 0.693359375f * n;
}

/* x^mu for x 0 or in [2^-24, 2^30], mu in [0, 4]; 0^0 is 1. mu 0 and 1 are
 * exact. Below 2^-40, the smallest constant of the numeric contract, x counts
 * as 0. */
VLY_FN VLY_F32 vly_power_f32(VLY_F32 x, VLY_F32 mu)
{
#if defined(__CUDACC__) /* mu is that of a map: all threads take one branch */
    if (mu == 1.0f || mu == 0.0f)
        return mu == 0.0f ? 1.0f : x;
#endif
    VLY_F32 base = x > 9.0949470e-13f ? x : 9.0949470e-13f;
    VLY_F32 y = vly_exp_f32(mu * vly_log_f32(base));
    y = x > 9.0949470e-13f ? y : 0.0f;
    y = mu == 1.0f ? x : y;
    return mu == 0.0f ? 1.0f : y;
}

/* A weight as a float, in units of its map: 24 bits of it, exact. */
VLY_FN VLY_F32 vly_weight_f32(VLY_I32 m)
{
    return VLY_TO_F32(m >> 8) * 0.00390625f;
}

/* dw, not negative, in 2^-16 of a unit: rounded, half up; at most 2^31 - 128.
 */
VLY_FN VLY_I32 vly_weight_step(VLY_F32 dw)
{
    VLY_F32 size = dw * 65536.0f + 0.5f;
    return VLY_TO_I32(size < 2147483520.0f ? size : 2147483520.0f);
}

/* m in [0, most] changed by dw units of the map, within [0, most]. dw is
 * rounded to 2^-16 of a unit, half away from 0. */
VLY_FN VLY_I32 vly_weight_change(VLY_I32 m, VLY_F32 dw, VLY_I32 most)
{
    VLY_I32 d = vly_weight_step(dw < 0.0f ? -dw : dw);
    VLY_I32 up = d < most - m ? m + d : most;
    VLY_I32 down = d < m ? m - d : 0;
    return dw < 0.0f ? down : up;
}

/* m raised by dw, which is not negative: what vly_weight_change gives, in fewer
 * instructions. */
VLY_FN VLY_I32 vly_weight_raised(VLY_I32 m, VLY_F32 dw, VLY_I32 most)
{
    VLY_U32 sum = VLY_TO_U32(m) + VLY_TO_U32(vly_weight_step(dw));
    return VLY_TO_I32(sum < VLY_TO_U32(most) ? sum : VLY_TO_U32(most));
}

/* m lowered by dw, which is not negative. */
VLY_FN VLY_I32 vly_weight_lowered(VLY_I32 m, VLY_F32 dw)
{
    VLY_I32 rest = m - vly_weight_step(dw);
    return rest > 0 ? rest : 0;
}

/* Of a neuron whose last spike was k bursts before the burst to come, at the
 * end of `run` bursts in a row with a spike each: 0 without a spike in the last
 * `bursts` bursts, 2 with one in each of them, otherwise 1. */
VLY_FN VLY_F32 vly_window_state(VLY_U32 run, VLY_U32 k, VLY_U32 bursts)
{
    VLY_F32 some = k <= bursts ? 1.0f : 0.0f;
    return k == 1u && run >= bursts ? 2.0f : some;
}

#endif

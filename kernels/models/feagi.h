/* SPDX-License-Identifier: Apache-2.0
 * feagi: one update of a candidate (a neuron at which any event arrived).
 * Order: countdown (input lost), V <- V + input, threshold window, limit on
 * consecutive spikes, excitability; a spike sets V = 0; without one the count
 * is cleared and V <- V keep. Without charge accumulation V = 0 at the end.
 * fire_limit 65535 means none; excitability 2^32 - 1 means always.
 * Source: feagi-core 0.0.1-beta.18, burst engine, sequential path
 */
#ifndef VOLLEY_MODELS_FEAGI_H
#define VOLLEY_MODELS_FEAGI_H

#include "model.h"

VLY_STRUCT(vly_feagi_state)
{
    VLY_F32 potential;
    VLY_U32 refractory_countdown;
    VLY_U32 consecutive_fire_count;
};

VLY_STRUCT(vly_feagi_coef)
{
    VLY_F32 threshold;
    VLY_F32 threshold_limit;
    VLY_F32 keep;
    VLY_U32 refractory_period;
    VLY_U32 fire_limit;
    VLY_U32 snooze;
    VLY_U32 excitability;
    VLY_U32 accumulate;
    VLY_U32 psp;
    VLY_U32 mp_driven;
    VLY_U32 uniform_psp;
};

VLY_STRUCT(vly_feagi_out)
{
    vly_feagi_state s;
    VLY_U32 fired;
    VLY_U32 psp; /* strength of the spike, 0 to 255 */
};

/* The stream word of the excitability draw (key: the input seed). */
#define VLY_FEAGI_STREAM 0x66656167u

/* psp of a membrane-driven spike: clamped, half away from zero */
VLY_FN VLY_U32 vly_feagi_driven_psp(VLY_F32 v)
{
    VLY_F32 x = v > 0.0f ? v : 0.0f;
    x = x < 255.0f ? x : 255.0f;
    VLY_U32 t = VLY_TO_U32(x);
    return t + ((x - VLY_TO_F32(t)) >= 0.5f ? 1u : 0u);
}

/* The strength of a spike at its FEAGI targets. */
VLY_FN VLY_U32 vly_feagi_gain(VLY_U32 psp, VLY_U32 uniform_psp, VLY_U32 q,
                              VLY_U32 out_degree)
{
    VLY_U32 gain = psp << q;
    if (uniform_psp == 0u && out_degree > 1u)
        gain = gain / out_degree + (gain % out_degree != 0u ? 1u : 0u);
    return gain;
}

/* arrived: the input; u: its draw, used only if excitability < 2^32 - 1 */
VLY_FN vly_feagi_out vly_feagi_step(vly_feagi_state s, vly_feagi_coef c,
                                    VLY_F32 arrived, VLY_U32 u)
{
    vly_feagi_out o;
    VLY_F32 v = s.potential;
    VLY_U32 count = s.consecutive_fire_count;
    VLY_U32 left = s.refractory_countdown;
    VLY_U32 limited = c.fire_limit < 65535u ? 1u : 0u;
    o.fired = 0u;
    o.psp = 0u;
    if (left > 0u) {
        left = left - 1u;
        if (left == 0u && limited != 0u && count >= c.fire_limit)
            count = 0u;
    } else {
        VLY_U32 blocked = 0u;
        v = vly_store(v + arrived, -1073741824.0f, 1073741824.0f);
        if (v >= c.threshold && v <= c.threshold_limit) {
            if (limited != 0u && count >= c.fire_limit) {
                count = 0u;
                blocked = 1u;
            } else if (c.excitability == 0xffffffffu || u < c.excitability) {
                o.fired = 1u;
            }
        }
        if (o.fired != 0u) {
            o.psp = c.mp_driven != 0u ? vly_feagi_driven_psp(v) : c.psp;
            v = 0.0f;
            count = count < 65535u ? count + 1u : count;
            left = c.refractory_period;
            if (limited != 0u && count >= c.fire_limit)
                left = left + c.snooze;
            left = left < 65535u ? left : 65535u;
        } else if (blocked == 0u) {
            if (limited != 0u)
                count = 0u;
            v = vly_store(v * c.keep, -1073741824.0f, 1073741824.0f);
        }
    }
    if (c.accumulate == 0u)
        v = 0.0f;
    o.s.potential = v;
    o.s.refractory_countdown = left;
    o.s.consecutive_fire_count = count;
    return o;
}

#endif

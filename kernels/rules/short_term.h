/* SPDX-License-Identifier: Apache-2.0
 * Short-term plasticity: a spike is delivered with a gain, which is a function
 * of the spikes that its source had before. Written in the subset of
 * kernels/models/model.h (C11, CUDA C++, GLSL), so that every backend has the
 * same bits. The weight stays as it is.
 *
 * A rule has one function, which returns the state after a spike, and its gain:
 *     vly_NAME_spike(s, c, h)   s: the state after the spike before, c: the
 *                               coefficients, h: bursts since that spike
 * It is called for each spike once, in the order of their bursts; h counts from
 * spike to spike, so the delay of a synapse plays no part.
 */
#ifndef VOLLEY_RULES_SHORT_TERM_H
#define VOLLEY_RULES_SHORT_TERM_H

#include "conversion.h"
#include "kernels/models/exponential.h"

/* Of one source. y below 0: no spike is known; then x and u are those that the
 * next spike finds (u below 0: as much as its rule says without any past). */
VLY_STRUCT(vly_short_term)
{
    VLY_F32 x;    /* resources that are available, 0 to 1 */
    VLY_F32 u;    /* share of them that a spike uses, 0 to 1 */
    VLY_F32 y;    /* resources in use, 0 to 1 */
    VLY_U32 gain; /* of the spike, in 2^-16 */
};

/* The state without a past. */
VLY_FN vly_short_term vly_short_term_rest(void)
{
    vly_short_term s;
    s.x = 1.0f;
    s.u = -1.0f;
    s.y = -1.0f;
    s.gain = 0u;
    return s;
}

/* The state h bursts after its last spike: without a past from `bursts` on, so
 * that an age is bounded. */
VLY_FN vly_short_term vly_short_term_known(vly_short_term s, VLY_U32 h,
                                           VLY_U32 bursts)
{
    vly_short_term rest = vly_short_term_rest();
    return s.y < 0.0f || h < bursts ? s : rest;
}

/* e^(-h rate); h is below 2^26 where the result is used */
VLY_FN VLY_F32 vly_short_term_decay(VLY_U32 h, VLY_F32 rate)
{
    return vly_exp_f32(-(vly_u32_f32(h) * rate));
}

/* A share in units of 2^-16, to the nearest; 0 to 65536. */
VLY_FN VLY_U32 vly_short_term_gain(VLY_F32 share)
{
    VLY_F32 least = share > 0.0f ? share : 0.0f;
    VLY_F32 most = least < 1.0f ? least : 1.0f;
    return VLY_TO_U32(VLY_TO_I32(most * 65536.0f + 0.5f));
}

/* What an event adds: weight * 2^shift * gain * 2^-16, rounded to the nearest
 * (a half towards +infinity). |weight| <= 2^15, gain <= 2^16 and shift <= 12,
 * so nothing overflows; 2^31 is added before the logical shift and 2^(15 +
 * shift) taken away after it: together an arithmetic one. */
VLY_FN VLY_I32 vly_short_term_event(VLY_I32 weight, VLY_U32 gain, VLY_U32 shift)
{
    VLY_U32 middle = 0x8000u >> shift;
    VLY_U32 product = VLY_TO_U32(weight) * gain + middle + 0x80000000u;
    return VLY_TO_I32(product >> (16u - shift)) - VLY_TO_I32(0x8000u << shift);
}

#endif

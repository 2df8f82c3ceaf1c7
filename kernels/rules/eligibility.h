/* SPDX-License-Identifier: Apache-2.0
 * The words of rules whose synapses have an eligibility: what STDP has found
 * out about a synapse, and what a modulator turns into a change of its weight
 * later.
 *
 * Such a rule has the same two functions as others, but they change the
 * eligibility e instead of the weight m. Every `interval` bursts, before the
 * arrivals of the burst, with d the modulator of that burst:
 *     m = vly_NAME_weight(m, e, c, d), then e = vly_NAME_fade(e, c)
 * and in each burst with a spike of the modulator's area, or with a value
 * given by the host, after all else:
 *     d = vly_NAME_modulator(d, c, number of spikes, value given)
 * where d has decayed as a trace does. Each synapse alone: no result depends
 * on the order of synapses.
 *
 * e is an int32 of either sign, in units of 2^-16 of "the unit" below: that of
 * its map times a power of two that the coefficients hold (VLY_ELIGIBILITY of
 * rule_table.h), so that many pairs have room.
 */
#ifndef VOLLEY_RULES_ELIGIBILITY_H
#define VOLLEY_RULES_ELIGIBILITY_H

#include "conversion.h"
#include "rule.h"

#define VLY_ELIGIBILITY_MOST 2147483520 /* 2^31 - 128: as a float, exact */
/* A value given by the host is a whole number of 2^-16. */
#define VLY_MODULATOR_UNIT 1.52587890625e-5f

/* e in its unit. */
VLY_FN VLY_F32 vly_eligibility_f32(VLY_I32 e)
{
    return vly_i32_f32(e) * 1.52587890625e-5f;
}

/* e changed by de units, rounded half away from 0. */
VLY_FN VLY_I32 vly_eligibility_change(VLY_I32 e, VLY_F32 de)
{
    VLY_F32 size = (de < 0.0f ? -de : de) * 65536.0f + 0.5f;
    size = size < 2147483520.0f ? size : 2147483520.0f;
    VLY_I32 d = VLY_TO_I32(size);
    VLY_I32 room_up = e > 0 ? VLY_ELIGIBILITY_MOST - e : VLY_ELIGIBILITY_MOST;
    VLY_I32 room_down = e < 0 ? VLY_ELIGIBILITY_MOST + e : VLY_ELIGIBILITY_MOST;
    d = de < 0.0f ? -(d < room_down ? d : room_down)
                  : (d < room_up ? d : room_up);
    return e + d;
}

/* e times a factor in [0, 1), rounded toward 0: it reaches 0. */
VLY_FN VLY_I32 vly_eligibility_fade(VLY_I32 e, VLY_F32 factor)
{
    VLY_F32 f = vly_eligibility_f32(e);
    VLY_F32 size = ((f < 0.0f ? -f : f) * 65536.0f) * factor;
    VLY_I32 left = VLY_TO_I32(size);
    return e < 0 ? -left : left;
}

/* A modulator as it is stored. Like other floats of the state it is 0 or at
 * least 2^-40 in size: a device may take tiny ones for 0
 * (kernels/models/model.h). */
VLY_FN VLY_F32 vly_modulator_store(VLY_F32 d)
{
    return (VLY_BITS(d) & 0x7fffffffu) < 0x2b800000u ? 0.0f : d;
}

#endif

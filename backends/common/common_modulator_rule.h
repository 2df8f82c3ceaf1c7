/* SPDX-License-Identifier: Apache-2.0
 * The modulator of one rule. Not guarded: each_plasticity.h includes it for
 * every rule in common_modulator.c. A rule without one leaves d as it is.
 */
#define JOIN2(a, b, c) a##b##c
#define JOIN(a, b, c) JOIN2(a, b, c)

static float JOIN(modulate_,
                  VLY_PLASTICITY_ID, )(float d, const uint32_t *coefs,
                                       uint32_t n_spikes, int32_t given)
{
    JOIN(vly_, VLY_PLASTICITY_ID, _coef) c;
    memcpy(&c, coefs, sizeof c);
    (void)n_spikes;
    (void)given;
#define VLY_MODULATOR(tau, interval)                                           \
    d = JOIN(vly_, VLY_PLASTICITY_ID, _modulator)(d, c, n_spikes, given);
#include VLY_PLASTICITY_TABLE
    return d;
}

#undef JOIN
#undef JOIN2

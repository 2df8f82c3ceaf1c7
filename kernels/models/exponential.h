/* SPDX-License-Identifier: Apache-2.0
 * exp and the mean of a decay, for models whose step needs them: float32 from
 * + - *, selects, conversions and integer operations only, so that every
 * backend has the same bits.
 */
#ifndef VOLLEY_MODELS_EXPONENTIAL_H
#define VOLLEY_MODELS_EXPONENTIAL_H

#include "model.h"

/* e^x; x is clamped to [-80, 80], so the result is a normal number.
 *
 * x = n ln 2 + r, |r| <= 0.347; ln 2 is the sum of a part of 15 bits, whose
 * product with n is exact, and a small one (Cody and Waite 1980). e^r is a
 * Taylor polynomial of degree 7, whose remainder r^8 / 8! is below 6e-9; 2^n is
 * made from bits. With u = 2^-24, the error is at most 0.7 u from r (two
 * subtractions), (0.5 + 1.5) u from the last product and sum, and 0.3 u from
 * the other terms. As e^r >= 0.7, it is below 4.5 u = 2.7e-7 relative.
 * Measured by test_model_exponential over 2^24 arguments.
 * Source: Cody and Waite 1980, Software Manual for the Elementary Functions,
 * ISBN 0138220646 */
VLY_FN VLY_F32 vly_exp_f32(VLY_F32 x)
{
    VLY_F32 y = x > -80.0f ? x : -80.0f;
    y = y < 80.0f ? y : 80.0f;
    VLY_F32 t = y * 1.44269504f + 128.5f; /* above 0: truncated is floor */
    VLY_I32 k = VLY_TO_I32(t);
    VLY_F32 n = VLY_TO_F32(k - 128);
    VLY_F32 r = (y - n * 0.693145752f) - n * 1.42860677e-6f;
    VLY_F32 p = 1.98412698e-4f;
    p = p * r + 1.38888889e-3f;
    p = p * r + 8.33333333e-3f;
    p = p * r + 4.16666667e-2f;
    p = p * r + 1.66666667e-1f;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    /* 2^n: the exponent is n + 127 = k - 1, between 11 and 243 */
    return p * VLY_FLOAT(VLY_TO_U32(k - 1) << 23);
}

/* (1 - e^-x) / x without a division: the mean of e^-s over s in [0, x], the
 * factor by which a constant input acts on a decaying variable in one burst;
 * for x below 0 as at 0.
 *
 * From 16 on x = 2^n z with z in [8, 16), and 2^-n mean(z) is taken: too small
 * by the factor 1 - e^-z, by less than e^-8 = 3.4e-4, so that x mean(x) never
 * exceeds 1, and a decaying variable never passes its target, however large x
 * is. Below, at y = x / 32 a Taylor polynomial of degree 7, whose remainder y^8
 * / 9! is below 1.1e-8; then five times
 *     mean(2 y) = mean(y) (1 + e^-y) / 2,  e^-2y = (e^-y)^2.
 * With u = 2^-24 the polynomial is wrong by at most 2 u and a doubling adds at
 * most 2 u and half the error of e^-y, in all below 20 u = 1.2e-6, relative;
 * measured by test_model_exponential. */
VLY_FN VLY_F32 vly_decay_mean_f32(VLY_F32 x)
{
    VLY_F32 y = x > 0.0f ? x : 0.0f;
    VLY_U32 exponent = VLY_BITS(y) >> 23; /* 131: of [16, 32) */
    VLY_U32 n = exponent > 130u ? exponent - 130u : 0u;
    VLY_F32 scale = VLY_FLOAT((127u - n) << 23); /* 2^-n; x is below 2^64 */
    y = (y * scale) * 0.03125f;
    VLY_F32 m = -2.48015873e-5f;
    m = m * y + 1.98412698e-4f;
    m = m * y - 1.38888889e-3f;
    m = m * y + 8.33333333e-3f;
    m = m * y - 4.16666667e-2f;
    m = m * y + 1.66666667e-1f;
    m = m * y - 0.5f;
    m = m * y + 1.0f;
    VLY_F32 e = 1.0f - y * m;
    m = m * (0.5f * e + 0.5f);
    e = e * e;
    m = m * (0.5f * e + 0.5f);
    e = e * e;
    m = m * (0.5f * e + 0.5f);
    e = e * e;
    m = m * (0.5f * e + 0.5f);
    e = e * e;
    return (m * (0.5f * e + 0.5f)) * scale;
}

#endif

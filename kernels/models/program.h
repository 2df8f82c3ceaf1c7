/* SPDX-License-Identifier: Apache-2.0
 * Operations of users' models that are more than one operation of the machine,
 * in the common subset of C11, CUDA C++ and GLSL: division and square root are
 * not correctly rounded everywhere, + - * are.
 */
#ifndef VOLLEY_MODELS_PROGRAM_H
#define VOLLEY_MODELS_PROGRAM_H

#include "exponential.h"
#include "model.h"

/* 1 / x by three steps of Newton's method from a guess by the bits: at most 2.5
 * u wrong, relative, with u = 2^-24 (measured by test_model_program: 2.49 u).
 * |x| counts as at least 2^-40 and at most 2^80, so that nothing overflows; NaN
 * counts as 2^-40, whatever its sign: machines differ in the NaN they make. */
VLY_FN VLY_F32 vly_inverse_f32(VLY_F32 x)
{
    VLY_U32 size_bits = VLY_BITS(x) & 0x7fffffffu;
    VLY_U32 sign = size_bits > 0x7f800000u ? 0u : VLY_BITS(x) & 0x80000000u;
    VLY_F32 size = VLY_FLOAT(size_bits);
    size = size > 9.09494702e-13f ? size : 9.09494702e-13f; /* 2^-40 */
    size = size < 1.20892582e24f ? size : 1.20892582e24f;   /* 2^80 */
    VLY_F32 y = VLY_FLOAT(0x7ef311c3u - VLY_BITS(size));
    y = y * (2.0f - size * y);
    y = y * (2.0f - size * y);
    y = y * (2.0f - size * y);
    return VLY_FLOAT(VLY_BITS(y) | sign);
}

/* Square root by three steps for 1 / sqrt(x): at most 3.1 u wrong, relative
 * (measured: 3.09 u). Below 2^-80, and of NaN: 0; above 2^80 as of 2^80. */
VLY_FN VLY_F32 vly_root_f32(VLY_F32 x)
{
    VLY_F32 least = 8.27180613e-25f; /* 2^-80 */
    VLY_F32 size = x > least ? x : least;
    size = size < 1.20892582e24f ? size : 1.20892582e24f;
    VLY_F32 half_size = 0.5f * size;
    VLY_F32 y = VLY_FLOAT(0x5f3759dfu - (VLY_BITS(size) >> 1));
    y = y * (1.5f - (half_size * y) * y);
    y = y * (1.5f - (half_size * y) * y);
    y = y * (1.5f - (half_size * y) * y);
    return x > least ? size * y : 0.0f;
}

#endif

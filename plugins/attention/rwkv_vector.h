/* SPDX-License-Identifier: Apache-2.0
 * Sigmoid, tanh and softplus on vectors, and weights of every type as vectors.
 * Only for rwkv_kernels.c.
 */
#ifndef VOLLEY_RWKV_VECTOR_H
#define VOLLEY_RWKV_VECTOR_H

#include "attention_vector.h"
#include "element.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

typedef uint16_t hvec __attribute__((vector_size(2 * LANES)));
typedef int8_t bvec __attribute__((vector_size(LANES)));

/* ---- functions --------------------------------------------------------- */

INLINE vec sigmoid_of(vec x)
{
    return 1.0f / (1.0f + exp_of(-x));
}

INLINE vec magnitude_of(vec x)
{
    return (vec)((uvec)x & 0x7fffffffu);
}

/* Below 5/8 x plus an odd polynomial of it, else 1 - 2 / (exp(2 |x|) + 1) with
 * the sign of x. Source  Cephes, tanhf, S. L. Moshier */
INLINE vec tanh_of(vec x)
{
    const vec size = magnitude_of(x);
    const vec z = x * x;
    vec p = z * -5.70498872745e-3f + 2.06390887954e-2f;
    p = p * z - 5.37397155531e-2f;
    p = p * z + 1.33314422036e-1f;
    p = p * z - 3.33332819422e-1f;
    const vec near = p * z * x + x;
    const vec far = 1.0f - 2.0f / (exp_of(2.0f * size) + 1.0f);
    const vec signed_far = (vec)((uvec)far | ((uvec)x & 0x80000000u));
    return choose(size < 0.625f, near, signed_far);
}

/* log(1 + exp(x)): the larger of x and 0, and log(1 + t) of t = exp(-|x|) in
 * (0, 1], as 2 atanh(s), s = t / (2 + t) <= 1/3: the series up to s^15 leaves
 * 1.4e-9 of it. */
INLINE vec softplus_of(vec x)
{
    const vec t = exp_of(-magnitude_of(x));
    const vec s = t / (2.0f + t);
    const vec z = s * s;
    vec p = z * (1.0f / 15.0f) + 1.0f / 13.0f;
    p = p * z + 1.0f / 11.0f;
    p = p * z + 1.0f / 9.0f;
    p = p * z + 1.0f / 7.0f;
    p = p * z + 1.0f / 5.0f;
    p = p * z + 1.0f / 3.0f;
    p = p * z + 1.0f;
    const vec sum = larger(x, splat(0.0f)) + 2.0f * s * p;
    return choose(x == x, sum, x);
}

/* ---- weights ----------------------------------------------------------- */

/* fp16, as vly_f16_to_f32 has it. */
INLINE vec from_f16(hvec h)
{
#if defined(__AVX512F__)
    return (vec)_mm512_cvtph_ps((__m256i)h);
#else
    const uvec wide = __builtin_convertvector(h, uvec);
    const uvec sign = (wide & 0x8000u) << 16;
    const uvec body = (wide & 0x7fffu) << 13;
    const uvec tiny = (uvec)((vec)(body + (113u << 23)) - 0x1p-14f);
    uvec bits = body + (112u << 23);
    bits = (uvec)choose((ivec)body < (1 << 23), (vec)tiny, (vec)bits);
    bits = (uvec)choose((ivec)body >= (31 << 23), (vec)(body + (224u << 23)),
                        (vec)bits);
    return (vec)(bits | sign);
#endif
}

/* LANES of int4, the even ones in the low halves of the bytes: each byte twice,
 * then shifted by 0 and 4 in turn. */
INLINE vec from_i4(const uint8_t *bytes)
{
    typedef uint8_t pairs __attribute__((vector_size(16)));
    typedef uint8_t lanes __attribute__((vector_size(LANES)));
    pairs twice = {0};
    lanes some;
    uvec shift;
    memcpy(&twice, bytes, LANES / 2);
    twice = __builtin_shufflevector(twice, twice, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4,
                                    5, 5, 6, 6, 7, 7);
    memcpy(&some, &twice, sizeof some);
    for (uint32_t i = 0; i < LANES; i++)
        shift[i] = i % 2 * 4;
    const uvec nibbles = __builtin_convertvector(some, uvec) >> shift & 15u;
    return __builtin_convertvector((ivec)(nibbles ^ 8u) - 8, vec);
}

/* LANES weights from element `at` on; type is a constant in every call. */
INLINE vec load_weights(const uint32_t type, const void *w, uint64_t at)
{
    hvec halves;
    bvec bytes;
    switch (type) {
    case VLY_ELEMENT_F16:
        memcpy(&halves, (const uint16_t *)w + at, sizeof halves);
        return from_f16(halves);
    case VLY_ELEMENT_BF16:
        memcpy(&halves, (const uint16_t *)w + at, sizeof halves);
        return (vec)(__builtin_convertvector(halves, uvec) << 16);
    case VLY_ELEMENT_I8:
        memcpy(&bytes, (const int8_t *)w + at, sizeof bytes);
        return __builtin_convertvector(__builtin_convertvector(bytes, ivec),
                                       vec);
    case VLY_ELEMENT_I4:
        return from_i4((const uint8_t *)w + at / 2);
    default:
        return load_any((const float *)w + at);
    }
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Sigmoid, tanh and softplus on vectors, and weights of every type as vectors.
 * Only for rwkv_kernels.c.
 */
#ifndef VOLLEY_RWKV_VECTOR_H
#define VOLLEY_RWKV_VECTOR_H

#include "attention_vector.h"
#include "element.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

typedef uint16_t hvec __attribute__((vector_size(2 * LANES)));

/* ---- functions --------------------------------------------------------- */

INLINE vec sigmoid_of(vec x)
{
    return 1.0f / (1.0f + exp_of(-x));
}

INLINE vec magnitude_of(vec x)
{
    return (vec)((uvec)x & 0x7fffffffu);
}

/* Below 5/8 x plus an odd polynomial of it, otherwise 1 - 2 / (exp(2 |x|) + 1)
 * with the sign of x. Source  Cephes, tanhf, S. L. Moshier */
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

/* LANES halves, each as 32 bits. */
INLINE uvec widened(hvec h)
{
#if defined(__AVX512F__)
    return (uvec)_mm512_cvtepu16_epi32((__m256i)h);
#elif defined(__AVX2__)
    return (uvec)_mm256_cvtepu16_epi32((__m128i)h);
#else
    return __builtin_convertvector(h, uvec);
#endif
}

/* fp16, as vly_f16_to_f32 has it. */
INLINE vec from_f16(hvec h)
{
#if defined(__AVX512F__)
    return (vec)_mm512_cvtph_ps((__m256i)h);
#else
    const uvec wide = widened(h);
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

/* LANES bytes. Left to itself gcc 12 widens them one by one. */
INLINE vec from_i8(const int8_t *from)
{
#if defined(__AVX512F__)
    const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)from);
    return (vec)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes));
#elif defined(__AVX2__)
    const __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)from);
    return (vec)_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
#else
    ivec wide;
    for (uint32_t i = 0; i < LANES; i++)
        wide[i] = from[i];
    return __builtin_convertvector(wide, vec);
#endif
}

/* LANES of int4, the even ones in the low halves of the bytes: a byte becomes
 * 64 bits, its high half goes to the upper 32. */
INLINE vec from_i4(const uint8_t *from)
{
#if defined(__AVX512F__) || defined(__AVX2__)
#if defined(__AVX512F__)
    typedef uint64_t quads __attribute__((vector_size(64)));
    const quads bytes = (quads)_mm512_cvtepu8_epi64(
        _mm_loadl_epi64((const __m128i *)(const void *)from));
#else
    typedef uint64_t quads __attribute__((vector_size(32)));
    int32_t four;
    memcpy(&four, from, sizeof four);
    const quads bytes = (quads)_mm256_cvtepu8_epi64(_mm_cvtsi32_si128(four));
#endif
    const ivec nibbles = (ivec)((bytes | bytes << 28) & 0x0000000f0000000full);
#else
    ivec nibbles;
    for (uint32_t i = 0; i < LANES; i++)
        nibbles[i] = from[i / 2] >> (i % 2 * 4) & 15;
#endif
    return __builtin_convertvector((nibbles ^ 8) - 8, vec);
}

/* LANES weights from element `at` on; type is a constant in every call. */
INLINE vec load_weights(const uint32_t type, const void *w, uint64_t at)
{
    hvec halves;
    switch (type) {
    case VLY_ELEMENT_F16:
        memcpy(&halves, (const uint16_t *)w + at, sizeof halves);
        return from_f16(halves);
    case VLY_ELEMENT_BF16:
        memcpy(&halves, (const uint16_t *)w + at, sizeof halves);
        return (vec)(widened(halves) << 16);
    case VLY_ELEMENT_I8:
        return from_i8((const int8_t *)w + at);
    case VLY_ELEMENT_I4:
        return from_i4((const uint8_t *)w + at / 2);
    default:
        return load_any((const float *)w + at);
    }
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Vectors as wide as the instruction set that this file is compiled for, in the
 * vector extension that gcc and clang share, and exp on them. Only for
 * attention_kernels.c and wkv_kernel.h.
 */
#ifndef VOLLEY_ATTENTION_VECTOR_H
#define VOLLEY_ATTENTION_VECTOR_H

#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__)
#define LANES 16
#elif defined(__AVX2__)
#define LANES 8
#else
#define LANES 4
#endif

#define INLINE static inline __attribute__((always_inline))

typedef float vec __attribute__((vector_size(4 * LANES), may_alias));
typedef int32_t ivec __attribute__((vector_size(4 * LANES), may_alias));
typedef uint32_t uvec __attribute__((vector_size(4 * LANES), may_alias));

/* memory that is aligned to 64 bytes */
INLINE vec load(const float *from)
{
    return *(const vec *)(const void *)from;
}

INLINE void store(float *to, vec x)
{
    *(vec *)(void *)to = x;
}

/* memory that is not */
INLINE vec load_any(const float *from)
{
    vec x;
    memcpy(&x, from, sizeof x);
    return x;
}

INLINE void store_any(float *to, vec x)
{
    memcpy(to, &x, sizeof x);
}

INLINE vec splat(float x)
{
    return x - (vec){0};
}

INLINE vec choose(ivec where, vec yes, vec no)
{
    return (vec)(((ivec)yes & where) | ((ivec)no & ~where));
}

/* the second operand if either is NaN */
INLINE vec larger(vec a, vec b)
{
    return choose(a > b, a, b);
}

#if LANES > 4
typedef float vec4 __attribute__((vector_size(16)));
#endif
#if LANES > 8
typedef float vec8 __attribute__((vector_size(32)));
#endif

/* The sum of all lanes, by halves. */
INLINE float sum_of(vec x)
{
#if LANES == 16
    vec8 h = __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7) +
             __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15);
    vec4 q = __builtin_shufflevector(h, h, 0, 1, 2, 3) +
             __builtin_shufflevector(h, h, 4, 5, 6, 7);
#elif LANES == 8
    vec4 q = __builtin_shufflevector(x, x, 0, 1, 2, 3) +
             __builtin_shufflevector(x, x, 4, 5, 6, 7);
#else
    vec q = x;
#endif
    return (q[0] + q[2]) + (q[1] + q[3]);
}

INLINE float largest_of(vec x)
{
    float most = x[0];
    for (int i = 1; i < LANES; i++)
        most = x[i] > most ? x[i] : most;
    return most;
}

/* exp(x): x = n ln 2 + r with |r| <= ln 2 / 2, a polynomial of r, and n added
 * to the exponent. n is rounded by adding 1.5 * 2^23, whose low bits then hold
 * it. 0 below -87.3 (no subnormals), infinite above 88.3, NaN stays NaN.
 * Relative error below 2^-22, tested against double.
 * Source  coefficients and ln 2 in two parts: Cephes, expf, S. L. Moshier */
INLINE vec exp_of(vec x)
{
    const vec magic = splat(0x1.8p23f);
    const vec t = x * 1.44269504088896341f + magic;
    const vec n = t - magic;
    const vec r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    vec p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1.0f;
    vec y = (vec)((uvec)p + ((uvec)t << 23));
    y = choose(x < -87.3f, splat(0.0f), y);
    y = choose(x > 88.3f, splat(__builtin_inff()), y);
    return choose(x == x, y, x);
}

#endif

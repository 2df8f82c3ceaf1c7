/* SPDX-License-Identifier: Apache-2.0
 * The operations of a model's step, so that one file compiles as C11, CUDA C++
 * and GLSL: structs by value, no pointers, + - * only, float to int only after
 * a clamp. GLSL includes this file with VLY_GLSL defined.
 */
#ifndef VOLLEY_MODELS_MODEL_H
#define VOLLEY_MODELS_MODEL_H

#if defined(VLY_GLSL)
#define VLY_FN
#define VLY_F32 float
#define VLY_U32 uint
#define VLY_I32 int
#define VLY_BITS(x) floatBitsToUint(x)
#define VLY_FLOAT(bits) uintBitsToFloat(bits)
#define VLY_TO_F32(x) float(x)
#define VLY_TO_U32(x) uint(x)
#define VLY_TO_I32(x) int(x)
#define VLY_STRUCT(name) struct name
#else
#include <stdint.h>
#include <string.h>
#if defined(__CUDACC__)
#define VLY_FN static __host__ __device__ __forceinline__
#else
#define VLY_FN static inline
#endif
#define VLY_F32 float
#define VLY_U32 uint32_t
#define VLY_I32 int32_t
#define VLY_TO_F32(x) ((float)(x))
#define VLY_TO_U32(x) ((uint32_t)(x))
#define VLY_TO_I32(x) ((int32_t)(x))
#define VLY_BITS(x) vly_bits(x)
#define VLY_FLOAT(bits) vly_float(bits)
#define VLY_STRUCT(name)                                                       \
    typedef struct name name;                                                  \
    struct name
VLY_FN uint32_t vly_bits(float x)
{
#if defined(__CUDA_ARCH__)
    return __float_as_uint(x);
#else
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
#endif
}
VLY_FN float vly_float(uint32_t bits)
{
#if defined(__CUDA_ARCH__)
    return __uint_as_float(bits);
#else
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
#endif
}
#endif

/* Every stored float passes here: |x| < 2^-40 becomes +0, so that there are no
 * subnormals and no -0; the clamp leaves no infinity. lo < hi, both finite.
 * In C the second half is a mask from a comparison of floats, which has the
 * same bits; gcc makes three instructions of it and twenty of the select. */
VLY_FN VLY_F32 vly_store(VLY_F32 x, VLY_F32 lo, VLY_F32 hi)
{
    VLY_F32 y = x > lo ? x : lo;
    y = y < hi ? y : hi;
#if defined(VLY_GLSL) || defined(__CUDACC__)
    return (VLY_BITS(y) & 0x7fffffffu) < 0x2b800000u ? 0.0f : y;
#else
    const VLY_U32 size = VLY_BITS(y) & 0x7fffffffu;
    const VLY_U32 kept =
        VLY_FLOAT(size) >= VLY_FLOAT(0x2b800000u) ? 0xffffffffu : 0u;
    return VLY_FLOAT(VLY_BITS(y) & kept);
#endif
}

#endif

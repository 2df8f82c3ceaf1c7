// SPDX-License-Identifier: Apache-2.0
// Elements and the end of a product, for all kernels of matrix products.
#ifndef VOLLEY_GEMM_ELEMENT_CUH
#define VOLLEY_GEMM_ELEMENT_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "gemm_kernels.h"

// Kernels are started through this so that a test can run them on the host
// (tests/support/emulated_accelerators.h). kernel: a pointer to one.
#if !defined(VLY_LAUNCH)
#define VLY_LAUNCH(kernel, grid, block, stream, ...)                           \
    kernel<<<grid, block, 0, stream>>>(__VA_ARGS__)
#endif

// 16 bytes from global to shared memory past the registers, 0 where `there` is
// not; done once vly_fetch_wait says so, for this thread.
static __device__ __forceinline__ void vly_fetch(void *shared, const void *from,
                                                 bool there)
{
#if defined(__CUDACC__)
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(
                     static_cast<uint32_t>(__cvta_generic_to_shared(shared))),
                 "l"(from), "r"(there ? 16 : 0)
                 : "memory");
#else
    memset(shared, 0, 16);
    if (there)
        memcpy(shared, from, 16);
#endif
}
// the same of 8 bytes that are there
static __device__ __forceinline__ void vly_fetch_8(void *shared,
                                                   const void *from)
{
#if defined(__CUDACC__)
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(
                     static_cast<uint32_t>(__cvta_generic_to_shared(shared))),
                 "l"(from)
                 : "memory");
#else
    memcpy(shared, from, 8);
#endif
}
static __device__ __forceinline__ void vly_fetch_commit()
{
#if defined(__CUDACC__)
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// all but the last N groups
template <int N> static __device__ __forceinline__ void vly_fetch_wait()
{
#if defined(__CUDACC__)
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}

// e4m3 is a byte with a type of its own; int4 is two numbers in a byte
struct vly_e4m3 {
    uint8_t bits;
};
struct vly_i4 {
    uint8_t pair;
};

static __device__ __forceinline__ float vly_to_float(float x)
{
    return x;
}
static __device__ __forceinline__ float vly_to_float(__half x)
{
    return __half2float(x);
}
static __device__ __forceinline__ float vly_to_float(__nv_bfloat16 x)
{
    return __bfloat162float(x);
}
static __device__ __forceinline__ float vly_to_float(vly_e4m3 x)
{
    return __half2float(__half(__nv_cvt_fp8_to_halfraw(x.bits, __NV_E4M3)));
}
static __device__ __forceinline__ float vly_to_float(int8_t x)
{
    return static_cast<float>(x);
}

// Element `index` of an array in the type of the product: float, or int for
// int8 times int8.
template <typename T, typename Sum>
static __device__ __forceinline__ Sum vly_load(const T *array, uint64_t index)
{
    return static_cast<Sum>(vly_to_float(array[index]));
}
template <>
__device__ __forceinline__ int vly_load<int8_t, int>(const int8_t *array,
                                                     uint64_t index)
{
    return array[index];
}
template <>
__device__ __forceinline__ float vly_load<vly_i4, float>(const vly_i4 *array,
                                                         uint64_t index)
{
    const uint32_t nibble = (array[index / 2].pair >> (index % 2 * 4)) & 15u;
    return static_cast<float>(static_cast<int>(nibble ^ 8u) - 8);
}

// Element of an array whose type is known at run time.
static __device__ __forceinline__ float vly_get(const void *array,
                                                uint32_t type, uint64_t index)
{
    switch (type) {
    case VLY_CUDA_F16:
        return vly_to_float(static_cast<const __half *>(array)[index]);
    case VLY_CUDA_BF16:
        return vly_to_float(static_cast<const __nv_bfloat16 *>(array)[index]);
    case VLY_CUDA_I32:
        return static_cast<float>(static_cast<const int *>(array)[index]);
    default:
        return static_cast<const float *>(array)[index];
    }
}

static __device__ __forceinline__ void vly_put(void *array, uint32_t type,
                                               uint64_t index, float x)
{
    if (type == VLY_CUDA_F16)
        static_cast<__half *>(array)[index] = __float2half_rn(x);
    else if (type == VLY_CUDA_BF16)
        static_cast<__nv_bfloat16 *>(array)[index] = __float2bfloat16_rn(x);
    else
        static_cast<float *>(array)[index] = x;
}

static __device__ __forceinline__ float vly_activate(float x, uint32_t f)
{
    if (f == VLY_CUDA_RELU)
        return x < 0.0f ? 0.0f : x;
    if (f == VLY_CUDA_RELU2)
        return x < 0.0f ? 0.0f : x * x;
    if (f == VLY_CUDA_GELU) {
        const float inner = 0.7978845608028654f * fmaf(0.044715f * x * x, x, x);
        return 0.5f * x * (1.0f + tanhf(inner));
    }
    return x;
}

// Scales that a whole sum has in common; those of blocks and groups are in it.
static __device__ __forceinline__ float
vly_scale(const vly_cuda_gemm &g, uint64_t z, uint64_t i, uint64_t j)
{
    float scale = 1.0f;
    const uint32_t type_b = g.type_b == VLY_CUDA_E4M3 || g.type_a == VLY_CUDA_I8
                                ? static_cast<uint32_t>(VLY_CUDA_F32)
                                : g.type_a;
    if (g.scale_a_mode == VLY_CUDA_SCALE_SCALAR ||
        g.scale_a_mode == VLY_CUDA_SCALE_ROW)
        scale *= static_cast<const float *>(
            g.scale_a)[z * g.stride_scale_a +
                       (g.scale_a_mode == VLY_CUDA_SCALE_ROW ? i : 0)];
    if (g.scale_b_mode == VLY_CUDA_SCALE_SCALAR ||
        g.scale_b_mode == VLY_CUDA_SCALE_ROW)
        scale *= vly_get(g.scale_b, type_b,
                         z * g.stride_scale_b +
                             (g.scale_b_mode == VLY_CUDA_SCALE_ROW ? j : 0));
    return scale;
}

// Element (i, j) of product z from its sum.
static __device__ __forceinline__ void vly_finish(const vly_cuda_gemm &g,
                                                  uint64_t z, uint64_t i,
                                                  uint64_t j, float sum)
{
    // alpha 0: the scales are not read
    float x = 0.0f;
    if (g.alpha != 0.0f && g.k != 0)
        x = g.alpha * (g.scale_b_mode == VLY_CUDA_SCALE_NONE
                           ? sum
                           : sum * vly_scale(g, z, i, j));
    if (g.beta != 0.0f)
        x = fmaf(g.beta, vly_get(g.c, g.type_d, z * g.stride_c + i * g.ldc + j),
                 x);
    if (g.bias != nullptr)
        x += vly_get(g.bias, g.type_d, z * g.stride_bias + j);
    vly_put(g.d, g.type_d, z * g.stride_d + i * g.ldd + j,
            vly_activate(x, g.activation));
}

// The same of an exact sum: int32 out is exact modulo 2^32.
static __device__ __forceinline__ void
vly_finish(const vly_cuda_gemm &g, uint64_t z, uint64_t i, uint64_t j, int sum)
{
    if (g.type_d != VLY_CUDA_I32) {
        vly_finish(g, z, i, j, static_cast<float>(sum));
        return;
    }
    uint32_t x = static_cast<uint32_t>(sum);
    if (g.beta != 0.0f)
        x += static_cast<const uint32_t *>(g.c)[z * g.stride_c + i * g.ldc + j];
    static_cast<uint32_t *>(g.d)[z * g.stride_d + i * g.ldd + j] = x;
}

#endif

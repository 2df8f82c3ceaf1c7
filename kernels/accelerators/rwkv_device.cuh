/* SPDX-License-Identifier: Apache-2.0
 * Shared by the kernels of RWKV-7: elements whose type is known at run time,
 * lengths, sums over a block, activations.
 */
#ifndef VLY_RWKV_DEVICE_CUH
#define VLY_RWKV_DEVICE_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "rwkv_kernels.h"

#include "rwkv_launch.cuh"

#define RWKV_DIM 64

static __device__ __forceinline__ float rwkv_float(float x)
{
    return x;
}
static __device__ __forceinline__ float rwkv_float(__half x)
{
    return __half2float(x);
}
static __device__ __forceinline__ float rwkv_float(__nv_bfloat16 x)
{
    return __bfloat162float(x);
}

/* Bypasses the first-level cache, because nothing is read twice. */
static __device__ __forceinline__ float rwkv_get(const void *array,
                                                 uint32_t type, uint64_t i)
{
    if (type == 1)
        return __half2float(__ldcg((const __half *)array + i));
    if (type == 2)
        return __bfloat162float(__ldcg((const __nv_bfloat16 *)array + i));
    return __ldcg((const float *)array + i);
}

static __device__ __forceinline__ void rwkv_put(void *array, uint32_t type,
                                                uint64_t i, float x)
{
    if (type == 1)
        ((__half *)array)[i] = __float2half_rn(x);
    else if (type == 2)
        ((__nv_bfloat16 *)array)[i] = __float2bfloat16_rn(x);
    else
        ((float *)array)[i] = x;
}

static __device__ __forceinline__ uint32_t rwkv_length(const int32_t *length,
                                                       uint32_t batch,
                                                       uint32_t seq)
{
    if (length == nullptr)
        return seq;
    const int32_t n = length[batch];
    return n < 0 ? 0 : ((uint32_t)n < seq ? (uint32_t)n : seq);
}

static __device__ __forceinline__ bool rwkv_is_there(const int32_t *length,
                                                     uint32_t seq, uint32_t row)
{
    return length == nullptr || row % seq < rwkv_length(length, row / seq, seq);
}

static __device__ __forceinline__ float rwkv_sigmoid(float x)
{
    return 1.0f / (1.0f + expf(-x));
}

/* log(1 + exp(x)) */
static __device__ __forceinline__ float rwkv_softplus(float x)
{
    return fmaxf(x, 0.0f) + log1pf(expf(-fabsf(x)));
}

static __device__ __forceinline__ float rwkv_sum_warp(float x)
{
    for (int d = 16; d > 0; d /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, d);
    return x;
}

/* Over all threads, by a fixed tree. part: [warps] of the block, not in use. */
template <int WARPS>
static __device__ __forceinline__ float rwkv_sum_block(float x, float *part)
{
    x = rwkv_sum_warp(x);
    __syncthreads(); /* part of the previous sum has been read */
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = x;
    __syncthreads();
    float sum = 0.0f;
#pragma unroll
    for (int w = 0; w < WARPS; w++)
        sum += part[w];
    return sum;
}

#endif

// SPDX-License-Identifier: Apache-2.0
// Kernels for the choice between candidates: random factors, and the comparison
// of two results on the device.
#include "gemm_element.cuh"

namespace
{

constexpr int THREADS = 256;
constexpr uint64_t MOST_BLOCKS = 1024;

unsigned blocks_for(uint64_t n)
{
    const uint64_t blocks = (n + THREADS - 1) / THREADS;
    return static_cast<unsigned>(blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS);
}

// The finaliser of splitmix64 (Steele et al. 2014, doi:10.1145/2660193.2660195)
__device__ uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

// most: 0 for a scale
__device__ float uniform(uint64_t bits, float most)
{
    // 24 bits: exact in a float
    const float u = static_cast<float>(bits >> 40) * 0x1p-24f;
    return most == 0.0f ? (1.0f + u) * 0x1p-6f : (2.0f * u - 1.0f) * most;
}

__global__ void __launch_bounds__(THREADS)
    fill(void *memory, uint64_t count, uint32_t type, float most, uint64_t seed)
{
    for (uint64_t i = static_cast<uint64_t>(blockIdx.x) * THREADS + threadIdx.x;
         i < count; i += static_cast<uint64_t>(gridDim.x) * THREADS) {
        const uint64_t bits = mix(seed ^ mix(i));
        const float x = uniform(bits, most);
        if (type == VLY_CUDA_E4M3)
            static_cast<uint8_t *>(memory)[i] =
                __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
        else if (type == VLY_CUDA_I8)
            static_cast<uint8_t *>(memory)[i] = static_cast<uint8_t>(bits);
        else if (type == VLY_CUDA_I4) // two an index: count is in bytes
            static_cast<uint8_t *>(memory)[i] = static_cast<uint8_t>(bits);
        else if (type == VLY_CUDA_I32)
            static_cast<uint32_t *>(memory)[i] = static_cast<uint32_t>(bits);
        else
            vly_put(memory, type, i, x);
    }
}

__device__ float rounded(float x, uint32_t type)
{
    return type == VLY_CUDA_F16 ? __half2float(__float2half_rn(x))
                                : __bfloat162float(__float2bfloat16_rn(x));
}

// Which of both a found element is nearer to, if it tells. x: before gelu
__device__ void vote(float found, float x, uint32_t type, vly_cuda_votes &mine)
{
    const float once = rounded(vly_activate(x, VLY_CUDA_GELU), type);
    const float twice =
        rounded(vly_activate(rounded(x, type), VLY_CUDA_GELU), type);
    const float to_once = fabsf(found - once), to_twice = fabsf(found - twice);
    mine.once += to_once < to_twice;
    mine.twice += to_twice < to_once;
}

__global__ void __launch_bounds__(THREADS)
    compare(const vly_cuda_gemm g, const void *sums, vly_cuda_allowance allowed,
            uint32_t *worst, vly_cuda_votes *votes)
{
    const bool bends = g.activation == VLY_CUDA_GELU &&
                       (g.type_d == VLY_CUDA_F16 || g.type_d == VLY_CUDA_BF16);
    vly_cuda_votes mine = {0, 0};
    const uint32_t type = g.type_d == VLY_CUDA_I32
                              ? static_cast<uint32_t>(VLY_CUDA_I32)
                              : static_cast<uint32_t>(VLY_CUDA_F32);
    float most = 0.0f;
    for (uint64_t e = static_cast<uint64_t>(blockIdx.x) * THREADS + threadIdx.x;
         e < g.m * g.n; e += static_cast<uint64_t>(gridDim.x) * THREADS) {
        const float found = vly_get(g.d, g.type_d, e / g.n * g.ldd + e % g.n);
        float x = vly_get(sums, type, e);
        if (g.beta != 0.0f && type == VLY_CUDA_F32)
            x = fmaf(g.beta, vly_get(g.c, g.type_d, e / g.n * g.ldc + e % g.n),
                     x);
        if (g.bias != nullptr)
            x += vly_get(g.bias, g.type_d, e % g.n);
        const float y = vly_activate(x, g.activation);
        if (bends)
            vote(found, x, g.type_d, mine);
        const float bound =
            allowed.of_d * fabsf(y) + allowed.of_x * fabsf(x) + allowed.of_all;
        // beyond the largest number of fp16 infinity is right
        const bool is_beyond =
            g.type_d == VLY_CUDA_F16 && fabsf(found) > 3.0e38f &&
            (found > 0.0f) == (y > 0.0f) && fabsf(y) + bound >= 65504.0f;
        const float gap = is_beyond ? 0.0f : fabsf(found - y);
        // also where one is infinite or no number
        if (!(gap <= bound * most)) {
            const float times = gap / bound;
            most = gap == 0.0f       ? most
                   : times < 3.0e38f ? fmaxf(most, times)
                                     : __int_as_float(0x7f800000);
        }
    }
    // bits of floats that are not negative order like the floats
    if (most > 0.0f)
        atomicMax(worst, __float_as_uint(most));
    if (mine.once > 0)
        atomicAdd(&votes->once, mine.once);
    if (mine.twice > 0)
        atomicAdd(&votes->twice, mine.twice);
}

} // namespace

cudaError_t vly_cuda_gemm_fill(void *memory, uint64_t count, uint32_t type,
                               float most, uint64_t seed, cudaStream_t stream)
{
    if (count == 0)
        return cudaSuccess;
    VLY_LAUNCH(fill, blocks_for(count), THREADS, stream, memory, count, type,
               most, seed);
    return cudaGetLastError();
}

cudaError_t vly_cuda_gemm_compare(const vly_cuda_gemm *gemm, const void *sums,
                                  vly_cuda_allowance allowed, uint32_t *worst,
                                  vly_cuda_votes *votes, cudaStream_t stream)
{
    if (gemm->m == 0 || gemm->n == 0)
        return cudaSuccess;
    VLY_LAUNCH(compare, blocks_for(gemm->m * gemm->n), THREADS, stream, *gemm,
               sums, allowed, worst, votes);
    return cudaGetLastError();
}

// SPDX-License-Identifier: Apache-2.0
// Products of few rows in fp32, and which of the kernels is for which product.
//
// A block has four rows of B; its warps divide k, a lane reads 16 bytes of each
// row. Sums go through a fixed tree of shuffles, then through the warps in
// their order. A warp has n_loads / 4 * 2 KB in flight, as many as the 16-bit
// kernels.
#include "gemm_element.cuh"
#include "gemv_launch.h"

namespace
{

constexpr int TILE = 4;
constexpr int GROUP = VLY_CUDA_GEMV_ROWS;

// ROWS of A: 1, or up to 8
template <int ROWS, int WARPS, int LOADS>
__global__ void __launch_bounds__(WARPS * 32)
    gemv_full(const vly_cuda_gemm g, uint32_t n_parts, uint32_t n_groups,
              float *sums)
{
    constexpr uint64_t CHUNK = 128; // floats that a warp reads of a row
    __shared__ float partial[WARPS][TILE][ROWS];
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint64_t j0 = static_cast<uint64_t>(blockIdx.x / n_groups) * TILE;
    const uint64_t i0 = static_cast<uint64_t>(blockIdx.x % n_groups) * GROUP;
    const uint64_t z = blockIdx.z, part = blockIdx.y;
    const float *b = static_cast<const float *>(g.b) + z * g.stride_b;
    const float *a = static_cast<const float *>(g.a) + z * g.stride_a;
    const uint64_t n_chunks = (g.k + CHUNK - 1) / CHUNK;
    const uint64_t end = n_chunks * (part + 1) / n_parts;
    float sum[TILE][ROWS] = {};
    for (uint64_t c = n_chunks * part / n_parts + warp * LOADS; c < end;
         c += WARPS * LOADS) {
        float4 w[LOADS][TILE];
#pragma unroll
        for (int u = 0; u < LOADS; u++)
#pragma unroll
            for (int r = 0; r < TILE; r++) {
                const uint64_t at = (c + u) * CHUNK + lane * 4;
                w[u][r] = c + u < end && at < g.k
                              ? __ldcs(reinterpret_cast<const float4 *>(
                                    b + min(j0 + r, g.n - 1) * g.ldb + at))
                              : float4{};
            }
#pragma unroll
        for (int u = 0; u < LOADS; u++)
#pragma unroll
            for (int i = 0; i < ROWS; i++) {
                const uint64_t at = (c + u) * CHUNK + lane * 4;
                const float4 x = c + u < end && at < g.k && i0 + i < g.m
                                     ? __ldg(reinterpret_cast<const float4 *>(
                                           a + (i0 + i) * g.lda + at))
                                     : float4{};
#pragma unroll
                for (int r = 0; r < TILE; r++) {
                    sum[r][i] = fmaf(w[u][r].x, x.x, sum[r][i]);
                    sum[r][i] = fmaf(w[u][r].y, x.y, sum[r][i]);
                    sum[r][i] = fmaf(w[u][r].z, x.z, sum[r][i]);
                    sum[r][i] = fmaf(w[u][r].w, x.w, sum[r][i]);
                }
            }
    }
#pragma unroll
    for (int r = 0; r < TILE; r++)
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            for (int step = 16; step > 0; step /= 2)
                sum[r][i] += __shfl_xor_sync(0xffffffffu, sum[r][i], step);
            if (lane == 0)
                partial[warp][r][i] = sum[r][i];
        }
    __syncthreads();
    const uint64_t i = i0 + threadIdx.x / TILE, j = j0 + threadIdx.x % TILE;
    if (threadIdx.x >= TILE * ROWS || i >= g.m || j >= g.n)
        return;
    float all = 0.0f;
    for (int w = 0; w < WARPS; w++)
        all += partial[w][threadIdx.x % TILE][threadIdx.x / TILE];
    if (n_parts > 1)
        sums[((part * g.batch + z) * g.m + i) * g.n + j] = all;
    else
        vly_finish(g, z, i, j, all);
}

template <int ROWS>
cudaError_t launch(const vly_cuda_gemm *g, uint32_t shape, uint32_t n_parts,
                   float *sums, cudaStream_t stream)
{
    const uint32_t n_groups = static_cast<uint32_t>((g->m + GROUP - 1) / GROUP);
    const dim3 grid(static_cast<unsigned>((g->n + TILE - 1) / TILE * n_groups),
                    n_parts, static_cast<unsigned>(g->batch));
    switch (shape) {
    case 0:
        VLY_LAUNCH((gemv_full < ROWS, 8, ROWS == 1 ? 2 : 1 >), grid, 8 * 32,
                   stream, *g, n_parts, n_groups, sums);
        break;
    case 1:
        VLY_LAUNCH((gemv_full < ROWS, 4, ROWS == 1 ? 4 : 2 >), grid, 4 * 32,
                   stream, *g, n_parts, n_groups, sums);
        break;
    case 2:
        VLY_LAUNCH((gemv_full<ROWS, 16, 1>), grid, 16 * 32, stream, *g, n_parts,
                   n_groups, sums);
        break;
    default:
        return cudaErrorInvalidValue;
    }
    return cudaGetLastError();
}

} // namespace

cudaError_t vly_cuda_gemv(const vly_cuda_gemm *gemm, uint32_t shape,
                          uint32_t n_parts, float *sums, cudaStream_t stream)
{
    if (gemm->m == 0 || gemm->n == 0)
        return cudaSuccess;
    if (gemm->type_a != VLY_CUDA_F32)
        return vly_cuda_gemv_half(gemm, shape, n_parts, sums, stream);
    return gemm->m == 1 ? launch<1>(gemm, shape, n_parts, sums, stream)
                        : launch<8>(gemm, shape, n_parts, sums, stream);
}

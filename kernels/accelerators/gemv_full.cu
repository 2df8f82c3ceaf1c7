// SPDX-License-Identifier: Apache-2.0
// Products of few rows in fp32, and which of the kernels is for which product.
//
// A block has two rows of B; its warps divide k, a lane takes 16 bytes of each
// row, which are fetched as in gemv_half.cu: as many are under way. Sums go
// through a fixed tree of shuffles, then through the warps in their order.
#include "gemm_element.cuh"
#include "gemv_launch.h"

namespace
{

constexpr int TILE = 2;
constexpr int GROUP = VLY_CUDA_GEMV_ROWS;

// ROWS of A: 1, or up to 8
template <int ROWS, int WARPS, int STAGES>
__global__ void __launch_bounds__(WARPS * 32)
    gemv_full(const vly_cuda_gemm g, uint32_t n_parts, uint32_t n_groups,
              float *sums)
{
    constexpr uint32_t CHUNK = 128; // floats that a warp reads of a row
    __shared__ float4 ring[WARPS][STAGES][TILE][32];
    __shared__ float partial[WARPS][TILE][ROWS];
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint64_t j0 = static_cast<uint64_t>(blockIdx.x / n_groups) * TILE;
    const uint64_t i0 = static_cast<uint64_t>(blockIdx.x % n_groups) * GROUP;
    const uint64_t z = blockIdx.z, part = blockIdx.y;
    const float *b[TILE];
#pragma unroll
    for (int r = 0; r < TILE; r++)
        b[r] = static_cast<const float *>(g.b) + z * g.stride_b +
               min(j0 + r, g.n - 1) * g.ldb + lane * 4;
    const float *a = static_cast<const float *>(g.a) + z * g.stride_a +
                     i0 * g.lda + lane * 4;
    const uint32_t n_chunks = static_cast<uint32_t>((g.k + CHUNK - 1) / CHUNK);
    const uint32_t begin = static_cast<uint32_t>(n_chunks * part / n_parts);
    const uint32_t end = static_cast<uint32_t>(n_chunks * (part + 1) / n_parts);
    const uint32_t end_of_lane =
        end == n_chunks &&
                (n_chunks - 1) * static_cast<uint64_t>(CHUNK) + lane * 4 >= g.k
            ? end - 1
            : end;
    const auto fetch = [&](uint32_t c, uint32_t stage) {
#pragma unroll
        for (int r = 0; r < TILE; r++)
            vly_fetch(&ring[warp][stage][r][lane],
                      b[r] + static_cast<uint64_t>(c) * CHUNK, c < end_of_lane);
        vly_fetch_commit();
    };
#pragma unroll
    for (uint32_t s = 0; s + 1 < STAGES; s++)
        fetch(begin + warp + s * WARPS, s);
    float sum[TILE][ROWS] = {};
    uint32_t stage = 0;
    for (uint32_t c = begin + warp; c < end; c += WARPS) {
        fetch(c + (STAGES - 1) * WARPS, (stage + STAGES - 1) % STAGES);
        vly_fetch_wait<STAGES - 1>();
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            const float4 x =
                c < end_of_lane && i0 + i < g.m
                    ? __ldg(reinterpret_cast<const float4 *>(
                          a + i * g.lda + static_cast<uint64_t>(c) * CHUNK))
                    : float4{};
#pragma unroll
            for (int r = 0; r < TILE; r++) {
                const float4 w = ring[warp][stage][r][lane];
                sum[r][i] = fmaf(w.x, x.x, sum[r][i]);
                sum[r][i] = fmaf(w.y, x.y, sum[r][i]);
                sum[r][i] = fmaf(w.z, x.z, sum[r][i]);
                sum[r][i] = fmaf(w.w, x.w, sum[r][i]);
            }
        }
        stage = (stage + 1) % STAGES;
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
        VLY_LAUNCH((gemv_full<ROWS, 16, 2>), grid, 16 * 32, stream, *g, n_parts,
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
        return shape == VLY_CUDA_GEMV_LINES
                   ? n_parts == 1 ? vly_cuda_gemv_lines(gemm, stream)
                                  : cudaErrorInvalidValue
               : shape == VLY_CUDA_GEMV_FLOW
                   ? vly_cuda_gemv_flow(gemm, n_parts, sums, stream)
                   : vly_cuda_gemv_half(gemm, shape, n_parts, sums, stream);
    return gemm->m == 1 ? launch<1>(gemm, shape, n_parts, sums, stream)
                        : launch<8>(gemm, shape, n_parts, sums, stream);
}

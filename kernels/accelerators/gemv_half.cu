// SPDX-License-Identifier: Apache-2.0
// Products of few rows with fp16 or bf16, and int8 or int4 weights: bound by
// the bytes of B, so every byte is read once, 16 a lane, and no other work may
// take longer.
//
// A block has 16 rows of B (columns of D); its warps divide k. Tensor cores
// multiply (mma m16n8k16, fp32 sums): B is their first factor, up to 8 rows of
// A the second, so eight rows cost as much as one (with more, two or four
// groups of eight share the weights once they are floats). Which k stands where
// in a fragment is free as long as both factors agree, so a lane takes 16 bytes
// in one piece: four lanes hold 64 bytes of a row. Sums of warps, and of blocks
// that share rows (n_parts), are added in a fixed order.
//
// Bytes in flight: an H200 needs 4.29 TB/s * 0.7 us = 3 MB, 23 KB a
// multiprocessor. They are fetched past the registers (cp.async): the compiler
// moved plain loads after the work on earlier ones to save registers. A block
// has 32 KB under way; with 4096 x 4096 two blocks are on a multiprocessor,
// with 16384 x 16384 five or six. Operations a KB of weights (32 lanes): 2 mma
// (16 bits), 4 and about 80 others (int8), 8 and about 150 others (int4,
// counted in the machine code); a multiprocessor has 55 cycles for a KB at 4.29
// TB/s and issues 4 a cycle. Predicted: bound by bytes.
// Measured on it: fp16, bf16 and int8 weights of 64 MB and more at 3.9 to 4.5
// TB/s, int4 at 2.7 to 3.3 (gemv_flow.cu is faster there).
#include "gemm_element.cuh"
#include "gemv_fragment.cuh"
#include "gemv_launch.h"

namespace
{

constexpr int TILE = 16; // rows of B a block has

template <typename T, int BITS, int WARPS, int STAGES, int GROUPS>
__global__ void __launch_bounds__(WARPS * 32)
    gemv_half(const vly_cuda_gemm g, uint32_t n_parts, uint32_t n_groups,
              float *sums)
{
    constexpr int VECTOR = 128 / BITS, CHUNK = 4 * VECTOR;
    constexpr int ROWS = 8 * GROUPS;
    // the fetched data, then the sums of the warps
    __shared__ uint4 ring[WARPS][STAGES][2][32];
    float(*const partial)[TILE][ROWS] =
        reinterpret_cast<float(*)[TILE][ROWS]>(&ring[0][0][0][0]);
    static_assert(TILE * ROWS * 4 <= STAGES * 1024, "the sums fit");
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint32_t r = lane / 4, t = lane % 4;
    const uint64_t j0 = static_cast<uint64_t>(blockIdx.x / n_groups) * TILE;
    const uint64_t i0 = static_cast<uint64_t>(blockIdx.x % n_groups) * ROWS;
    const uint64_t z = blockIdx.z, part = blockIdx.y;
    // For missing rows of B or of A the last row is read: their results are not
    // written.
    const uint64_t row0 = min(j0 + r, g.n - 1), row1 = min(j0 + r + 8, g.n - 1);
    const uint32_t n_chunks = static_cast<uint32_t>((g.k + CHUNK - 1) / CHUNK);
    const char *b = static_cast<const char *>(g.b) + z * g.stride_b * BITS / 8;
    lane_places<T, GROUPS> at;
    at.b0 = b + row0 * g.ldb * BITS / 8 + t * 16;
    at.b1 = b + row1 * g.ldb * BITS / 8 + t * 16;
    for (int eight = 0; eight < GROUPS; eight++)
        at.x[eight] = static_cast<const T *>(g.a) + z * g.stride_a +
                      min(i0 + 8 * eight + r, g.m - 1) * g.lda + t * VECTOR;
    const T *scales = static_cast<const T *>(g.scale_b) + z * g.stride_scale_b;
    at.scale0 = scales + row0 * n_chunks;
    at.scale1 = scales + row1 * n_chunks;
    const uint32_t begin = static_cast<uint32_t>(n_chunks * part / n_parts);
    const uint32_t end = static_cast<uint32_t>(n_chunks * (part + 1) / n_parts);
    // the last chunk may have no piece for this lane
    const uint32_t end_of_lane =
        end == n_chunks &&
                (n_chunks - 1) * static_cast<uint64_t>(CHUNK) + t * VECTOR >=
                    g.k
            ? end - 1
            : end;
    // The chunks of a warp are WARPS apart. STAGES - 1 of them are in flight
    // during the work on one; a lane reads only its own fetches.
    uint4 *const mine = &ring[warp][0][0][lane];
    uint32_t c = begin + warp, next = c;
    const char *from0 = at.b0 + static_cast<uint64_t>(c) * 64;
    const char *from1 = at.b1 + static_cast<uint64_t>(c) * 64;
    for (int eight = 0; eight < GROUPS; eight++)
        at.x[eight] += static_cast<uint64_t>(c) * CHUNK;
    const auto fetch = [&](uint4 *to) {
        vly_fetch(to, from0, next < end_of_lane);
        vly_fetch(to + 32, from1, next < end_of_lane);
        vly_fetch_commit();
        next += WARPS;
        from0 += WARPS * 64;
        from1 += WARPS * 64;
    };
    uint4 *stage = mine;
    for (int s = 0; s + 1 < STAGES; s++, stage += 64)
        fetch(stage);
    float sum[GROUPS][4] = {};
    for (; c < end; c += WARPS) {
        fetch(stage);
        vly_fetch_wait<STAGES - 1>();
        // the oldest slot follows the newest
        stage = stage == mine + (STAGES - 1) * 64 ? mine : stage + 64;
        step<T, BITS, GROUPS, false>(sum, at, stage[0], stage[32], c,
                                     c < end_of_lane);
        for (int eight = 0; eight < GROUPS; eight++)
            at.x[eight] += WARPS * CHUNK;
    }
    vly_fetch_wait<0>();
    __syncthreads();
    for (int eight = 0; eight < GROUPS; eight++)
        for (int i = 0; i < 4; i++)
            partial[warp][r + i / 2 * 8][8 * eight + 2 * t + i % 2] =
                sum[eight][i];
    __syncthreads();
    for (uint32_t e = threadIdx.x; e < TILE * ROWS; e += WARPS * 32) {
        const uint64_t i = i0 + e / TILE, j = j0 + e % TILE;
        if (i >= g.m || j >= g.n)
            continue;
        float all = 0.0f;
        for (int w = 0; w < WARPS; w++)
            all += partial[w][e % TILE][e / TILE];
        if (n_parts > 1)
            sums[((part * g.batch + z) * g.m + i) * g.n + j] = all;
        else
            vly_finish(g, z, i, j, all);
    }
}

template <typename T, int BITS, int GROUPS>
cudaError_t launch(const vly_cuda_gemm *g, uint32_t shape, uint32_t n_parts,
                   float *sums, cudaStream_t stream)
{
    const uint32_t n_groups =
        static_cast<uint32_t>((g->m + 8 * GROUPS - 1) / (8 * GROUPS));
    const dim3 grid(static_cast<unsigned>((g->n + TILE - 1) / TILE * n_groups),
                    n_parts, static_cast<unsigned>(g->batch));
    switch (shape) {
    case 0:
        VLY_LAUNCH((gemv_half<T, BITS, 8, 4, GROUPS>), grid, 8 * 32, stream, *g,
                   n_parts, n_groups, sums);
        break;
    case 1:
        VLY_LAUNCH((gemv_half<T, BITS, 4, 8, GROUPS>), grid, 4 * 32, stream, *g,
                   n_parts, n_groups, sums);
        break;
    case 2:
        VLY_LAUNCH((gemv_half<T, BITS, 16, 2, GROUPS>), grid, 16 * 32, stream,
                   *g, n_parts, n_groups, sums);
        break;
    default:
        return cudaErrorInvalidValue;
    }
    return cudaGetLastError();
}

template <typename T, int BITS>
cudaError_t launch_rows(const vly_cuda_gemm *g, uint32_t shape,
                        uint32_t n_parts, float *sums, cudaStream_t stream)
{
    if (g->m <= VLY_CUDA_GEMV_ROWS)
        return launch<T, BITS, 1>(g, shape, n_parts, sums, stream);
    if (g->m <= 2 * VLY_CUDA_GEMV_ROWS)
        return launch<T, BITS, 2>(g, shape, n_parts, sums, stream);
    return launch<T, BITS, VLY_CUDA_GEMV_MOST_ROWS / 8>(g, shape, n_parts, sums,
                                                        stream);
}

template <typename T>
cudaError_t launch_type(const vly_cuda_gemm *g, uint32_t shape,
                        uint32_t n_parts, float *sums, cudaStream_t stream)
{
    if (g->type_b == VLY_CUDA_I4)
        return launch_rows<T, 4>(g, shape, n_parts, sums, stream);
    if (g->type_b == VLY_CUDA_I8)
        return launch_rows<T, 8>(g, shape, n_parts, sums, stream);
    return launch_rows<T, 16>(g, shape, n_parts, sums, stream);
}

} // namespace

cudaError_t vly_cuda_gemv_half(const vly_cuda_gemm *gemm, uint32_t shape,
                               uint32_t n_parts, float *sums,
                               cudaStream_t stream)
{
    if (gemm->type_a == VLY_CUDA_F16)
        return launch_type<__half>(gemm, shape, n_parts, sums, stream);
    return launch_type<__nv_bfloat16>(gemm, shape, n_parts, sums, stream);
}

// SPDX-License-Identifier: Apache-2.0
// Products of up to 8 rows with weights of 16, 8 or 4 bits, as one stream: the
// products of gemv_half.cu, which has a block for every 16 rows of B, by as
// many blocks as fit on the device at once.
//
// With int4 weights of 16384 x 16384 gemv_half took 50.2 us on an H200, 10 of
// which did not grow with n: its blocks begin and end together, each time with
// nothing under way, and a lane waited for the scales of a group, which come
// from memory of their own, in every second step. Here a block takes one tile
// of B after the other, and loads in flight belong to the next tile while one
// ends; scales are loaded one step ahead, A before the wait for B; and a warp
// has two tiles of 16 rows, which share the loads and the order of A (32 of 171
// instructions a KB). 42.3 us there; with one tile a warp and eight warps 52.6.
#include "gemm_element.cuh"
#include "gemv_fragment.cuh"
#include "gemv_launch.h"

namespace
{

// The elements of A for lanes without a piece of the last chunk: B is 0 there,
// and A must be 0 too, because 0 times NaN is NaN.
__device__ const uint4 nothing[4] = {};

constexpr int WARPS = 4, STAGES = 4;
constexpr int TILES = 2, PAIRS = 2 * TILES, ROWS = 16 * TILES; // of B
constexpr int PER_UNIT = 4; // blocks that are to be on a multiprocessor

// The position of a lane of a warp.
template <typename T, int BITS> struct flow {
    static constexpr int VECTOR = 128 / BITS, CHUNK = 4 * VECTOR;
    static constexpr int MMAS = 32 / BITS;
    const vly_cuda_gemm &g;
    const uint32_t n_tiles;
    uint32_t r, t;
    uint32_t n_chunks; // of a row
    uint32_t n_mine;   // chunks of a tile that this warp has, WARPS apart
    uint32_t lacking; // of the last of them without a piece for this lane: 0, 1
    const char *b;    // at the first of them
    const T *scales;
    const T *a;
    uint4 *mine, *stage;
    // the next fetch: its tile, and the number of chunks that are left in it
    uint32_t far, far_left, far_lacking;
    const char *from[PAIRS];
    // scales, one step ahead
    const T *scale_at[PAIRS];
    T ahead[PAIRS] = {};

    __device__ __forceinline__ flow(const vly_cuda_gemm &gemm, uint32_t n_parts,
                                    uint32_t tiles, uint4 *ring)
        : g(gemm), n_tiles(tiles)
    {
        const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        const uint64_t z = blockIdx.z, part = blockIdx.y;
        r = lane / 4, t = lane % 4;
        n_chunks = static_cast<uint32_t>((g.k + CHUNK - 1) / CHUNK);
        const uint32_t first =
            static_cast<uint32_t>(n_chunks * part / n_parts) + warp;
        const uint32_t end =
            static_cast<uint32_t>(n_chunks * (part + 1) / n_parts);
        n_mine = first < end ? (end - first - 1) / WARPS + 1 : 0;
        const uint32_t last = first + (n_mine - 1) * WARPS;
        lacking = n_mine > 0 &&
                  last * static_cast<uint64_t>(CHUNK) + t * VECTOR >= g.k;
        b = static_cast<const char *>(g.b) + z * g.stride_b * BITS / 8 +
            t * 16 + static_cast<uint64_t>(first) * 64;
        scales =
            static_cast<const T *>(g.scale_b) + z * g.stride_scale_b + first;
        a = static_cast<const T *>(g.a) + z * g.stride_a +
            min(static_cast<uint64_t>(r), g.m - 1) * g.lda + t * VECTOR +
            static_cast<uint64_t>(first) * CHUNK;
        mine = stage = ring + warp * (STAGES * PAIRS * 32) + lane;
        far = blockIdx.x, far_left = n_mine, far_lacking = lacking;
        aim();
        if (n_mine == 0)
            return;
        for (int s = 0; s + 1 < STAGES; s++, stage += 32 * PAIRS)
            fetch();
        if (BITS == 4)
            ask(blockIdx.x);
    }

    // rows that are not there are read as the last: nothing is made of them
    __device__ __forceinline__ uint64_t row(uint32_t tile, int q) const
    {
        return min(static_cast<uint64_t>(tile) * ROWS + 8 * q + r, g.n - 1);
    }

    __device__ __forceinline__ void aim()
    {
#pragma unroll
        for (int q = 0; q < PAIRS; q++)
            from[q] = b + row(far, q) * g.ldb * BITS / 8;
    }

    __device__ __forceinline__ void fetch()
    {
#pragma unroll
        for (int q = 0; q < PAIRS; q++) {
            vly_fetch(stage + 32 * q, from[q], far_left > far_lacking);
            from[q] += WARPS * 64;
        }
        vly_fetch_commit();
        if (--far_left == 0) {
            far += gridDim.x;
            far_left = n_mine;
            far_lacking = far < n_tiles ? lacking : n_mine;
            aim();
        }
    }

    __device__ __forceinline__ void ask(uint32_t tile)
    {
#pragma unroll
        for (int q = 0; q < PAIRS; q++) {
            scale_at[q] = scales + row(tile, q) * n_chunks;
            ahead[q] = *scale_at[q];
        }
    }

    // Scales of this step; the next ones are asked for.
    __device__ __forceinline__ void take_scales(float (&scale)[PAIRS],
                                                uint32_t tile, uint32_t left)
    {
#pragma unroll
        for (int q = 0; q < PAIRS; q++) {
            scale[q] = vly_to_float(ahead[q]);
            scale_at[q] += WARPS;
        }
        if (left > 1) {
#pragma unroll
            for (int q = 0; q < PAIRS; q++)
                ahead[q] = *scale_at[q];
        } else if (tile + gridDim.x < n_tiles) {
            ask(tile + gridDim.x);
        }
    }

    __device__ __forceinline__ void step(const uint32_t (&x)[VECTOR / 2],
                                         const float (&scale)[PAIRS],
                                         float (&sum)[TILES][4]) const
    {
#pragma unroll
        for (int u = 0; u < TILES; u++) {
            const fragments<T, BITS> w(stage[64 * u], stage[64 * u + 32]);
            float one[4] = {};
            float(&to)[4] = BITS == 4 ? one : sum[u];
#pragma unroll
            for (uint32_t i = 0; i < MMAS; i++)
                multiply(to, w.a[i][0], w.a[i][1], w.a[i][2], w.a[i][3],
                         w.match(x, i, 0), w.match(x, i, 1), T());
            if constexpr (BITS == 4)
#pragma unroll
                for (int i = 0; i < 4; i++)
                    sum[u][i] = fmaf(scale[2 * u + i / 2], one[i], sum[u][i]);
        }
    }

    __device__ __forceinline__ void add_tile(uint32_t tile,
                                             float (&sum)[TILES][4])
    {
        const T *x_at = a;
        for (uint32_t left = n_mine; left > 0; left--) {
            fetch();
            const uint4 *x_from = left > lacking
                                      ? reinterpret_cast<const uint4 *>(x_at)
                                      : nothing;
            uint32_t x[VECTOR / 2];
#pragma unroll
            for (int q = 0; q < VECTOR / 8; q++) {
                const uint4 v = __ldg(x_from + q);
                x[4 * q] = v.x, x[4 * q + 1] = v.y;
                x[4 * q + 2] = v.z, x[4 * q + 3] = v.w;
            }
            x_at += WARPS * CHUNK;
            float scale[PAIRS] = {};
            if constexpr (BITS == 4) // a chunk is a group of 128
                take_scales(scale, tile, left);
            vly_fetch_wait<STAGES - 1>();
            // the oldest slot follows the newest
            stage = stage == mine + (STAGES - 1) * 32 * PAIRS
                        ? mine
                        : stage + 32 * PAIRS;
            step(x, scale, sum);
        }
    }
};

template <typename T, int BITS>
__global__ void __launch_bounds__(WARPS * 32, PER_UNIT)
    gemv_flow(const vly_cuda_gemm g, uint32_t n_parts, uint32_t n_tiles,
              float *sums)
{
    __shared__ uint4 ring[WARPS * STAGES * PAIRS * 32];
    // of one tile while those of the one before are still read
    __shared__ float partial[2][WARPS][ROWS][VLY_CUDA_GEMV_ROWS];
    flow<T, BITS> at(g, n_parts, n_tiles, ring);
    const uint64_t z = blockIdx.z, part = blockIdx.y;
    uint32_t turn = 0;
    for (uint32_t tile = blockIdx.x; tile < n_tiles; tile += gridDim.x) {
        float sum[TILES][4] = {};
        at.add_tile(tile, sum);
#pragma unroll
        for (int u = 0; u < TILES; u++)
#pragma unroll
            for (int i = 0; i < 4; i++)
                if (2 * at.t + i % 2 < g.m)
                    partial[turn][threadIdx.x / 32][16 * u + at.r + i / 2 * 8]
                           [2 * at.t + i % 2] = sum[u][i];
        __syncthreads();
        for (uint32_t e = threadIdx.x; e < ROWS * g.m; e += WARPS * 32) {
            const uint64_t j = static_cast<uint64_t>(tile) * ROWS + e % ROWS;
            const uint32_t i = e / ROWS;
            if (j >= g.n)
                continue;
            float all = 0.0f;
            for (int w = 0; w < WARPS; w++)
                all += partial[turn][w][e % ROWS][i];
            if (n_parts > 1)
                sums[((part * g.batch + z) * g.m + i) * g.n + j] = all;
            else
                vly_finish(g, z, i, j, all);
        }
        turn ^= 1;
    }
    vly_fetch_wait<0>();
}

template <typename T, int BITS>
cudaError_t launch(const vly_cuda_gemm *g, uint32_t n_parts, float *sums,
                   cudaStream_t stream)
{
    const uint32_t n_tiles = static_cast<uint32_t>((g->n + ROWS - 1) / ROWS);
    dim3 grid;
    const cudaError_t code =
        vly_cuda_gemv_grid(g, n_tiles, n_parts, PER_UNIT, &grid);
    if (code != cudaSuccess)
        return code;
    VLY_LAUNCH((gemv_flow<T, BITS>), grid, WARPS * 32, stream, *g, n_parts,
               n_tiles, sums);
    return cudaGetLastError();
}

template <typename T>
cudaError_t launch_type(const vly_cuda_gemm *g, uint32_t n_parts, float *sums,
                        cudaStream_t stream)
{
    if (g->type_b == VLY_CUDA_I4)
        return launch<T, 4>(g, n_parts, sums, stream);
    if (g->type_b == VLY_CUDA_I8)
        return launch<T, 8>(g, n_parts, sums, stream);
    return launch<T, 16>(g, n_parts, sums, stream);
}

} // namespace

cudaError_t vly_cuda_gemv_grid(const vly_cuda_gemm *g, uint32_t n_tiles,
                               uint32_t n_parts, int per_unit, dim3 *grid)
{
    int device = 0, n_units = 0;
    cudaError_t code = cudaGetDevice(&device);
    if (code == cudaSuccess)
        code = cudaDeviceGetAttribute(&n_units, cudaDevAttrMultiProcessorCount,
                                      device);
    const uint64_t shares = static_cast<uint64_t>(n_parts) * g->batch;
    uint64_t wanted = static_cast<uint64_t>(n_units) * per_unit / shares;
    wanted = wanted < 1 ? 1 : wanted > n_tiles ? n_tiles : wanted;
    *grid = dim3(static_cast<unsigned>(wanted), n_parts,
                 static_cast<unsigned>(g->batch));
    return code;
}

cudaError_t vly_cuda_gemv_flow(const vly_cuda_gemm *gemm, uint32_t n_parts,
                               float *sums, cudaStream_t stream)
{
    if (gemm->type_a == VLY_CUDA_F16)
        return launch_type<__half>(gemm, n_parts, sums, stream);
    return launch_type<__nv_bfloat16>(gemm, n_parts, sums, stream);
}

// SPDX-License-Identifier: Apache-2.0
// Every product of the table, by tiles of 64 x 64 x 16 in shared memory, 4 x 4
// elements a thread. No tensor cores, no vector loads, so that any type, size,
// stride and alignment goes through the same few lines: it is the reference of
// the fast ways, and the fallback without one.
//
// Bytes and operations: a tile reads 2 x 64 x 16 elements for 64 x 64 x 16
// multiply-adds, 32 of them an element, so it is bound by the multiply-adds
// (and the loads of shared memory, one of 16 bytes for 8 of them): at most half
// of the 67 TFLOP/s of an H200. Predicted, not measured.
#include "gemm_element.cuh"

namespace
{

constexpr int TILE = 64, DEPTH = 16, THREADS = 256, EACH = 4;
constexpr uint64_t MOST_BLOCKS = 1u << 20;

template <typename Sum> struct tiles {
    Sum a[DEPTH][TILE + EACH]; // k, row; padded against bank conflicts
    Sum b[DEPTH][TILE + EACH]; // k, column
};

// Where element (row, k) of a factor is: `along` is 1 if k runs along its rows.
__device__ uint64_t place(uint64_t row, uint64_t k, uint64_t pitch, bool along)
{
    return along ? row * pitch + k : k * pitch + row;
}

// Fills one tile; elements outside are 0, so that they add nothing.
template <typename T, typename Sum>
__device__ void fill(Sum (*tile)[TILE + EACH], const T *from, uint64_t row,
                     uint64_t rows, uint64_t k, uint64_t n_k, uint64_t pitch,
                     bool along)
{
    for (int i = threadIdx.x; i < TILE * DEPTH; i += THREADS) {
        // neighbours in memory are read by neighbouring threads
        const int r = along ? i / DEPTH : i % TILE;
        const int q = along ? i % DEPTH : i / TILE;
        tile[q][r] =
            row + r < rows && k + q < n_k
                ? vly_load<T, Sum>(from, place(row + r, k + q, pitch, along))
                : Sum(0);
    }
}

__device__ float multiply_add(float a, float b, float sum)
{
    return fmaf(a, b, sum);
}
__device__ int multiply_add(int a, int b, int sum)
{
    // modulo 2^32, which int does not promise
    return static_cast<int>(static_cast<uint32_t>(a * b) +
                            static_cast<uint32_t>(sum));
}

// The scale of one block or group of k of element (i, j).
__device__ float block_scale(const vly_cuda_gemm &g, uint64_t z, uint64_t i,
                             uint64_t j, uint64_t block)
{
    const uint64_t n_blocks = (g.k + 127) / 128;
    if (g.scale_b_mode == VLY_CUDA_SCALE_GROUP)
        return vly_get(g.scale_b, g.type_a,
                       z * g.stride_scale_b + j * n_blocks + block);
    return static_cast<const float *>(
               g.scale_a)[z * g.stride_scale_a + i * n_blocks + block] *
           static_cast<const float *>(
               g.scale_b)[z * g.stride_scale_b + j / 128 * n_blocks + block];
}

template <typename TA, typename TB, typename Sum, bool BLOCKS>
__global__ void __launch_bounds__(THREADS) own(const vly_cuda_gemm g)
{
    __shared__ tiles<Sum> shared;
    const uint64_t n_rows = (g.m + TILE - 1) / TILE;
    const uint64_t n_cols = (g.n + TILE - 1) / TILE;
    const int x = threadIdx.x % 16 * EACH, y = threadIdx.x / 16 * EACH;
    for (uint64_t tile = blockIdx.x; tile < n_rows * n_cols * g.batch;
         tile += gridDim.x) {
        const uint64_t z = tile / (n_rows * n_cols);
        const uint64_t i = tile / n_cols % n_rows * TILE;
        const uint64_t j = tile % n_cols * TILE;
        const TA *a = static_cast<const TA *>(g.a) + z * g.stride_a;
        // two int4 are one element of the array
        const TB *b = static_cast<const TB *>(g.b) +
                      z * g.stride_b / (g.type_b == VLY_CUDA_I4 ? 2 : 1);
        Sum sum[EACH][EACH] = {}, part[EACH][EACH] = {};
        const uint64_t n_k = g.alpha == 0.0f ? 0 : g.k;
        for (uint64_t k = 0; k < n_k; k += DEPTH) {
            fill(shared.a, a, i, g.m, k, g.k, g.lda, !g.trans_a);
            fill(shared.b, b, j, g.n, k, g.k, g.ldb, g.trans_b != 0);
            __syncthreads();
#pragma unroll
            for (int q = 0; q < DEPTH; q++)
#pragma unroll
                for (int r = 0; r < EACH; r++)
#pragma unroll
                    for (int c = 0; c < EACH; c++)
                        part[r][c] = multiply_add(
                            shared.a[q][y + r], shared.b[q][x + c], part[r][c]);
            __syncthreads();
            if (BLOCKS && ((k + DEPTH) % 128 == 0 || k + DEPTH >= n_k))
                for (int r = 0; r < EACH; r++)
                    for (int c = 0; c < EACH; c++) {
                        if (i + y + r < g.m && j + x + c < g.n)
                            sum[r][c] = multiply_add(
                                part[r][c],
                                static_cast<Sum>(block_scale(
                                    g, z, i + y + r, j + x + c, k / 128)),
                                sum[r][c]);
                        part[r][c] = Sum(0);
                    }
        }
        for (int r = 0; r < EACH; r++)
            for (int c = 0; c < EACH; c++)
                if (i + y + r < g.m && j + x + c < g.n)
                    vly_finish(g, z, i + y + r, j + x + c,
                               BLOCKS ? sum[r][c] : part[r][c]);
    }
}

template <typename TA, typename TB, typename Sum, bool BLOCKS>
cudaError_t launch(const vly_cuda_gemm *g, cudaStream_t stream)
{
    const uint64_t n_tiles =
        (g->m + TILE - 1) / TILE * ((g->n + TILE - 1) / TILE) * g->batch;
    if (n_tiles == 0)
        return cudaSuccess;
    const unsigned blocks =
        static_cast<unsigned>(n_tiles < MOST_BLOCKS ? n_tiles : MOST_BLOCKS);
    VLY_LAUNCH((own<TA, TB, Sum, BLOCKS>), blocks, THREADS, stream, *g);
    return cudaGetLastError();
}

template <typename TA>
cudaError_t launch_weights(const vly_cuda_gemm *g, cudaStream_t stream)
{
    if (g->type_b == VLY_CUDA_I4)
        return launch<TA, vly_i4, float, true>(g, stream);
    if (g->type_b == VLY_CUDA_I8)
        return launch<TA, int8_t, float, false>(g, stream);
    return launch<TA, TA, float, false>(g, stream);
}

} // namespace

cudaError_t vly_cuda_gemm_own(const vly_cuda_gemm *gemm, cudaStream_t stream)
{
    switch (gemm->type_a) {
    case VLY_CUDA_F32:
        return launch<float, float, float, false>(gemm, stream);
    case VLY_CUDA_F16:
        return launch_weights<__half>(gemm, stream);
    case VLY_CUDA_BF16:
        return launch_weights<__nv_bfloat16>(gemm, stream);
    case VLY_CUDA_I8:
        return launch<int8_t, int8_t, int, false>(gemm, stream);
    case VLY_CUDA_E4M3:
        return gemm->scale_a_mode == VLY_CUDA_SCALE_BLOCK
                   ? launch<vly_e4m3, vly_e4m3, float, true>(gemm, stream)
                   : launch<vly_e4m3, vly_e4m3, float, false>(gemm, stream);
    default:
        return cudaErrorInvalidValue;
    }
}

// SPDX-License-Identifier: Apache-2.0
// Products of few rows with fp16 or bf16, and int8 or int4 weights: bound by
// the bytes of B, so every byte is read once, 16 a lane, and nothing else may
// take longer.
//
// A block has 16 rows of B (columns of D); its warps divide k. Tensor cores
// multiply (mma m16n8k16, fp32 sums): B is their first factor, up to 8 rows of
// A the second, so eight rows cost what one does. Which k stands where in a
// fragment is free as long as both factors agree, so a lane takes 16 bytes in
// one piece: four lanes hold 64 bytes of a row. Sums of warps, and of blocks
// that share rows (n_parts), are added in a fixed order.
//
// Bytes in flight: an H200 needs 4.29 TB/s * 0.7 us = 3 MB, 23 KB a
// multiprocessor. A warp has n_loads * 1 KB in flight; with 16384 x 16384 all
// 64 warps of a multiprocessor are there, with 4096 x 4096 two blocks: 64 KB
// for every shape below. Operations a KB of weights: 2 mma (16 bits), 4 and 64
// others (int8), 8 and about 160 others (int4); a multiprocessor has 55 cycles
// for a KB at 4.29 TB/s and issues 4 a cycle. Predicted: bound by bytes. Not
// measured.
#include "gemm_element.cuh"
#include "gemv_launch.h"
#include "gemv_unpack.h"

namespace
{

constexpr int TILE = 16;                  // rows of B a block has
constexpr int GROUP = VLY_CUDA_GEMV_ROWS; // rows of A at once

__device__ __forceinline__ uint4 load_once(const void *from)
{
#if !defined(__CUDACC__)
    return *static_cast<const uint4 *>(from);
#else
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 "
                 "{%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(from));
    return v;
#endif
}

#if defined(__CUDACC__)
__device__ __forceinline__ void multiply(float (&sum)[4], uint32_t a0,
                                         uint32_t a1, uint32_t a2, uint32_t a3,
                                         uint32_t b0, uint32_t b1, __half)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

__device__ __forceinline__ void multiply(float (&sum)[4], uint32_t a0,
                                         uint32_t a1, uint32_t a2, uint32_t a3,
                                         uint32_t b0, uint32_t b1,
                                         __nv_bfloat16)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
#endif // tests/support/cuda_emulation.h has them for the host

template <typename Pair> __device__ Pair as(uint32_t word)
{
    Pair pair;
    memcpy(static_cast<void *>(&pair), &word, sizeof pair);
    return pair;
}
template <typename Pair> __device__ uint32_t bits(Pair pair)
{
    uint32_t word;
    memcpy(&word, &pair, sizeof word);
    return word;
}

// The value of a pair: see gemv_unpack.h.
__device__ __forceinline__ uint32_t value(vly_unpack_pair p, __half)
{
    if (p.scale != 0)
        return bits(__hfma2(as<__half2>(p.word), as<__half2>(p.scale),
                            as<__half2>(p.minus)));
    return bits(__hsub2(as<__half2>(p.word), as<__half2>(p.minus)));
}
__device__ __forceinline__ uint32_t value(vly_unpack_pair p, __nv_bfloat16)
{
    return bits(
        __hsub2(as<__nv_bfloat162>(p.word), as<__nv_bfloat162>(p.minus)));
}

__device__ __forceinline__ uint32_t pair_i8(uint32_t word, uint32_t i, __half t)
{
    return value(vly_unpack_i8_f16(word, i), t);
}
__device__ __forceinline__ uint32_t pair_i8(uint32_t word, uint32_t i,
                                            __nv_bfloat16 t)
{
    return value(vly_unpack_i8_bf16(word, i), t);
}
__device__ __forceinline__ uint32_t pair_i4(uint32_t word, uint32_t i, __half t)
{
    return value(vly_unpack_i4_f16(word, i), t);
}
__device__ __forceinline__ uint32_t pair_i4(uint32_t word, uint32_t i,
                                            __nv_bfloat16 t)
{
    return value(vly_unpack_i4_bf16(word, i), t);
}

// Adds the product of one word of either row (of 32 / BITS weights) and the x
// that belong to it.
template <typename T, int BITS>
__device__ __forceinline__ void word_product(float (&sum)[4], uint32_t w0,
                                             uint32_t w1, const uint32_t *x)
{
    if constexpr (BITS == 8) {
        multiply(sum, pair_i8(w0, 0, T()), pair_i8(w1, 0, T()),
                 pair_i8(w0, 1, T()), pair_i8(w1, 1, T()), x[0], x[1], T());
    } else {
#pragma unroll
        for (uint32_t i = 0; i < 4; i += 2)
            multiply(sum, pair_i4(w0, i, T()), pair_i4(w1, i, T()),
                     pair_i4(w0, i + 1, T()), pair_i4(w1, i + 1, T()),
                     vly_unpack_match_i4(x, i), vly_unpack_match_i4(x, i + 1),
                     T());
    }
}

// 16 bytes of two rows of B, and the 16 bytes * 16 / BITS of x.
template <typename T, int BITS>
__device__ __forceinline__ void chunk_product(float (&sum)[4], uint4 w0,
                                              uint4 w1, const uint32_t *x)
{
    const uint32_t r0[4] = {w0.x, w0.y, w0.z, w0.w};
    const uint32_t r1[4] = {w1.x, w1.y, w1.z, w1.w};
    if constexpr (BITS == 16) {
#pragma unroll
        for (int s = 0; s < 4; s += 2)
            multiply(sum, r0[s], r1[s], r0[s + 1], r1[s + 1], x[s], x[s + 1],
                     T());
    } else {
#pragma unroll
        for (int s = 0; s < 4; s++)
            word_product<T, BITS>(sum, r0[s], r1[s], x + s * 16 / BITS);
    }
}

template <typename T, int BITS, int WARPS, int LOADS>
__global__ void __launch_bounds__(WARPS * 32)
    gemv_half(const vly_cuda_gemm g, uint32_t n_parts, uint32_t n_groups,
              float *sums)
{
    constexpr int VECTOR = 128 / BITS, CHUNK = 4 * VECTOR;
    __shared__ float partial[WARPS][TILE][GROUP];
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint32_t r = lane / 4, t = lane % 4;
    const uint64_t j0 = static_cast<uint64_t>(blockIdx.x / n_groups) * TILE;
    const uint64_t i0 = static_cast<uint64_t>(blockIdx.x % n_groups) * GROUP;
    const uint64_t z = blockIdx.z, part = blockIdx.y;
    // rows that are not there are read as the last one, and not written
    const uint64_t row0 = min(j0 + r, g.n - 1), row1 = min(j0 + r + 8, g.n - 1);
    const char *b = static_cast<const char *>(g.b) + z * g.stride_b * BITS / 8;
    const char *b0 = b + row0 * g.ldb * BITS / 8 + t * 16;
    const char *b1 = b + row1 * g.ldb * BITS / 8 + t * 16;
    const bool has_x = i0 + r < g.m;
    const T *x = static_cast<const T *>(g.a) + z * g.stride_a +
                 (has_x ? i0 + r : 0) * g.lda + t * VECTOR;
    const T *group_scale =
        static_cast<const T *>(g.scale_b) + z * g.stride_scale_b;
    const uint64_t n_chunks = (g.k + CHUNK - 1) / CHUNK;
    const uint64_t end = n_chunks * (part + 1) / n_parts;
    float sum[4] = {};
    for (uint64_t c = n_chunks * part / n_parts + warp * LOADS; c < end;
         c += WARPS * LOADS) {
        uint4 w0[LOADS], w1[LOADS];
#pragma unroll
        for (int u = 0; u < LOADS; u++) {
            const bool there =
                c + u < end && (c + u) * CHUNK + t * VECTOR < g.k;
            w0[u] = there ? load_once(b0 + (c + u) * 64) : uint4{};
            w1[u] = there ? load_once(b1 + (c + u) * 64) : uint4{};
        }
#pragma unroll
        for (int u = 0; u < LOADS; u++) {
            const bool there =
                c + u < end && (c + u) * CHUNK + t * VECTOR < g.k;
            uint32_t a[VECTOR / 2] = {};
            if (there && has_x)
#pragma unroll
                for (int q = 0; q < VECTOR / 8; q++) {
                    const uint4 v = __ldg(
                        reinterpret_cast<const uint4 *>(x + (c + u) * CHUNK) +
                        q);
                    a[4 * q] = v.x, a[4 * q + 1] = v.y;
                    a[4 * q + 2] = v.z, a[4 * q + 3] = v.w;
                }
            if constexpr (BITS == 4) { // a chunk is a group of 128
                float one[4] = {};
                chunk_product<T, BITS>(one, w0[u], w1[u], a);
                if (c + u < end) {
                    const float s0 =
                        vly_to_float(group_scale[row0 * n_chunks + c + u]);
                    const float s1 =
                        vly_to_float(group_scale[row1 * n_chunks + c + u]);
                    sum[0] = fmaf(s0, one[0], sum[0]);
                    sum[1] = fmaf(s0, one[1], sum[1]);
                    sum[2] = fmaf(s1, one[2], sum[2]);
                    sum[3] = fmaf(s1, one[3], sum[3]);
                }
            } else {
                chunk_product<T, BITS>(sum, w0[u], w1[u], a);
            }
        }
    }
    partial[warp][r][2 * t] = sum[0];
    partial[warp][r][2 * t + 1] = sum[1];
    partial[warp][r + 8][2 * t] = sum[2];
    partial[warp][r + 8][2 * t + 1] = sum[3];
    __syncthreads();
    const uint64_t i = i0 + threadIdx.x / TILE, j = j0 + threadIdx.x % TILE;
    if (threadIdx.x >= TILE * GROUP || i >= g.m || j >= g.n)
        return;
    float all = 0.0f;
    for (int w = 0; w < WARPS; w++)
        all += partial[w][threadIdx.x % TILE][threadIdx.x / TILE];
    if (n_parts > 1)
        sums[((part * g.batch + z) * g.m + i) * g.n + j] = all;
    else
        vly_finish(g, z, i, j, all);
}

template <typename T, int BITS>
cudaError_t launch(const vly_cuda_gemm *g, uint32_t shape, uint32_t n_parts,
                   float *sums, cudaStream_t stream)
{
    const uint32_t n_groups = static_cast<uint32_t>((g->m + GROUP - 1) / GROUP);
    const dim3 grid(static_cast<unsigned>((g->n + TILE - 1) / TILE * n_groups),
                    n_parts, static_cast<unsigned>(g->batch));
    switch (shape) {
    case 0:
        VLY_LAUNCH((gemv_half<T, BITS, 8, 4>), grid, 8 * 32, stream, *g,
                   n_parts, n_groups, sums);
        break;
    case 1:
        VLY_LAUNCH((gemv_half<T, BITS, 4, 8>), grid, 4 * 32, stream, *g,
                   n_parts, n_groups, sums);
        break;
    case 2:
        VLY_LAUNCH((gemv_half<T, BITS, 16, 2>), grid, 16 * 32, stream, *g,
                   n_parts, n_groups, sums);
        break;
    default:
        return cudaErrorInvalidValue;
    }
    return cudaGetLastError();
}

template <typename T>
cudaError_t launch_type(const vly_cuda_gemm *g, uint32_t shape,
                        uint32_t n_parts, float *sums, cudaStream_t stream)
{
    if (g->type_b == VLY_CUDA_I4)
        return launch<T, 4>(g, shape, n_parts, sums, stream);
    if (g->type_b == VLY_CUDA_I8)
        return launch<T, 8>(g, shape, n_parts, sums, stream);
    return launch<T, 16>(g, shape, n_parts, sums, stream);
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

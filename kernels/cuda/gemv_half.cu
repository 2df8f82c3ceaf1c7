// SPDX-License-Identifier: Apache-2.0
// Products of few rows with fp16 or bf16, and int8 or int4 weights: bound by
// the bytes of B, so every byte is read once, 16 a lane, and nothing else may
// take longer.
//
// A block has 16 rows of B (columns of D); its warps divide k. Tensor cores
// multiply (mma m16n8k16, fp32 sums): B is their first factor, up to 8 rows of
// A the second, so eight rows cost what one does (with more, four groups of
// eight share the weights once they are floats). Which k stands where in a
// fragment is free as long as both factors agree, so a lane takes 16 bytes in
// one piece: four lanes hold 64 bytes of a row. Sums of warps, and of blocks
// that share rows (n_parts), are added in a fixed order.
//
// Bytes in flight: an H200 needs 4.29 TB/s * 0.7 us = 3 MB, 23 KB a
// multiprocessor. They are fetched past the registers (cp.async): the compiler
// moved plain loads behind the work of earlier ones to save registers. A block
// has 32 KB under way; with 4096 x 4096 two blocks are on a multiprocessor,
// with 16384 x 16384 five or six. Operations a KB of weights (32 lanes): 2 mma
// (16 bits), 4 and about 80 others (int8), 8 and about 150 others (int4,
// counted in the machine code); a multiprocessor has 55 cycles for a KB at 4.29
// TB/s and issues 4 a cycle. Predicted: bound by bytes. Not measured.
#include "gemm_element.cuh"
#include "gemv_launch.h"
#include "gemv_unpack.h"

namespace
{

constexpr int TILE = 16; // rows of B a block has

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

// 16 bytes of two rows of B as first factors of mma: [MMAS] of four words.
template <typename T, int BITS> struct fragments {
    static constexpr int MMAS = 32 / BITS;
    uint32_t a[MMAS][4];

    __device__ __forceinline__ fragments(uint4 w0, uint4 w1)
    {
        const uint32_t r0[4] = {w0.x, w0.y, w0.z, w0.w};
        const uint32_t r1[4] = {w1.x, w1.y, w1.z, w1.w};
#pragma unroll
        for (uint32_t i = 0; i < MMAS; i++)
#pragma unroll
            for (uint32_t half = 0; half < 2; half++) {
                a[i][2 * half] = word(r0, i, half);
                a[i][2 * half + 1] = word(r1, i, half);
            }
    }

    // Two weights of mma i: of its k 2t and 2t + 1, or 2t + 8 and 2t + 9.
    static __device__ __forceinline__ uint32_t word(const uint32_t (&row)[4],
                                                    uint32_t i, uint32_t half)
    {
        if constexpr (BITS == 16)
            return row[2 * i + half];
        else if constexpr (BITS == 8)
            return pair_i8(row[i], half, T());
        else
            return pair_i4(row[i / 2], i % 2 * 2 + half, T());
    }

    // The two of A that belong to them, of the piece x of a row.
    static __device__ __forceinline__ uint32_t match(const uint32_t *x,
                                                     uint32_t i, uint32_t half)
    {
        if constexpr (BITS == 4)
            return vly_unpack_match_i4(x + i / 2 * 4, i % 2 * 2 + half);
        else
            return x[2 * i + half];
    }
};

// Where a lane reads: 16 bytes of every chunk (64 bytes of a row of B).
template <typename T, int GROUPS> struct lane_places {
    const char *b0; // row r of the tile, and row r + 8
    const char *b1;
    const T *x[GROUPS]; // row r of each eight of A
    const T *scale0;    // of groups
    const T *scale1;
};

// One chunk of B, which has come, times what belongs to it of A.
template <typename T, int BITS, int GROUPS>
__device__ __forceinline__ void step(float (&sum)[GROUPS][4],
                                     const lane_places<T, GROUPS> &at, uint4 w0,
                                     uint4 w1, uint32_t c, bool there)
{
    constexpr int VECTOR = 128 / BITS;
    const fragments<T, BITS> weights(w0, w1);
    float s0 = 0.0f, s1 = 0.0f;
    if constexpr (BITS == 4) { // a chunk is a group of 128, whole for all lanes
        s0 = vly_to_float(at.scale0[c]);
        s1 = vly_to_float(at.scale1[c]);
    }
#pragma unroll
    for (int eight = 0; eight < GROUPS; eight++) {
        // B is 0 where it is not there, and so must A be: 0 times NaN is NaN
        uint32_t x[VECTOR / 2] = {};
        if (there)
#pragma unroll
            for (int q = 0; q < VECTOR / 8; q++) {
                const uint4 v =
                    __ldg(reinterpret_cast<const uint4 *>(at.x[eight]) + q);
                x[4 * q] = v.x, x[4 * q + 1] = v.y;
                x[4 * q + 2] = v.z, x[4 * q + 3] = v.w;
            }
        float one[4] = {};
        float(&to)[4] = BITS == 4 ? one : sum[eight];
#pragma unroll
        for (uint32_t i = 0; i < weights.MMAS; i++)
            multiply(to, weights.a[i][0], weights.a[i][1], weights.a[i][2],
                     weights.a[i][3], weights.match(x, i, 0),
                     weights.match(x, i, 1), T());
        if constexpr (BITS == 4) {
            sum[eight][0] = fmaf(s0, one[0], sum[eight][0]);
            sum[eight][1] = fmaf(s0, one[1], sum[eight][1]);
            sum[eight][2] = fmaf(s1, one[2], sum[eight][2]);
            sum[eight][3] = fmaf(s1, one[3], sum[eight][3]);
        }
    }
}

template <typename T, int BITS, int WARPS, int STAGES, int GROUPS>
__global__ void __launch_bounds__(WARPS * 32)
    gemv_half(const vly_cuda_gemm g, uint32_t n_parts, uint32_t n_groups,
              float *sums)
{
    constexpr int VECTOR = 128 / BITS, CHUNK = 4 * VECTOR;
    constexpr int ROWS = 8 * GROUPS;
    // what is fetched, then the sums of the warps
    __shared__ uint4 ring[WARPS][STAGES][2][32];
    float(*const partial)[TILE][ROWS] =
        reinterpret_cast<float(*)[TILE][ROWS]>(&ring[0][0][0][0]);
    static_assert(TILE * ROWS * 4 <= STAGES * 1024, "the sums fit");
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint32_t r = lane / 4, t = lane % 4;
    const uint64_t j0 = static_cast<uint64_t>(blockIdx.x / n_groups) * TILE;
    const uint64_t i0 = static_cast<uint64_t>(blockIdx.x % n_groups) * ROWS;
    const uint64_t z = blockIdx.z, part = blockIdx.y;
    // Rows that are not there, of B or of A, are read as the last one: what
    // becomes of them is not written.
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
    // The chunks of a warp are WARPS apart. STAGES - 1 of them are on their
    // way while one is worked on; a lane reads only what it has fetched.
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
        // the oldest stands behind the newest
        stage = stage == mine + (STAGES - 1) * 64 ? mine : stage + 64;
        step<T, BITS, GROUPS>(sum, at, stage[0], stage[32], c, c < end_of_lane);
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

// SPDX-License-Identifier: Apache-2.0
// Weights of 16, 8 and 4 bits as factors of mma.sync, for products of few rows:
// 16 bytes of two rows a lane, 64 of 16 rows a warp. Which k stands where in a
// fragment is free as long as both factors agree.
#ifndef VOLLEY_GEMV_FRAGMENT_CUH
#define VOLLEY_GEMV_FRAGMENT_CUH

#include "gemm_element.cuh"
#include "gemv_unpack.h"

#include "gemv_mma.cuh"

namespace
{

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

// One chunk of B, which has arrived, times the corresponding elements of A.
// FRESH: A may have been written since the kernel started (rwkv_launch.cuh).
template <typename T, int BITS, int GROUPS, bool FRESH>
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
                const uint4 *from =
                    reinterpret_cast<const uint4 *>(at.x[eight]) + q;
                const uint4 v = FRESH ? __ldcg(from) : __ldg(from);
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

} // namespace

#endif

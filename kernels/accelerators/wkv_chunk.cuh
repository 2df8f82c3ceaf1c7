/* SPDX-License-Identifier: Apache-2.0
 * Shared by the two halves of wkv_chunked.cu: the record of a chunk of 32
 * tokens of one head, and products of matrices in three passes of tf32.
 *
 * A record is the effect of a chunk on a state S [64 values][64 keys], in the
 * order of the registers of mma.sync's fragments, so that both sides move it in
 * whole lines:
 *
 *   S := S M + N        M, N [64][64]
 *   y_t = S R_t + Y_t   R, Y [32 tokens][64]
 */
#ifndef VLY_WKV_CHUNK_CUH
#define VLY_WKV_CHUNK_CUH

#include "wkv_device.cuh"
#include "wkv_mma.cuh"

#define CHUNK VLY_WKV_CHUNK
#define CHUNK_THREADS 256
#define SLICE 16 /* rows of a state that a block passes on */

struct chunk_record {
    /* [16 columns][8 rows of M]: M^T as the sums of a tile of 16 x 8 are */
    float4 m[4][8][32];
    /* [16 rows][8 columns] */
    float4 n[4][8][32];
    /* [8 tokens][8 keys] */
    float2 r[4][8][32];
    /* [16 rows][8 tokens] */
    float4 y[4][4][32];
};
static_assert(sizeof(chunk_record) == VLY_WKV_CHUNK_BYTES,
              "a record has the size that plans reckon with");

/* Chunks first to first + n of every head; their results are at record[chunk -
 * first][pair]; plain, after all records, has the same layout: 1 for a chunk
 * that must be computed token by token. */
struct chunk_range {
    chunk_record *record;
    int32_t *plain;
    uint32_t first;
    uint32_t n;
};

/* x as two tf32 numbers, the first rounded: with truncation the remainder is
 * twice as large, and the error of outputs was 2.4 times as large. */
static __device__ __forceinline__ void split(float x, uint32_t *high,
                                             uint32_t *low)
{
    *high = (__float_as_uint(x) + 0x1000u) & 0xffffe000u;
    *low = __float_as_uint(x - __uint_as_float(*high));
}

struct factor_a {
    uint32_t high[4], low[4];
    __device__ __forceinline__ factor_a(float x0, float x1, float x2, float x3)
    {
        split(x0, &high[0], &low[0]);
        split(x1, &high[1], &low[1]);
        split(x2, &high[2], &low[2]);
        split(x3, &high[3], &low[3]);
    }
};

/* N tiles of one A: c + low are the sums (low may be c). In this order, as an
 * mma waits for the one before it of the same sums: three in a row took 19
 * cycles each on an H200. */
template <int N>
static __device__ __forceinline__ void
multiply(float (*c)[4], float (*low)[4], const factor_a &a, const float (*x)[2])
{
    uint32_t b_high[N][2], b_low[N][2];
#pragma unroll
    for (int n = 0; n < N; n++) {
        split(x[n][0], &b_high[n][0], &b_low[n][0]);
        split(x[n][1], &b_high[n][1], &b_low[n][1]);
    }
#pragma unroll
    for (int n = 0; n < N; n++)
        wkv_mma_tf32(low[n], a.low, b_high[n]);
#pragma unroll
    for (int n = 0; n < N; n++)
        wkv_mma_tf32(c[n], a.high, b_high[n]);
#pragma unroll
    for (int n = 0; n < N; n++)
        wkv_mma_tf32(low[n], a.high, b_low[n]);
}

static __device__ __forceinline__ float4 sum_of(const float c[4],
                                                const float low[4])
{
    return make_float4(c[0] + low[0], c[1] + low[1], c[2] + low[2],
                       c[3] + low[3]);
}

#endif

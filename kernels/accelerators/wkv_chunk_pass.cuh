/* SPDX-License-Identifier: Apache-2.0
 * The second half of wkv_chunked.cu: states from chunk to chunk, and outputs. A
 * block has 16 of the 64 rows of one head. Four warps make the next state, 16
 * columns each, the other four y of 8 tokens each; the data of the next chunk
 * is loaded meanwhile. The state goes round in shared memory in the order of
 * fragments: sums of one product are factors of the next as they are.
 */
#ifndef VLY_WKV_CHUNK_PASS_CUH
#define VLY_WKV_CHUNK_PASS_CUH

#include "wkv_chunk.cuh"

#define STATE_WARPS 4

/* [8 columns][lane] of 16 rows */
typedef float4 chunk_state[8][32];

struct chunk_rows {
    chunk_state state[2];
    float plain[SLICE][WKV_DIM]; /* of a chunk computed token by token */
};

/* Part of a record for a lane. */
struct chunk_part {
    float4 m[8]; /* y: r of two fragments, in four of them */
    float4 start[2];
    int32_t plain;
};

static __device__ __forceinline__ void
fetch_part(const chunk_range &range, uint32_t index, uint32_t slice,
           uint32_t warp, uint32_t lane, chunk_part *part)
{
    const chunk_record &record = range.record[index];
    part->plain = __ldcg(range.plain + index);
    if (warp < STATE_WARPS) {
#pragma unroll
        for (uint32_t k = 0; k < 8; k++)
            part->m[k] = __ldcg(&record.m[warp][k][lane]);
#pragma unroll
        for (uint32_t q = 0; q < 2; q++)
            part->start[q] = __ldcg(&record.n[slice][2 * warp + q][lane]);
        return;
    }
    const uint32_t tile = warp - STATE_WARPS;
#pragma unroll
    for (uint32_t k = 0; k < 8; k += 2) {
        const float2 x = __ldcg(&record.r[tile][k][lane]);
        const float2 z = __ldcg(&record.r[tile][k + 1][lane]);
        part->m[k / 2] = make_float4(x.x, x.y, z.x, z.y);
    }
    part->start[0] = __ldcg(&record.y[slice][tile][lane]);
}

static __device__ __forceinline__ void pass_state(const chunk_state &from,
                                                  const chunk_part &part,
                                                  uint32_t warp, uint32_t lane,
                                                  chunk_state *to)
{
    float s[2][4];
    float low[2][4] = {};
#pragma unroll
    for (uint32_t q = 0; q < 2; q++) {
        s[q][0] = part.start[q].x;
        s[q][1] = part.start[q].y;
        s[q][2] = part.start[q].z;
        s[q][3] = part.start[q].w;
    }
#pragma unroll
    for (uint32_t k = 0; k < 8; k++) {
        const float4 x = from[k][lane];
        const factor_a a(x.x, x.z, x.y, x.w);
        const float m[2][2] = {{part.m[k].x, part.m[k].y},
                               {part.m[k].z, part.m[k].w}};
        multiply<2>(s, low, a, m);
    }
#pragma unroll
    for (uint32_t q = 0; q < 2; q++)
        (*to)[2 * warp + q][lane] = sum_of(s[q], low[q]);
}

/* token: the first of the warp's eight */
template <typename T>
static __device__ __forceinline__ void
read_state(const vly_wkv_args &args, const wkv_place &at, uint32_t row,
           int32_t token, const chunk_state &from, const chunk_part &part,
           uint32_t lane)
{
    /* of even and of odd k: chains half as long */
    float y[2][4] = {
        {part.start[0].x, part.start[0].y, part.start[0].z, part.start[0].w}};
    float low[2][4] = {};
#pragma unroll
    for (uint32_t k = 0; k < 8; k++) {
        const float4 x = from[k][lane];
        const factor_a a(x.x, x.z, x.y, x.w);
        const float4 both = part.m[k / 2];
        const float r[1][2] = {
            {k % 2 ? both.z : both.x, k % 2 ? both.w : both.y}};
        multiply<1>(y + k % 2, low + k % 2, a, r);
    }
#pragma unroll
    for (uint32_t i = 0; i < 4; i++) {
        const int32_t t = token + (int32_t)(lane % 4 * 2 + i % 2);
        if (t < at.n)
            wkv_store((T *)args.y + at.first + t * at.step + row + lane / 4 +
                          i / 2 * 8,
                      (y[0][i] + y[1][i]) + (low[0][i] + low[1][i]));
    }
}

/* Where number i of a lane's float4 of eight columns is, of [16][64]. */
static __device__ __forceinline__ uint32_t place_of(uint32_t tile,
                                                    uint32_t lane, uint32_t i)
{
    return (lane / 4 + i / 2 * 8) * WKV_DIM + 8 * tile + lane % 4 * 2 + i % 2;
}

/* NULL: zeros. All threads, a float4 each. */
static __device__ __forceinline__ void load_state(const float *from,
                                                  chunk_state *to)
{
    const uint32_t tile = threadIdx.x / 32, lane = threadIdx.x % 32;
    float x[4] = {};
#pragma unroll
    for (uint32_t i = 0; from != nullptr && i < 4; i++)
        x[i] = from[place_of(tile, lane, i)];
    (*to)[tile][lane] = make_float4(x[0], x[1], x[2], x[3]);
}

static __device__ __forceinline__ void store_state(const chunk_state &from,
                                                   float *to)
{
    const uint32_t tile = threadIdx.x / 32, lane = threadIdx.x % 32;
    const float4 x = from[tile][lane];
    to[place_of(tile, lane, 0)] = x.x;
    to[place_of(tile, lane, 1)] = x.y;
    to[place_of(tile, lane, 2)] = x.z;
    to[place_of(tile, lane, 3)] = x.w;
}

/* A chunk token by token; 16 lanes a row. All threads. */
template <typename T>
static __device__ __noinline__ void
plain_chunk(const vly_wkv_args &args, const wkv_place &at, uint32_t row,
            int32_t token, float state[SLICE][WKV_DIM])
{
    const uint32_t i = threadIdx.x / 16, part = threadIdx.x % 16;
    float s[4];
    for (uint32_t c = 0; c < 4; c++)
        s[c] = state[i][part + 16 * c];
    for (int32_t t = token; t < at.n && t < token + CHUNK; t++) {
        const uint64_t from = at.first + t * at.step;
        float sa = 0.0f;
        float y = 0.0f;
        for (uint32_t c = 0; c < 4; c++)
            sa += s[c] * wkv_float(((const T *)args.a)[from + part + 16 * c]);
        for (int d = 8; d > 0; d /= 2)
            sa += __shfl_xor_sync(0xffffffffu, sa, d);
        const float v = wkv_float(((const T *)args.v)[from + row + i]);
        for (uint32_t c = 0; c < 4; c++) {
            const uint64_t x = from + part + 16 * c;
            s[c] = s[c] * wkv_decay(wkv_float(((const T *)args.w)[x])) +
                   v * wkv_float(((const T *)args.k)[x]) +
                   sa * wkv_float(((const T *)args.b)[x]);
            y += s[c] * wkv_float(((const T *)args.r)[x]);
        }
        for (int d = 8; d > 0; d /= 2)
            y += __shfl_xor_sync(0xffffffffu, y, d);
        if (part == 0)
            wkv_store((T *)args.y + from + row + i, y);
    }
    for (uint32_t c = 0; c < 4; c++)
        state[i][part + 16 * c] = s[c];
}

/* Rows `slice` of a head through a range's chunks. All threads. */
template <typename T>
static __device__ __forceinline__ void
pass_chunks(const vly_wkv_args &args, const chunk_range &range, uint32_t pair,
            uint32_t slice, chunk_rows *rows)
{
    const uint32_t pairs = args.batch * args.heads;
    const wkv_place at = wkv_place_of(args, pair);
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint32_t row = slice * SLICE;
    const uint64_t state = at.state + row * WKV_DIM;
    const int32_t first = (int32_t)(range.first * CHUNK);
    const int32_t left = (at.n - first + CHUNK - 1) / CHUNK;
    const uint32_t n =
        left < (int32_t)range.n ? (uint32_t)(left < 0 ? 0 : left) : range.n;
    const float *in =
        args.state_in != nullptr ? args.state_in + state : nullptr;
    if (range.first > 0)
        in = args.state_out + state;
    chunk_part part;
    if (n > 0)
        fetch_part(range, pair, slice, warp, lane, &part);
    load_state(in, &rows->state[0]);
    __syncthreads();
    for (uint32_t c = 0; c < n; c++) {
        const int32_t token = first + (int32_t)(c * CHUNK);
        const chunk_state &now = rows->state[c % 2];
        chunk_part next = part;
        if (c + 1 < n)
            fetch_part(range, (c + 1) * pairs + pair, slice, warp, lane, &next);
        if (part.plain) {
            store_state(now, rows->plain[0]);
            __syncthreads();
            plain_chunk<T>(args, at, row, token, rows->plain);
            __syncthreads();
            load_state(rows->plain[0], &rows->state[1 - c % 2]);
        } else if (warp < STATE_WARPS) {
            pass_state(now, part, warp, lane, &rows->state[1 - c % 2]);
        } else {
            read_state<T>(args, at, row,
                          token + (int32_t)(8 * (warp - STATE_WARPS)), now,
                          part, lane);
        }
        __syncthreads();
        part = next;
    }
    store_state(rows->state[n % 2], args.state_out + state);
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 * RWKV-7's recurrence token by token in one launch, as it is defined. The rows
 * of a state need nothing of each other: a block has 16 of the 64 rows of one
 * head, eight lanes a row, 8 columns of the state in the registers of each.
 * Inputs come in tiles of 16 tokens, which four other warps fetch and put into
 * shared memory while the tile before is worked on.
 *
 * The form before this one, four lanes a row which also fetched, took 437 ns a
 * token on an H200 (40 heads, fp32): 141 instructions a token and 889 a tile at
 * 4.4 cycles each, as a warp was alone with its scheduler. Here a token is
 * about 80 and four tokens are in sight: 259 ns.
 */
#include "rwkv_launch.cuh"
#include "wkv_device.cuh"

#define ROWS 16
#define LANES 8
#define WORKERS (ROWS * LANES)
#define CARRIERS 128
#define THREADS (WORKERS + CARRIERS)
#define TOKENS 16
#define VECTORS 5 /* r, w, k, a, b; v is apart: only 16 of it */
#define EACH (TOKENS * WKV_DIM / CARRIERS) /* tokens of a column, a carrier */

/* Lane part p of a row has the columns 4 p + 32 c + 0..3: lanes of a row are
 * consecutive, so no two of them read the same bank. */
struct recurrent_tile {
    float x[TOKENS][VECTORS][WKV_DIM];
    float v[TOKENS][ROWS];
};

/* The part of a tile that a carrier loads: a column of all vectors, of every
 * other token. It stays as in memory, since a conversion would wait for it. */
template <typename T> struct recurrent_next {
    T x[EACH][VECTORS];
    T v[TOKENS * ROWS / CARRIERS];
};

template <typename T>
static __device__ __forceinline__ void
fetch(const vly_wkv_args &args, const wkv_place &at, uint32_t row,
      int32_t token, uint32_t thread, recurrent_next<T> *next)
{
    const void *from[VECTORS] = {args.r, args.w, args.k, args.a, args.b};
    const uint32_t j = thread % WKV_DIM;
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        const int32_t t =
            token + (int32_t)(thread / WKV_DIM) + i * (CARRIERS / WKV_DIM);
#pragma unroll
        for (int x = 0; x < VECTORS; x++)
            next->x[i][x] =
                t < at.n ? ((const T *)from[x])[at.first + t * at.step + j]
                         : T(0.0f);
    }
#pragma unroll
    for (int u = 0; u < TOKENS * ROWS / CARRIERS; u++) {
        const int32_t t =
            token + (int32_t)(thread / ROWS) + u * (CARRIERS / ROWS);
        next->v[u] =
            t < at.n
                ? ((const T *)
                       args.v)[at.first + t * at.step + row + thread % ROWS]
                : T(0.0f);
    }
}

template <typename T>
static __device__ __forceinline__ void
put(const recurrent_next<T> &next, uint32_t thread, recurrent_tile *tile)
{
    const uint32_t j = thread % WKV_DIM;
#pragma unroll
    for (int i = 0; i < EACH; i++)
#pragma unroll
        for (int x = 0; x < VECTORS; x++)
            tile->x[thread / WKV_DIM + i * (CARRIERS / WKV_DIM)][x][j] =
                x == 1 ? wkv_decay(wkv_float(next.x[i][x]))
                       : wkv_float(next.x[i][x]);
#pragma unroll
    for (int u = 0; u < TOKENS * ROWS / CARRIERS; u++)
        tile->v[thread / ROWS + u * (CARRIERS / ROWS)][thread % ROWS] =
            wkv_float(next.v[u]);
}

static __device__ __forceinline__ float sum_8(float x)
{
    for (int d = 1; d < LANES; d *= 2)
        x += __shfl_xor_sync(0xffffffffu, x, d);
    return x;
}

static __device__ __forceinline__ float dot_4(const float s[4], float4 x)
{
    return (s[0] * x.x + s[1] * x.y) + (s[2] * x.z + s[3] * x.w);
}

/* One token for one row; returns y in all lanes. The next token waits for sa
 * and the state, so sa is a tree of sums, not a chain. */
static __device__ __forceinline__ float step(const float x[VECTORS][WKV_DIM],
                                             float v, uint32_t part, float s[8])
{
    const float4 *at[VECTORS];
#pragma unroll
    for (int i = 0; i < VECTORS; i++)
        at[i] = (const float4 *)(x[i] + 4 * part);
    const float sa = sum_8(dot_4(s, at[3][0]) + dot_4(s + 4, at[3][8]));
    float outs[2];
#pragma unroll
    for (int c = 0; c < 2; c++) {
        const float4 r = at[0][8 * c];
        const float4 d = at[1][8 * c];
        const float4 k = at[2][8 * c];
        const float4 b = at[4][8 * c];
        s[4 * c] = (s[4 * c] * d.x + v * k.x) + sa * b.x;
        s[4 * c + 1] = (s[4 * c + 1] * d.y + v * k.y) + sa * b.y;
        s[4 * c + 2] = (s[4 * c + 2] * d.z + v * k.z) + sa * b.z;
        s[4 * c + 3] = (s[4 * c + 3] * d.w + v * k.w) + sa * b.w;
        outs[c] = dot_4(s + 4 * c, r);
    }
    return sum_8(outs[0] + outs[1]);
}

/* Eight tokens, of which n are there, from number t of a tile on. Lane part of
 * a row keeps y of one of them and writes it at the end: without a branch
 * between tokens, the work of one that needs no state is done during the sums
 * of the previous one. */
template <typename T, bool WHOLE>
static __device__ __forceinline__ void
work(const recurrent_tile &tile, int32_t t, int32_t n, uint32_t local,
     uint32_t part, float s[8], T *y, uint64_t pitch)
{
    float mine = 0.0f;
#pragma unroll
    for (int32_t i = 0; i < LANES; i++) {
        if (!WHOLE && i >= n)
            break;
        const float one = step(tile.x[t + i], tile.v[t + i][local], part, s);
        mine = part == (uint32_t)i ? one : mine;
    }
    if (WHOLE || (int32_t)part < n)
        wkv_store(y + (t + (int32_t)part) * pitch, mine);
}

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    wkv_recurrent(const __grid_constant__ vly_wkv_args args)
{
    __shared__ __align__(16) recurrent_tile tiles[2];
    rwkv_wait();
    const wkv_place at = wkv_place_of(args, blockIdx.x);
    const uint32_t first = blockIdx.y * ROWS;
    /* of the first lane, so that the compiler knows that a warp agrees */
    const bool carries =
        __shfl_sync(0xffffffffu, threadIdx.x / 32, 0) >= WORKERS / 32;
    const uint32_t thread = carries ? threadIdx.x - WORKERS : threadIdx.x;
    const uint32_t local = thread / LANES, part = thread % LANES;
    const uint64_t state = at.state + (first + local) * WKV_DIM + 4 * part;
    float s[8] = {};
    recurrent_next<T> next;
    if (carries) {
        fetch<T>(args, at, first, 0, thread, &next);
        put(next, thread, &tiles[0]);
        fetch<T>(args, at, first, TOKENS, thread, &next);
    } else if (args.state_in != nullptr) {
#pragma unroll
        for (int c = 0; c < 8; c++)
            s[c] = args.state_in[state + c / 4 * 32 + c % 4];
    }
    __syncthreads();
    for (int32_t token = 0; token < at.n; token += TOKENS) {
        const uint32_t now = (uint32_t)token / TOKENS % 2;
        T *const y = (T *)args.y + at.first + token * at.step + first + local;
        if (carries) {
            put(next, thread, &tiles[1 - now]);
            fetch<T>(args, at, first, token + 2 * TOKENS, thread, &next);
        } else {
            for (int32_t t = 0; t < TOKENS && token + t < at.n; t += LANES) {
                const int32_t n = at.n - token - t;
                if (n >= LANES)
                    work<T, true>(tiles[now], t, n, local, part, s, y, at.step);
                else
                    work<T, false>(tiles[now], t, n, local, part, s, y,
                                   at.step);
            }
        }
        __syncthreads();
    }
    if (carries)
        return;
#pragma unroll
    for (int c = 0; c < 8; c++)
        args.state_out[state + c / 4 * 32 + c % 4] = s[c];
}

int vly_wkv_recurrent(const vly_wkv_args *args, void *stream)
{
    const dim3 grid(args->batch * args->heads, WKV_DIM / ROWS);
    if (grid.x == 0)
        return 0;
    return rwkv_launch(args->type == 1   ? wkv_recurrent<__half>
                       : args->type == 2 ? wkv_recurrent<__nv_bfloat16>
                                         : wkv_recurrent<float>,
                       grid, THREADS, 0, stream, args->early, *args);
}

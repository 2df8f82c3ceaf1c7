/* SPDX-License-Identifier: Apache-2.0
 * RWKV-7's recurrence token by token in one launch, as it is defined. The rows
 * of a state need nothing of each other: a block has 16 of the 64 rows of one
 * head, four lanes a row, 16 columns of the state in the registers of each.
 * Inputs come in tiles of 16 tokens; those of the next tile are loaded into
 * registers while this one is worked on.
 */
#include "wkv_device.cuh"

#define ROWS 16
#define THREADS (ROWS * 4)
#define TOKENS 16
#define VECTORS 5 /* r, w, k, a, b; v is apart: only 16 of it */

/* Lane part p of a row has the columns 4 p + 16 c + 0..3: with four lanes one
 * behind the other no two of them read the same bank. */
struct recurrent_tile {
    float x[TOKENS][VECTORS][WKV_DIM];
    float v[TOKENS][ROWS];
};

/* What a thread loads of a tile: column threadIdx.x of all vectors. */
struct recurrent_next {
    float x[TOKENS][VECTORS];
    float v[TOKENS * ROWS / THREADS];
};

template <typename T>
static __device__ __forceinline__ void
fetch(const vly_wkv_args &args, const wkv_place &at, uint32_t row,
      int32_t token, recurrent_next *next)
{
    const void *from[VECTORS] = {args.r, args.w, args.k, args.a, args.b};
#pragma unroll
    for (int t = 0; t < TOKENS; t++)
#pragma unroll
        for (int x = 0; x < VECTORS; x++)
            next->x[t][x] =
                token + t < at.n
                    ? wkv_float((
                          (const T *)from[x])[at.first + (token + t) * at.step +
                                              threadIdx.x])
                    : 0.0f;
#pragma unroll
    for (int u = 0; u < TOKENS * ROWS / THREADS; u++) {
        const int32_t t =
            token + (int32_t)(threadIdx.x / ROWS) + u * (THREADS / ROWS);
        next->v[u] =
            t < at.n ? wkv_float(((const T *)args.v)[at.first + t * at.step +
                                                     row + threadIdx.x % ROWS])
                     : 0.0f;
    }
}

static __device__ __forceinline__ void put(const recurrent_next &next,
                                           recurrent_tile *tile)
{
#pragma unroll
    for (int t = 0; t < TOKENS; t++)
#pragma unroll
        for (int x = 0; x < VECTORS; x++)
            tile->x[t][x][threadIdx.x] =
                x == 1 ? wkv_decay(next.x[t][x]) : next.x[t][x];
#pragma unroll
    for (int u = 0; u < TOKENS * ROWS / THREADS; u++)
        tile->v[threadIdx.x / ROWS + u * (THREADS / ROWS)][threadIdx.x % ROWS] =
            next.v[u];
}

static __device__ __forceinline__ float sum_4(float x)
{
    x += __shfl_xor_sync(0xffffffffu, x, 1);
    return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

static __device__ __forceinline__ float dot_4(const float s[4], float4 x)
{
    return (s[0] * x.x + s[1] * x.y) + (s[2] * x.z + s[3] * x.w);
}

/* One token for one row; returns y in all four lanes. The next token waits for
 * sa and the state, so sa is a tree of sums, not a chain. */
static __device__ __forceinline__ float
step(const float x[VECTORS][WKV_DIM], float v, uint32_t part, float s[16])
{
    float sums[4];
    float outs[4];
#pragma unroll
    for (int c = 0; c < 4; c++)
        sums[c] = dot_4(s + 4 * c, *(const float4 *)(x[3] + 4 * part + 16 * c));
    const float sa = sum_4((sums[0] + sums[1]) + (sums[2] + sums[3]));
#pragma unroll
    for (int c = 0; c < 4; c++) {
        const uint32_t at = 4 * part + 16 * c;
        const float4 r = *(const float4 *)(x[0] + at);
        const float4 d = *(const float4 *)(x[1] + at);
        const float4 k = *(const float4 *)(x[2] + at);
        const float4 b = *(const float4 *)(x[4] + at);
        s[4 * c] = (s[4 * c] * d.x + v * k.x) + sa * b.x;
        s[4 * c + 1] = (s[4 * c + 1] * d.y + v * k.y) + sa * b.y;
        s[4 * c + 2] = (s[4 * c + 2] * d.z + v * k.z) + sa * b.z;
        s[4 * c + 3] = (s[4 * c + 3] * d.w + v * k.w) + sa * b.w;
        outs[c] = dot_4(s + 4 * c, r);
    }
    return sum_4((outs[0] + outs[1]) + (outs[2] + outs[3]));
}

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    wkv_recurrent(const __grid_constant__ vly_wkv_args args)
{
    __shared__ __align__(16) recurrent_tile tile;
    const wkv_place at = wkv_place_of(args, blockIdx.x);
    const uint32_t first = blockIdx.y * ROWS;
    const uint32_t local = threadIdx.x / 4;
    const uint32_t part = threadIdx.x % 4;
    const uint64_t state = at.state + (first + local) * WKV_DIM + 4 * part;
    float s[16] = {};
    if (args.state_in != nullptr)
#pragma unroll
        for (int c = 0; c < 16; c++)
            s[c] = args.state_in[state + c / 4 * 16 + c % 4];
    recurrent_next next;
    fetch<T>(args, at, first, 0, &next);
    for (int32_t token = 0; token < at.n; token += TOKENS) {
        __syncthreads();
        put(next, &tile);
        __syncthreads();
        fetch<T>(args, at, first, token + TOKENS, &next);
        const int32_t n = at.n - token < TOKENS ? at.n - token : TOKENS;
        for (int32_t t = 0; t < n; t++) {
            const float y = step(tile.x[t], tile.v[t][local], part, s);
            if (part == 0)
                wkv_store((T *)args.y + at.first + (token + t) * at.step +
                              first + local,
                          y);
        }
    }
#pragma unroll
    for (int c = 0; c < 16; c++)
        args.state_out[state + c / 4 * 16 + c % 4] = s[c];
}

int vly_wkv_recurrent(const vly_wkv_args *args, void *stream)
{
    const dim3 grid(args->batch * args->heads, WKV_DIM / ROWS);
    cudaStream_t to = (cudaStream_t)stream;
    if (grid.x == 0)
        return 0;
    switch (args->type) {
    case 1:
        wkv_recurrent<__half><<<grid, THREADS, 0, to>>>(*args);
        break;
    case 2:
        wkv_recurrent<__nv_bfloat16><<<grid, THREADS, 0, to>>>(*args);
        break;
    default:
        wkv_recurrent<float><<<grid, THREADS, 0, to>>>(*args);
        break;
    }
    return (int)cudaGetLastError();
}

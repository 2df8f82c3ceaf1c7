/* SPDX-License-Identifier: Apache-2.0
 * A head of rwkv_token.cu, by the workers of one block: the LoRAs' second
 * products, PREPARE, one token of the recurrence, FINISH (volley/rwkv.h). Its
 * loads from memory start before those of the values of other blocks.
 */
#ifndef VLY_RWKV_TOKEN_HEAD_CUH
#define VLY_RWKV_TOKEN_HEAD_CUH

#include "rwkv_token.cuh"

#define HEAD_GROUPS (TOKEN_WARPS / 4) /* of warps: each has all 64 rows */
#define HEAD_HELD (18 / HEAD_GROUPS)  /* chunks that a warp reads ahead */
#define HEAD_LANES (TOKEN_WORKERS / RWKV_DIM) /* of a row of the state */
#define HEAD_QUADS (16 / HEAD_LANES)

/* Data of a block about its head. */
struct head_view {
    const token_layer *layer;
    const token_chunk *chunk;
    const uint16_t *entry;
    uint32_t n_chunks;
    uint32_t is_first;
};

struct head_vectors {
    float bias[3], k_k, k_a, r_k;
    float weight[2], group_bias[2];
};

/* 32 columns of 16 rows of a matrix: the lane's part. */
static __device__ __forceinline__ void read_chunk(const token_args &args,
                                                  const token_layer &layer,
                                                  token_chunk c, uint4 (&to)[2])
{
    const uint32_t g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    const uint32_t row = blockIdx.x * RWKV_DIM + threadIdx.x / 32 % 4 * 16 + g;
    const uint32_t rank = args.rank[c.matrix];
    to[0] = to[1] = make_uint4(0, 0, 0, 0);
    if (t * 8 < c.left) {
        const uint4 *from =
            (const uint4 *)((const char *)layer.matrix[c.matrix] +
                            ((uint64_t)row * rank + c.k + t * 8) * 2);
        to[0] = __ldcg(from);
        to[1] = __ldcg(from + rank); /* eight rows on */
    }
}

template <typename T>
static __device__ __forceinline__ void chunk_times(const uint4 (&w)[2],
                                                   uint32_t c, token_head &s)
{
    const uint32_t g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    float d[4] = {};
    token_add<T>(d, w[0], w[1], ((const uint4 *)s.hidden)[c * 4 + t]);
    float *part = s.part[c] + threadIdx.x / 32 % 4 * 16 + g;
    if (t == 0)
        part[0] = d[0], part[8] = d[2];
}

/* Of chunks [from, to), independent loads. */
static __device__ __forceinline__ float
lora_of(const token_head &s, uint32_t from, uint32_t to, uint32_t j)
{
    float sum[4] = {};
    for (uint32_t c = from; c < to; c += 4)
#pragma unroll
        for (uint32_t i = 0; i < 4; i++)
            if (c + i < to)
                sum[i] += s.part[c + i][j];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static __device__ __forceinline__ void read_vectors(const head_view &v,
                                                    head_vectors *to)
{
    const uint32_t t = threadIdx.x, j = blockIdx.x * RWKV_DIM + t;
    const token_layer &layer = *v.layer;
    *to = {};
    if (t < RWKV_DIM) {
        to->bias[0] = layer.bias[0][j];
        to->bias[1] = layer.bias[1][j];
        if (!v.is_first)
            to->bias[2] = layer.bias[2][j];
        to->k_k = layer.k_k[j];
        to->k_a = layer.k_a[j];
        to->r_k = layer.r_k[j];
    }
    if (t < 32)
#pragma unroll
        for (int i = 0; i < 2; i++) {
            to->weight[i] = layer.group_weight[j + 32 * i];
            to->group_bias[i] = layer.group_bias[j + 32 * i];
        }
}

/* r, k, v and the hidden vectors, written by other blocks. */
template <typename T>
static __device__ __forceinline__ void
take_entries(const token_args &args, const head_view &view, uint32_t flag,
             token_head &s)
{
    const uint2 *from = (const uint2 *)(args.exchange + args.at[EXCHANGE_IN]);
    const uint32_t n = 3 * RWKV_DIM + view.n_chunks * 32;
    for (uint32_t base = threadIdx.x; base < n; base += TOKEN_ROUND) {
        uint32_t row[4], other;
        uint2 v[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            row[i] = view.entry[base + i * TOKEN_WORKERS];
            v[i] = make_uint2(0, flag);
        }
        do {
            other = 0;
#pragma unroll
            for (int i = 0; i < 4; i++)
                if (row[i] != TOKEN_NONE)
                    v[i] = token_see2(from + row[i]);
#pragma unroll
            for (int i = 0; i < 4; i++)
                other |= v[i].y ^ flag;
        } while (other != 0);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const uint32_t j = base + i * TOKEN_WORKERS;
            if (j < 3 * RWKV_DIM)
                s.rkv[j / RWKV_DIM][j % RWKV_DIM] = __uint_as_float(v[i].x);
            else if (j < n)
                s.hidden[j - 3 * RWKV_DIM] =
                    (uint16_t)token_bits(__uint_as_float(v[i].x), T());
        }
    }
}

/* Columns of the head, in the form for the recurrence, by the first 64 threads;
 * the gate by the next 64. */
static __device__ __forceinline__ void make_columns(const token_args &args,
                                                    const head_view &view,
                                                    const head_vectors &in,
                                                    token_head &s)
{
    const uint32_t t = threadIdx.x;
    const uint32_t c0 = (args.rank[0] + 31) / 32;
    const uint32_t c1 = c0 + (args.rank[1] + 31) / 32;
    const uint32_t c2 = c1 + (view.is_first ? 0 : (args.rank[2] + 31) / 32);
    if (t >= RWKV_DIM) {
        if (t < 2 * RWKV_DIM)
            s.g[t - RWKV_DIM] = lora_of(s, c2, view.n_chunks, t - RWKV_DIM);
        return;
    }
    const float r = s.rkv[0][t], k = s.rkv[1][t];
    float v = s.rkv[2][t];
    const float z = in.bias[0] + lora_of(s, 0, c0, t);
    const float rate = token_sigmoid(in.bias[1] + lora_of(s, c0, c1, t));
    const float kk = k * in.k_k;
    const float key = k * fmaf(rate - 1.0f, in.k_a, 1.0f);
    const float squares = rwkv_sum_warp(kk * kk);
    const float bonus = rwkv_sum_warp(r * key * in.r_k);
    if (t % 32 == 0)
        s.squares[t / 32] = squares, s.bonus[t / 32] = bonus;
    if (view.is_first)
        s.first_v[t] = v;
    else
        v = fmaf(s.first_v[t] - v,
                 token_sigmoid(in.bias[2] + lora_of(s, c1, c2, t)), v);
    s.r[t] = r, s.k[t] = key, s.v[t] = v;
    s.w[t] = expf(-0.6065306597126334f * token_sigmoid(z)); /* exp(-1/2) */
    asm volatile("bar.sync 2, 64;" ::: "memory");
    const float length = sqrtf(s.squares[0] + s.squares[1]);
    const float unit = kk * (1.0f / (length < 1e-12f ? 1e-12f : length));
    s.a[t] = -unit;
    s.b[t] = unit * rate;
}

static __device__ __forceinline__ float dot_4(float4 x, float4 y)
{
    return (x.x * y.x + x.y * y.y) + (x.z * y.z + x.w * y.w);
}

static __device__ __forceinline__ float sum_row(float x)
{
    for (int d = HEAD_LANES / 2; d > 0; d /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, d);
    return x;
}

/* The recurrence; a row of the state is with HEAD_LANES lanes. */
static __device__ __forceinline__ void one_token(float4 (&st)[HEAD_QUADS],
                                                 token_head &s)
{
    const uint32_t i = threadIdx.x / HEAD_LANES;
    const uint32_t column = threadIdx.x % HEAD_LANES * 4;
    float sa = 0.0f, y = 0.0f;
#pragma unroll
    for (int x = 0; x < HEAD_QUADS; x++)
        sa +=
            dot_4(st[x], *(const float4 *)(s.a + column + 4 * HEAD_LANES * x));
    sa = sum_row(sa);
    const float v = s.v[i];
#pragma unroll
    for (int x = 0; x < HEAD_QUADS; x++) {
        const uint32_t at = column + 4 * HEAD_LANES * x;
        const float4 d = *(const float4 *)(s.w + at);
        const float4 k = *(const float4 *)(s.k + at);
        const float4 b = *(const float4 *)(s.b + at);
        st[x].x = st[x].x * d.x + sa * b.x + v * k.x;
        st[x].y = st[x].y * d.y + sa * b.y + v * k.y;
        st[x].z = st[x].z * d.z + sa * b.z + v * k.z;
        st[x].w = st[x].w * d.w + sa * b.w + v * k.w;
        y += dot_4(st[x], *(const float4 *)(s.r + at));
    }
    y = sum_row(y);
    if (threadIdx.x % HEAD_LANES == 0)
        s.y[i] = y;
}

/* By the first warp. */
template <typename T>
static __device__ __forceinline__ void
finish_head(const token_args &args, const head_vectors &in, uint32_t flag,
            const token_head &s)
{
    const uint32_t lane = threadIdx.x;
    uint32_t *to = (uint32_t *)(args.exchange + args.at[EXCHANGE_Y]) +
                   blockIdx.x * RWKV_DIM;
    const float mean = rwkv_sum_warp(s.y[lane] + s.y[lane + 32]) / RWKV_DIM;
    const float d[2] = {s.y[lane] - mean, s.y[lane + 32] - mean};
    const float variance =
        rwkv_sum_warp(fmaf(d[0], d[0], d[1] * d[1])) / RWKV_DIM;
    const float scale = rsqrtf(variance + args.eps_group);
#pragma unroll
    for (int x = 0; x < 2; x++) {
        const uint32_t j = lane + 32 * x;
        const float y = fmaf(d[x] * scale, in.weight[x], in.group_bias[x]);
        token_say_half(to + j,
                       (y + s.v[j] * (s.bonus[0] + s.bonus[1])) * s.g[j], flag,
                       T());
    }
}

template <typename T>
static __device__ __forceinline__ void head_step(const token_args &args,
                                                 const head_view &view,
                                                 uint32_t flag, token_head &s)
{
    const uint32_t t = threadIdx.x, group = t / 128;
    const uint64_t at =
        ((uint64_t)blockIdx.x * RWKV_DIM + t / HEAD_LANES) * RWKV_DIM +
        t % HEAD_LANES * 4;
    uint4 bits[HEAD_HELD][2];
    float4 st[HEAD_QUADS] = {};
    head_vectors in;
#pragma unroll
    for (uint32_t q = 0; q < HEAD_HELD; q++)
        if (group + q * HEAD_GROUPS < view.n_chunks)
            read_chunk(args, *view.layer, view.chunk[group + q * HEAD_GROUPS],
                       bits[q]);
    if (view.layer->state_in != nullptr)
#pragma unroll
        for (int i = 0; i < HEAD_QUADS; i++)
            st[i] = __ldcs((const float4 *)(view.layer->state_in + at +
                                            4 * HEAD_LANES * i));
    read_vectors(view, &in);
    take_entries<T>(args, view, flag, s);
    token_sync();
#pragma unroll
    for (uint32_t q = 0; q < HEAD_HELD; q++)
        if (group + q * HEAD_GROUPS < view.n_chunks)
            chunk_times<T>(bits[q], group + q * HEAD_GROUPS, s);
    for (uint32_t c = group + HEAD_HELD * HEAD_GROUPS; c < view.n_chunks;
         c += HEAD_GROUPS) {
        read_chunk(args, *view.layer, view.chunk[c], bits[0]);
        chunk_times<T>(bits[0], c, s);
    }
    token_sync();
    make_columns(args, view, in, s);
    token_sync();
    one_token(st, s);
    token_sync();
    if (t < 32)
        finish_head<T>(args, in, flag, s);
#pragma unroll
    for (int i = 0; i < HEAD_QUADS; i++)
        __stcs((float4 *)(view.layer->state_out + at + 4 * HEAD_LANES * i),
               st[i]);
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 * The inputs of the products of rwkv_token.cu, by all workers of each block:
 * the residual stream, of which a thread holds NE entries of two values, its
 * norm and token shift; values that other blocks wrote.
 */
#ifndef VLY_RWKV_TOKEN_X_CUH
#define VLY_RWKV_TOKEN_X_CUH

#include "rwkv_token.cuh"

/* Eight bytes to the same place of each block of the cluster, whose barrier
 * counts them. */
static __device__ __forceinline__ void token_give(uint32_t to, uint32_t bar,
                                                  uint2 v)
{
#pragma unroll
    for (uint32_t rank = 0; rank < TOKEN_CLUSTER; rank++)
        asm volatile(
            "{\n"
            ".reg .b32 a, b;\n"
            "mapa.shared::cluster.u32 a, %0, %4;\n"
            "mapa.shared::cluster.u32 b, %1, %4;\n"
            "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 "
            "[a], {%2, %3}, [b];\n"
            "}" ::"r"(to),
            "r"(bar), "r"(v.x), "r"(v.y), "r"(rank)
            : "memory");
}

/* Gathers the values written by all blocks, `words` of 16 bytes, at `to`. A
 * block reads its share and sends it to all blocks of its cluster, so that the
 * second-level cache is read only for an eighth, which slows copies less.
 * HALVES: four values of 16 bits with flags in a word, otherwise two of fp32.
 * Each kind of vector is gathered twice per layer, alternating with the other
 * kind. A block writes nothing of a round before it has received all of the
 * previous one, so no word of a round arrives while the previous one of its
 * kind is still read or counted. */
template <bool HALVES>
static __device__ __forceinline__ void
token_hear(const token_args &args, const token_memory &m, uint32_t exchange,
           uint32_t words, uint32_t flag, uint32_t round, uint32_t to)
{
    uint64_t *const bar = &m.s->heard[HALVES];
    const uint4 *from = (const uint4 *)(args.exchange + args.at[exchange]);
    const uint32_t rank = blockIdx.x % TOKEN_CLUSTER;
    const uint32_t end = words * (rank + 1) / TOKEN_CLUSTER;
    const uint32_t want = HALVES ? flag << 16 : flag;
    if (threadIdx.x == 0)
        token_bar_expect(bar, words * 8);
    for (uint32_t e = words * rank / TOKEN_CLUSTER + threadIdx.x; e < end;
         e += 2 * TOKEN_WORKERS) {
        const bool is_two = e + TOKEN_WORKERS < end;
        uint4 v[2];
        uint32_t other;
        do {
            other = 0;
            v[0] = token_see4(from + e);
            v[1] = is_two ? token_see4(from + e + TOKEN_WORKERS) : v[0];
#pragma unroll
            for (int i = 0; i < 2; i++)
                other |= HALVES ? (((v[i].x ^ want) | (v[i].y ^ want)) |
                                   ((v[i].z ^ want) | (v[i].w ^ want))) >>
                                      16
                                : (v[i].y ^ want) | (v[i].w ^ want);
        } while (other != 0);
#pragma unroll
        for (int i = 0; i < 2; i++)
            if (i == 0 || is_two)
                token_give(token_address(token_base + to +
                                         (e + i * TOKEN_WORKERS) * 8),
                           token_address(bar),
                           HALVES
                               ? make_uint2(__byte_perm(v[i].x, v[i].y, 0x5410),
                                            __byte_perm(v[i].z, v[i].w, 0x5410))
                               : make_uint2(v[i].x, v[i].z));
    }
    token_bar_wait_cluster(bar, round);
}

/* x += sums written by the blocks */
template <int NE>
static __device__ __forceinline__ void
take_sums(const token_args &args, const token_memory &m, uint32_t exchange,
          uint32_t flag, float (&x)[NE][2])
{
    token_hear<false>(args, m, exchange, args.width / 2, flag,
                      exchange == EXCHANGE_VALUE, m.sums);
#pragma unroll
    for (int i = 0; i < NE; i++)
        if (threadIdx.x + i * TOKEN_WORKERS < args.width / 2) {
            const float2 sum =
                ((const float2 *)(token_base +
                                  m.sums))[threadIdx.x + i * TOKEN_WORKERS];
            x[i][0] += sum.x;
            x[i][1] += sum.y;
        }
}

/* Values that the thread's warp holds. */
template <int NE>
static __device__ __forceinline__ float count_of(const token_args &args)
{
    int count = 0;
#pragma unroll
    for (int i = 0; i < NE; i++)
        count +=
            max(0, min((int)(args.width / 2) -
                           (int)(i * TOKEN_WORKERS + threadIdx.x / 32 * 32),
                       32));
    return 2.0f * (float)count;
}

struct token_norm {
    float mean, scale;
};

/* Of x; one barrier. Squares are summed about each warp's own mean, so that no
 * digits are lost. */
template <int NE>
static __device__ __forceinline__ token_norm norm_of(const token_args &args,
                                                     const float (&x)[NE][2],
                                                     float4 *part, float count)
{
    const uint32_t n = args.width / 2;
    float sum = 0.0f, squares = 0.0f;
#pragma unroll
    for (int i = 0; i < NE; i++)
        if (threadIdx.x + i * TOKEN_WORKERS < n)
            sum += x[i][0] + x[i][1];
    sum = rwkv_sum_warp(sum);
    const float mean = count > 0.0f ? __fdividef(sum, count) : 0.0f;
#pragma unroll
    for (int i = 0; i < NE; i++)
        if (threadIdx.x + i * TOKEN_WORKERS < n) {
            const float d0 = x[i][0] - mean, d1 = x[i][1] - mean;
            squares = fmaf(d0, d0, fmaf(d1, d1, squares));
        }
    squares = rwkv_sum_warp(squares);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = make_float4(sum, mean, squares, count);
    token_sync();
    float4 p[TOKEN_WARPS];
    token_norm all = {0.0f, 0.0f};
    const float share = __fdividef(1.0f, (float)args.width);
#pragma unroll
    for (int w = 0; w < TOKEN_WARPS; w++) {
        p[w] = part[w];
        all.mean += p[w].x;
    }
    all.mean *= share;
#pragma unroll
    for (int w = 0; w < TOKEN_WARPS; w++) {
        const float d = p[w].y - all.mean;
        all.scale += fmaf(p[w].w * d, d, p[w].z);
    }
    all.scale = rsqrtf(fmaf(all.scale, share, args.eps));
    return all;
}

/* Entries of a vector of the thread; 0 where there are none. */
template <int NE>
static __device__ __forceinline__ void
read_vector(const token_args &args, const float *from, float2 (&to)[NE])
{
#pragma unroll
    for (int i = 0; i < NE; i++) {
        to[i] = make_float2(0.0f, 0.0f);
        if (threadIdx.x + i * TOKEN_WORKERS < args.width / 2)
            to[i] =
                __ldcg((const float2 *)from + threadIdx.x + i * TOKEN_WORKERS);
    }
}

template <int NE>
static __device__ __forceinline__ void
normalise(const float (&x)[NE][2], token_norm norm, const float2 (&weight)[NE],
          const float2 (&bias)[NE], float (&to)[NE][2])
{
#pragma unroll
    for (int i = 0; i < NE; i++) {
        to[i][0] =
            fmaf((x[i][0] - norm.mean) * norm.scale, weight[i].x, bias[i].x);
        to[i][1] =
            fmaf((x[i][1] - norm.mean) * norm.scale, weight[i].y, bias[i].y);
    }
}

template <typename T, int NE>
static __device__ __forceinline__ void
put_mixed(const token_args &args, const float (&now)[NE][2],
          const float2 (&last)[NE], const float2 (&mix)[NE], uint32_t to)
{
#pragma unroll
    for (int i = 0; i < NE; i++)
        if (threadIdx.x + i * TOKEN_WORKERS < args.width / 2) {
            const float y0 = fmaf(last[i].x - now[i][0], mix[i].x, now[i][0]);
            const float y1 = fmaf(last[i].y - now[i][1], mix[i].y, now[i][1]);
            ((uint32_t *)(token_base + to))[threadIdx.x + i * TOKEN_WORKERS] =
                token_bits(y0, T()) | token_bits(y1, T()) << 16;
        }
}

/* The block's part of `last`, of which a thread has at most one entry. It is
 * written after all blocks have read the previous value. */
struct token_kept {
    float2 value;
    uint32_t entry; /* TOKEN_NONE: none */
};

template <int NE>
static __device__ __forceinline__ token_kept
keep_last(const token_memory &m, const float (&now)[NE][2])
{
    token_kept kept = {{}, TOKEN_NONE};
#pragma unroll
    for (int i = 0; i < NE; i++) {
        const uint32_t e = threadIdx.x + i * TOKEN_WORKERS;
        if (e >= m.s->range[RANGE_LAST][0] && e < m.s->range[RANGE_LAST][1]) {
            kept.value = make_float2(now[i][0], now[i][1]);
            kept.entry = e;
        }
    }
    return kept;
}

static __device__ __forceinline__ void put_last(const token_kept &kept,
                                                float *last)
{
    if (kept.entry != TOKEN_NONE)
        ((float2 *)last)[kept.entry] = kept.value;
}

template <typename T, int NE>
static __device__ __forceinline__ void
embed(const token_args &args, token_shared &s, float count, float (&x)[NE][2])
{
    const int32_t token =
        args.token != nullptr ? *args.token : args.token_value;
    const bool known = token >= 0 && (uint32_t)token < args.table_rows;
    const T *row =
        (const T *)args.table + (uint64_t)(known ? token : 0) * args.width;
#pragma unroll
    for (int i = 0; i < NE; i++) {
        const uint32_t j = 2 * (threadIdx.x + i * TOKEN_WORKERS);
        x[i][0] = x[i][1] = 0.0f;
        if (j < args.width) {
            x[i][0] = known ? rwkv_float(row[j]) : nanf("");
            x[i][1] = known ? rwkv_float(row[j + 1]) : nanf("");
        }
    }
    if (args.table_weight == nullptr)
        return;
    float2 weight[NE], bias[NE];
    float y[NE][2];
    read_vector<NE>(args, args.table_weight, weight);
    read_vector<NE>(args, args.table_bias, bias);
    normalise<NE>(x, norm_of<NE>(args, x, s.part[1], count), weight, bias, y);
#pragma unroll
    for (int i = 0; i < NE; i++)
        x[i][0] = y[i][0], x[i][1] = y[i][1];
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Products of a warp group of attention_back.cu: 64 keys of a block's 128 with
 * tile after tile of queries. Scores are transposed, a row is a key: so P and
 * dS are in registers in the order of the products for grad_v and grad_k.
 */
#ifndef VLY_ATTENTION_BACK_GROUP_CUH
#define VLY_ATTENTION_BACK_GROUP_CUH

#include <math_constants.h>

#include "attention_back_load.cuh"
#include "attention_mma.cuh"
#include "wgmma.cuh"

/* State of a group; few words, since registers are scarce. */
struct back_group {
    uint32_t base; /* shared memory */
    uint32_t bars;
    uint32_t index; /* 0 or 1 */
    uint32_t ahead; /* bytes from a tile of keys to the group's rows */
    float scale;    /* of scores, times log2(e) */
};

/* First row of a lane in the tile of keys; the other is 8 rows after it. */
static __device__ __forceinline__ int32_t first_row(void)
{
    return (int32_t)(threadIdx.x - 128) / 32 * 16 +
           (int32_t)(threadIdx.x % 32 / 4);
}

/* ---- products ---------------------------------------------------------- */

/* The descriptor of memory `bytes` further: its lowest bits are an address in
 * units of 16. Building descriptors from addresses costs 12 instructions per
 * product. */
static __device__ __forceinline__ uint64_t behind(uint64_t descriptor,
                                                  uint32_t bytes)
{
    return (descriptor & 0xffffffff00000000u) |
           ((uint32_t)descriptor + (bytes >> 4));
}

/* s = A B^T: 64 rows of keys, all queries of a tile */
template <typename W>
static __device__ __forceinline__ void start_scores(uint32_t a, uint32_t b,
                                                    float s[W::rows / 2])
{
    const uint64_t of_a = wgmma_rows(a);
    const uint64_t of_b = wgmma_rows(b);
#pragma unroll
    for (int step = 0; step < W::dim / 16; step++) {
        const uint32_t in = step % 4 * 32;
        wgmma<typename W::type, W::rows>::ss(
            s, behind(of_a, step / 4 * W::slab_k + in),
            behind(of_b, step / 4 * W::slab_q + in), step != 0);
    }
    wgmma_commit();
}

/* sum += P B, over the queries of a tile */
template <typename W>
static __device__ __forceinline__ void
start_sums(const uint32_t p[W::steps][4], uint32_t b, float sum[W::dim / 2])
{
    const uint64_t of_b = wgmma_columns(b, W::slab_q);
#pragma unroll
    for (int step = 0; step < W::steps; step++)
        wgmma<typename W::type, W::dim>::rs(sum, p[step],
                                            behind(of_b, step * 16 * 128), 1);
    wgmma_commit();
}

/* The group's part of grad_q, dS K over the tile's keys: of dim 128 its half of
 * the dimensions, of dim 64 its half of the queries. */
template <typename W>
static __device__ __forceinline__ void start_part(const back_group &g,
                                                  uint32_t s, float part[32])
{
    const uint64_t a =
        wgmma_columns(s + (W::dim == 128 ? 0 : g.index * W::slab_k), W::slab_k);
    const uint64_t b = wgmma_columns(
        g.base + W::k + (W::dim == 128 ? g.index * W::slab_k : 0), W::slab_k);
#pragma unroll
    for (int step = 0; step < W::keys / 16; step++)
        wgmma_turned<typename W::type>::ss(part, behind(a, step * 16 * 128),
                                           behind(b, step * 16 * 128),
                                           step != 0);
    wgmma_commit();
}

/* Converts to fragments of the first operand. */
template <typename W>
static __device__ __forceinline__ void pack(const float s[W::rows / 2],
                                            uint32_t p[W::steps][4])
{
#pragma unroll
    for (int step = 0; step < W::steps; step++)
#pragma unroll
        for (int r = 0; r < 4; r++)
            p[step][r] = mma_type<typename W::type>::pack(
                s[8 * step + 2 * r], s[8 * step + 2 * r + 1]);
}

/* ---- between products -------------------------------------------------- */

/* Weights of queries that do not see a key are 0. */
template <typename W>
static __device__ __forceinline__ void hide(const vly_attention_args &args,
                                            int32_t key, int32_t row,
                                            float s[W::rows / 2])
{
    const vly_attention_mask mask = back_mask(args);
    const uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (int h = 0; h < 2; h++) {
        const int32_t j = key + first_row() + 8 * h;
        const bool there = j < mask.n_kv;
        const int32_t first = vly_attention_query_first(&mask, j);
        const int32_t end = there ? vly_attention_query_end(&mask, j) : 0;
#pragma unroll
        for (int x = 0; x < W::rows / 4; x++) {
            const int32_t i = row + x / 2 * 8 +
                              (int32_t)vly_mma_c_column(lane, (uint32_t)x % 2);
            if (i < first || i >= end)
                s[x / 2 * 4 + 2 * h + x % 2] = 0.0f;
        }
    }
}

/* Scores become weights. lse: of the tile's rows, in shared memory */
template <typename W>
static __device__ __forceinline__ void weigh(float scale, uint32_t lse,
                                             float s[W::rows / 2])
{
#pragma unroll
    for (int t = 0; t < W::rows / 8; t++) {
        const float2 l = shared_pair(lse + 32 * t + 8 * (threadIdx.x % 4));
#pragma unroll
        for (int r = 0; r < 4; r++)
            s[4 * t + r] =
                exp2_fast(s[4 * t + r] * scale - (r % 2 == 0 ? l.x : l.y));
    }
}

/* dp becomes dS = P (dP - D) */
template <typename W>
static __device__ __forceinline__ void
differ(uint32_t sums, const float s[W::rows / 2], float dp[W::rows / 2])
{
#pragma unroll
    for (int t = 0; t < W::rows / 8; t++) {
        const float2 d = shared_pair(sums + 32 * t + 8 * (threadIdx.x % 4));
#pragma unroll
        for (int r = 0; r < 4; r++)
            dp[4 * t + r] =
                s[4 * t + r] * (dp[4 * t + r] - (r % 2 == 0 ? d.x : d.y));
    }
}

/* The group's rows of dS into shared memory. */
template <typename W>
static __device__ __forceinline__ void
store_scores(const back_group &g, uint32_t s, const uint32_t p[W::steps][4])
{
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t row =
        g.index * 64 + threadIdx.x % 128 / 32 * 16 + vly_ldmatrix_a_row(lane);
#pragma unroll
    for (int step = 0; step < W::steps; step++) {
        const uint32_t chunk =
            (uint32_t)step % 4 * 2 + vly_ldmatrix_a_chunk(lane);
        store_matrix(s + step / 4 * W::slab_k + row * 128 +
                         (chunk ^ row % 8) * 16,
                     p[step]);
    }
}

/* A part of grad_q in the order of registers, for the adding threads: four
 * floats of every thread, then the next four. */
template <typename W>
static __device__ __forceinline__ void
store_part(const back_group &g, uint32_t n, const float part[32])
{
    const uint32_t to = g.base + W::part +
                        (threadIdx.x - 128) / 128 * PART_BYTES +
                        threadIdx.x % 128 * 16;
    barrier_wait(g.bars + 8 * EMPTY_PART,
                 vly_attention_use_of(n, 1).parity ^ 1u);
#pragma unroll
    for (int x = 0; x < 8; x++)
        shared_store(to + x * 2048, part[4 * x], part[4 * x + 1],
                     part[4 * x + 2], part[4 * x + 3]);
    fence_async();
    __syncwarp();
    if (threadIdx.x % 32 == 0)
        barrier_arrive(g.bars + 8 * (FULL_PART + n % 2));
}

static __device__ __forceinline__ void release(const back_group &g,
                                               uint32_t barrier)
{
    if (threadIdx.x % 32 == 0)
        barrier_arrive(g.bars + 8 * barrier);
}

/* ---- steps ------------------------------------------------------------- */

/* Registers of a group that persist between steps. */
template <typename W> struct back_state {
    float grad_k[W::dim / 2];
    float grad_v[W::dim / 2];
};

/* The order of products keeps the tensor cores busy: dP while weights are made
 * of scores, grad_v while dS is made of them, grad_k while a part of grad_q
 * leaves. Tried: computing scores of the next step across the end of this one
 * (ptxas then makes every product wait for the previous one, C7512 and C7514),
 * and delaying the part of a step to the next step, so that groups need not run
 * in step: 4 to 6% slower on an H200. */
template <typename W>
static __device__ __forceinline__ void
multiply_step(const vly_attention_args &args, int32_t key, uint32_t n,
              int32_t block, bool masked, const back_group &g, back_state<W> &x)
{
    const vly_attention_use u = vly_attention_use_of(n, STAGES);
    const uint32_t q = g.base + W::q + u.place * W::bytes_q;
    const uint32_t o = g.base + W::o + u.place * W::bytes_q;
    const uint32_t to = g.base + W::s + n % 2 * W::bytes_s;
    float s[W::rows / 2];
    float dp[W::rows / 2];
    float part[32];
    uint32_t p[W::steps][4];
    uint32_t ds[W::steps][4];
    barrier_wait(g.bars + 8 * (FULL_Q + u.place), u.parity);
    wgmma_hold(s);
    wgmma_fence();
    start_scores<W>(g.base + W::k + g.ahead, q, s);
    barrier_wait(g.bars + 8 * (FULL_O + u.place), u.parity);
    wgmma_hold(dp);
    wgmma_fence();
    start_scores<W>(g.base + W::v + g.ahead, o, dp);
    wgmma_wait<1>(); /* scores */
    wgmma_hold(s);
    weigh<W>(g.scale, g.base + W::lse + u.place * W::bytes_rows, s);
    if (masked)
        hide<W>(args, key, block * W::rows, s);
    pack<W>(s, p);
    wgmma_hold(p);
    wgmma_hold(x.grad_v);
    wgmma_fence();
    start_sums<W>(p, o, x.grad_v);
    wgmma_wait<1>(); /* dP */
    wgmma_hold(dp);
    differ<W>(g.base + W::sums + u.place * W::bytes_rows, s, dp);
    pack<W>(dp, ds);
    store_scores<W>(g, to, ds);
    fence_async();
    named_wait(1, 128 * GROUPS);
    wgmma_hold(part);
    wgmma_hold(ds);
    wgmma_hold(x.grad_k);
    wgmma_fence();
    start_part<W>(g, to, part);
    start_sums<W>(ds, q, x.grad_k);
    wgmma_wait<1>(); /* grad_v and the part */
    wgmma_hold(part);
    wgmma_hold(x.grad_v);
    release(g, EMPTY_O + u.place);
    store_part<W>(g, n, part);
    wgmma_wait<0>();
    wgmma_hold(x.grad_k);
    release(g, EMPTY_Q + u.place);
}

/* ---- results ----------------------------------------------------------- */

/* Four words of each lane of a quad: lane l's word w becomes lane w's word l.
 */
static __device__ __forceinline__ void turn_quad(uint32_t w[4])
{
#pragma unroll
    for (int bit = 1; bit < 4; bit *= 2) {
        const bool odd = (threadIdx.x & (unsigned)bit) != 0;
#pragma unroll
        for (int x = 0; x < 4; x++) {
            if ((x & bit) != 0)
                continue;
            const uint32_t give = odd ? w[x] : w[x | bit];
            const uint32_t got = __shfl_xor_sync(0xffffffffu, give, bit);
            w[x] = odd ? got : w[x];
            w[x | bit] = odd ? w[x | bit] : got;
        }
    }
}

/* 32 columns of a row of 16 bits, from fragments of 8 columns; all lanes of a
 * quad must call this; only lanes with an existing row store. to: of the row's
 * first */
template <typename T>
static __device__ __forceinline__ void
store_columns(T *to, const float *x, int h, float factor, bool there)
{
    uint32_t w[4];
#pragma unroll
    for (int t = 0; t < 4; t++)
        w[t] = mma_type<T>::pack(x[4 * t + 2 * h] * factor,
                                 x[4 * t + 2 * h + 1] * factor);
    turn_quad(w);
    if (there)
        *(uint4 *)(to + 8 * (threadIdx.x % 4)) =
            make_uint4(w[0], w[1], w[2], w[3]);
}

template <typename W>
static __device__ __forceinline__ void
store_rows(const vly_attention_args &args, const back_tile &tile, void *grad,
           const vly_attention_strides &stride, int32_t local, float factor,
           const float x[W::dim / 2])
{
#pragma unroll
    for (int h = 0; h < 2; h++) {
        const int32_t j = tile.index * W::keys + local + 8 * h;
        const bool there = j < (int32_t)args.seq_kv;
        typename W::type *to =
            (typename W::type *)grad + tile.batch * stride.batch +
            (uint64_t)(uint32_t)j * stride.seq + tile.head_kv * stride.head;
#pragma unroll
        for (int t = 0; t < W::dim / 32; t++)
            store_columns<typename W::type>(to + 32 * t, x + 16 * t, h, factor,
                                            there);
    }
}

#endif

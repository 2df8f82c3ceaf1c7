/* SPDX-License-Identifier: Apache-2.0
 * Products of a warp group of attention_sm90.cu: tile after tile of keys, its
 * turns, the results of its 64 rows.
 */
#ifndef VLY_ATTENTION_SM90_GROUP_CUH
#define VLY_ATTENTION_SM90_GROUP_CUH

#include "attention_rows.cuh"
#include "attention_sm90_soften.cuh"
#include "wgmma.cuh"

/* Position of a warp group, and its counters of uses of Q and of the stages. */
struct sm90_group {
    uint32_t base; /* shared memory */
    uint32_t bars;
    uint32_t q;     /* its 64 rows, in Q's first place */
    uint32_t place; /* of the Q that it multiplies */
    uint32_t index; /* 0, 1, ... */
    int32_t local;  /* first row of the lane in the block */
    bool looks;     /* for keys after the length of a sequence */
    uint32_t n_q;
    uint32_t n_kv;
};

/* ---- products ---------------------------------------------------------- */

/* The 64 rows of this group as fragments of the first product: lanes of
 * ldmatrix give rows, 16 a warp, and halves of 32 bytes. */
template <typename W>
static __device__ __forceinline__ void
read_queries(uint32_t q, uint32_t held[W::steps_held][4])
{
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t row = threadIdx.x % 128 / 32 * 16 + lane % 16;
#pragma unroll
    for (int step = 0; step < W::steps_held; step++)
        ldmatrix(held[step], q + step / 4 * W::slab_q + row * 128 +
                                 ((step % 4 * 2 + lane / 16) ^ row % 8) * 16);
}

/* s = Q K^T: 64 rows of this group, all of a tile of keys */
template <typename W>
static __device__ __forceinline__ void
start_scores(uint32_t q, const uint32_t held[W::steps_held][4], uint32_t k,
             float s[W::keys / 2])
{
    const uint64_t rows = wgmma_rows(q);
    const uint64_t columns = wgmma_rows(k);
#pragma unroll
    for (int step = 0; step < W::steps_q; step++) {
        const uint32_t in = step % 4 * 32;
        const uint64_t b = wgmma_at(columns, step / 4 * W::slab_kv + in);
        if constexpr (W::held)
            wgmma<typename W::type, W::keys>::rs(s, held[step], b, step != 0);
        else
            wgmma<typename W::type, W::keys>::ss(
                s, wgmma_at(rows, step / 4 * W::slab_q + in), b, step != 0);
    }
    wgmma_commit();
}

/* The same for 16 rows by a single warp, after weights have replaced scores. A
 * piece of 16 bytes of a row of K is a half of a fragment of B. */
template <typename W>
static __device__ __forceinline__ void
score_again(uint32_t q, const uint32_t held[W::steps_held][4], uint32_t k,
            float s[W::keys / 2])
{
    using T = typename W::type;
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t row = threadIdx.x % 128 / 32 * 16 + lane % 16;
#pragma unroll
    for (int x = 0; x < W::keys / 2; x++)
        s[x] = 0.0f;
    const uint32_t from = k + lane / 16 * 1024 + lane % 8 * 128;
#pragma unroll(W::held ? W::steps_q : 1)
    for (int step = 0; step < W::steps_q; step++) {
        const uint32_t in = step % 4 * 2;
        uint32_t a[4];
        if constexpr (W::held) {
            for (int r = 0; r < 4; r++)
                a[r] = held[step][r];
        } else {
            ldmatrix(a, q + step / 4 * W::slab_q + row * 128 +
                            ((in + lane / 16) ^ row % 8) * 16);
        }
        const uint32_t at = from + step / 4 * W::slab_kv +
                            ((in + lane / 8 % 2) ^ lane % 8) * 16;
#pragma unroll
        for (int t = 0; t < W::keys / 8; t += 2) {
            uint32_t b[4]; /* of 8 keys and of the next 8 */
            ldmatrix(b, at + t * 1024);
#pragma unroll
            for (int i = 0; i < 2; i++)
                if constexpr (W::fp8)
                    mma_e4m3(s + 4 * (t + i), a, b + 2 * i);
                else
                    mma_type<T>::mma(s + 4 * (t + i), a, b + 2 * i);
        }
    }
}

/* o += P V */
template <typename W>
static __device__ __forceinline__ void
start_values(uint32_t v, const uint32_t p[W::steps][4], float o[W::dim / 2])
{
    const uint64_t columns =
        W::fp8 ? wgmma_rows(v) : wgmma_columns(v, W::slab_v);
#pragma unroll
    for (int step = 0; step < W::steps; step++)
        wgmma<typename W::type, W::dim>::rs(
            o, p[step],
            wgmma_at(columns, W::fp8 ? step / 4 * W::slab_v + step % 4 * 32
                                     : step * 16 * 128),
            1);
    wgmma_commit();
}

/* Weights as fragments of the second product. */
template <typename W>
static __device__ __forceinline__ void pack(const float s[W::keys / 2],
                                            uint32_t p[W::steps][4])
{
#pragma unroll
    for (int step = 0; step < W::steps; step++)
#pragma unroll
        for (int r = 0; r < 4; r++) {
            if constexpr (W::fp8) {
                const float *from = s + 16 * step + r / 2 * 8 + r % 2 * 2;
                p[step][r] = pack_e4m3(from[0], from[1], from[4], from[5]);
            } else {
                const float *from = s + 8 * step + 2 * r;
                p[step][r] = mma_type<typename W::type>::pack(from[0], from[1]);
            }
        }
}

/* ---- values ------------------------------------------------------------ */

/* 1 where a part of the tile of V is not finite; by a warp group */
template <typename W>
static __device__ __forceinline__ uint32_t look_at_values(const char *v,
                                                          uint32_t exponent)
{
    bool found = false;
    for (uint32_t x = threadIdx.x % 128; x < W::bytes_v / 16; x += 128)
        found |= has_nonfinite(((const uint4 *)v)[x], exponent);
    return found ? 1u : 0u;
}

/* ---- results ----------------------------------------------------------- */

/* A row of O of 16 bits: fragments of 8 columns. */
template <typename W>
static __device__ __forceinline__ void store_row(typename W::type *to,
                                                 const float o[W::dim / 2],
                                                 int h, float factor, bool none)
{
#pragma unroll
    for (int t = 0; t < W::dim / 8; t++) {
        const float x = none ? 0.0f : o[4 * t + 2 * h] * factor;
        const float y = none ? 0.0f : o[4 * t + 2 * h + 1] * factor;
        *(uint32_t *)(to + 8 * t + 2 * (threadIdx.x % 4)) =
            mma_type<typename W::type>::pack(x, y);
    }
}

/* The same of turned dimensions: a lane has four neighbours of each 16. */
template <typename W>
static __device__ __forceinline__ void
store_turned(void *to, uint64_t at, uint32_t type, const float o[W::dim / 2],
             int h, float factor, bool none)
{
    const uint64_t first = at + 4 * (threadIdx.x % 4);
#pragma unroll
    for (int t = 0; t < W::dim / 16; t++) {
        float x[4];
#pragma unroll
        for (int e = 0; e < 4; e++)
            x[e] = none ? 0.0f : o[8 * t + e % 2 * 4 + 2 * h + e / 2] * factor;
        if (type == VLY_ATTENTION_E4M3)
            *(uint32_t *)((uint8_t *)to + first + 16 * t) =
                pack_e4m3(x[0], x[1], x[2], x[3]);
        else if (type == VLY_ATTENTION_F16)
            *(uint2 *)((__half *)to + first + 16 * t) =
                make_uint2(mma_type<__half>::pack(x[0], x[1]),
                           mma_type<__half>::pack(x[2], x[3]));
        else
            *(uint2 *)((__nv_bfloat16 *)to + first + 16 * t) =
                make_uint2(mma_type<__nv_bfloat16>::pack(x[0], x[1]),
                           mma_type<__nv_bfloat16>::pack(x[2], x[3]));
    }
}

template <typename W>
static __device__ __forceinline__ void
store_tile(const vly_attention_args &args, const sm90_tile &tile, int32_t row,
           const sm90_scale &scale, const sm90_rows &rows,
           const float o[W::dim / 2])
{
#pragma unroll
    for (int h = 0; h < 2; h++) {
        const int32_t i = row + 8 * h;
        const float total = quad_sum(rows.sum[h]);
        const bool none = total == 0.0f; /* no key, or none above -inf */
        const float factor = scale.value / total;
        if (i >= tile.s.mask.n_q)
            continue;
        const uint64_t at = tile.s.batch * args.stride_o.batch +
                            (uint32_t)i * args.stride_o.seq +
                            tile.head * args.stride_o.head;
        if constexpr (W::fp8)
            store_turned<W>(args.o, at, args.type_o, o, h, factor, none);
        else
            store_row<W>((typename W::type *)args.o + at, o, h, factor, none);
        if (args.lse != nullptr && threadIdx.x % 4 == 0)
            args.lse[((uint64_t)tile.s.batch * args.heads_q + tile.head) *
                         args.seq_q +
                     (uint32_t)i] =
                none ? -CUDART_INF_F
                     : (rows.most[h] * scale.score + log2f(total) - SHIFT(W)) *
                           0.69314718f;
    }
}

/* ---- turns ------------------------------------------------------------- */

/* Barrier 2 + index: the 128 threads that wait and the 128 before them. */
template <typename W>
static __device__ __forceinline__ void wait_turn(const sm90_group &g)
{
    if (W::turns)
        named_wait(2 + g.index, 256);
}

template <typename W>
static __device__ __forceinline__ void end_turn(const sm90_group &g)
{
    if (W::turns)
        named_arrive(2 + (g.index + 1 == W::groups ? 0 : g.index + 1), 256);
}

static __device__ __forceinline__ void release(const sm90_group &g,
                                               uint32_t barrier)
{
    if (threadIdx.x % 32 == 0)
        barrier_arrive(g.bars + 8 * barrier);
}

/* Does tile n contain keys after the length of the sequence? */
static __device__ __forceinline__ bool is_cut(const sm90_tile &tile, int32_t n,
                                              int32_t keys)
{
    return (n + 1) * keys > tile.s.mask.n_kv;
}

/* The first tile of keys: nothing to add up yet. */
template <typename W>
static __device__ __forceinline__ vly_attention_use
multiply_first(const sm90_tile &tile, const sm90_scale &scale, sm90_group *g,
               sm90_rows *rows, uint32_t (&held)[W::steps_held][4],
               uint32_t p[W::steps][4])
{
    float s[W::keys / 2];
    float keep[2];
    const int32_t n = tile.tiles.end - 1;
    const vly_attention_use u = vly_attention_use_of(g->n_kv++, W::stages);
    const vly_attention_use q = vly_attention_use_of(g->n_q++, W::q_places);
    g->place = q.place;
    barrier_wait(g->bars + 8 * (FULL_Q + q.place), q.parity);
    if (W::held) {
        read_queries<W>(g->q + g->place * W::bytes_q, held);
        __syncwarp();
        release(*g, EMPTY_Q + g->place);
    }
    barrier_wait(g->bars + 8 * (FULL_K + u.place), u.parity);
    wait_turn<W>(*g);
    wgmma_hold(s);
    wgmma_hold(held);
    wgmma_fence();
    start_scores<W>(g->q + g->place * W::bytes_q, held,
                    g->base + W::k + u.place * W::bytes_kv, s);
    end_turn<W>(*g);
    wgmma_wait<0>();
    wgmma_hold(s);
    release(*g, EMPTY_K + u.place);
    soften<W>(s, n * W::keys, edges_of(tile, n), scale, rows, keep);
    pack<W>(s, p);
    return u;
}

/* Tile n: its scores are computed while the values of the previous tile, n + 1,
 * in stage `last`, are added. */
template <typename W>
static __device__ __forceinline__ vly_attention_use multiply_next(
    const sm90_tile &tile, int32_t n, vly_attention_use last,
    const sm90_scale &scale, const char *memory, uint32_t exponent,
    sm90_group *g, sm90_rows *rows, uint32_t (&held)[W::steps_held][4],
    uint32_t (&p)[W::steps][4], float (&o)[W::dim / 2], uint32_t *again)
{
    float s[W::keys / 2];
    float keep[2];
    const vly_attention_use u = vly_attention_use_of(g->n_kv++, W::stages);
    const uint32_t v = W::v + last.place * W::bytes_v;
    barrier_wait(g->bars + 8 * (FULL_K + u.place), u.parity);
    wait_turn<W>(*g);
    wgmma_hold(s);
    wgmma_hold(p);
    wgmma_hold(o);
    wgmma_fence();
    start_scores<W>(g->q + g->place * W::bytes_q, held,
                    g->base + W::k + u.place * W::bytes_kv, s);
    barrier_wait(g->bars + 8 * (FULL_V + last.place), last.parity);
    wgmma_fence();
    start_values<W>(g->base + v, p, o);
    end_turn<W>(*g);
    if (!W::fp8 && g->looks && is_cut(tile, n + 1, W::keys))
        *again |= look_at_values<W>(memory + v, exponent);
    wgmma_wait<1>();
    wgmma_hold(s);
    const sm90_edges edges = edges_of(tile, n);
    bool done = false;
    if (rows->known && !edges.first && !edges.end) {
        done = soften_as_before<W>(s, scale, rows);
        if (!done)
            score_again<W>(g->q + g->place * W::bytes_q, held,
                           g->base + W::k + u.place * W::bytes_kv, s);
    }
    if (!done)
        soften<W>(s, n * W::keys, edges, scale, rows, keep);
    release(*g, EMPTY_K + u.place);
    wgmma_after(rows->sum[0] + rows->sum[1], g->bars + 8 * N_BARRIERS);
    wgmma_wait<0>();
    wgmma_hold(o);
    release(*g, EMPTY_V + last.place);
    if (!done)
        rescale<W>(o, keep);
    pack<W>(s, p);
    return u;
}

/* The values of the last tile. */
template <typename W>
static __device__ __forceinline__ void
multiply_last(const sm90_tile &tile, vly_attention_use last, const char *memory,
              uint32_t exponent, sm90_group *g, uint32_t (&p)[W::steps][4],
              float (&o)[W::dim / 2], uint32_t *again)
{
    const uint32_t v = W::v + last.place * W::bytes_v;
    if (!W::held)
        release(*g, EMPTY_Q + g->place); /* all products with Q have ended */
    barrier_wait(g->bars + 8 * (FULL_V + last.place), last.parity);
    wgmma_hold(p);
    wgmma_hold(o);
    wgmma_fence();
    start_values<W>(g->base + v, p, o);
    if (!W::fp8 && g->looks && is_cut(tile, tile.tiles.begin, W::keys))
        *again |= look_at_values<W>(memory + v, exponent);
    wgmma_wait<0>();
    wgmma_hold(o);
    release(*g, EMPTY_V + last.place);
}

#endif

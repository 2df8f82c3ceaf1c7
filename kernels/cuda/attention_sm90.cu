/* SPDX-License-Identifier: Apache-2.0
 * Forward attention for sm_90a: one warp group loads tiles with TMA, two of 64
 * queries each multiply with wgmma, taking turns: while one has the tensor
 * cores the other is at its softmax (Shah et al. 2024, FlashAttention-3,
 * arXiv:2407.08608). In a group Q K^T of the next tile is under way while P V
 * of the last one is, so there is always a product to wait for.
 *
 * Persistent: block b takes tiles b, b + gridDim.x, ... in the order of
 * vly_attention_tile. Loader and multipliers go through the same tiles of keys,
 * from the last to the first, each stage with a pair of barriers (full: bytes
 * of TMA; empty: eight warps). A barrier's n-th phase ends with its n-th use,
 * so the parity to wait for follows from a count of uses alone.
 *
 * A tile of V may hold NaN or infinity behind the length of a sequence: then
 * the row block is marked and done again in plain loops.
 */
#include <math_constants.h>

#include "attention_mma.cuh"
#include "attention_rows.cuh"
#include "attention_sm90_load.cuh"
#include "wgmma.cuh"

/* ---- the multipliers --------------------------------------------------- */

/* A warp group's place and what it counts: uses of Q and of the stages. */
struct sm90_group {
    uint32_t base; /* shared memory */
    uint32_t bars;
    uint32_t q;     /* its 64 rows */
    uint32_t index; /* 0, 1 */
    int32_t local;  /* first row of the lane in the block */
    bool looks;     /* at what lies behind a sequence's length */
    uint32_t n_q;
    uint32_t n_kv;
};

/* Two rows of a lane: the keys that they see, and the running softmax. */
struct sm90_rows {
    int32_t first[2];
    int32_t end[2];
    float most[2];
    float sum[2];
};

/* s = Q K^T: 64 rows of this group, all of a tile of keys */
template <typename T, int D>
static __device__ __forceinline__ void
start_scores(uint32_t q, uint32_t k, float s[sm90_shape<D>::keys / 2])
{
    using shape = sm90_shape<D>;
#pragma unroll
    for (int step = 0; step < D / 16; step++) {
        const uint32_t in = step % 4 * 32;
        wgmma<T, shape::keys>::ss(
            s, wgmma_rows(q + step / 4 * shape::slab_q + in),
            wgmma_rows(k + step / 4 * shape::slab_kv + in), step != 0);
    }
    wgmma_commit();
}

/* o += P V */
template <typename T, int D>
static __device__ __forceinline__ void
start_values(uint32_t v, const uint32_t p[sm90_shape<D>::keys / 16][4],
             float o[D / 2])
{
    using shape = sm90_shape<D>;
#pragma unroll
    for (int step = 0; step < shape::keys / 16; step++)
        wgmma<T, D>::rs(o, p[step],
                        wgmma_columns(v + step * 16 * 128, shape::slab_kv), 1);
    wgmma_commit();
}

/* Scores become weights; keep: what the sums so far are multiplied with. */
template <int KEYS>
static __device__ __forceinline__ void soften(float s[KEYS / 2], int32_t key,
                                              bool masked, float scale,
                                              sm90_rows *rows, float keep[2])
{
    const uint32_t lane = threadIdx.x % 32;
    float now[2] = {rows->most[0], rows->most[1]};
    if (masked) {
#pragma unroll
        for (int x = 0; x < KEYS / 2; x++) {
            const int32_t j = key + x / 4 * 8 +
                              (int32_t)vly_mma_c_column(lane, (uint32_t)x % 4);
            if (j < rows->first[x / 2 % 2] || j >= rows->end[x / 2 % 2])
                s[x] = -CUDART_INF_F;
        }
    }
#pragma unroll
    for (int x = 0; x < KEYS / 2; x++)
        now[x / 2 % 2] = fmaxf(now[x / 2 % 2], s[x]);
    float base[2];
#pragma unroll
    for (int h = 0; h < 2; h++) {
        now[h] = quad_max(now[h]);
        base[h] = softmax_base(now[h]) * scale;
        keep[h] = exp2_fast(rows->most[h] * scale - base[h]);
        rows->most[h] = now[h];
        rows->sum[h] *= keep[h];
    }
#pragma unroll
    for (int x = 0; x < KEYS / 2; x++) {
        s[x] = exp2_fast(s[x] * scale - base[x / 2 % 2]);
        rows->sum[x / 2 % 2] += s[x];
    }
}

template <typename T, int KEYS>
static __device__ __forceinline__ void pack(const float s[KEYS / 2],
                                            uint32_t p[KEYS / 16][4])
{
#pragma unroll
    for (int step = 0; step < KEYS / 16; step++)
#pragma unroll
        for (int r = 0; r < 4; r++)
            p[step][r] =
                mma_type<T>::pack(s[8 * step + 2 * r], s[8 * step + 2 * r + 1]);
}

/* 1 where a part of the tile of V is not finite; by a warp group */
template <int D>
static __device__ __forceinline__ uint32_t look_at_values(const char *v,
                                                          uint32_t exponent)
{
    bool found = false;
    for (uint32_t x = threadIdx.x % 128; x < sm90_shape<D>::bytes_kv / 16;
         x += 128)
        found |= has_nonfinite(((const uint4 *)v)[x], exponent);
    return found ? 1u : 0u;
}

template <typename T, int D>
static __device__ __forceinline__ void
store_tile(const vly_attention_args &args, const sm90_tile &tile, int32_t row,
           const sm90_rows &rows, const float o[D / 2])
{
    const uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (int h = 0; h < 2; h++) {
        const int32_t i = row + 8 * h;
        const float total = quad_sum(rows.sum[h]);
        const bool none = total == 0.0f; /* no key, or none above -inf */
        const float inverse = 1.0f / total;
        if (i >= tile.s.mask.n_q)
            continue;
        T *to = (T *)args.o + tile.s.batch * args.stride_o.batch +
                (uint32_t)i * args.stride_o.seq +
                tile.head * args.stride_o.head;
#pragma unroll
        for (int t = 0; t < D / 8; t++) {
            const float x = none ? 0.0f : o[4 * t + 2 * h] * inverse;
            const float y = none ? 0.0f : o[4 * t + 2 * h + 1] * inverse;
            *(uint32_t *)(to + 8 * t + 2 * (lane % 4)) =
                mma_type<T>::pack(x, y);
        }
        if (args.lse != nullptr && lane % 4 == 0)
            args.lse[((uint64_t)tile.s.batch * args.heads_q + tile.head) *
                         args.seq_q +
                     (uint32_t)i] =
                none ? -CUDART_INF_F
                     : rows.most[h] * args.scale + log2f(total) * 0.69314718f;
    }
}

static __device__ __forceinline__ void wait_turn(const sm90_group &g)
{
    named_wait(2 + g.index, MULTIPLIERS);
}

static __device__ __forceinline__ void end_turn(const sm90_group &g)
{
    named_arrive(2 + (g.index ^ 1u), MULTIPLIERS);
}

static __device__ __forceinline__ void release(const sm90_group &g,
                                               uint32_t barrier)
{
    if (threadIdx.x % 32 == 0)
        barrier_arrive(g.bars + 8 * barrier);
}

static __device__ __forceinline__ bool is_masked(const sm90_tile &tile,
                                                 int32_t n)
{
    return n < tile.tiles.whole_begin || n >= tile.tiles.whole_end;
}

/* Does tile n hold keys behind the sequence's length? */
static __device__ __forceinline__ bool is_cut(const sm90_tile &tile, int32_t n,
                                              int32_t keys)
{
    return (n + 1) * keys > tile.s.mask.n_kv;
}

static __device__ __forceinline__ sm90_rows start_rows(const sm90_tile &tile,
                                                       int32_t local)
{
    sm90_rows rows = {};
#pragma unroll
    for (int h = 0; h < 2; h++) {
        const int32_t i = tile.row + local + 8 * h;
        rows.most[h] = -CUDART_INF_F;
        if (i < tile.s.mask.n_q) {
            rows.first[h] = vly_attention_first(&tile.s.mask, i);
            rows.end[h] = vly_attention_end(&tile.s.mask, i);
        }
    }
    return rows;
}

/* The first tile of keys: nothing to add up yet. */
template <typename T, int D>
static __device__ __forceinline__ vly_attention_use
multiply_first(const sm90_tile &tile, float scale, sm90_group *g,
               sm90_rows *rows, uint32_t p[sm90_shape<D>::keys / 16][4])
{
    using shape = sm90_shape<D>;
    float s[shape::keys / 2];
    float keep[2];
    const int32_t n = tile.tiles.end - 1;
    const vly_attention_use u = vly_attention_use_of(g->n_kv++, STAGES);
    barrier_wait(g->bars + 8 * FULL_Q,
                 vly_attention_use_of(g->n_q++, 1).parity);
    barrier_wait(g->bars + 8 * (FULL_K + u.place), u.parity);
    wait_turn(*g);
    wgmma_hold(s);
    wgmma_fence();
    start_scores<T, D>(g->q, g->base + shape::k + u.place * shape::bytes_kv, s);
    end_turn(*g);
    wgmma_wait<0>();
    wgmma_hold(s);
    release(*g, EMPTY_K + u.place);
    soften<shape::keys>(s, n * shape::keys, is_masked(tile, n), scale, rows,
                        keep);
    pack<T, shape::keys>(s, p);
    return u;
}

/* Tile n: its scores are under way while the values of the last one, n + 1, in
 * stage `last`, are added up. */
template <typename T, int D>
static __device__ __forceinline__ vly_attention_use
multiply_next(const sm90_tile &tile, int32_t n, vly_attention_use last,
              float scale, const char *memory, uint32_t exponent, sm90_group *g,
              sm90_rows *rows, uint32_t (&p)[sm90_shape<D>::keys / 16][4],
              float (&o)[D / 2], uint32_t *again)
{
    using shape = sm90_shape<D>;
    float s[shape::keys / 2];
    float keep[2];
    const vly_attention_use u = vly_attention_use_of(g->n_kv++, STAGES);
    const uint32_t v = shape::v + last.place * shape::bytes_kv;
    barrier_wait(g->bars + 8 * (FULL_K + u.place), u.parity);
    wait_turn(*g);
    wgmma_hold(s);
    wgmma_hold(p);
    wgmma_hold(o);
    wgmma_fence();
    start_scores<T, D>(g->q, g->base + shape::k + u.place * shape::bytes_kv, s);
    barrier_wait(g->bars + 8 * (FULL_V + last.place), last.parity);
    wgmma_fence();
    start_values<T, D>(g->base + v, p, o);
    end_turn(*g);
    if (g->looks && is_cut(tile, n + 1, shape::keys))
        *again |= look_at_values<D>(memory + v, exponent);
    wgmma_wait<1>();
    wgmma_hold(s);
    release(*g, EMPTY_K + u.place);
    soften<shape::keys>(s, n * shape::keys, is_masked(tile, n), scale, rows,
                        keep);
    wgmma_wait<0>();
    wgmma_hold(o);
    release(*g, EMPTY_V + last.place);
#pragma unroll
    for (int x = 0; x < D / 2; x++)
        o[x] *= keep[x / 2 % 2];
    pack<T, shape::keys>(s, p);
    return u;
}

/* The values of the last tile. */
template <typename T, int D>
static __device__ __forceinline__ void
multiply_last(const sm90_tile &tile, vly_attention_use last, const char *memory,
              uint32_t exponent, sm90_group *g,
              uint32_t (&p)[sm90_shape<D>::keys / 16][4], float (&o)[D / 2],
              uint32_t *again)
{
    using shape = sm90_shape<D>;
    const uint32_t v = shape::v + last.place * shape::bytes_kv;
    release(*g, EMPTY_Q); /* every product with Q is done */
    barrier_wait(g->bars + 8 * (FULL_V + last.place), last.parity);
    wgmma_hold(p);
    wgmma_hold(o);
    wgmma_fence();
    start_values<T, D>(g->base + v, p, o);
    if (g->looks && is_cut(tile, tile.tiles.begin, shape::keys))
        *again |= look_at_values<D>(memory + v, exponent);
    wgmma_wait<0>();
    wgmma_hold(o);
    release(*g, EMPTY_V + last.place);
}

template <typename T, int D>
static __device__ __forceinline__ void
multiply_all(const vly_attention_args &args, const vly_sm90_grid &grid,
             uint32_t base, const char *memory)
{
    using shape = sm90_shape<D>;
    const uint32_t lane = threadIdx.x % 32;
    const float scale = args.scale * 1.44269504f;
    const uint32_t exponent =
        args.type == VLY_ATTENTION_F16 ? 0x7c00u : 0x7f80u;
    sm90_group g = {};
    g.base = base;
    g.bars = base + shape::barriers;
    g.index = threadIdx.x / 128 - 1;
    g.looks = grid.marks != nullptr;
    g.q = base + g.index * 64 * 128;
    g.local = (int32_t)(g.index * 64 + threadIdx.x % 128 / 32 * 16 + lane / 4);
    if (g.index == 1) /* the first turn is the first group's */
        end_turn(g);
    for (uint32_t t = blockIdx.x; t < grid.n_tiles; t += gridDim.x) {
        const sm90_tile tile = tile_of(args, grid, t, shape::keys);
        sm90_rows rows = start_rows(tile, g.local);
        float o[D / 2];
        uint32_t again = 0;
#pragma unroll
        for (int x = 0; x < D / 2; x++)
            o[x] = 0.0f;
        if (tile.tiles.begin < tile.tiles.end) {
            uint32_t p[shape::keys / 16][4];
            vly_attention_use last =
                multiply_first<T, D>(tile, scale, &g, &rows, p);
            for (int32_t n = tile.tiles.end - 2; n >= tile.tiles.begin; n--)
                last = multiply_next<T, D>(tile, n, last, scale, memory,
                                           exponent, &g, &rows, p, o, &again);
            multiply_last<T, D>(tile, last, memory, exponent, &g, p, o, &again);
        }
        store_tile<T, D>(args, tile, tile.row + g.local, rows, o);
        if (grid.marks != nullptr) {
            again = __any_sync(0xffffffffu, again != 0);
            if (lane == 0 && again != 0)
                grid.marks[t] = 1;
        }
    }
}

template <typename T, int D>
static __global__ void __launch_bounds__(THREADS, 1)
    sm90_forward(const __grid_constant__ vly_attention_args args,
                 const __grid_constant__ vly_sm90_grid grid,
                 const __grid_constant__ vly_sm90_maps maps)
{
    using shape = sm90_shape<D>;
    extern __shared__ char raw[];
    const uint32_t at = (uint32_t)__cvta_generic_to_shared(raw);
    const uint32_t base = (at + 1023u) & ~1023u; /* as the swizzle wants */
    const char *memory = raw + (base - at);
    const uint32_t bars = base + shape::barriers;
    if (threadIdx.x == 0) {
        tensor_prefetch(&maps.q);
        tensor_prefetch(&maps.k);
        tensor_prefetch(&maps.v);
        for (uint32_t b = 0; b < N_BARRIERS; b++) {
            const bool full = b == FULL_Q || (b >= FULL_K && b < EMPTY_K) ||
                              (b >= FULL_V && b < EMPTY_V);
            barrier_init(bars + 8 * b, full ? 1 : MULTIPLIERS / 32);
        }
        barrier_init_fence();
    }
    __syncthreads();
    if (threadIdx.x < 128) {
        registers_fewer<LOADER_REGISTERS>();
        if (threadIdx.x == 0)
            load_all<D>(args, grid, maps, base);
    } else {
        registers_more<MULTIPLIER_REGISTERS>();
        multiply_all<T, D>(args, grid, base, memory);
    }
}

/* Row blocks that were marked, again. */
static __global__ void __launch_bounds__(128)
    sm90_again(const __grid_constant__ vly_attention_args args,
               const __grid_constant__ vly_sm90_grid grid)
{
    if (grid.marks[blockIdx.x] == 0)
        return;
    const sm90_tile tile = tile_of(args, grid, blockIdx.x, 128);
    for (int32_t r = (int32_t)(threadIdx.x / 32); r < ROWS; r += 4)
        if (tile.row + r < tile.s.mask.n_q)
            attention_row(args, tile.s, tile.head, tile.row + r);
}

/* ---- launcher ---------------------------------------------------------- */

template <typename T, int D>
static int launch(const vly_attention_args *args, const vly_sm90_grid *grid,
                  const vly_sm90_maps *maps, uint32_t n_sms,
                  cudaStream_t stream)
{
    constexpr int bytes = (int)sm90_shape<D>::bytes;
    static_assert(sm90_shape<D>::bytes <= 232448, "shared memory of a block");
    const uint32_t blocks = grid->n_tiles < n_sms ? grid->n_tiles : n_sms;
    cudaError_t code = cudaFuncSetAttribute(
        sm90_forward<T, D>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (code == cudaSuccess && grid->marks != nullptr)
        code = cudaMemsetAsync(grid->marks, 0, grid->n_tiles * sizeof(uint32_t),
                               stream);
    if (code != cudaSuccess)
        return (int)code;
    sm90_forward<T, D><<<blocks, THREADS, bytes, stream>>>(*args, *grid, *maps);
    code = cudaGetLastError();
    if (code != cudaSuccess || grid->marks == nullptr)
        return (int)code;
    sm90_again<<<grid->n_tiles, 128, 0, stream>>>(*args, *grid);
    return (int)cudaGetLastError();
}

template <typename T>
static int launch_dim(const vly_attention_args *args, const vly_sm90_grid *grid,
                      const vly_sm90_maps *maps, uint32_t n_sms,
                      cudaStream_t stream)
{
    switch (args->dim) {
    case 64:
        return launch<T, 64>(args, grid, maps, n_sms, stream);
    case 128:
        return launch<T, 128>(args, grid, maps, n_sms, stream);
    case 256:
        return launch<T, 256>(args, grid, maps, n_sms, stream);
    default:
        return (int)cudaErrorInvalidValue;
    }
}

int vly_attention_sm90(const vly_attention_args *args,
                       const vly_sm90_grid *grid, const vly_sm90_maps *maps,
                       uint32_t n_sms, void *stream)
{
    if (grid->n_tiles == 0)
        return 0;
    return args->type == VLY_ATTENTION_F16
               ? launch_dim<__half>(args, grid, maps, n_sms,
                                    (cudaStream_t)stream)
               : launch_dim<__nv_bfloat16>(args, grid, maps, n_sms,
                                           (cudaStream_t)stream);
}

uint32_t vly_attention_sm90_keys(uint32_t dim)
{
    return dim == 256 ? sm90_shape<256>::keys : sm90_shape<128>::keys;
}

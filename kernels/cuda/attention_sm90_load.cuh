/* SPDX-License-Identifier: Apache-2.0
 * Shapes, barriers and tiles of attention_sm90.cu, and its loader.
 */
#ifndef VLY_ATTENTION_SM90_LOAD_CUH
#define VLY_ATTENTION_SM90_LOAD_CUH

#include "attention_device.cuh"
#include "attention_sm90.h"
#include "hopper.cuh"

#define THREADS 384
#define ROWS 128
#define STAGES 2
#define MULTIPLIERS 256 /* threads */
/* of a thread after setmaxnreg: 128 * (40 + 2 * 232) are at most 65536 */
#define LOADER_REGISTERS 40
#define MULTIPLIER_REGISTERS 232

template <int D> struct sm90_shape {
    static constexpr int keys = D == 256 ? 64 : 128;
    static constexpr uint32_t slab_q = ROWS * 128; /* 64 columns */
    static constexpr uint32_t slab_kv = keys * 128;
    static constexpr uint32_t bytes_q = ROWS * D * 2;
    static constexpr uint32_t bytes_kv = keys * D * 2;
    /* Q, then K and V of each stage, then barriers */
    static constexpr uint32_t k = bytes_q;
    static constexpr uint32_t v = k + STAGES * bytes_kv;
    static constexpr uint32_t barriers = v + STAGES * bytes_kv;
    static constexpr uint32_t bytes = barriers + 128 + 1024; /* alignment */
};

/* Barriers, 8 bytes each. */
enum {
    FULL_Q = 0,
    EMPTY_Q = 1,
    FULL_K = 2,
    EMPTY_K = FULL_K + STAGES,
    FULL_V = EMPTY_K + STAGES,
    EMPTY_V = FULL_V + STAGES,
    N_BARRIERS = EMPTY_V + STAGES,
};

struct sm90_tile {
    attention_sequence s;
    vly_attention_tiles tiles;
    uint32_t head;
    int32_t row;
};

/* sequence_of without packed ones, which keep more registers busy */
static __device__ __forceinline__ attention_sequence
unpacked_sequence(const vly_attention_args &args, uint32_t batch)
{
    attention_sequence s = {};
    int32_t n_q = (int32_t)args.seq_q;
    int32_t n_kv = (int32_t)args.seq_kv;
    s.batch = batch;
    if (args.length_q != nullptr) {
        n_q = clamp_length(args.length_q[batch], args.seq_q);
        n_kv = clamp_length(args.length_kv[batch], args.seq_kv);
    }
    s.mask =
        vly_attention_mask_make(n_q, n_kv, args.causal, args.left, args.right);
    return s;
}

static __device__ __forceinline__ sm90_tile
tile_of(const vly_attention_args &args, const vly_sm90_grid &grid, uint32_t t,
        int32_t keys)
{
    sm90_tile tile;
    uint32_t block = 0;
    uint32_t pair = 0;
    vly_attention_tile(t, grid.n_blocks, args.batch * args.heads_q,
                       grid.section, &block, &pair);
    tile.s = unpacked_sequence(args, pair / args.heads_q);
    tile.head = pair % args.heads_q;
    tile.row = (int32_t)block * ROWS;
    tile.tiles = vly_attention_tiles_of(&tile.s.mask, tile.row, ROWS, keys);
    return tile;
}

/* ---- the loader -------------------------------------------------------- */

template <int D, int BOX_ROWS>
static __device__ __forceinline__ void
load_slabs(uint32_t to, const CUtensorMap *map, uint32_t barrier, int32_t row,
           uint32_t head, uint32_t batch)
{
    barrier_expect(barrier, BOX_ROWS * D * 2);
#pragma unroll
    for (int slab = 0; slab < D / 64; slab++)
        tensor_load(to + slab * BOX_ROWS * 128, map, barrier, slab * 64, row,
                    (int32_t)head, (int32_t)batch);
}

template <int D>
static __device__ __forceinline__ void
load_all(const vly_attention_args &args, const vly_sm90_grid &grid,
         const vly_sm90_maps &maps, uint32_t base)
{
    using shape = sm90_shape<D>;
    const uint32_t bars = base + shape::barriers;
    const uint32_t group = args.heads_q / args.heads_kv;
    uint32_t n_q = 0;
    uint32_t n_kv = 0;
    for (uint32_t t = blockIdx.x; t < grid.n_tiles; t += gridDim.x) {
        const sm90_tile tile = tile_of(args, grid, t, shape::keys);
        if (tile.tiles.begin >= tile.tiles.end)
            continue;
        const uint32_t batch = tile.s.batch;
        const uint32_t head_kv = tile.head / group;
        /* empty for the first time: the phase before the first is over */
        barrier_wait(bars + 8 * EMPTY_Q,
                     vly_attention_use_of(n_q, 1).parity ^ 1u);
        load_slabs<D, ROWS>(base, &maps.q, bars + 8 * FULL_Q, tile.row,
                            tile.head, batch);
        n_q++;
        for (int32_t n = tile.tiles.end - 1; n >= tile.tiles.begin; n--) {
            const vly_attention_use u = vly_attention_use_of(n_kv++, STAGES);
            const int32_t key = n * shape::keys;
            barrier_wait(bars + 8 * (EMPTY_K + u.place), u.parity ^ 1u);
            load_slabs<D, shape::keys>(
                base + shape::k + u.place * shape::bytes_kv, &maps.k,
                bars + 8 * (FULL_K + u.place), key, head_kv, batch);
            barrier_wait(bars + 8 * (EMPTY_V + u.place), u.parity ^ 1u);
            load_slabs<D, shape::keys>(
                base + shape::v + u.place * shape::bytes_kv, &maps.v,
                bars + 8 * (FULL_V + u.place), key, head_kv, batch);
        }
    }
}

#endif

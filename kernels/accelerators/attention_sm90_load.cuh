/* SPDX-License-Identifier: Apache-2.0
 * Shapes, barriers and tiles of attention_sm90.cu, and its loader.
 */
#ifndef VLY_ATTENTION_SM90_LOAD_CUH
#define VLY_ATTENTION_SM90_LOAD_CUH

#include "attention_device.cuh"
#include "attention_sm90.h"
#include "hopper.cuh"

#define MOST_STAGES 3
#define ENDS (256 + 1024) /* bytes of barriers, and for alignment */
#define TURNERS 3 /* warps that transpose V: the loader's group without one */

/* A variant: keys of a tile, warp groups of 64 queries, whether Q stays in
 * registers (of e4m3 24 of 144 KB of shared memory that are read and written
 * for 128 x 128 scores are Q's), and whether groups take turns. Tiles lie in
 * slabs: rows of 128 bytes, swizzled. */
template <typename ELEMENT, int DIM, int KEYS, int GROUPS, bool HELD,
          bool TURNS>
struct sm90_shape {
    using type = ELEMENT;
    static constexpr int dim = DIM;
    static constexpr int keys = KEYS;
    static constexpr int groups = GROUPS;
    static constexpr bool fp8 = sizeof(ELEMENT) == 1;
    static constexpr bool held = HELD;
    static constexpr bool turns = TURNS;
    static_assert(fp8 || !held, "rs wants K of 16 bits down its rows");
    /* of Q K^T, 32 bytes of a row each, and of Q in registers */
    static constexpr int steps_q = DIM * (int)sizeof(ELEMENT) / 32;
    static constexpr int steps_held = held ? steps_q : 1;
    static constexpr int rows = 64 * GROUPS;
    static constexpr int threads = 128 + 128 * GROUPS;
    static constexpr int columns = 128 / (int)sizeof(ELEMENT); /* of a slab */
    static constexpr int slabs = (DIM + columns - 1) / columns;
    static constexpr int steps = KEYS * (int)sizeof(ELEMENT) / 32; /* of P V */
    static constexpr uint32_t slab_q = rows * 128;
    static constexpr uint32_t slab_kv = KEYS * 128;
    static constexpr uint32_t bytes_q = slabs * slab_q;
    static constexpr uint32_t bytes_kv = slabs * slab_kv;
    /* e4m3: V transposed, a slab has all dimensions of 128 keys */
    static constexpr uint32_t slab_v = fp8 ? DIM * 128 : slab_kv;
    static constexpr uint32_t bytes_v =
        fp8 ? (KEYS + 127) / 128 * slab_v : bytes_kv;
    /* Q, twice if there is room: the next one is loaded while this one is
     * multiplied; K and V of each stage, V as loaded, then barriers */
    static constexpr uint32_t bytes_stage =
        bytes_kv + bytes_v + (fp8 ? bytes_kv : 0);
    static constexpr uint32_t stages =
        2 * bytes_q + MOST_STAGES * bytes_stage + ENDS <= 232448 ? MOST_STAGES
                                                                 : 2;
    static constexpr uint32_t bytes_all = stages * bytes_stage + ENDS;
    static constexpr uint32_t q_places =
        2 * bytes_q + bytes_all <= 232448 ? 2 : 1;
    static constexpr uint32_t k = q_places * bytes_q;
    static constexpr uint32_t v = k + stages * bytes_kv;
    static constexpr uint32_t raw = v + stages * bytes_v;
    static constexpr uint32_t barriers = raw + (fp8 ? stages * bytes_kv : 0);
    static constexpr uint32_t bytes = barriers + ENDS;
    /* of a thread after setmaxnreg: 128 * (loader + groups * multiplier) is at
     * most 65536, for two groups 64512, the number at the start */
    static constexpr int loader_registers = fp8 && GROUPS == 3         ? 56
                                            : fp8                      ? 40
                                            : GROUPS == 3              ? 32
                                            : KEYS > 128 || DIM == 256 ? 24
                                                                       : 40;
    static constexpr int multiplier_registers =
        GROUPS == 3 ? (512 - loader_registers) / 3
                    : 240 - (loader_registers - 24) / 2;
    static_assert(multiplier_registers % 8 == 0, "as setmaxnreg wants it");
};

/* Barriers, 8 bytes each. */
enum {
    FULL_Q = 0,
    EMPTY_Q = FULL_Q + 2,
    FULL_K = EMPTY_Q + 2,
    EMPTY_K = FULL_K + MOST_STAGES,
    FULL_V = EMPTY_K + MOST_STAGES,
    EMPTY_V = FULL_V + MOST_STAGES,
    FULL_RAW = EMPTY_V + MOST_STAGES, /* e4m3: V as loaded */
    EMPTY_RAW = FULL_RAW + MOST_STAGES,
    FULL_TILE = EMPTY_RAW + MOST_STAGES, /* the number of a tile */
    EMPTY_TILE = FULL_TILE + 2,
    N_BARRIERS = EMPTY_TILE + 2,
};

/* Number of arrivals at a barrier. */
template <typename W>
static __device__ __forceinline__ uint32_t arrivals_of(uint32_t barrier)
{
    const bool is_v = barrier >= FULL_V && barrier < EMPTY_V;
    if (barrier >= EMPTY_TILE)
        return 4 * W::groups + (W::fp8 ? TURNERS : 0);
    if (barrier >= FULL_TILE)
        return 1;
    if (barrier >= EMPTY_RAW || (is_v && W::fp8))
        return TURNERS;
    const bool full = barrier < EMPTY_Q || barrier >= FULL_RAW || is_v ||
                      (barrier >= FULL_K && barrier < EMPTY_K);
    return full ? 1 : 4 * W::groups;
}

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
        int32_t rows, int32_t keys)
{
    sm90_tile tile;
    uint32_t block = 0;
    uint32_t pair = 0;
    vly_attention_tile(t, grid.n_blocks, args.batch * args.heads_q,
                       grid.section, &block, &pair);
    tile.s = unpacked_sequence(args, pair / args.heads_q);
    tile.head = pair % args.heads_q;
    tile.row = (int32_t)block * rows;
    tile.tiles = vly_attention_tiles_of(&tile.s.mask, tile.row, rows, keys);
    return tile;
}

/* ---- numbers of tiles -------------------------------------------------- */

/* Rows of a causal mask differ in work: with numbers taken in turn the blocks
 * of a device would end at 1.1 to 1.8 times the mean, so a block that is ready
 * takes the next one. The loader takes tiles and passes them to the other
 * warps, two at a time.
 */
struct sm90_numbers {
    uint32_t bars;
    uint32_t n; /* number of tiles passed or read */
};

static __device__ __forceinline__ volatile uint32_t *
number_at(const char *memory, uint32_t barriers, uint32_t place)
{
    return (volatile uint32_t *)(memory + barriers + 8 * N_BARRIERS + 8 +
                                 4 * place);
}

/* Called by the loader's thread: passes t. */
template <typename W>
static __device__ __forceinline__ void
show_number(sm90_numbers *numbers, const char *memory, uint32_t t)
{
    const vly_attention_use u = vly_attention_use_of(numbers->n++, 2);
    barrier_wait(numbers->bars + 8 * (EMPTY_TILE + u.place), u.parity ^ 1u);
    *number_at(memory, W::barriers, u.place) = t;
    barrier_arrive(numbers->bars + 8 * (FULL_TILE + u.place));
}

/* Called by whole warps of the others. */
template <typename W>
static __device__ __forceinline__ uint32_t read_number(sm90_numbers *numbers,
                                                       const char *memory)
{
    const vly_attention_use u = vly_attention_use_of(numbers->n++, 2);
    barrier_wait(numbers->bars + 8 * (FULL_TILE + u.place), u.parity);
    /* shuffled, so that the compiler knows that the value is uniform in a warp
     * and keeps derived values in uniform registers */
    const uint32_t t =
        __shfl_sync(0xffffffffu, *number_at(memory, W::barriers, u.place), 0);
    if (threadIdx.x % 32 == 0)
        barrier_arrive(numbers->bars + 8 * (EMPTY_TILE + u.place));
    return t;
}

/* ---- the loader -------------------------------------------------------- */

template <typename W, int BOX_ROWS>
static __device__ __forceinline__ void
load_slabs(uint32_t to, const CUtensorMap *map, uint32_t barrier, int32_t row,
           uint32_t head, uint32_t batch)
{
    barrier_expect(barrier, W::slabs * BOX_ROWS * 128);
#pragma unroll
    for (int slab = 0; slab < W::slabs; slab++)
        tensor_load(to + slab * BOX_ROWS * 128, map, barrier, slab * W::columns,
                    row, (int32_t)head, (int32_t)batch);
}

/* Number of uses of Q and of the stages so far. */
struct sm90_uses {
    uint32_t q;
    uint32_t kv;
};

template <typename W>
static __device__ __forceinline__ void
load_tile(const vly_attention_args &args, const vly_sm90_maps &maps,
          const sm90_tile &tile, uint32_t base, sm90_uses *uses)
{
    constexpr uint32_t full_v = W::fp8 ? FULL_RAW : FULL_V;
    constexpr uint32_t empty_v = W::fp8 ? EMPTY_RAW : EMPTY_V;
    const uint32_t bars = base + W::barriers;
    const uint32_t batch = tile.s.batch;
    const uint32_t head_kv = tile.head / (args.heads_q / args.heads_kv);
    /* empty for the first time: the phase before the first is over */
    const vly_attention_use q = vly_attention_use_of(uses->q++, W::q_places);
    barrier_wait(bars + 8 * (EMPTY_Q + q.place), q.parity ^ 1u);
    load_slabs<W, W::rows>(base + q.place * W::bytes_q, &maps.q,
                           bars + 8 * (FULL_Q + q.place), tile.row, tile.head,
                           batch);
    for (int32_t n = tile.tiles.end - 1; n >= tile.tiles.begin; n--) {
        const vly_attention_use u = vly_attention_use_of(uses->kv++, W::stages);
        const int32_t key = n * W::keys;
        barrier_wait(bars + 8 * (EMPTY_K + u.place), u.parity ^ 1u);
        load_slabs<W, W::keys>(base + W::k + u.place * W::bytes_kv, &maps.k,
                               bars + 8 * (FULL_K + u.place), key, head_kv,
                               batch);
        barrier_wait(bars + 8 * (empty_v + u.place), u.parity ^ 1u);
        load_slabs<W, W::keys>(
            base + (W::fp8 ? W::raw : W::v) + u.place * W::bytes_kv, &maps.v,
            bars + 8 * (full_v + u.place), key, head_kv, batch);
    }
}

/* The next number is taken after all loads of a tile have started: late, so
 * that the progress of the work decides, but early enough to be available. */
template <typename W>
static __device__ __forceinline__ void
load_all(const vly_attention_args &args, const vly_sm90_grid &grid,
         const vly_sm90_maps &maps, uint32_t base, const char *memory)
{
    sm90_numbers numbers = {base + W::barriers, 0};
    sm90_uses uses = {0, 0};
    uint32_t t = blockIdx.x;
    while (t < grid.n_tiles) {
        show_number<W>(&numbers, memory, t);
        const sm90_tile tile = tile_of(args, grid, t, W::rows, W::keys);
        if (tile.tiles.begin < tile.tiles.end)
            load_tile<W>(args, maps, tile, base, &uses);
        t = grid.next == nullptr ? t + gridDim.x
                                 : gridDim.x + atomicAdd(grid.next, 1u);
    }
    show_number<W>(&numbers, memory, grid.n_tiles); /* the end */
}

/* ---- transposing warps --------------------------------------------------- */

/* Bytes of a register of a transposed tile: keys 2q, 2q + 1, 2q + 8, 2q + 9
 * from `first` on (q: lane % 4). Keys not below end become 0: values after the
 * length of a sequence may be NaN. */
static __device__ __forceinline__ uint32_t bytes_below(int32_t first,
                                                       int32_t end)
{
    const int32_t key = first + 2 * (int32_t)(threadIdx.x % 4);
    return (key < end ? 0xffu : 0u) | (key + 1 < end ? 0xff00u : 0u) |
           (key + 8 < end ? 0xff0000u : 0u) |
           (key + 9 < end ? 0xff000000u : 0u);
}

/* 32 keys of 16 dimensions from rows of keys to rows of dimensions. The order
 * of both changes, so that nothing has to move between lanes: of 16 keys lane q
 * of a quad has 2q, 2q + 1, 2q + 8, 2q + 9, as the weights lie in the sums of
 * the first product; of 16 dimensions the even ones come first. below: bytes
 * that stay, of the first 16 keys and of the others */
template <bool CUT>
static __device__ __forceinline__ void
write_turned(uint32_t to, const uint32_t in[4], const uint32_t below[2])
{
    uint32_t out[4];
#pragma unroll
    for (int half = 0; half < 2; half++) {
        out[2 * half] = __byte_perm(in[2 * half], in[2 * half + 1], 0x6420);
        out[2 * half + 1] = __byte_perm(in[2 * half], in[2 * half + 1], 0x7531);
        if (CUT) {
            out[2 * half] &= below[half];
            out[2 * half + 1] &= below[half];
        }
    }
    store_matrix(to, out);
}

/* One tile, by TURNERS warps, each 32 keys at a time. Addresses are made once
 * for all dimensions, whose share of them is a constant: with that arithmetic
 * for every 16 the multipliers waited for V. end: keys of the tile that exist,
 * where CUT */
template <typename W, bool CUT>
static __device__ __forceinline__ void turn_tile(uint32_t from, uint32_t to,
                                                 int32_t end)
{
    constexpr uint32_t parts = W::dim / 16;
    constexpr uint32_t batch = W::groups == 2 || parts < 8 ? 4 : 8;
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t row = lane % 8;
    const uint32_t matrix = lane / 8;
#pragma unroll 1
    for (uint32_t keys = threadIdx.x / 32 - 1; keys < W::keys / 32;
         keys += TURNERS) {
        const uint32_t chunk = keys * 2 + matrix / 2;
        const uint32_t read = from + (keys * 32 + lane) * 128 + row * 16;
        const uint32_t write = to + chunk / 8 * W::slab_v +
                               (matrix % 2 * 8 + row) * 128 +
                               (chunk % 8 ^ row) * 16;
        uint32_t below[2] = {0, 0};
        if (CUT) {
            below[0] = bytes_below((int32_t)keys * 32, end);
            below[1] = bytes_below((int32_t)keys * 32 + 16, end);
        }
#pragma unroll
        for (uint32_t first = 0; first < parts; first += batch) {
            uint32_t in[batch][4]; /* number of outstanding reads */
#pragma unroll
            for (uint32_t b = 0; b < batch; b++)
                ldmatrix_trans(in[b], (read ^ (first + b) % 8 * 16) +
                                          (first + b) / 8 * W::slab_kv);
#pragma unroll
            for (uint32_t b = 0; b < batch; b++)
                write_turned<CUT>(write + (first + b) * 16 * 128, in[b], below);
        }
    }
}

/* Every tile of V, by the warps 1 to TURNERS. */
template <typename W>
static __device__ __forceinline__ void
turn_all(const vly_attention_args &args, const vly_sm90_grid &grid,
         uint32_t base, const char *memory)
{
    const uint32_t bars = base + W::barriers;
    uint32_t n_kv = 0;
    sm90_numbers numbers = {bars, 0};
    for (;;) {
        const uint32_t t = read_number<W>(&numbers, memory);
        if (t >= grid.n_tiles)
            break;
        const sm90_tile tile = tile_of(args, grid, t, W::rows, W::keys);
        for (int32_t n = tile.tiles.end - 1; n >= tile.tiles.begin; n--) {
            const vly_attention_use u = vly_attention_use_of(n_kv++, W::stages);
            const int32_t end = tile.s.mask.n_kv - n * W::keys;
            barrier_wait(bars + 8 * (FULL_RAW + u.place), u.parity);
            barrier_wait(bars + 8 * (EMPTY_V + u.place), u.parity ^ 1u);
            const uint32_t from = base + W::raw + u.place * W::bytes_kv;
            const uint32_t to = base + W::v + u.place * W::bytes_v;
            if (end < W::keys)
                turn_tile<W, true>(from, to, end);
            else
                turn_tile<W, false>(from, to, end);
            fence_async(); /* wgmma reads the stored data */
            __syncwarp();
            if (threadIdx.x % 32 == 0) {
                barrier_arrive(bars + 8 * (FULL_V + u.place));
                barrier_arrive(bars + 8 * (EMPTY_RAW + u.place));
            }
        }
    }
}

#endif

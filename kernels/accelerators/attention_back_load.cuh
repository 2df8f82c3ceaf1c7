/* SPDX-License-Identifier: Apache-2.0
 * Shapes, barriers and tiles of attention_back.cu, its loaders, and the threads
 * that add the parts of grad_q in global memory.
 */
#ifndef VLY_ATTENTION_BACK_LOAD_CUH
#define VLY_ATTENTION_BACK_LOAD_CUH

#include "attention_back.h"
#include "attention_device.cuh"
#include "hopper.cuh"
#include "hopper_back.cuh"

#define STAGES 2 /* of queries */
#define GROUPS 2
#define PART_BYTES 16384 /* a group's part of grad_q: 64 x 64 floats */
#define STEP_BYTES (GROUPS * PART_BYTES)

/* Queries of a tile, so that a group's part of grad_q is 64 x 64: half of the
 * dimensions of 64 queries, or all of half of 128. */
static constexpr int back_rows(int dim)
{
    return dim == 128 ? 64 : 128;
}

/* Tiles lie in slabs: rows of 128 bytes, swizzled. */
template <typename ELEMENT, int DIM> struct back_shape {
    using type = ELEMENT;
    static constexpr int dim = DIM;
    static constexpr int keys = VLY_BACK_KEYS;
    static constexpr int rows = back_rows(DIM);
    static constexpr int threads = 128 + 128 * GROUPS;
    /* registers of a thread after setmaxnreg: of copying and of multiplying
     * threads, together at most 504, the number at the start */
    static constexpr int loader_registers = DIM == 128 ? 40 : 24;
    static constexpr int multiplier_registers = DIM == 128 ? 232 : 240;
    static constexpr int slabs = DIM / 64;
    static constexpr int steps = rows / 16; /* of sums over queries */
    static constexpr uint32_t slab_k = keys * 128;
    static constexpr uint32_t slab_q = rows * 128;
    static constexpr uint32_t bytes_k = slabs * slab_k;
    static constexpr uint32_t bytes_q = slabs * slab_q;
    /* dS in the order of registers: rows of keys, slabs of 64 queries */
    static constexpr uint32_t bytes_s = rows / 64 * slab_k;
    static constexpr uint32_t bytes_rows = rows * 4;
    static constexpr uint32_t k = 0;
    static constexpr uint32_t v = k + bytes_k;
    static constexpr uint32_t q = v + bytes_k;
    static constexpr uint32_t o = q + STAGES * bytes_q;
    static constexpr uint32_t s = o + STAGES * bytes_q; /* two, in turn */
    static constexpr uint32_t part = s + 2 * bytes_s;
    static constexpr uint32_t lse = part + STEP_BYTES;
    static constexpr uint32_t sums = lse + STAGES * bytes_rows;
    static constexpr uint32_t barriers = sums + STAGES * bytes_rows;
    static constexpr uint32_t bytes = barriers + 256 + 1024; /* alignment */
    static_assert(bytes <= 232448, "shared memory of a block");
};

/* Barriers, 8 bytes each. */
enum {
    FULL_K = 0,
    FULL_V,
    FULL_Q,
    EMPTY_Q = FULL_Q + STAGES,
    FULL_O = EMPTY_Q + STAGES, /* of grad_o */
    EMPTY_O = FULL_O + STAGES,
    EMPTY_K = EMPTY_O + STAGES,
    EMPTY_V,
    FULL_PART, /* of steps in turn */
    EMPTY_PART = FULL_PART + 2,
    FULL_TILE, /* the number of a tile */
    EMPTY_TILE = FULL_TILE + 2,
    N_BARRIERS = EMPTY_TILE + 2,
};

/* Arrivals of a barrier: the warps that read or wrote shared memory, otherwise
 * the one copying thread. */
static __device__ __forceinline__ uint32_t arrivals_of(uint32_t barrier)
{
    if (barrier >= EMPTY_TILE)
        return 4 * GROUPS + 3; /* warps, and three copying threads */
    if (barrier >= FULL_PART)
        return barrier < EMPTY_PART ? 4 * GROUPS : 1;
    const bool empty = (barrier >= EMPTY_Q && barrier < FULL_O) ||
                       (barrier >= EMPTY_O && barrier < FULL_PART);
    return empty ? 4 * GROUPS : 1;
}

static __device__ __forceinline__ vly_attention_mask
back_mask(const vly_attention_args &args)
{
    return vly_attention_mask_make((int32_t)args.seq_q, (int32_t)args.seq_kv,
                                   args.causal, args.left, args.right);
}

/* Order of tiles: those of the first keys come first, since under a causal mask
 * they have the most queries. But if parts of grad_q are added in order and a
 * tile begins with the queries at its own keys, tiles of the last keys come
 * first, so that no block waits for a tile that has just begun. */
static __device__ __forceinline__ bool descends(const vly_attention_args &args,
                                                const vly_back_grid &grid)
{
    return grid.ordered != 0 && (args.causal != 0 || args.right >= 0);
}

/* Keys of a tile, and the blocks of queries that see some of them: of each
 * query head of the group, one head after the other. */
struct back_tile {
    vly_attention_tiles blocks;
    uint32_t batch;
    uint32_t head_kv;
    int32_t index; /* of the tile in its head */
};

template <typename W>
static __device__ __forceinline__ back_tile back_tile_of(
    const vly_attention_args &args, const vly_back_grid &grid, uint32_t t)
{
    const vly_attention_mask mask = back_mask(args);
    back_tile tile;
    uint32_t block = 0;
    uint32_t pair = 0;
    vly_attention_tile(t, grid.n_blocks, args.batch * args.heads_kv,
                       grid.section, &block, &pair);
    tile.batch = pair / args.heads_kv;
    tile.head_kv = pair % args.heads_kv;
    tile.index =
        (int32_t)(descends(args, grid) ? block : grid.n_blocks - 1u - block);
    tile.blocks =
        vly_attention_blocks_of(&mask, tile.index * W::keys, W::keys, W::rows);
    return tile;
}

/* Does the block contain a query that does not see all of the keys? */
static __device__ __forceinline__ bool is_masked(const back_tile &tile,
                                                 int32_t block)
{
    return block < tile.blocks.whole_begin || block >= tile.blocks.whole_end;
}

/* Query heads of a key head, and the first of them among all of the batch */
static __device__ __forceinline__ uint32_t
heads_of(const vly_attention_args &args)
{
    return args.heads_q / args.heads_kv;
}

static __device__ __forceinline__ uint32_t
first_pair(const vly_attention_args &args, const back_tile &tile)
{
    return tile.batch * args.heads_q + tile.head_kv * heads_of(args);
}

static __device__ __forceinline__ uint32_t
steps_of(const vly_attention_args &args, const back_tile &tile)
{
    return heads_of(args) * (uint32_t)(tile.blocks.end - tile.blocks.begin);
}

/* Number of uses so far of buffers per step (Q, grad_o, parts), and of buffers
 * per tile with steps (K, V). */
struct back_uses {
    uint32_t steps;
    uint32_t keys;
    uint32_t numbers;
};

/* ---- numbers of tiles -------------------------------------------------- */

/* Tiles differ in work, so a block that is ready takes the next one. The loader
 * takes tiles and passes them to the other warps, two at a time. */
static __device__ __forceinline__ volatile uint32_t *
number_at(const char *memory, uint32_t barriers, uint32_t place)
{
    return (volatile uint32_t *)(memory + barriers + 8 * N_BARRIERS +
                                 4 * place);
}

template <typename W>
static __device__ __forceinline__ void
show_number(uint32_t bars, const char *memory, uint32_t t, back_uses *uses)
{
    const vly_attention_use u = vly_attention_use_of(uses->numbers++, 2);
    barrier_wait(bars + 8 * (EMPTY_TILE + u.place), u.parity ^ 1u);
    *number_at(memory, W::barriers, u.place) = t;
    barrier_arrive(bars + 8 * (FULL_TILE + u.place));
}

/* Called by whole multiplying warps. */
template <typename W>
static __device__ __forceinline__ uint32_t read_number(uint32_t bars,
                                                       const char *memory,
                                                       back_uses *uses)
{
    const vly_attention_use u = vly_attention_use_of(uses->numbers++, 2);
    barrier_wait(bars + 8 * (FULL_TILE + u.place), u.parity);
    /* shuffled, so that the compiler knows that the value is uniform in a warp
     * and keeps derived values in uniform registers */
    const uint32_t t =
        __shfl_sync(0xffffffffu, *number_at(memory, W::barriers, u.place), 0);
    if (threadIdx.x % 32 == 0)
        barrier_arrive(bars + 8 * (EMPTY_TILE + u.place));
    return t;
}

/* Called by one thread. */
template <typename W>
static __device__ __forceinline__ uint32_t read_number_alone(uint32_t bars,
                                                             const char *memory,
                                                             back_uses *uses)
{
    const vly_attention_use u = vly_attention_use_of(uses->numbers++, 2);
    barrier_wait(bars + 8 * (FULL_TILE + u.place), u.parity);
    const uint32_t t = *number_at(memory, W::barriers, u.place);
    barrier_arrive(bars + 8 * (EMPTY_TILE + u.place));
    return t;
}

/* ---- loaders -------------------------------------------------------- */

template <typename W, int ROWS>
static __device__ __forceinline__ void
load_slabs(uint32_t to, const CUtensorMap *map, uint32_t barrier, int32_t row,
           uint32_t head, uint32_t batch)
{
#pragma unroll
    for (int slab = 0; slab < W::slabs; slab++)
        tensor_load(to + slab * ROWS * 128, map, barrier, slab * 64, row,
                    (int32_t)head, (int32_t)batch);
}

/* The loads of one thread: Q with K (OF_Q), or grad_o with V. Two threads,
 * because one would need more registers than are left. The first rows are
 * loaded before the keys: the previous tile releases their place earlier. */
template <typename W, bool OF_Q>
static __device__ __forceinline__ void
load_tile(const vly_attention_args &args, const vly_back_grid &grid,
          const vly_back_maps &maps, const back_tile &tile, uint32_t base,
          back_uses *uses)
{
    const uint32_t bars = base + W::barriers;
    const uint32_t n = steps_of(args, tile);
    const CUtensorMap *rows = OF_Q ? &maps.q : &maps.grad_o;
    const float *numbers = OF_Q ? grid.lse : grid.row_sum;
    uint32_t head = tile.head_kv * heads_of(args);
    int32_t block = tile.blocks.begin;
    for (uint32_t i = 0; i < n; i++) {
        const vly_attention_use u = vly_attention_use_of(uses->steps++, STAGES);
        const uint32_t full = bars + 8 * ((OF_Q ? FULL_Q : FULL_O) + u.place);
        const uint32_t at = (tile.batch * args.heads_q + head) * grid.n_rows +
                            (uint32_t)block * W::rows;
        barrier_wait(bars + 8 * ((OF_Q ? EMPTY_Q : EMPTY_O) + u.place),
                     u.parity ^ 1u);
        barrier_expect(full, W::bytes_q + W::bytes_rows);
        load_slabs<W, W::rows>(base + (OF_Q ? W::q : W::o) +
                                   u.place * W::bytes_q,
                               rows, full, block * W::rows, head, tile.batch);
        bulk_load(base + (OF_Q ? W::lse : W::sums) + u.place * W::bytes_rows,
                  numbers + at, W::bytes_rows, full);
        if (i == 0) {
            const uint32_t keys = bars + 8 * (OF_Q ? FULL_K : FULL_V);
            barrier_wait(bars + 8 * (OF_Q ? EMPTY_K : EMPTY_V),
                         (uses->keys++ & 1u) ^ 1u);
            barrier_expect(keys, W::bytes_k);
            load_slabs<W, W::keys>(
                base + (OF_Q ? W::k : W::v), OF_Q ? &maps.k : &maps.v, keys,
                tile.index * W::keys, tile.head_kv, tile.batch);
        }
        if (++block == tile.blocks.end) {
            block = tile.blocks.begin;
            head++;
        }
    }
}

/* The thread that loads Q takes the numbers of tiles. It takes the next number
 * after it has started all loads of a tile: late, so that the progress of the
 * work decides, but early enough to be available. */
template <typename W, bool OF_Q>
static __device__ __forceinline__ void
load_all(const vly_attention_args &args, const vly_back_grid &grid,
         const vly_back_maps &maps, uint32_t base, const char *memory)
{
    const uint32_t bars = base + W::barriers;
    back_uses uses = {0, 0, 0};
    for (;;) {
        uint32_t t = 0;
        if (OF_Q) {
            t = atomicAdd(grid.turns, 1u);
            show_number<W>(bars, memory, t < grid.n_tiles ? t : grid.n_tiles,
                           &uses);
        } else {
            t = read_number_alone<W>(bars, memory, &uses);
        }
        if (t >= grid.n_tiles)
            break;
        load_tile<W, OF_Q>(args, grid, maps, back_tile_of<W>(args, grid, t),
                           base, &uses);
    }
}

/* ---- grad_q ------------------------------------------------------------ */

/* Number of tiles that add to the parts of a block of queries before this
 * one. */
template <typename W>
static __device__ __forceinline__ uint32_t
parts_before(const vly_attention_args &args, const vly_back_grid &grid,
             const back_tile &tile, int32_t block)
{
    const vly_attention_mask mask = back_mask(args);
    const vly_attention_tiles tiles =
        vly_attention_tiles_of(&mask, block * W::rows, W::rows, W::keys);
    return (uint32_t)(descends(args, grid) ? tiles.end - 1 - tile.index
                                           : tile.index - tiles.begin);
}

/* Called by one thread for even and one for odd steps: adds the parts of a
 * tile. Adding in order and signalling takes about as long as a step, so that a
 * single thread would be late. */
template <typename W>
static __device__ __forceinline__ void
add_parts(const vly_attention_args &args, const vly_back_grid &grid,
          const back_tile &tile, uint32_t base, uint32_t odd, back_uses *uses)
{
    const uint32_t n = steps_of(args, tile);
    const uint32_t bars = base + W::barriers;
    uint32_t pair = first_pair(args, tile);
    int32_t block = tile.blocks.begin;
    for (uint32_t i = 0; i < n; i++, uses->steps++) {
        const uint32_t at = pair * (grid.n_rows / W::rows) + (uint32_t)block;
        if (uses->steps % 2 == odd) {
            float *to = grid.grad_q + (uint64_t)at * (STEP_BYTES / 4);
            const uint32_t before =
                grid.ordered != 0 ? parts_before<W>(args, grid, tile, block)
                                  : 1;
            /* read before the part is available, because the read is slow */
            if (grid.ordered != 0 && before != 0)
                flag_wait(grid.turns + 1 + at, before);
            barrier_wait(bars + 8 * (FULL_PART + odd), uses->steps / 2 & 1u);
            if (before == 0)
                bulk_store(to, base + W::part, STEP_BYTES);
            else
                bulk_add(to, base + W::part, STEP_BYTES);
            bulk_commit();
            bulk_wait_read();
            barrier_arrive(bars + 8 * EMPTY_PART);
            if (grid.ordered != 0) {
                bulk_wait_all();
                flag_raise(grid.turns + 1 + at);
            }
        }
        if (++block == tile.blocks.end) {
            block = tile.blocks.begin;
            pair++;
        }
    }
}

template <typename W>
static __device__ __forceinline__ void
add_all(const vly_attention_args &args, const vly_back_grid &grid,
        uint32_t base, const char *memory, uint32_t odd)
{
    back_uses uses = {0, 0, 0};
    for (;;) {
        const uint32_t t =
            read_number_alone<W>(base + W::barriers, memory, &uses);
        if (t >= grid.n_tiles)
            break;
        add_parts<W>(args, grid, back_tile_of<W>(args, grid, t), base, odd,
                     &uses);
    }
    bulk_wait_all();
}

#endif

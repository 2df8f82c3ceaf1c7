/* SPDX-License-Identifier: Apache-2.0
 * A token of RWKV-7 in one launch: a chain of operations with a barrier over
 * all blocks between two of them. What each launch of its own costs beside its
 * bytes (2.6 to 3.2 us on an H200, from GEMVs of 2 to 52 MB in a graph; seven
 * a layer) is what keeps decoding from the bandwidth of memory. Here weights
 * come in one stream: every warp fetches its pieces of all matrices of the
 * chain, 9 KB ahead of what it multiplies, past barriers and whatever stands
 * between the products. 160 KB a multiprocessor, 21 MB of all, are 4.9 us
 * at 4.3 TB/s; a barrier and the latencies around it are some 2 us.
 *
 * A block is two groups of eight warps, each of which does what a block of
 * rwkv_products.cu does: 16 rows of a matrix, k divided among its warps, sums
 * added in their order. So the bits are the same. x is in shared memory. One
 * more warp speaks with the other blocks.
 *
 * Predicted for an H200, 16-bit weights: 1.5B 27 us a layer (24.6 are bytes),
 * 2.9B 40 us (38.3), 0.1B 16 us (3.6); tokens/s 1,400, 730, 4,500. Not
 * measured.
 */
#include "rwkv_barrier.cuh"

/* the last warp of a block has no part in it */
#define RWKV_SYNC() rwkv_sync_workers()

#include "rwkv_products.cuh"
#include "rwkv_rows.cuh"
#include "rwkv_step.cuh"

#define GROUPS 2
#define GROUP_WARPS 8
#define GROUP_THREADS (32 * GROUP_WARPS)
#define WORKERS (GROUPS * GROUP_THREADS)
#define STAGES 9
#define TILE 16
#define PIECE 64 /* bytes of a row that four lanes fetch */

struct chain_shared {
    uint4 ring[GROUPS * GROUP_WARPS][STAGES][2][32];
    union {
        uint4 x[GROUPS][VLY_CUDA_RWKV_CHAIN_K * 2 / 16];
        float part[WARPS]; /* of norms */
        struct {
            step_shared shared;
            float hidden[VLY_CUDA_RWKV_MOST_RANKS];
        } step;
    } work;
    float partial[2][GROUPS][GROUP_WARPS][TILE];
    vly_cuda_rwkv_link link[2];
    vly_cuda_rwkv_weights weights[VLY_CUDA_RWKV_CHAIN_WEIGHTS + 1];
};
static_assert(WORKERS == THREADS && WORKERS == STEP_THREADS,
              "rows and heads are with all workers");
static_assert(sizeof(chain_shared) <= 227 * 1024, "a block of 9.0 has as much");

/* ---- the stream of weights ------------------------------------------------
 */

/* Where a warp fetches: pieces of one tile, GROUP_WARPS apart. What it needs to
 * find the next tile is in shared memory: a barrier over all blocks empties the
 * first-level cache. */
struct weight_stream {
    uint32_t matrix;
    uint32_t tile;
    uint32_t left;  /* pieces of the tile that this warp has not fetched */
    uint32_t piece; /* the next one */
    uint32_t end;   /* the first that this lane has no part of */
    uint32_t stage;
    const char *row0, *row1; /* 16 bytes of the next piece */
};

/* The product of a tile; *tile becomes its number in it. */
static __device__ __forceinline__ const vly_cuda_rwkv_product &
product_of_tile(const vly_cuda_rwkv_products &args, uint32_t *tile)
{
    uint32_t i = 0;
    while (i + 1 < args.n_products && *tile >= args.product[i + 1].first)
        i++;
    *tile -= args.product[i].first;
    return args.product[i];
}

/* The first tile of a link that is with a unit. */
static __device__ __forceinline__ uint32_t
first_tile(const vly_cuda_rwkv_link &link, uint32_t unit, uint32_t units)
{
    return (unit + units - link.shift) % units;
}

/* From stream.tile on, the next tile of which this warp has pieces. Behind the
 * last one pieces are empty for ever. */
static __device__ __forceinline__ void
find_tile(const vly_cuda_rwkv_chain &chain, const chain_shared *shared,
          weight_stream *s, uint32_t units)
{
    const uint32_t warp = threadIdx.x / 32 % GROUP_WARPS;
    const uint32_t lane = threadIdx.x % 32, r = lane / 4, t = lane % 4;
    for (; s->tile < shared->weights[chain.n_weights].first; s->tile += units) {
        while (s->tile >= shared->weights[s->matrix + 1].first)
            s->matrix++;
        const vly_cuda_rwkv_weights &p = shared->weights[s->matrix];
        const uint64_t bytes = p.bytes;
        const uint32_t n = (p.bytes + PIECE - 1) / PIECE;
        if (warp < n) {
            const char *w = (const char *)p.w + t * 16 + warp * PIECE;
            const uint32_t j = (s->tile - p.first) * TILE + r;
            s->left = (n - warp - 1) / GROUP_WARPS + 1;
            s->piece = warp;
            s->end = (n - 1) * PIECE + t * 16 >= p.bytes ? n - 1 : n;
            /* rows that are not there are read as the last: not written */
            s->row0 = w + min(j, p.n - 1) * bytes;
            s->row1 = w + min(j + 8, p.n - 1) * bytes;
            return;
        }
    }
    s->end = 0;
    s->piece = 0;
    s->left = UINT32_MAX;
    s->row0 = s->row1 = (const char *)chain.link; /* not read */
}

/* Fetches the next piece into the stage that was used longest ago. */
static __device__ __forceinline__ void
fetch_next(const vly_cuda_rwkv_chain &chain, chain_shared *shared,
           weight_stream *s, uint32_t units)
{
    uint4 *to = &shared->ring[threadIdx.x / 32][s->stage][0][threadIdx.x % 32];
    vly_fetch(to, s->row0, s->piece < s->end);
    vly_fetch(to + 32, s->row1, s->piece < s->end);
    vly_fetch_commit();
    s->stage = s->stage + 1 == STAGES ? 0 : s->stage + 1;
    s->piece += GROUP_WARPS;
    s->row0 += GROUP_WARPS * PIECE;
    s->row1 += GROUP_WARPS * PIECE;
    if (--s->left == 0) {
        s->tile += units;
        find_tile(chain, shared, s, units);
    }
}

/* ---- products -------------------------------------------------------------
 */

/* The warp's part of a tile: sums of its 16 rows. */
template <typename T, int BITS>
static __device__ __forceinline__ void
multiply_tile(const vly_cuda_rwkv_chain &chain, chain_shared *shared,
              weight_stream *stream, uint32_t units,
              const vly_cuda_rwkv_product &p, uint32_t tile, float (&sum)[4])
{
    constexpr uint32_t VECTOR = 128 / BITS, CHUNK = 4 * VECTOR;
    const uint32_t group = threadIdx.x / GROUP_THREADS;
    const uint32_t warp = threadIdx.x / 32 % GROUP_WARPS;
    const uint32_t lane = threadIdx.x % 32, r = lane / 4, t = lane % 4;
    const uint32_t n = (p.k + CHUNK - 1) / CHUNK;
    const uint32_t end =
        (n - 1) * (uint64_t)CHUNK + t * VECTOR >= p.k ? n - 1 : n;
    const uint4 *const ring = &shared->ring[threadIdx.x / 32][0][0][lane];
    const T *scale0 =
        (const T *)p.scale + (uint64_t)min(tile * TILE + r, p.n - 1) * n;
    const T *scale1 =
        (const T *)p.scale + (uint64_t)min(tile * TILE + r + 8, p.n - 1) * n;
    float s0 = 0.0f, s1 = 0.0f, next0 = 0.0f, next1 = 0.0f;
    if (BITS == 4 && warp < n) {
        next0 = vly_to_float(scale0[warp]);
        next1 = vly_to_float(scale1[warp]);
    }
    for (uint32_t c = warp; c < n; c += GROUP_WARPS) {
        /* the stage behind the newest is the oldest */
        fetch_next(chain, shared, stream, units);
        const uint32_t stage = stream->stage;
        s0 = next0, s1 = next1;
        if (BITS == 4 && c + GROUP_WARPS < n) {
            next0 = vly_to_float(scale0[c + GROUP_WARPS]);
            next1 = vly_to_float(scale1[c + GROUP_WARPS]);
        }
        vly_fetch_wait<STAGES - 1>();
        const T *x = (const T *)shared->work.x[group] + c * CHUNK + t * VECTOR;
        add_piece<T, BITS>(sum, ring[stage * 64], ring[stage * 64 + 32],
                           (const uint4 *)x, true, c < end, s0, s1);
    }
}

/* k elements of x, by a group. */
static __device__ __forceinline__ void
read_x(chain_shared *shared, uint32_t group, const void *x, uint32_t k)
{
    const uint32_t n = k / 8;
    for (uint32_t i = threadIdx.x % GROUP_THREADS; i < n; i += GROUP_THREADS)
        shared->work.x[group][i] = __ldcg((const uint4 *)x + i);
}

template <typename T>
static __device__ __forceinline__ void
run_products(const vly_cuda_rwkv_chain &chain, const vly_cuda_rwkv_link &link,
             chain_shared *shared, weight_stream *stream, uint32_t unit,
             uint32_t units)
{
    const vly_cuda_rwkv_products &args = link.args.products;
    const uint32_t group = threadIdx.x / GROUP_THREADS;
    const uint32_t warp = threadIdx.x / 32 % GROUP_WARPS;
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t e = threadIdx.x % GROUP_THREADS;
    const void *has = nullptr;
    uint32_t turn = 0;
    for (uint32_t i = first_tile(link, unit, units); i < link.n_tiles;
         i += units) {
        uint32_t tile = i;
        const vly_cuda_rwkv_product &p = product_of_tile(args, &tile);
        if (p.x != has) { /* all have met since they read the one before */
            read_x(shared, group, p.x, p.k);
            has = p.x;
            rwkv_sync_group(group);
        }
        float sum[4] = {};
        if (p.type_w == VLY_CUDA_I4)
            multiply_tile<T, 4>(chain, shared, stream, units, p, tile, sum);
        else if (p.type_w == VLY_CUDA_I8)
            multiply_tile<T, 8>(chain, shared, stream, units, p, tile, sum);
        else
            multiply_tile<T, 16>(chain, shared, stream, units, p, tile, sum);
        /* all columns of the second factor are x; the first is with t = 0 */
        float(*const partial)[TILE] = shared->partial[turn][group];
        if (lane % 4 == 0) {
            partial[warp][lane / 4] = sum[0];
            partial[warp][lane / 4 + 8] = sum[2];
        }
        rwkv_sync_group(group);
        if (e < TILE) {
            float all = 0.0f;
#pragma unroll
            for (uint32_t w = 0; w < GROUP_WARPS; w++)
                all += partial[w][e];
            put_y(args, p, 0, tile * TILE + e, all);
        }
        turn = 1 - turn; /* read until everybody has met for the other one */
    }
}

/* ---- the chain ------------------------------------------------------------
 */

template <int PER>
static __device__ __forceinline__ void run_rows(const vly_cuda_rwkv_link &link,
                                                chain_shared *shared)
{
    const vly_cuda_rwkv_rows &args = link.args.rows;
    const uint32_t shares =
        link.op == VLY_CUDA_RWKV_MIX
            ? (args.width - 1) / VLY_CUDA_RWKV_SHARED_COLUMNS + 1
            : 1;
    for (uint32_t i = blockIdx.x; i < shares; i += gridDim.x) {
        if (link.op == VLY_CUDA_RWKV_MIX)
            mix_columns<PER>(
                args, 0, (uint32_t)((uint64_t)args.width * i / shares),
                (uint32_t)((uint64_t)args.width * (i + 1) / shares),
                shared->work.part);
        else if (link.op == VLY_CUDA_RWKV_EMBED)
            embed_row<PER>(args, 0, shared->work.part);
        else
            norm_row<PER>(args, 0, shared->work.part);
    }
}

template <typename T>
static __device__ __noinline__ void run_heads(const vly_cuda_rwkv_link &link,
                                              chain_shared *shared)
{
    const uint32_t heads = link.args.heads.width / RWKV_DIM;
    for (uint32_t i = blockIdx.x; i < heads; i += gridDim.x) {
        step_head<T>(link.args.heads, i, shared->work.step.hidden,
                     &shared->work.step.shared);
        RWKV_SYNC();
    }
}

/* What comes soon reads it at once: into the second-level cache with it. By the
 * workers, while the last warp waits for the other blocks. */
static __device__ __forceinline__ void
prefetch_soon(const vly_cuda_rwkv_link &link)
{
    const uint64_t thread = (uint64_t)blockIdx.x * WORKERS + threadIdx.x;
    const uint64_t step = (uint64_t)gridDim.x * WORKERS * 128;
    for (uint32_t i = 0; i < link.n_soon; i++) {
        const char *at = (const char *)link.soon[i].at;
        for (uint64_t x = thread * 128; x < link.soon[i].bytes; x += step)
            rwkv_prefetch(at + x);
    }
}

/* By the workers. */
static __device__ __forceinline__ void
read_link(const vly_cuda_rwkv_chain &chain, uint32_t i, chain_shared *shared)
{
    static_assert(sizeof(vly_cuda_rwkv_link) % 16 == 0, "whole pieces");
    const uint4 *from = (const uint4 *)(chain.link + i);
    uint4 *to = (uint4 *)&shared->link[i % 2];
    if (threadIdx.x < sizeof(vly_cuda_rwkv_link) / 16)
        to[threadIdx.x] = from[threadIdx.x];
}

static __device__ __forceinline__ void
read_weights(const vly_cuda_rwkv_chain &chain, chain_shared *shared)
{
    static_assert(sizeof(vly_cuda_rwkv_weights) % 8 == 0, "whole pieces");
    const uint64_t *from = (const uint64_t *)chain.weights;
    uint64_t *to = (uint64_t *)shared->weights;
    const uint32_t n =
        (chain.n_weights + 1) * sizeof(vly_cuda_rwkv_weights) / 8;
    for (uint32_t i = threadIdx.x; i < n; i += WORKERS)
        to[i] = from[i];
}

template <typename T>
static __device__ __forceinline__ void work(const vly_cuda_rwkv_chain &chain,
                                            chain_shared *shared)
{
    const uint32_t units = GROUPS * gridDim.x;
    const uint32_t unit = blockIdx.x + threadIdx.x / GROUP_THREADS * gridDim.x;
    weight_stream stream = {};
    read_weights(chain, shared);
    read_link(chain, 0, shared);
    RWKV_SYNC();
    stream.tile = unit;
    find_tile(chain, shared, &stream, units);
    for (uint32_t s = 0; s + 1 < STAGES; s++)
        fetch_next(chain, shared, &stream, units);
    for (uint32_t i = 0; i < chain.n; i++) {
        const vly_cuda_rwkv_link &link = shared->link[i % 2];
        if (link.op == VLY_CUDA_RWKV_MULTIPLY)
            run_products<T>(chain, link, shared, &stream, unit, units);
        else if (link.op == VLY_CUDA_RWKV_STEP)
            run_heads<T>(link, shared);
        else if (link.args.rows.width <= 2 * THREADS)
            run_rows<2>(link, shared);
        else
            run_rows<VLY_CUDA_RWKV_CHAIN_WIDTH / THREADS>(link, shared);
        __syncthreads();
        if (i + 1 == chain.n)
            break;
        read_link(chain, i + 1, shared);
        prefetch_soon(link);
        __syncthreads();
    }
    vly_fetch_wait<0>();
}

/* The last warp: a link is done when all blocks have done it. */
static __device__ __forceinline__ void wait(const vly_cuda_rwkv_chain &chain)
{
    const bool speaks = threadIdx.x == WORKERS;
    uint32_t wanted = speaks ? __ldcg(chain.words + 1) : 0;
    for (uint32_t i = 0; i < chain.n; i++) {
        __syncthreads();
        if (i + 1 == chain.n)
            break;
        if (speaks) {
            rwkv_arrive(chain.words);
            wanted += gridDim.x;
            rwkv_wait_for(chain.words, wanted);
            /* everybody has read where this launch began */
            if (i == 0 && blockIdx.x == 0)
                chain.words[1] = wanted + (chain.n - 2) * gridDim.x;
        }
        __syncthreads();
    }
}

template <typename T>
static __global__ void __launch_bounds__(WORKERS + 32)
    rwkv_chain(const __grid_constant__ vly_cuda_rwkv_chain chain)
{
    extern __shared__ __align__(128) char memory[];
    if (threadIdx.x < WORKERS)
        work<T>(chain, (chain_shared *)memory);
    else
        wait(chain);
}

typedef void (*chain_kernel)(const vly_cuda_rwkv_chain);

static chain_kernel kernel_of(uint32_t type)
{
    return type == VLY_CUDA_F16 ? (chain_kernel)rwkv_chain<__half>
                                : (chain_kernel)rwkv_chain<__nv_bfloat16>;
}

uint32_t vly_cuda_rwkv_chain_bytes(void)
{
    return (uint32_t)sizeof(chain_shared);
}

int vly_cuda_rwkv_chain_run(const vly_cuda_rwkv_chain *chain, uint32_t blocks,
                            void *stream)
{
    if (chain->n == 0)
        return 0;
    const cudaError_t code = cudaFuncSetAttribute(
        kernel_of(chain->type), cudaFuncAttributeMaxDynamicSharedMemorySize,
        (int)sizeof(chain_shared));
    if (code != cudaSuccess)
        return (int)code;
    return rwkv_launch_together(kernel_of(chain->type), blocks, WORKERS + 32,
                                sizeof(chain_shared), stream, *chain);
}

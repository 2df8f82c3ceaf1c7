/* SPDX-License-Identifier: Apache-2.0
 * Computed by a block of rwkv_token.cu before it begins: places in its shared
 * memory, its rows of each product, the values that its head needs of others.
 */
#ifndef VLY_RWKV_TOKEN_BEGIN_CUH
#define VLY_RWKV_TOKEN_BEGIN_CUH

#include "rwkv_token.cuh"

/* Products, pairs and chunks of a kind of layer; its rows are known. */
static __device__ void list_kind(const token_args &args, token_shared &s,
                                 uint32_t which)
{
    const token_kind &kind = args.kind[which];
    const uint32_t begin = s.range[which][0], end = s.range[which][1];
    uint32_t p = 0, n = 0;
    while (begin >= kind.first[p + 1])
        p++;
    s.span[which][0] = p;
    for (uint32_t row = begin; row < end;) {
        while (row >= kind.first[p + 1])
            p++;
        const uint32_t stop = min(end, kind.first[p + 1]);
        s.pair[which][n++] = (uint16_t)(row | (row + 1 == stop ? 0x8000u : 0u));
        row = min(row + 2, stop);
    }
    s.span[which][1] = p;
    s.n_pairs[which] = n;
    n = 0;
    for (uint32_t x = 0; x < 4; x++)
        for (uint32_t k = 0; k < args.rank[x] && !(which == 0 && x == 2);
             k += 32)
            s.chunk[which][n++] = {
                (uint8_t)x, (uint8_t)min(32u, args.rank[x] - k), (uint16_t)k};
    s.n_chunks[which] = n;
}

/* The rows of the first products that the block's head needs. */
static __device__ void list_entries(const token_args &args, token_shared &s,
                                    uint32_t which)
{
    for (uint32_t j = threadIdx.x; j < TOKEN_ENTRIES; j += TOKEN_THREADS) {
        const uint32_t h = j - 3 * RWKV_DIM;
        uint32_t row = TOKEN_NONE;
        if (j < 3 * RWKV_DIM)
            row = j / RWKV_DIM * args.width + blockIdx.x * RWKV_DIM +
                  j % RWKV_DIM;
        else if (h / 32 < s.n_chunks[which]) {
            const token_chunk c = s.chunk[which][h / 32];
            if (h % 32 < c.left)
                row = args.kind[which].lora_at[c.matrix] + c.k + h % 32;
        }
        s.entry[which][j] = (uint16_t)row;
    }
}

static __device__ __forceinline__ token_memory
map_memory(const token_args &args)
{
    const uint32_t shared = (args.slots * 16 + 127) / 128 * 128;
    token_memory m;
    m.full = (uint64_t *)token_base;
    m.empty = m.full + args.slots;
    m.s = (token_shared *)(token_base + shared);
    m.x0 = shared + (uint32_t)(sizeof(token_shared) + 127) / 128 * 128;
    m.x1 = m.x0 + args.vectors * args.width * 2;
    m.sums = m.x1 + args.second;
    m.ring = m.sums + args.width * 4;
    return m;
}

static __device__ __forceinline__ uint32_t rows_of(const token_args &args,
                                                   uint32_t range)
{
    switch (range) {
    case RANGE_FIRST:
    case RANGE_OTHERS:
        return args.kind[range].first[args.kind[range].n];
    case RANGE_HIDDEN:
        return args.hidden;
    case RANGE_HEAD:
        return args.vocabulary;
    case RANGE_LAST:
        return args.width / 2;
    default:
        return args.width;
    }
}

/* By all threads; ends with a barrier of the cluster. */
static __device__ __forceinline__ void begin_block(const token_args &args,
                                                   const token_memory &m)
{
    token_shared &s = *m.s;
    const uint32_t t = threadIdx.x;
    if (t < args.slots) {
        token_bar_init(&m.full[t], 1);
        token_bar_init(&m.empty[t], 1u << args.shift);
    }
    if (t < TOKEN_PAIRS)
        s.arrived[t] = 0;
    if (t < 2)
        token_bar_init(&s.heard[t], 1);
    if (t < sizeof(token_layer) / 16)
        ((uint4 *)&s.layer[0])[t] = ((const uint4 *)args.layer)[t];
    if (t == 0)
        s.progress = s.phase = 0;
    if (t < N_RANGES) {
        const uint32_t rows = rows_of(args, t);
        s.range[t][0] = token_share(rows, blockIdx.x);
        s.range[t][1] = token_share(rows, blockIdx.x + 1);
        if (t < 2)
            list_kind(args, s, t);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    __syncthreads();
    list_entries(args, s, 0);
    list_entries(args, s, 1);
    /* of the cluster: no block sends before all barriers exist */
    asm volatile("barrier.cluster.arrive.release;\n"
                 "barrier.cluster.wait.acquire;" ::
                     : "memory");
}

#endif

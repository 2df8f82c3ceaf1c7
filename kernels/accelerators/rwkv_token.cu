/* SPDX-License-Identifier: Apache-2.0
 * A token of RWKV-7 in one launch, a block a multiprocessor (of an H200 120 of
 * 132, in clusters). Each layer is four phases: products, and before them a
 * step that every block does for itself:
 *
 *   norm, token shift        r k v and the LoRAs' first products; then some
 *                            blocks have a head each
 *   results of the heads     output
 *   norm, token shift        key
 *   results of the others    value
 *
 * Rows of each product are divided among the blocks. A block keeps the whole
 * residual stream in registers; values of other blocks come with flags
 * (rwkv_token.cuh), and each block of a cluster reads its share of them
 * (token_hear). Weights come beside that, as one stream of copies through slots
 * of shared memory (rwkv_token_feed.cuh), so that memory is not idle while
 * blocks wait for each other. Separate launches cost 3.2 us each in addition to
 * their bytes, seven a layer.
 *
 * All phases run through the same code: it must fit into the cache of
 * instructions, whose misses wait for the copies like all other reads. For the
 * same reason no register may be spilled.
 */
#include "rwkv_token_begin.cuh"
#include "rwkv_token_feed.cuh"
#include "rwkv_token_head.cuh"
#include "rwkv_token_product.cuh"
#include "rwkv_token_x.cuh"

#include <stdio.h>

/* ---- phases -------------------------------------------------------------- */

/* Constants of a phase. */
struct token_phase {
    const token_layer *layer;
    const token_kind *kind;
    uint32_t l, number; /* of the layer, 0 to 3 of it */
    uint32_t flag;
    uint32_t is_end; /* the last norm and the head */
    uint32_t p0, p1; /* first products that the block has rows of */
    uint32_t vector; /* place in shared memory */
};

template <int NE> struct token_columns {
    float2 weight[NE], bias[NE], last[NE], mix[2][NE];
};

/* Inputs of a norm and a token shift: their loads start before that of x. */
template <int NE>
static __device__ __forceinline__ void
read_columns(const token_args &args, const token_phase &p, token_columns<NE> &c)
{
    const uint32_t part = p.number / 2;
    read_vector<NE>(args, p.layer->norm_weight[part], c.weight);
    read_vector<NE>(args, p.layer->norm_bias[part], c.bias);
    if (p.is_end)
        return;
    const float *mix = p.layer->mix[part];
    read_vector<NE>(args, p.layer->last[part], c.last);
    read_vector<NE>(
        args, part == 0 ? mix + p.kind->mix[p.p0] * args.width : mix, c.mix[0]);
    if (part == 0 && p.p1 > p.p0)
        read_vector<NE>(args, mix + p.kind->mix[p.p0 + 1] * args.width,
                        c.mix[1]);
}

/* Norm and token shift; without the last barrier. */
template <typename T, int NE>
static __device__ __forceinline__ token_kept make_mixed(const token_args &args,
                                                        const token_memory &m,
                                                        const token_phase &p,
                                                        float count,
                                                        float (&x)[NE][2])
{
    const uint32_t part = p.number / 2;
    token_columns<NE> c;
    float now[NE][2];
    read_columns<NE>(args, p, c);
    if (part != 0)
        take_sums<NE>(args, m, EXCHANGE_OUTPUT, p.flag, x);
    else if (p.l > 0)
        take_sums<NE>(args, m, EXCHANGE_VALUE, p.flag - 1, x);
    normalise<NE>(x, norm_of<NE>(args, x, m.s->part[part], count), c.weight,
                  c.bias, now);
    if (p.is_end)
#pragma unroll
        for (int i = 0; i < NE; i++) {
            c.last[i] = make_float2(now[i][0], now[i][1]);
            c.mix[0][i] = make_float2(0.0f, 0.0f);
        }
    put_mixed<T, NE>(args, now, c.last, c.mix[0], p.vector);
    if (part == 0 && p.p1 > p.p0)
        put_mixed<T, NE>(args, now, c.last, c.mix[1],
                         p.vector + args.width * 2);
    for (uint32_t i = p.p0 + 2; part == 0 && i <= p.p1; i++) {
        read_vector<NE>(args, p.layer->mix[0] + p.kind->mix[i] * args.width,
                        c.mix[1]);
        put_mixed<T, NE>(args, now, c.last, c.mix[1],
                         p.vector + (i - p.p0) * args.width * 2);
    }
    return keep_last<NE>(m, now);
}

/* The next layer's pointers, into the half of which the last one is done. */
static __device__ __forceinline__ void next_layer(const token_args &args,
                                                  token_shared &s, uint32_t l)
{
    token_layer *to = &s.layer[(l + 1) & 1];
    if (l + 1 == args.n_layers) {
        if (threadIdx.x == 0) {
            to->norm_weight[0] = args.out_weight;
            to->norm_bias[0] = args.out_bias;
        }
    } else if (threadIdx.x < sizeof(token_layer) / 16) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                         token_address((uint4 *)to + threadIdx.x)),
                     "l"((const uint4 *)(args.layer + l + 1) + threadIdx.x)
                     : "memory");
    }
}

template <typename T>
static __device__ __forceinline__ void
put_sum(const token_args &args, const token_memory &m, const token_phase &p,
        uint32_t product, uint32_t row, float sum)
{
    char *const to = args.exchange;
    if (p.is_end) {
        ((float *)(token_base + m.x1))[row - m.s->range[RANGE_HEAD][0]] = sum;
    } else if (p.number == 0) {
        const uint32_t f = p.kind->activation[product];
        const float y = f == VLY_CUDA_RWKV_TANH      ? tanhf(sum)
                        : f == VLY_CUDA_RWKV_SIGMOID ? token_sigmoid(sum)
                                                     : sum;
        /* rounded as in single launches: the norm of a head can amplify the
         * difference */
        token_say_float((uint2 *)(to + args.at[EXCHANGE_IN]) + row,
                        token_rounded(y, T()), p.flag);
    } else if (p.number == 2) {
        token_say_half((uint32_t *)(to + args.at[EXCHANGE_KEY]) + row,
                       sum < 0.0f ? 0.0f : sum * sum, p.flag, T());
    } else {
        token_say_float(
            (uint2 *)(to + args.at[p.number == 1 ? EXCHANGE_OUTPUT
                                                 : EXCHANGE_VALUE]) +
                row,
            sum, p.flag);
    }
}

template <typename T>
static __device__ __forceinline__ void
run_products(const token_args &args, const token_memory &m,
             const token_phase &p, token_reader &r)
{
    token_shared &s = *m.s;
    const bool is_listed = p.number == 0 && !p.is_end;
    const uint32_t kind = p.l > 0;
    const uint32_t *range = s.range[p.is_end        ? RANGE_HEAD
                                    : p.number == 2 ? RANGE_HIDDEN
                                                    : RANGE_WIDTH];
    const uint32_t pairs =
        is_listed ? s.n_pairs[kind] : (range[1] - range[0] + 1) / 2;
    uint32_t product = p.p0;
    multiply<T>(
        args, m, r, pairs, p.number == 3,
        [&](uint32_t pair) -> token_pair {
            if (!is_listed) {
                const uint32_t row = range[0] + 2 * pair;
                return {row, row + 1 == range[1], p.vector};
            }
            const uint32_t row = s.pair[kind][pair] & 0x7fffu;
            while (row >= p.kind->first[product + 1])
                product++;
            return {row, s.pair[kind][pair] >> 15 != 0,
                    p.vector + (product - p.p0) * args.width * 2};
        },
        [&](uint32_t row, float sum) {
            put_sum<T>(args, m, p, product, row, sum);
        });
}

/* All logits of the block at once: they may be in host memory, where each write
 * is a separate transfer. */
static __device__ __forceinline__ void put_logits(const token_args &args,
                                                  const token_memory &m)
{
    const uint32_t begin = m.s->range[RANGE_HEAD][0];
    const uint32_t n = m.s->range[RANGE_HEAD][1] - begin;
    const float *from = (const float *)(token_base + m.x1);
    token_sync();
    for (uint32_t i = threadIdx.x; i < n; i += TOKEN_WORKERS)
        rwkv_put(args.logits, args.type_logits, begin + i, from[i]);
}

/* A phase; heads after the first one. */
template <typename T, int NE>
static __device__ __forceinline__ void
run_phase(const token_args &args, const token_memory &m, const token_phase &p,
          float count, token_reader &r, float (&x)[NE][2], token_kept &kept)
{
    token_shared &s = *m.s;
    const uint32_t part = p.number / 2;
    if (p.number % 2 == 0)
        kept = make_mixed<T, NE>(args, m, p, count, x);
    else
        token_hear<true>(args, m, part == 0 ? EXCHANGE_Y : EXCHANGE_KEY,
                         (part == 0 ? args.width : args.hidden) / 4, p.flag,
                         part, p.vector);
    if (p.number == 2)
        asm volatile("cp.async.wait_all;" ::: "memory");
    token_sync();
    if (p.number == 0 && threadIdx.x == 0)
        *(volatile uint32_t *)&s.progress = p.l + 1;
    if (p.number % 2 == 1)
        put_last(kept, p.layer->last[part]);
    if (p.number == 1)
        next_layer(args, s, p.l);
    run_products<T>(args, m, p, r);
    if (p.number == 0 && !p.is_end && blockIdx.x < args.width / RWKV_DIM) {
        const uint32_t kind = p.l > 0;
        const head_view view = {p.layer, s.chunk[kind], s.entry[kind],
                                s.n_chunks[kind], p.l == 0};
        head_step<T>(args, view, p.flag, s.head);
    }
}

/* NE: entries of two values of the residual stream that a thread holds. */
template <typename T, int NE>
static __global__ void __launch_bounds__(TOKEN_THREADS, 1)
    rwkv_token(const __grid_constant__ token_args args)
{
    const token_memory m = map_memory(args);
    token_shared &s = *m.s;
    begin_block(args, m);
    if (threadIdx.x >= TOKEN_WORKERS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == TOKEN_WORKERS)
            feed_all(args, m);
        if (threadIdx.x >= TOKEN_WORKERS + 96)
            prefetch_all(args, m);
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    /* layers of all launches before */
    volatile uint32_t *const layers = (uint32_t *)args.exchange;
    const uint32_t begin = *layers;
    const float count = count_of<NE>(args);
    token_reader r = {0, 0, 0};
    token_kept kept = {{}, TOKEN_NONE};
    float x[NE][2];
    embed<T, NE>(args, s, count, x);
#pragma unroll 1
    for (uint32_t l = 0; l <= args.n_layers; l++) {
        const bool is_end = l == args.n_layers;
#pragma unroll 1
        for (uint32_t number = 0; number < (is_end ? 1u : 4u); number++) {
            const token_phase p = {&s.layer[l & 1],
                                   &args.kind[l > 0],
                                   l,
                                   number,
                                   begin + l + 1,
                                   is_end,
                                   is_end ? 0 : s.span[l > 0][0],
                                   is_end ? 0 : s.span[l > 0][1],
                                   number & 1 ? m.x1 : m.x0};
            run_phase<T, NE>(args, m, p, count, r, x, kept);
        }
    }
    put_logits(args, m);
    /* all blocks have begun, because all have written values */
    if (blockIdx.x == 0 && threadIdx.x == 0)
        *layers = begin + args.n_layers;
}

/* ---- the host ------------------------------------------------------------ */

#define MOST_WIDTH 4096
#define SLOT_BYTES (20 * 1024) /* the most that a slot is made of pieces to */
#define AHEAD 4                /* outstanding slots for the running phase */
#define LOW 2                  /* likewise for phases to come */
#define MOST_SLOTS 64
#define PIECE_MOST 2560

static __thread char why[160];

static const char *check_shape(const vly_cuda_rwkv_token *t)
{
    if (t->width % 64 != 0 || t->width == 0 || t->width > MOST_WIDTH) {
        snprintf(why, sizeof why,
                 "a width of %u, wanted a multiple of 64 up to %d", t->width,
                 MOST_WIDTH);
        return why;
    }
    uint32_t chunks = 0;
    for (uint32_t i = 0; i < 4; i++) {
        if (t->rank[i] == 0 || t->rank[i] % 8 != 0) {
            snprintf(why, sizeof why,
                     "a rank of %u, wanted a multiple of 8 above 0",
                     t->rank[i]);
            return why;
        }
        chunks += (t->rank[i] + 31) / 32;
    }
    const uint32_t rows = t->kind[1].first[t->kind[1].n];
    if (chunks > TOKEN_CHUNKS || rows > VLY_CUDA_RWKV_TOKEN_ROWS) {
        snprintf(why, sizeof why,
                 "ranks of %u times 32 and %u rows of first products, wanted "
                 "up to %d and %d",
                 chunks, rows, TOKEN_CHUNKS, VLY_CUDA_RWKV_TOKEN_ROWS);
        return why;
    }
    return nullptr;
}

/* Pieces of one length make up the rows of width and those of hidden. */
static const char *make_pieces(vly_cuda_rwkv_token *t)
{
    t->log_q[0] = 0;
    while (t->width >> t->log_q[0] > PIECE_MOST)
        t->log_q[0]++;
    t->piece = t->width >> t->log_q[0];
    t->log_q[1] = 0;
    while (t->log_q[1] < 3 && t->piece << t->log_q[1] < t->hidden)
        t->log_q[1]++;
    if (t->piece << t->log_q[1] != t->hidden || t->piece % 8 != 0) {
        snprintf(why, sizeof why,
                 "a hidden width of %u, wanted %u times 1, 2, 4 or 8",
                 t->hidden, t->piece);
        return why;
    }
    t->shift = 0;
    while (t->piece * 8u << t->shift <= SLOT_BYTES)
        t->shift++;
    return nullptr;
}

/* The most of the first products that a block has rows of; 0: too many rows. */
static uint32_t count_vectors(const vly_cuda_rwkv_token *t, uint32_t blocks)
{
    uint32_t most = 1;
    for (uint32_t k = 0; k < 2; k++) {
        const vly_cuda_rwkv_token_kind *kind = &t->kind[k];
        const uint64_t rows = kind->first[kind->n];
        for (uint32_t b = 0; b < blocks; b++) {
            const uint32_t begin = (uint32_t)(rows * b / blocks);
            const uint32_t end = (uint32_t)(rows * (b + 1) / blocks);
            uint32_t n = 0;
            for (uint32_t p = 0; p < kind->n; p++)
                n += kind->first[p] < end && kind->first[p + 1] > begin;
            most = n > most ? n : most;
            if ((end - begin) / 2 + n > TOKEN_PAIRS)
                return 0;
        }
    }
    return most;
}

/* Sums of rows of several pieces have room for a block's. */
static bool has_room(const vly_cuda_rwkv_token *t, uint32_t blocks)
{
    const uint32_t rows[] = {t->width, t->hidden, t->vocabulary, t->width};
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t pairs = (rows[i] / blocks + 2) / 2;
        const uint32_t log_q = t->log_q[i == 3];
        if (log_q > 0 && (pairs > TOKEN_PAIRS || pairs << log_q > TOKEN_PARTS))
            return false;
    }
    return true;
}

/* The second vector, or the logits of a block. */
static uint32_t second_bytes(const vly_cuda_rwkv_token *t)
{
    const uint32_t blocks = t->blocks > 0 ? t->blocks : 1;
    const uint32_t logits = (t->vocabulary / blocks + 1) * 4;
    const uint32_t most = logits > t->hidden * 2 ? logits : t->hidden * 2;
    return (most + 127) / 128 * 128;
}

static void place_exchange(vly_cuda_rwkv_token *t)
{
    const uint32_t size[] = {t->kind[1].first[t->kind[1].n] * 8, t->width * 4,
                             t->width * 8, t->hidden * 4, t->width * 8};
    uint32_t at = 256; /* layers so far */
    for (uint32_t i = 0; i < 5; i++) {
        t->at[i] = at;
        at += (size[i] + 255) / 256 * 256;
    }
    t->bytes = at;
}

/* Number of outstanding slots for later phases. If a layer fits into the slots,
 * few are enough. */
static uint32_t pace(const vly_cuda_rwkv_token *t, uint32_t slot_bytes)
{
    const uint64_t rows = (uint64_t)t->kind[1].first[t->kind[1].n] + t->width +
                          UINT64_C(2) * t->hidden;
    if (rows * t->width * 2 / t->blocks <= (uint64_t)t->slots * slot_bytes)
        return 1;
    return LOW < t->ahead ? LOW : t->ahead;
}

const char *vly_cuda_rwkv_token_plan(vly_cuda_rwkv_token *t, uint32_t blocks,
                                     uint32_t shared)
{
    const char *no = check_shape(t);
    if (no == nullptr)
        no = make_pieces(t);
    if (no != nullptr)
        return no;
    /* each block has a row of each product but the head's */
    t->blocks = blocks < t->width ? blocks : t->width;
    t->blocks = t->blocks < t->hidden ? t->blocks : t->hidden;
    t->blocks = t->blocks / TOKEN_CLUSTER * TOKEN_CLUSTER;
    t->vectors = count_vectors(t, t->blocks);
    t->second = second_bytes(t);
    const uint32_t slot_bytes = t->piece * 4 << t->shift;
    const uint32_t fixed = (sizeof(token_shared) + 127) / 128 * 128 +
                           t->vectors * t->width * 2 + t->second +
                           t->width * 4 + 1024;
    uint32_t ahead = TOKEN_WARPS >> t->shift; /* that a warp may be ahead */
    ahead = ahead == 0 ? 1 : ahead;
    if (t->blocks < t->width / RWKV_DIM || t->vectors == 0 ||
        !has_room(t, t->blocks) || fixed > shared ||
        (shared - fixed) / slot_bytes <= ahead) {
        snprintf(why, sizeof why,
                 "a width of %u in %u blocks at once with %u bytes of shared "
                 "memory each, which are too few",
                 t->width, blocks, shared);
        return why;
    }
    t->slots = (shared - fixed) / slot_bytes;
    t->slots = t->slots < MOST_SLOTS ? t->slots : MOST_SLOTS;
    /* The barrier of a slot distinguishes two rounds, not three: a warp must
     * not wait for a round before the one that has arrived. */
    t->ahead = t->slots - ahead < AHEAD ? t->slots - ahead : AHEAD;
    t->low = pace(t, slot_bytes);
    t->shared = fixed + t->slots * slot_bytes;
    place_exchange(t);
    return nullptr;
}

typedef void (*token_kernel)(const token_args);

template <typename T> static token_kernel kernel_of(uint32_t width)
{
    const uint32_t entries = (width / 2 + TOKEN_WORKERS - 1) / TOKEN_WORKERS;
    return entries <= 2   ? (token_kernel)rwkv_token<T, 2>
           : entries <= 4 ? (token_kernel)rwkv_token<T, 4>
           : entries <= 5 ? (token_kernel)rwkv_token<T, 5>
                          : (token_kernel)rwkv_token<T, 8>;
}

/* With the first of attributes, which must outlive the result. */
static cudaLaunchConfig_t config_of(uint32_t blocks, uint32_t shared,
                                    cudaLaunchAttribute *attributes)
{
    cudaLaunchConfig_t config = {};
    attributes[0].id = cudaLaunchAttributeClusterDimension;
    attributes[0].val.clusterDim.x = TOKEN_CLUSTER;
    attributes[0].val.clusterDim.y = attributes[0].val.clusterDim.z = 1;
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(TOKEN_THREADS);
    config.dynamicSmemBytes = shared;
    config.attrs = attributes;
    config.numAttrs = 1;
    return config;
}

int vly_cuda_rwkv_token_room(uint32_t shared, uint32_t *blocks)
{
    const token_kernel kernel = kernel_of<__half>(MOST_WIDTH);
    cudaLaunchAttribute attribute;
    const cudaLaunchConfig_t config =
        config_of(TOKEN_CLUSTER, shared, &attribute);
    int clusters = 0;
    cudaError_t code = cudaFuncSetAttribute(
        kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
    if (code == cudaSuccess)
        code = cudaOccupancyMaxActiveClusters(&clusters, kernel, &config);
    *blocks = code == cudaSuccess ? (uint32_t)clusters * TOKEN_CLUSTER : 0;
    return (int)code;
}

int vly_cuda_rwkv_token_run(const vly_cuda_rwkv_token *token, void *stream)
{
    const token_kernel kernel = token->type == 1
                                    ? kernel_of<__half>(token->width)
                                    : kernel_of<__nv_bfloat16>(token->width);
    cudaLaunchAttribute attributes[2];
    cudaLaunchConfig_t config =
        config_of(token->blocks, token->shared, attributes);
    config.stream = (cudaStream_t)stream;
    attributes[1].id = cudaLaunchAttributeCooperative;
    attributes[1].val.cooperative = 1;
    config.numAttrs = 2;
    cudaError_t code = cudaFuncSetAttribute(
        kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
        (int)token->shared);
    if (code == cudaSuccess)
        code = cudaLaunchKernelEx(&config, kernel, *token);
    return code != cudaSuccess ? (int)code : (int)cudaGetLastError();
}

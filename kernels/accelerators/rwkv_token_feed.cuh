/* SPDX-License-Identifier: Apache-2.0
 * The warps of rwkv_token.cu that do not work: one thread copies all that the
 * block multiplies into slots, phase after phase, whatever the workers wait
 * for; one warp prefetches the small weights into the second-level cache.
 *
 * Values of other blocks wait for the copies in flight: with 16, 32 and 64 KB
 * of them a multiprocessor an exchange took 1.6, 2.6 and 5.1 us on an H200,
 * with none 1.0. So copies are paced (args.ahead slots in flight), and those
 * for phases that the workers have not reached even more (args.low).
 */
#ifndef VLY_RWKV_TOKEN_FEED_CUH
#define VLY_RWKV_TOKEN_FEED_CUH

#include "rwkv_token.cuh"

struct token_feeder {
    uint64_t policy;
    uint32_t slot, parity;
    uint32_t lag, lag_parity; /* the oldest outstanding slot */
    uint32_t under_way;
    uint32_t phase;
    uint32_t at;    /* pairs in the slot */
    uint32_t bytes; /* likewise */
};

static __device__ __forceinline__ void feed_copy(char *to, const char *from,
                                                 uint32_t bytes, uint64_t *bar,
                                                 uint64_t policy)
{
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
        ".L2::cache_hint [%0], [%1], %2, [%3], %4;" ::"r"(token_address(to)),
        "l"(from), "r"(bytes), "r"(token_address(bar)), "l"(policy)
        : "memory");
}

static __device__ __forceinline__ void
feed_open(const token_args &args, const token_memory &m, token_feeder &f)
{
    token_bar_wait(&m.empty[f.slot], f.parity ^ 1);
    const uint32_t most =
        f.phase > *(volatile uint32_t *)&m.s->phase ? args.low : args.ahead;
    while (f.under_way >= most) {
        token_bar_wait(&m.full[f.lag], f.lag_parity);
        if (++f.lag == args.slots)
            f.lag = 0, f.lag_parity ^= 1;
        f.under_way--;
    }
    f.under_way++;
}

static __device__ __forceinline__ void
feed_close(const token_args &args, const token_memory &m, token_feeder &f)
{
    token_bar_expect(&m.full[f.slot], f.bytes);
    f.at = f.bytes = 0;
    if (++f.slot == args.slots)
        f.slot = 0, f.parity ^= 1;
}

/* A phase begins with a new slot. */
static __device__ __forceinline__ void
feed_end_phase(const token_args &args, const token_memory &m, token_feeder &f)
{
    if (f.at > 0)
        feed_close(args, m, f);
    f.phase++;
}

/* Rows too long for a slot: parts of two of them. */
static __device__ __forceinline__ void
feed_long_rows(const token_args &args, const token_memory &m, token_feeder &f,
               const char *from, uint32_t rows, uint32_t row_bytes)
{
    const uint32_t slot_bytes = args.piece * 4 << args.shift;
    const uint32_t part = slot_bytes / 2;
    for (; rows > 0; rows -= min(rows, 2u), from += 2 * row_bytes)
        for (uint32_t j = 0; j < row_bytes; j += part) {
            feed_open(args, m, f);
            for (uint32_t i = 0; i < min(rows, 2u); i++)
                feed_copy(token_base + m.ring + f.slot * slot_bytes + i * part,
                          from + i * row_bytes + j, part, &m.full[f.slot],
                          f.policy);
            f.bytes = min(rows, 2u) * part;
            feed_close(args, m, f);
        }
}

/* Rows [begin, end) of a matrix, by pairs; the last pair may have only one
 * row. */
static __device__ __forceinline__ void
feed_rows(const token_args &args, const token_memory &m, token_feeder &f,
          const void *w, uint32_t begin, uint32_t end, bool is_hidden)
{
    const uint32_t row_bytes = (is_hidden ? args.hidden : args.width) * 2;
    const char *from = (const char *)w + (uint64_t)begin * row_bytes;
    uint32_t rows = end - begin;
    if (args.log_q[is_hidden] > args.shift) {
        feed_long_rows(args, m, f, from, rows, row_bytes);
        return;
    }
    const uint32_t slot_bytes = args.piece * 4 << args.shift;
    const uint32_t room = 1u << (args.shift - args.log_q[is_hidden]);
    while (rows > 0) {
        if (f.at == 0)
            feed_open(args, m, f);
        const uint32_t pairs = min((rows + 1) / 2, room - f.at);
        const uint32_t n = min(rows, 2 * pairs);
        feed_copy(token_base + m.ring + f.slot * slot_bytes +
                      f.at * 2 * row_bytes,
                  from, n * row_bytes, &m.full[f.slot], f.policy);
        f.at += pairs, f.bytes += n * row_bytes;
        from += n * row_bytes, rows -= n;
        if (f.at == room)
            feed_close(args, m, f);
    }
}

/* A phase with one matrix. */
static __device__ __forceinline__ void
feed_phase(const token_args &args, const token_memory &m, token_feeder &f,
           const void *w, uint32_t range, bool is_hidden)
{
    feed_rows(args, m, f, w, m.s->range[range][0], m.s->range[range][1],
              is_hidden);
    feed_end_phase(args, m, f);
}

/* By the thread; asynchronous. */
static __device__ __forceinline__ void feed_pointers(const token_layer *from,
                                                     token_layer *to)
{
    for (uint32_t i = 0; i < sizeof(token_layer) / 16; i++)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                         token_address((uint4 *)to + i)),
                     "l"((const uint4 *)from + i)
                     : "memory");
}

static __device__ __forceinline__ void feed_all(const token_args &args,
                                                const token_memory &m)
{
    token_feeder f = {};
    f.phase = 1;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;"
                 : "=l"(f.policy));
    feed_pointers(args.layer, &m.s->copied[0]);
    for (uint32_t l = 0; l < args.n_layers; l++) {
        asm volatile("cp.async.wait_all;" ::: "memory");
        const volatile token_layer &layer = m.s->copied[l & 1];
        if (l + 1 < args.n_layers)
            feed_pointers(args.layer + l + 1, &m.s->copied[(l + 1) & 1]);
        const token_kind &kind = args.kind[l > 0];
        const uint32_t *range = m.s->range[l > 0 ? RANGE_OTHERS : RANGE_FIRST];
        for (uint32_t p = 0; p < kind.n; p++) {
            const uint32_t begin = max(range[0], kind.first[p]);
            const uint32_t end = min(range[1], kind.first[p + 1]);
            if (begin < end)
                feed_rows(args, m, f, layer.in[p], begin - kind.first[p],
                          end - kind.first[p], false);
        }
        feed_end_phase(args, m, f);
        feed_phase(args, m, f, layer.output, RANGE_WIDTH, false);
        feed_phase(args, m, f, layer.key, RANGE_HIDDEN, false);
        feed_phase(args, m, f, layer.value, RANGE_WIDTH, true);
    }
    feed_phase(args, m, f, args.head, RANGE_HEAD, false);
}

/* ---- small weights ------------------------------------------------------- */

/* This block's part of the vectors that all blocks read. */
static __device__ __forceinline__ void
prefetch_vectors(const token_args &args, const token_layer *layer)
{
    const uint32_t lines = (args.width * 4 + 127) / 128;
    const uint32_t end = token_share(lines * 13, blockIdx.x + 1);
    for (uint32_t j = token_share(lines * 13, blockIdx.x) + threadIdx.x % 32;
         j < end; j += 32) {
        const uint32_t v = j / lines;
        const float *p = v < 6    ? layer->mix[0] + v * args.width
                         : v == 6 ? layer->mix[1]
                         : v < 9  ? layer->norm_weight[v - 7]
                         : v < 11 ? layer->norm_bias[v - 9]
                                  : layer->last[v - 11];
        rwkv_prefetch(p + j % lines * 32);
    }
}

static __device__ __forceinline__ void
prefetch_head(const token_args &args, const token_layer *layer, bool is_first)
{
    const uint32_t lane = threadIdx.x % 32, first = blockIdx.x * RWKV_DIM;
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t bytes = args.rank[i] * RWKV_DIM * 2;
        const char *at =
            (const char *)layer->matrix[i] + (uint64_t)first * args.rank[i] * 2;
        for (uint32_t x = lane * 128; x < bytes && !(i == 2 && is_first);
             x += 32 * 128)
            rwkv_prefetch(at + x);
    }
    for (uint32_t x = lane; x < 128 && layer->state_in != nullptr; x += 32)
        rwkv_prefetch(
            (const char *)(layer->state_in + (uint64_t)first * RWKV_DIM) +
            x * 128);
    if (lane >= 16)
        return;
    const uint32_t i = lane / 2;
    const float *p = i < 3    ? layer->bias[i]
                     : i == 3 ? layer->k_k
                     : i == 4 ? layer->k_a
                     : i == 5 ? layer->r_k
                     : i == 6 ? layer->group_weight
                              : layer->group_bias;
    if (!(i == 2 && is_first))
        rwkv_prefetch(p + first + lane % 2 * 32);
}

/* Called by a warp: prefetches layer l when the workers have begun the previous
 * layer. */
static __device__ __forceinline__ void prefetch_all(const token_args &args,
                                                    const token_memory &m)
{
    for (uint32_t l = 0; l < args.n_layers; l++) {
        while (*(volatile uint32_t *)&m.s->progress < l)
            __nanosleep(200);
        prefetch_vectors(args, args.layer + l);
        if (blockIdx.x < args.width / RWKV_DIM)
            prefetch_head(args, args.layer + l, l == 0);
    }
}

#endif

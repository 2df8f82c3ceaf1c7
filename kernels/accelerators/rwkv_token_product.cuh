/* SPDX-License-Identifier: Apache-2.0
 * Products of rwkv_token.cu. A piece is args.piece columns of two rows of a
 * matrix, in shared memory, with one warp: 16 bytes of each row and of x are
 * with a lane, so the diagonal of a product of 16 x 16 by 16 x 8 has the sums
 * of eight groups of lanes, the lower half those of the second row. Pieces go
 * round the warps; a row of several is summed by the warp that is last, in the
 * order of the pieces.
 */
#ifndef VLY_RWKV_TOKEN_PRODUCT_CUH
#define VLY_RWKV_TOKEN_PRODUCT_CUH

#include "rwkv_token.cuh"

struct token_reader {
    uint32_t slot, parity; /* of the phase's first piece */
    uint32_t phase;
};

/* A pair of rows and its factor. */
struct token_pair {
    uint32_t row;
    bool is_alone;
    uint32_t x; /* place in shared memory */
};

template <int N, typename T>
static __device__ __forceinline__ void
add_chunks(float (&d)[4][4], const char *w0, const char *w1, const char *x)
{
    uint4 v[N], u[N], y[N];
#pragma unroll
    for (int i = 0; i < N; i++) {
        v[i] = *(const uint4 *)(w0 + i * 512);
        u[i] = *(const uint4 *)(w1 + i * 512);
        y[i] = *(const uint4 *)(x + i * 512);
    }
#pragma unroll
    for (int i = 0; i < N; i++)
        token_mma(d[i], v[i].x, u[i].x, v[i].y, u[i].y, y[i].x, y[i].y, T());
#pragma unroll
    for (int i = 0; i < N; i++)
        token_mma(d[i], v[i].z, u[i].z, v[i].w, u[i].w, y[i].z, y[i].w, T());
}

/* n bytes of each row; sums in d */
template <typename T>
static __device__ __forceinline__ void
piece_sums(float (&d)[4][4], const char *w0, const char *w1, const char *x,
           uint32_t n)
{
    const uint32_t lane = threadIdx.x % 32;
    w0 += lane * 16, w1 += lane * 16, x += lane * 16;
    for (; n >= 2048; n -= 2048, w0 += 2048, w1 += 2048, x += 2048)
        add_chunks<4, T>(d, w0, w1, x);
    if (n >= 1024) {
        add_chunks<2, T>(d, w0, w1, x);
        n -= 1024, w0 += 1024, w1 += 1024, x += 1024;
    }
    if (n >= 512) {
        add_chunks<1, T>(d, w0, w1, x);
        n -= 512, w0 += 512, w1 += 512, x += 512;
    }
    if (n > 0) {
        uint4 v = {}, u = {}, y = {};
        if (lane * 16 < n)
            v = *(const uint4 *)w0, u = *(const uint4 *)w1,
            y = *(const uint4 *)x;
        token_add<T>(d[0], v, u, y);
    }
}

/* The sum of the first row with lane 0, of the second with lane 8. */
static __device__ __forceinline__ float diagonal(const float (&d)[4][4])
{
    const uint32_t lane = threadIdx.x % 32, g = lane / 4;
    float c[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
        c[i] = (d[0][i] + d[1][i]) + (d[2][i] + d[3][i]);
    const uint32_t from = lane % 8 * 4 + lane % 8 / 2;
    const float s0 = __shfl_sync(0xffffffffu, g & 1 ? c[1] : c[0], from);
    const float s1 = __shfl_sync(0xffffffffu, g & 1 ? c[3] : c[2], from);
    float sum = lane & 8 ? s1 : s0;
    for (int i = 4; i > 0; i /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, i);
    return sum;
}

/* Adds up a row of several pieces; false: more pieces follow. */
static __device__ __forceinline__ bool add_pieces(token_shared *s,
                                                  uint32_t pair, uint32_t q,
                                                  uint32_t log_q, float *sum)
{
    const uint32_t lane = threadIdx.x % 32;
    volatile float *const part = s->partial[pair << log_q];
    const uint32_t n = 1u << log_q;
    uint32_t before = 0;
    if ((lane & 23) == 0)
        part[q * 2 + lane / 8] = *sum;
    __syncwarp();
    if (lane == 0) {
        __threadfence_block();
        before = atomicAdd(&s->arrived[pair], 1);
        __threadfence_block();
    }
    before = __shfl_sync(0xffffffffu, before, 0);
    if (before + 1 != n)
        return false;
    *sum = 0.0f;
    if ((lane & 23) == 0)
        for (uint32_t j = 0; j < n; j++)
            *sum += part[j * 2 + lane / 8];
    if (lane == 0)
        s->arrived[pair] = 0;
    return true;
}

/* A phase: of(pair) is a token_pair, put(row, sum) is by one lane. */
template <typename T, typename O, typename P>
static __device__ __forceinline__ void
multiply(const token_args &args, const token_memory &m, token_reader &r,
         uint32_t pairs, bool is_hidden, const O &of, const P &put)
{
    r.phase++;
    if (threadIdx.x == 0)
        *(volatile uint32_t *)&m.s->phase = r.phase;
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint32_t log_q = args.log_q[is_hidden];
    const uint32_t log_s = min(log_q, args.shift);
    const uint32_t pieces = pairs << log_q, most = (1u << args.shift) - 1;
    const uint32_t bytes = args.piece * 2, span = bytes << log_s;
    const uint32_t slot_bytes = bytes * 2 << args.shift;
    uint32_t slot = r.slot, parity = r.parity, before = 0;
    for (uint32_t i = warp; i < pieces; i += TOKEN_WARPS) {
        slot += (i >> args.shift) - before;
        before = i >> args.shift;
        if (slot >= args.slots)
            slot -= args.slots, parity ^= 1;
        const uint32_t pair = i >> log_q, q = i & ((1u << log_q) - 1);
        const uint32_t unit = i & most;
        const token_pair p = of(pair);
        const char *w = token_base + m.ring + slot * slot_bytes +
                        (unit >> log_s) * 2 * span +
                        (unit & ((1u << log_s) - 1)) * bytes;
        float d[4][4] = {};
        token_bar_wait(&m.full[slot], parity);
        piece_sums<T>(d, w, w + span, token_base + p.x + q * bytes, bytes);
        __syncwarp();
        if (lane == 0) /* also for rows missing in the last slot */
            token_bar_arrive(&m.empty[slot],
                             i + 1 == pieces ? most + 1 - unit : 1);
        float sum = diagonal(d);
        if (log_q != 0 && !add_pieces(m.s, pair, q, log_q, &sum))
            continue;
        if ((lane & 23) == 0 && (lane == 0 || !p.is_alone))
            put(p.row + lane / 8, sum);
    }
    r.slot += (pieces + most) >> args.shift;
    while (r.slot >= args.slots)
        r.slot -= args.slots, r.parity ^= 1;
}

#endif

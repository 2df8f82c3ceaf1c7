/* SPDX-License-Identifier: Apache-2.0
 * A head of one token between two products, with all threads of a block: see
 * rwkv_step.cu.
 */
#ifndef VLY_RWKV_STEP_CUH
#define VLY_RWKV_STEP_CUH

#include "rwkv_head.cuh"

#define STEP_THREADS 512
#define STEP_LANES 4 /* of a column of a matrix */

struct step_shared {
    float r[RWKV_DIM], w[RWKV_DIM], k[RWKV_DIM], v[RWKV_DIM];
    float a[RWKV_DIM], b[RWKV_DIM], g[RWKV_DIM], y[RWKV_DIM];
    float lora[4][RWKV_DIM];
    float squares[2], bonus[2];
};

static __device__ __forceinline__ uint32_t
rank_of(const vly_cuda_rwkv_heads &args, uint32_t i)
{
    return i == 2 && args.is_first ? 0 : args.rank[i];
}

/* The hidden vectors of the LoRAs, one after the other as floats. */
static __device__ __forceinline__ void
read_hidden(const vly_cuda_rwkv_heads &args, uint64_t row, float *hidden)
{
    uint32_t end[4];
    for (uint32_t i = 0; i < 4; i++)
        end[i] = rank_of(args, i) + (i > 0 ? end[i - 1] : 0);
    for (uint32_t j = threadIdx.x; j < end[3]; j += STEP_THREADS) {
        const uint32_t i = (j >= end[0]) + (j >= end[1]) + (j >= end[2]);
        const uint32_t n = args.rank[i];
        hidden[j] = rwkv_get(args.lora[i], args.type,
                             row * n + (j - (i > 0 ? end[i - 1] : 0)));
    }
}

static __device__ __forceinline__ float dot_of(uint4 bits, const float *x,
                                               float sum, float)
{
    const float4 w = {__uint_as_float(bits.x), __uint_as_float(bits.y),
                      __uint_as_float(bits.z), __uint_as_float(bits.w)};
    sum = fmaf(w.y, x[1], fmaf(w.x, x[0], sum));
    return fmaf(w.w, x[3], fmaf(w.z, x[2], sum));
}
template <typename T>
static __device__ __forceinline__ float dot_of(uint4 bits, const float *x,
                                               float sum, T)
{
    T w[8];
    memcpy((void *)w, &bits, sizeof w);
#pragma unroll
    for (int i = 0; i < 8; i++)
        sum = fmaf(rwkv_float(w[i]), x[i], sum);
    return sum;
}

/* Pieces [first, ...) of row `row` of a matrix times x, by STEP_LANES lanes, of
 * which this is number part; added to sum. */
template <typename T>
static __device__ __forceinline__ float
row_times(const void *matrix, uint64_t row, uint32_t rank, uint32_t whole,
          const float *x, uint32_t part, uint32_t first, float sum)
{
    const uint32_t vector = 16 / sizeof(T);
    const T *w = (const T *)matrix + row * rank;
    if (whole)
        for (uint32_t j = (first * STEP_LANES + part) * vector; j < rank;
             j += STEP_LANES * vector)
            sum = dot_of(*(const uint4 *)(w + j), x + j, sum, T());
    else
        for (uint32_t j = part; j < rank; j += STEP_LANES)
            sum = fmaf(rwkv_float(w[j]), x[j], sum);
    return sum;
}

/* Matrices, of which a thread reads a column of g, or of each of the others:
 * 64 columns, four lanes each, are half a block. Up to so many pieces of 16
 * bytes are read before the hidden vectors are available. */
#define G_PIECES 8
#define OTHER_PIECES 3

struct step_pieces {
    uint4 bits[3 * OTHER_PIECES];
};
static_assert(G_PIECES <= 3 * OTHER_PIECES, "a column of g has room");

static __device__ __forceinline__ bool reads_g()
{
    return threadIdx.x >= STEP_THREADS / 2;
}

/* Missing pieces are 0. */
template <typename T, uint32_t N>
static __device__ __forceinline__ void
read_pieces(const vly_cuda_rwkv_heads &args, uint32_t first, uint32_t i,
            uint4 *to)
{
    const uint32_t vector = 16 / sizeof(T), rank = rank_of(args, i);
    const uint32_t column = threadIdx.x % (STEP_THREADS / 2) / STEP_LANES;
    const T *w = (const T *)args.matrix[i] + (uint64_t)(first + column) * rank;
#pragma unroll
    for (uint32_t q = 0; q < N; q++) {
        const uint32_t j = (q * STEP_LANES + threadIdx.x % STEP_LANES) * vector;
        to[q] = make_uint4(0, 0, 0, 0);
        if (args.whole && j < rank)
            to[q] = *(const uint4 *)(w + j);
    }
}

template <typename T>
static __device__ __forceinline__ void
read_matrices(const vly_cuda_rwkv_heads &args, uint32_t first,
              step_pieces *pieces)
{
    if (reads_g()) {
        read_pieces<T, G_PIECES>(args, first, 3, pieces->bits);
        return;
    }
#pragma unroll
    for (uint32_t i = 0; i < 3; i++)
        read_pieces<T, OTHER_PIECES>(args, first, i,
                                     pieces->bits + i * OTHER_PIECES);
}

/* One column of a matrix; x: its hidden vector. */
template <typename T, uint32_t N>
static __device__ __forceinline__ void
second_product(const vly_cuda_rwkv_heads &args, uint32_t first, uint32_t i,
               const float *x, const uint4 *bits, step_shared *shared)
{
    const uint32_t vector = 16 / sizeof(T), rank = rank_of(args, i);
    const uint32_t part = threadIdx.x % STEP_LANES;
    const uint32_t column = threadIdx.x % (STEP_THREADS / 2) / STEP_LANES;
    float sum = 0.0f;
#pragma unroll
    for (uint32_t q = 0; q < N; q++) {
        const uint32_t j = (q * STEP_LANES + part) * vector;
        if (args.whole && j < rank)
            sum = dot_of(bits[q], x + j, sum, T());
    }
    sum = row_times<T>(args.matrix[i], first + column, rank, args.whole, x,
                       part, N, sum);
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    if (part == 0)
        shared->lora[i][column] = sum;
}

template <typename T>
static __device__ __forceinline__ void
second_products(const vly_cuda_rwkv_heads &args, uint32_t first,
                const float *hidden, const step_pieces &pieces,
                step_shared *shared)
{
    const uint32_t others =
        rank_of(args, 0) + rank_of(args, 1) + rank_of(args, 2);
    if (reads_g()) {
        second_product<T, G_PIECES>(args, first, 3, hidden + others,
                                    pieces.bits, shared);
        return;
    }
#pragma unroll
    for (uint32_t i = 0; i < 3; i++) {
        second_product<T, OTHER_PIECES>(args, first, i, hidden,
                                        pieces.bits + i * OTHER_PIECES, shared);
        hidden += rank_of(args, i);
    }
}

/* Prefetches into the second-level cache while the previous kernel still
 * runs. */
template <typename T>
static __device__ __forceinline__ void
prefetch_matrices(const vly_cuda_rwkv_heads &args, uint32_t first)
{
    for (uint32_t i = 0; i < 4; i++) {
        if (i == 2 && args.is_first)
            continue;
        const char *at = (const char *)((const T *)args.matrix[i] +
                                        (uint64_t)first * args.rank[i]);
        const uint64_t bytes = (uint64_t)args.rank[i] * RWKV_DIM * sizeof(T);
        for (uint64_t x = threadIdx.x * 128; x < bytes; x += STEP_THREADS * 128)
            rwkv_prefetch(at + x);
    }
}

/* Columns of the head into shared memory, in the form for the recurrence (w is
 * the decay). By the first 64 threads, which have read `in`; ends with a
 * barrier. */
static __device__ __forceinline__ void
make_columns(const vly_cuda_rwkv_heads &args, const head_inputs &in,
             uint32_t row, uint32_t first, bool is_step, step_shared *s)
{
    const uint32_t j = threadIdx.x;
    const uint64_t at = (uint64_t)row * args.width + first + j;
    head_column c = {};
    if (j < RWKV_DIM) {
        float lora[3] = {};
        for (uint32_t i = 0; i < (args.is_first ? 2u : 3u); i++)
            lora[i] = args.is_lora ? s->lora[i][j]
                                   : rwkv_get(args.lora[i], args.type, at);
        c = head_column_of(args, in, at, lora);
        const float squares = rwkv_sum_warp(c.kk * c.kk);
        const float bonus = is_step ? rwkv_sum_warp(c.r * c.k * in.r_k) : 0.0f;
        if (j % 32 == 0) {
            s->squares[j / 32] = squares;
            s->bonus[j / 32] = bonus;
        }
        s->r[j] = c.r, s->k[j] = c.k, s->v[j] = c.v;
        s->w[j] = is_step ? head_decay(c.z) : head_w(c.z);
        s->g[j] = args.is_lora ? s->lora[3][j]
                  : is_step    ? rwkv_get(args.g, args.type, at)
                               : 0.0f;
    }
    __syncthreads();
    if (j < RWKV_DIM) {
        const float kk = c.kk * head_shorten(s->squares[0] + s->squares[1]);
        s->a[j] = -kk;
        s->b[j] = kk * c.rate;
    }
    __syncthreads();
}

/* One token: a row of the state is with eight lanes, 4 columns of each half. */
struct state_row {
    float4 s[2];
};

static __device__ __forceinline__ float dot_4(float4 x, float4 y)
{
    return (x.x * y.x + x.y * y.y) + (x.z * y.z + x.w * y.w);
}

static __device__ __forceinline__ float sum_8(float x)
{
    for (int d = 4; d > 0; d /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, d);
    return x;
}

static __device__ __forceinline__ void one_token(state_row *row,
                                                 step_shared *shared)
{
    const uint32_t i = threadIdx.x / 8, column = threadIdx.x % 8 * 4;
    float sa = 0.0f;
    float y = 0.0f;
#pragma unroll
    for (uint32_t x = 0; x < 2; x++)
        sa += dot_4(row->s[x], *(const float4 *)(shared->a + column + 32 * x));
    sa = sum_8(sa);
    const float v = shared->v[i];
#pragma unroll
    for (uint32_t x = 0; x < 2; x++) {
        const float4 d = *(const float4 *)(shared->w + column + 32 * x);
        const float4 k = *(const float4 *)(shared->k + column + 32 * x);
        const float4 b = *(const float4 *)(shared->b + column + 32 * x);
        float4 *s = &row->s[x];
        s->x = s->x * d.x + sa * b.x + v * k.x;
        s->y = s->y * d.y + sa * b.y + v * k.y;
        s->z = s->z * d.z + sa * b.z + v * k.z;
        s->w = s->w * d.w + sa * b.w + v * k.w;
        y += dot_4(*s, *(const float4 *)(shared->r + column + 32 * x));
    }
    y = sum_8(y);
    if (threadIdx.x % 8 == 0)
        shared->y[i] = y;
}

/* State of the first warp for the end: columns lane and lane + 32. */
struct finish_inputs {
    float weight[2], bias[2];
};

static __device__ __forceinline__ void
read_finish(const vly_cuda_rwkv_heads &args, uint32_t first, finish_inputs *to)
{
    if (threadIdx.x >= 32)
        return;
#pragma unroll
    for (uint32_t x = 0; x < 2; x++) {
        to->weight[x] = args.group_weight[first + threadIdx.x + 32 * x];
        to->bias[x] = args.group_bias[first + threadIdx.x + 32 * x];
    }
}

/* By the first warp. */
static __device__ __forceinline__ void
finish_head(const vly_cuda_rwkv_heads &args, const finish_inputs &in,
            uint32_t row, uint32_t first, const step_shared &s)
{
    const uint32_t lane = threadIdx.x;
    const float mean = rwkv_sum_warp(s.y[lane] + s.y[lane + 32]) / RWKV_DIM;
    const float d[2] = {s.y[lane] - mean, s.y[lane + 32] - mean};
    const float variance =
        rwkv_sum_warp(fmaf(d[0], d[0], d[1] * d[1])) / RWKV_DIM;
    const float scale = 1.0f / sqrtf(variance + args.eps);
#pragma unroll
    for (uint32_t x = 0; x < 2; x++) {
        const uint32_t j = lane + 32 * x;
        rwkv_put(args.y, args.type, (uint64_t)row * args.width + first + j,
                 head_finish(in.weight[x], in.bias[x], d[x], scale,
                             s.bonus[0] + s.bonus[1], s.v[j], s.g[j]));
    }
}

/* The state of a head, in or out. */
static __device__ __forceinline__ uint64_t state_at(uint32_t head)
{
    return ((uint64_t)head * RWKV_DIM + threadIdx.x / 8) * RWKV_DIM +
           threadIdx.x % 8 * 4;
}

/* Head number `unit`, [batch][heads]. T: of the matrices. hidden: ranks floats.
 */
template <typename T>
static __device__ __forceinline__ void
step_head(const vly_cuda_rwkv_heads &args, uint32_t unit, float *hidden,
          step_shared *shared)
{
    const uint32_t heads = args.width / RWKV_DIM;
    const uint32_t row = unit / heads;
    const uint32_t first = unit % heads * RWKV_DIM;
    const uint64_t at = state_at(unit);
    state_row state = {};
    step_pieces pieces;
    head_inputs in = {};
    finish_inputs finish = {};
    /* all loads start before the first use */
    if (args.is_lora)
        read_matrices<T>(args, first, &pieces);
    if (args.state_in != nullptr)
#pragma unroll
        for (uint32_t x = 0; x < 2; x++)
            state.s[x] = __ldcs((const float4 *)(args.state_in + at + 32 * x));
    if (rwkv_length(args.length, row, 1) > 0) {
        if (threadIdx.x < RWKV_DIM)
            in = head_inputs_of(
                args, (uint64_t)row * args.width + first + threadIdx.x,
                first + threadIdx.x, true);
        read_finish(args, first, &finish);
        if (args.is_lora) {
            read_hidden(args, row, hidden);
            __syncthreads();
            second_products<T>(args, first, hidden, pieces, shared);
            __syncthreads();
        }
        make_columns(args, in, row, first, true, shared);
        one_token(&state, shared);
        __syncthreads();
        if (threadIdx.x < 32)
            finish_head(args, finish, row, first, *shared);
    }
#pragma unroll
    for (uint32_t x = 0; x < 2; x++)
        __stcs((float4 *)(args.state_out + at + 32 * x), state.s[x]);
}

#endif

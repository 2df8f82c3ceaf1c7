/* SPDX-License-Identifier: Apache-2.0
 * Rows of RWKV-7, each with all threads of a block: embedding, token shift with
 * its norm, the last norm (rwkv_rows.cu).
 */
#ifndef VLY_RWKV_ROWS_CUH
#define VLY_RWKV_ROWS_CUH

#include "rwkv_device.cuh"

#define THREADS 512
#define WARPS (THREADS / 32)

struct row_norm {
    float mean;
    float scale;
};

/* Of width columns, up to PER a thread. All threads. */
template <int PER>
static __device__ __forceinline__ row_norm norm_of(const float *x,
                                                   uint32_t width, float eps,
                                                   float *part)
{
    float keep[PER];
    float sum = 0.0f;
#pragma unroll
    for (int c = 0; c < PER; c++) {
        const uint32_t j = threadIdx.x + c * THREADS;
        keep[c] = j < width ? __ldcg(x + j) : 0.0f;
        sum += keep[c];
    }
    row_norm norm;
    norm.mean = rwkv_sum_block<WARPS>(sum, part) / (float)width;
    sum = 0.0f;
#pragma unroll
    for (int c = 0; c < PER; c++) {
        const float d = keep[c] - norm.mean;
        sum = threadIdx.x + c * THREADS < width ? fmaf(d, d, sum) : sum;
    }
    const float variance = rwkv_sum_block<WARPS>(sum, part) / (float)width;
    norm.scale = 1.0f / sqrtf(variance + eps);
    return norm;
}

static __device__ __forceinline__ float normed(const vly_cuda_rwkv_rows &args,
                                               const row_norm &norm, float x,
                                               uint32_t j)
{
    return fmaf((x - norm.mean) * norm.scale, args.norm_weight[j],
                args.norm_bias[j]);
}

#define MOST_MIXES 6

/* Parameters of a column's norm and mix. They do not depend on the row, so they
 * are read first: a load after the norm costs one more memory latency, and
 * after a store another one, because the compiler keeps their order. */
struct column_weights {
    float x, weight, bias, last;
    float mix[MOST_MIXES];
};

/* last: NULL if there is none */
static __device__ __forceinline__ void
read_column(const vly_cuda_rwkv_rows &args, const float *x, const float *last,
            uint32_t j, column_weights *to)
{
    to->x = __ldcg(x + j);
    to->weight = args.norm_weight[j];
    to->bias = args.norm_bias[j];
    to->last = last != nullptr ? last[j] : 0.0f;
#pragma unroll
    for (uint32_t i = 0; i < MOST_MIXES; i++)
        if (i < args.n_mix)
            to->mix[i] = args.mix[(uint64_t)i * args.width + j];
}

static __device__ __forceinline__ float normed(const column_weights &c,
                                               const row_norm &norm, float x)
{
    return fmaf((x - norm.mean) * norm.scale, c.weight, c.bias);
}

/* Columns [begin, end) of a row are with this block; `last` is read and written
 * by the block of the first token alone. part: [WARPS], as in rwkv_sum_block */
template <int PER>
static __device__ __forceinline__ void
mix_columns(const vly_cuda_rwkv_rows &args, uint32_t row, uint32_t begin,
            uint32_t end, float *part)
{
    const uint32_t batch = row / args.seq;
    const uint32_t token = row % args.seq, width = args.width;
    const uint32_t n = rwkv_length(args.length, batch, args.seq);
    if (token >= n)
        return;
    const float *x = args.x + (uint64_t)row * width;
    const float *final = x + (uint64_t)(n - 1 - token) * width;
    float *last = token > 0 ? nullptr : args.last + (uint64_t)batch * width;
    column_weights c;
    uint32_t j = begin + threadIdx.x;
    if (j < end)
        read_column(args, x, last, j, &c);
    const row_norm norm = norm_of<PER>(x, width, args.eps, part);
    row_norm other = norm;
    if (token > 0)
        other = norm_of<PER>(x - width, width, args.eps, part);
    else if (n > 1)
        other = norm_of<PER>(final, width, args.eps, part);
    const uint64_t step = (uint64_t)args.batch * args.seq * width;
    while (j < end) {
        const float now = normed(c, norm, c.x);
        float before = c.last;
        if (token > 0)
            before = normed(c, other, __ldcg(x + j - width));
        else
            last[j] = n > 1 ? normed(c, other, __ldcg(final + j)) : now;
#pragma unroll
        for (uint32_t i = 0; i < MOST_MIXES; i++)
            if (i < args.n_mix)
                rwkv_put(args.mixed, args.type,
                         i * step + (uint64_t)row * width + j,
                         fmaf(before - now, c.mix[i], now));
        j += THREADS;
        if (j < end)
            read_column(args, x, last, j, &c);
    }
}

template <int PER>
static __device__ __forceinline__ void norm_row(const vly_cuda_rwkv_rows &args,
                                                uint32_t row, float *part)
{
    const uint32_t width = args.width;
    const uint32_t batch = args.only_last ? row : row / args.seq;
    const uint32_t n = rwkv_length(args.length, batch, args.seq);
    const uint64_t to = (uint64_t)row * width;
    if (n == 0 || (!args.only_last && row % args.seq >= n))
        return;
    if (args.only_last)
        row = batch * args.seq + n - 1;
    const float *x = args.x + (uint64_t)row * width;
    const row_norm norm = norm_of<PER>(x, width, args.eps, part);
    for (uint32_t j = threadIdx.x; j < width; j += THREADS)
        rwkv_put(args.y, args.type, to + j,
                 normed(args, norm, __ldcg(x + j), j));
}

/* x is written first and then read again, each column by its own thread. */
template <int PER>
static __device__ __forceinline__ void embed_row(const vly_cuda_rwkv_rows &args,
                                                 uint32_t row, float *part)
{
    const uint32_t width = args.width;
    if (!rwkv_is_there(args.length, args.seq, row))
        return;
    const int32_t token = args.token[row];
    float *x = args.x + (uint64_t)row * width;
    const bool known = token >= 0 && (uint32_t)token < args.vocabulary;
    for (uint32_t j = threadIdx.x; j < width; j += THREADS)
        x[j] = known ? rwkv_get(args.table, args.type_matrix,
                                (uint64_t)token * width + j)
                     : nanf("");
    if (args.norm_weight == nullptr || !known)
        return;
    const row_norm norm = norm_of<PER>(x, width, args.eps, part);
    for (uint32_t j = threadIdx.x; j < width; j += THREADS)
        x[j] = normed(args, norm, __ldcg(x + j), j);
}

#endif

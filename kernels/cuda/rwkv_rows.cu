/* SPDX-License-Identifier: Apache-2.0
 * RWKV-7's operations on whole rows: embedding, token shift with its norm, the
 * last norm, the residual, activations.
 *
 * A block normalises one row, which its threads keep in registers; mean and
 * variance one after the other, as the sum of squares alone loses digits. At
 * few rows several blocks share the columns of one (each computes the norm
 * again: 10 KB from the second-level cache are less than 60 KB of mixing
 * weights into one multiprocessor).
 */
#include "rwkv_device.cuh"

#define THREADS 512
#define WARPS (THREADS / 32)
#define FEW_ROWS 64 /* below this many, blocks share a row */
#define SHARED_COLUMNS 320

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
        keep[c] = j < width ? x[j] : 0.0f;
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

/* [rows][shares]; columns are shared, `last` is read and written by the block
 * of the first token alone. */
template <int PER>
static __global__ void __launch_bounds__(THREADS)
    rwkv_mix(const __grid_constant__ vly_cuda_rwkv_rows args)
{
    __shared__ float part[WARPS];
    const uint32_t row = blockIdx.x, batch = row / args.seq;
    const uint32_t token = row % args.seq, width = args.width;
    const uint32_t begin = (uint32_t)((uint64_t)width * blockIdx.y / gridDim.y);
    const uint32_t end =
        (uint32_t)((uint64_t)width * (blockIdx.y + 1) / gridDim.y);
    for (uint32_t j = begin + threadIdx.x; j < end; j += THREADS)
        for (uint32_t i = 0; i < args.n_mix; i++)
            if (args.early && j % 32 == 0)
                rwkv_prefetch(args.mix + (uint64_t)i * width + j);
    rwkv_wait();
    const uint32_t n = rwkv_length(args.length, batch, args.seq);
    if (token >= n)
        return;
    const float *x = args.x + (uint64_t)row * width;
    const float *final = x + (uint64_t)(n - 1 - token) * width;
    float *last = args.last + (uint64_t)batch * width;
    const row_norm norm = norm_of<PER>(x, width, args.eps, part);
    row_norm other = norm;
    if (token > 0)
        other = norm_of<PER>(x - width, width, args.eps, part);
    else if (n > 1)
        other = norm_of<PER>(final, width, args.eps, part);
    const uint64_t step = (uint64_t)args.batch * args.seq * width;
    for (uint32_t j = begin + threadIdx.x; j < end; j += THREADS) {
        const float now = normed(args, norm, x[j], j);
        float before;
        if (token > 0) {
            before = normed(args, other, x[(int64_t)j - width], j);
        } else {
            before = last[j];
            last[j] = n > 1 ? normed(args, other, final[j], j) : now;
        }
        for (uint32_t i = 0; i < args.n_mix; i++)
            rwkv_put(
                args.mixed, args.type, i * step + (uint64_t)row * width + j,
                fmaf(before - now, args.mix[(uint64_t)i * width + j], now));
    }
}

template <int PER>
static __global__ void __launch_bounds__(THREADS)
    rwkv_norm(const __grid_constant__ vly_cuda_rwkv_rows args)
{
    __shared__ float part[WARPS];
    rwkv_wait();
    const uint32_t width = args.width;
    uint32_t row = blockIdx.x;
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
        rwkv_put(args.y, args.type, to + j, normed(args, norm, x[j], j));
}

/* x is written first and then read again, each column by its own thread. */
template <int PER>
static __global__ void __launch_bounds__(THREADS)
    rwkv_embed(const __grid_constant__ vly_cuda_rwkv_rows args)
{
    __shared__ float part[WARPS];
    rwkv_wait();
    const uint32_t row = blockIdx.x, width = args.width;
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
        x[j] = normed(args, norm, x[j], j);
}

static __global__ void __launch_bounds__(THREADS)
    rwkv_add(const __grid_constant__ vly_cuda_rwkv_rows args)
{
    rwkv_wait();
    const uint32_t row = blockIdx.x;
    if (!rwkv_is_there(args.length, args.seq, row))
        return;
    const uint64_t at = (uint64_t)row * args.width;
    for (uint32_t j = threadIdx.x; j < args.width; j += THREADS)
        args.x[at + j] += rwkv_get(args.y, args.type, at + j);
}

static __global__ void __launch_bounds__(THREADS)
    rwkv_activate(const __grid_constant__ vly_cuda_rwkv_activate args)
{
    rwkv_wait();
    const uint64_t row = blockIdx.x;
    if (!rwkv_is_there(args.length, args.seq, blockIdx.x))
        return;
    for (uint32_t j = threadIdx.x; j < args.rank_w; j += THREADS)
        rwkv_put(args.w, args.type, row * args.rank_w + j,
                 tanhf(rwkv_get(args.w, args.type, row * args.rank_w + j)));
    for (uint32_t j = threadIdx.x; j < args.rank_g; j += THREADS)
        rwkv_put(
            args.g, args.type, row * args.rank_g + j,
            rwkv_sigmoid(rwkv_get(args.g, args.type, row * args.rank_g + j)));
}

/* The kernel of a width: the smallest number of columns a thread that does. */
typedef void (*rows_kernel)(const vly_cuda_rwkv_rows);
#define KERNEL_OF(name, width)                                                 \
    ((width) <= 2 * THREADS   ? (rows_kernel)name<2>                           \
     : (width) <= 8 * THREADS ? (rows_kernel)name<8>                           \
                              : (rows_kernel)name<32>)

static int launch_rows(rows_kernel kernel, const vly_cuda_rwkv_rows *args,
                       uint32_t rows, uint32_t shares, void *stream)
{
    if (rows == 0)
        return 0;
    if (args->width > VLY_CUDA_RWKV_MOST_WIDTH)
        return (int)cudaErrorInvalidValue;
    return rwkv_launch(kernel, dim3(rows, shares), THREADS, 0, stream,
                       args->early, *args);
}

int vly_cuda_rwkv_embed(const vly_cuda_rwkv_rows *args, void *stream)
{
    return launch_rows(KERNEL_OF(rwkv_embed, args->width), args,
                       args->batch * args->seq, 1, stream);
}

int vly_cuda_rwkv_mix(const vly_cuda_rwkv_rows *args, void *stream)
{
    const uint32_t rows = args->batch * args->seq;
    const uint32_t shares =
        rows >= FEW_ROWS ? 1 : (args->width - 1) / SHARED_COLUMNS + 1;
    return launch_rows(KERNEL_OF(rwkv_mix, args->width), args, rows, shares,
                       stream);
}

int vly_cuda_rwkv_norm(const vly_cuda_rwkv_rows *args, void *stream)
{
    return launch_rows(KERNEL_OF(rwkv_norm, args->width), args,
                       args->only_last ? args->batch : args->batch * args->seq,
                       1, stream);
}

int vly_cuda_rwkv_add(const vly_cuda_rwkv_rows *args, void *stream)
{
    return launch_rows(rwkv_add, args, args->batch * args->seq, 1, stream);
}

int vly_cuda_rwkv_activations(const vly_cuda_rwkv_activate *args, void *stream)
{
    const uint32_t rows = args->batch * args->seq;
    if (rows == 0)
        return 0;
    return rwkv_launch(rwkv_activate, dim3(rows), THREADS, 0, stream,
                       args->early, *args);
}

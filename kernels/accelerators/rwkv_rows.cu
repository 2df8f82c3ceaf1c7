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
#include "rwkv_rows.cuh"

#define FEW_ROWS 64  /* below this many, blocks share a row */
#define FEW_TOKENS 8 /* below this many, a block has nothing to share */
#define SHARED_COLUMNS VLY_CUDA_RWKV_SHARED_COLUMNS

/* [rows][shares] */
template <int PER>
static __global__ void __launch_bounds__(THREADS)
    rwkv_mix(const __grid_constant__ vly_cuda_rwkv_rows args)
{
    __shared__ float part[WARPS];
    const uint32_t width = args.width;
    const uint32_t begin = (uint32_t)((uint64_t)width * blockIdx.y / gridDim.y);
    const uint32_t end =
        (uint32_t)((uint64_t)width * (blockIdx.y + 1) / gridDim.y);
    for (uint32_t j = begin + threadIdx.x; j < end; j += THREADS)
        for (uint32_t i = 0; i < args.n_mix; i++)
            if (args.early && j % 32 == 0)
                rwkv_prefetch(args.mix + (uint64_t)i * width + j);
    rwkv_wait();
    mix_columns<PER>(args, blockIdx.x, begin, end, part);
}

template <int PER>
static __global__ void __launch_bounds__(THREADS)
    rwkv_norm(const __grid_constant__ vly_cuda_rwkv_rows args)
{
    __shared__ float part[WARPS];
    rwkv_wait();
    norm_row<PER>(args, blockIdx.x, part);
}

template <int PER>
static __global__ void __launch_bounds__(THREADS)
    rwkv_embed(const __grid_constant__ vly_cuda_rwkv_rows args)
{
    __shared__ float part[WARPS];
    rwkv_wait();
    embed_row<PER>(args, blockIdx.x, part);
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
    if (rows >= FEW_ROWS && args->seq >= FEW_TOKENS &&
        vly_cuda_rwkv_can_mix_many(args))
        return vly_cuda_rwkv_mix_many(args, stream);
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

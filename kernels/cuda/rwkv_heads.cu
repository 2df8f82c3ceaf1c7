/* SPDX-License-Identifier: Apache-2.0
 * RWKV-7's time mixing around the recurrence, for many rows: everything is
 * local to a head of a row, which is with one warp, two columns a lane.
 */
#include "rwkv_head.cuh"

#define WARPS 8
#define THREADS (32 * WARPS)

/* Head of the warp, [row][head]; false if there is none */
static __device__ __forceinline__ bool place_of(const vly_cuda_rwkv_heads &args,
                                                uint32_t *row, uint32_t *first)
{
    const uint32_t heads = args.width / RWKV_DIM;
    const uint64_t unit = (uint64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    if (unit >= (uint64_t)args.batch * args.seq * heads)
        return false;
    *row = (uint32_t)(unit / heads);
    *first = (uint32_t)(unit % heads) * RWKV_DIM;
    return rwkv_is_there(args.length, args.seq, *row);
}

static __global__ void __launch_bounds__(THREADS)
    rwkv_prepare(const __grid_constant__ vly_cuda_rwkv_heads args)
{
    uint32_t row, first;
    rwkv_wait();
    if (!place_of(args, &row, &first))
        return;
    head_inputs in[2];
    head_column c[2];
    float lora[2][3] = {};
    float squares = 0.0f;
#pragma unroll
    for (uint32_t x = 0; x < 2; x++) {
        const uint32_t j = first + threadIdx.x % 32 + 32 * x;
        const uint64_t at = (uint64_t)row * args.width + j;
        in[x] = head_inputs_of(args, at, j, false);
#pragma unroll
        for (uint32_t i = 0; i < 3; i++)
            if (i < 2 || !args.is_first)
                lora[x][i] = rwkv_get(args.lora[i], args.type, at);
    }
#pragma unroll
    for (uint32_t x = 0; x < 2; x++) {
        const uint32_t j = first + threadIdx.x % 32 + 32 * x;
        c[x] = head_column_of(args, in[x], (uint64_t)row * args.width + j,
                              lora[x]);
        squares = fmaf(c[x].kk, c[x].kk, squares);
    }
    const float shorten = head_shorten(rwkv_sum_warp(squares));
#pragma unroll
    for (uint32_t x = 0; x < 2; x++) {
        const uint64_t at =
            (uint64_t)row * args.width + first + threadIdx.x % 32 + 32 * x;
        const float kk = c[x].kk * shorten;
        rwkv_put(args.wkv_r, args.type_wkv, at, c[x].r);
        rwkv_put(args.wkv_w, args.type_wkv, at, head_w(c[x].z));
        rwkv_put(args.wkv_k, args.type_wkv, at, c[x].k);
        rwkv_put(args.wkv_v, args.type_wkv, at, c[x].v);
        rwkv_put(args.wkv_a, args.type_wkv, at, -kk);
        rwkv_put(args.wkv_b, args.type_wkv, at, kk * c[x].rate);
    }
}

static __global__ void __launch_bounds__(THREADS)
    rwkv_finish(const __grid_constant__ vly_cuda_rwkv_heads args)
{
    uint32_t row, first;
    rwkv_wait();
    if (!place_of(args, &row, &first))
        return;
    float y[2], v[2], r[2], k[2], g[2], r_k[2], weight[2], bias[2];
#pragma unroll
    for (uint32_t x = 0; x < 2; x++) {
        const uint32_t j = first + threadIdx.x % 32 + 32 * x;
        const uint64_t at = (uint64_t)row * args.width + j;
        y[x] = rwkv_get(args.wkv_y, args.type_wkv, at);
        v[x] = rwkv_get(args.wkv_v, args.type_wkv, at);
        r[x] = rwkv_get(args.wkv_r, args.type_wkv, at);
        k[x] = rwkv_get(args.wkv_k, args.type_wkv, at);
        g[x] = rwkv_get(args.g, args.type, at);
        r_k[x] = args.r_k[j];
        weight[x] = args.group_weight[j];
        bias[x] = args.group_bias[j];
    }
    float bonus = 0.0f;
#pragma unroll
    for (uint32_t x = 0; x < 2; x++)
        bonus = fmaf(r[x] * k[x], r_k[x], bonus);
    bonus = rwkv_sum_warp(bonus);
    const float mean = rwkv_sum_warp(y[0] + y[1]) / RWKV_DIM;
    const float d[2] = {y[0] - mean, y[1] - mean};
    const float variance =
        rwkv_sum_warp(fmaf(d[0], d[0], d[1] * d[1])) / RWKV_DIM;
    const float scale = 1.0f / sqrtf(variance + args.eps);
#pragma unroll
    for (uint32_t x = 0; x < 2; x++) {
        const uint32_t j = first + threadIdx.x % 32 + 32 * x;
        const uint64_t at = (uint64_t)row * args.width + j;
        rwkv_put(
            args.y, args.type, at,
            head_finish(weight[x], bias[x], d[x], scale, bonus, v[x], g[x]));
    }
}

static int launch(void (*kernel)(const vly_cuda_rwkv_heads),
                  const vly_cuda_rwkv_heads *args, void *stream)
{
    const uint64_t units =
        (uint64_t)args->batch * args->seq * (args->width / RWKV_DIM);
    if (units == 0)
        return 0;
    if (units / WARPS >= INT32_MAX)
        return (int)cudaErrorInvalidValue;
    return rwkv_launch(kernel, dim3((uint32_t)((units - 1) / WARPS + 1)),
                       THREADS, 0, stream, args->early, *args);
}

int vly_cuda_rwkv_finish(const vly_cuda_rwkv_heads *args, void *stream)
{
    return launch(rwkv_finish, args, stream);
}

int vly_cuda_rwkv_prepare(const vly_cuda_rwkv_heads *args, void *stream)
{
    if (args->is_lora)
        return vly_cuda_rwkv_prepare_lora(args, stream);
    return launch(rwkv_prepare, args, stream);
}

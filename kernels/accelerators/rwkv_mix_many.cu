/* SPDX-License-Identifier: Apache-2.0
 * RWKV-7's token shift with its norm for the many rows of a prompt. A block has
 * some tokens of one sequence: a warp norms each of them, and the one before;
 * then a thread goes through the tokens with four columns, whose mixing weights
 * and normed column of the token before it keeps.
 *
 * A block a row read 60 KB of mixing weights for each of them, and every row
 * twice.
 */
#include "rwkv_quads.cuh"

#define TOKENS 8
#define WARPS 8
#define THREADS (32 * WARPS)

static_assert(TOKENS == WARPS, "a warp norms a token");

struct many_norm {
    float mean, scale;
};

/* Twice through a row, the second time in the first-level cache. All lanes. */
static __device__ __forceinline__ many_norm norm_of(const float *x,
                                                    uint32_t width, float eps)
{
    const uint32_t first = threadIdx.x % 32 * 4;
    many_norm norm;
    float sum = 0.0f;
    for (uint32_t j = first; j < width; j += 128) {
        float q[4];
        quad<float, true>::load(x, j, q);
        sum += (q[0] + q[1]) + (q[2] + q[3]);
    }
    norm.mean = rwkv_sum_warp(sum) / (float)width;
    sum = 0.0f;
    for (uint32_t j = first; j < width; j += 128) {
        float q[4];
        quad<float, true>::load(x, j, q);
#pragma unroll
        for (int i = 0; i < 4; i++)
            sum = fmaf(q[i] - norm.mean, q[i] - norm.mean, sum);
    }
    const float variance = rwkv_sum_warp(sum) / (float)width;
    norm.scale = 1.0f / sqrtf(variance + eps);
    return norm;
}

struct many_weights {
    float weight[4], bias[4];
};

/* x is the row; the normed columns from j on */
static __device__ __forceinline__ void normed_of(const float *x, uint32_t j,
                                                 const many_norm &norm,
                                                 const many_weights &w,
                                                 float to[4])
{
    quad<float, true>::load(x, j, to);
#pragma unroll
    for (int i = 0; i < 4; i++)
        to[i] = fmaf((to[i] - norm.mean) * norm.scale, w.weight[i], w.bias[i]);
}

/* Columns of the token before the block's first: from its row, or from `last`
 * of the previous run. In that case `last` is then set to this run's last token
 * (whose norm is `other`). */
static __device__ __forceinline__ void
start_of(const vly_cuda_rwkv_rows &args, const float *x, uint32_t batch,
         uint32_t token, uint32_t n, uint32_t j, const many_norm &other,
         const many_weights &w, float before[4])
{
    if (token > 0) {
        normed_of(x - args.width, j, other, w, before);
        return;
    }
    float *last = args.last + (uint64_t)batch * args.width;
    float final[4];
    quad<float, true>::load(last, j, before);
    normed_of(x + (uint64_t)(n - 1) * args.width, j, other, w, final);
    quad<float, true>::store(last, j, final);
}

/* [tokens / TOKENS][batch] */
template <typename T, int MIXES>
static __global__ void __launch_bounds__(THREADS)
    rwkv_mix_many(const __grid_constant__ vly_cuda_rwkv_rows args)
{
    __shared__ many_norm norms[TOKENS + 1];
    const uint32_t batch = blockIdx.y, token = blockIdx.x * TOKENS;
    const uint32_t width = args.width, warp = threadIdx.x / 32;
    rwkv_wait();
    const uint32_t n = rwkv_length(args.length, batch, args.seq);
    if (token >= n)
        return;
    const uint64_t row = (uint64_t)batch * args.seq + token;
    const float *x = args.x + row * width;
    const float *other = token > 0 ? x - width : x + (uint64_t)(n - 1) * width;
    const uint32_t tokens = n - token < TOKENS ? n - token : TOKENS;
    for (uint32_t i = warp; i <= TOKENS; i += WARPS) {
        if (i < TOKENS && i >= tokens)
            continue;
        const many_norm norm = norm_of(
            i < TOKENS ? x + (uint64_t)i * width : other, width, args.eps);
        if (threadIdx.x % 32 == 0)
            norms[i] = norm;
    }
    __syncthreads();
    const uint64_t step = (uint64_t)args.batch * args.seq * width;
    for (uint32_t j = 4 * threadIdx.x; j < width; j += 4 * THREADS) {
        many_weights w;
        float mix[MIXES][4];
        float before[4];
        quad<float, true>::load(args.norm_weight, j, w.weight);
        quad<float, true>::load(args.norm_bias, j, w.bias);
#pragma unroll
        for (uint32_t i = 0; i < MIXES; i++)
            quad<float, true>::load(args.mix, (uint64_t)i * width + j, mix[i]);
        start_of(args, x, batch, token, n, j, norms[TOKENS], w, before);
        for (uint32_t t = 0; t < tokens; t++) {
            float now[4];
            normed_of(x + (uint64_t)t * width, j, norms[t], w, now);
#pragma unroll
            for (uint32_t m = 0; m < MIXES; m++) {
                float y[4];
#pragma unroll
                for (int i = 0; i < 4; i++)
                    y[i] = fmaf(before[i] - now[i], mix[m][i], now[i]);
                quad<T, true>::store(args.mixed,
                                     m * step + (row + t) * width + j, y);
            }
#pragma unroll
            for (int i = 0; i < 4; i++)
                before[i] = now[i];
        }
    }
}

typedef void (*many_kernel)(const vly_cuda_rwkv_rows);

template <int MIXES> static many_kernel kernel_of(uint32_t type)
{
    return type == 1   ? rwkv_mix_many<__half, MIXES>
           : type == 2 ? rwkv_mix_many<__nv_bfloat16, MIXES>
                       : rwkv_mix_many<float, MIXES>;
}

bool vly_cuda_rwkv_can_mix_many(const vly_cuda_rwkv_rows *args)
{
    return (args->n_mix == 1 || args->n_mix == 6) && args->width % 4 == 0 &&
           args->batch < 65536 && quad_is_whole(args->x) &&
           quad_is_whole(args->last) && quad_is_whole(args->mixed) &&
           quad_is_whole(args->mix) && quad_is_whole(args->norm_weight) &&
           quad_is_whole(args->norm_bias);
}

int vly_cuda_rwkv_mix_many(const vly_cuda_rwkv_rows *args, void *stream)
{
    const dim3 grid((args->seq + TOKENS - 1) / TOKENS, args->batch);
    if (grid.x == 0 || grid.y == 0)
        return 0;
    return rwkv_launch(args->n_mix == 1 ? kernel_of<1>(args->type)
                                        : kernel_of<6>(args->type),
                       grid, THREADS, 0, stream, args->early, *args);
}

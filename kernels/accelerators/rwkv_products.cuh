/* SPDX-License-Identifier: Apache-2.0
 * A piece of a product, and its end: scale, function, sum (rwkv_products.cu).
 */
#ifndef VLY_RWKV_PRODUCTS_CUH
#define VLY_RWKV_PRODUCTS_CUH

#include "gemv_fragment.cuh"
#include "rwkv_device.cuh"

static __device__ __forceinline__ float product_activated(float x, uint32_t f)
{
    if (f == VLY_CUDA_RWKV_RELU2)
        return x < 0.0f ? 0.0f : x * x; /* NaN stays */
    if (f == VLY_CUDA_RWKV_TANH)
        return tanhf(x);
    return f == VLY_CUDA_RWKV_SIGMOID ? rwkv_sigmoid(x) : x;
}

/* Element (row, j) of y from its sum. */
static __device__ __forceinline__ void put_y(const vly_cuda_rwkv_products &args,
                                             const vly_cuda_rwkv_product &p,
                                             uint32_t row, uint32_t j,
                                             float sum)
{
    const uint64_t at = (uint64_t)row * p.n + j;
    if (row >= args.rows || j >= p.n ||
        !rwkv_is_there(args.length, args.seq, row))
        return;
    if (p.type_w == VLY_CUDA_I8)
        sum *= rwkv_get(p.scale, args.type, j);
    float y = product_activated(sum, p.activation);
    if (p.adds)
        y += __ldcg((const float *)p.y + at);
    rwkv_put(p.y, p.type_y, at, y);
}

/* A piece of two rows of weights (16 bytes a lane), times the corresponding
 * elements of x, in shared memory or not. scale0, scale1: of int4, of this
 * piece. */
template <typename T, int BITS>
static __device__ __forceinline__ void
add_piece(float (&sum)[4], uint4 w0, uint4 w1, const uint4 *from,
          bool is_shared, bool there, float scale0, float scale1)
{
    constexpr int VECTOR = 128 / BITS;
    const fragments<T, BITS> weights(w0, w1);
    /* weights are 0 where they are not there, and so must x be: 0 times NaN is
     * NaN */
    uint32_t x[VECTOR / 2] = {};
    if (there)
#pragma unroll
        for (int q = 0; q < VECTOR / 8; q++) {
            const uint4 v = is_shared ? from[q] : __ldcg(from + q);
            x[4 * q] = v.x, x[4 * q + 1] = v.y;
            x[4 * q + 2] = v.z, x[4 * q + 3] = v.w;
        }
    float one[4] = {};
    float(&to)[4] = BITS == 4 ? one : sum;
#pragma unroll
    for (uint32_t i = 0; i < weights.MMAS; i++)
        multiply(to, weights.a[i][0], weights.a[i][1], weights.a[i][2],
                 weights.a[i][3], weights.match(x, i, 0),
                 weights.match(x, i, 1), T());
    if constexpr (BITS == 4) {
        sum[0] = fmaf(scale0, one[0], sum[0]);
        sum[1] = fmaf(scale0, one[1], sum[1]);
        sum[2] = fmaf(scale1, one[2], sum[2]);
        sum[3] = fmaf(scale1, one[3], sum[3]);
    }
}

#endif

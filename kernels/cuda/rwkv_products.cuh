/* SPDX-License-Identifier: Apache-2.0
 * The end of a product: scale, function, sum. For the launches of
 * rwkv_products.cu and for a chain of operations (rwkv_chain.cu).
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

#endif

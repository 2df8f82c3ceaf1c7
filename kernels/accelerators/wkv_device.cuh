/* SPDX-License-Identifier: Apache-2.0
 * Shared by the kernels of RWKV-7's recurrence.
 */
#ifndef VLY_WKV_DEVICE_CUH
#define VLY_WKV_DEVICE_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "wkv_kernels.h"

#define WKV_DIM 64

static __device__ __forceinline__ float wkv_float(float x)
{
    return x;
}
static __device__ __forceinline__ float wkv_float(__half x)
{
    return __half2float(x);
}
static __device__ __forceinline__ float wkv_float(__nv_bfloat16 x)
{
    return __bfloat162float(x);
}

static __device__ __forceinline__ void wkv_store(float *to, float x)
{
    *to = x;
}
static __device__ __forceinline__ void wkv_store(__half *to, float x)
{
    *to = __float2half_rn(x);
}
static __device__ __forceinline__ void wkv_store(__nv_bfloat16 *to, float x)
{
    *to = __float2bfloat16_rn(x);
}

/* Elements from token to token, and where the first of a sequence and head is.
 */
struct wkv_place {
    uint64_t first;
    uint64_t step;
    uint64_t state;
    int32_t n; /* tokens */
};

static __device__ __forceinline__ wkv_place
wkv_place_of(const vly_wkv_args &args, uint32_t pair)
{
    const uint32_t batch = pair / args.heads;
    const uint32_t head = pair % args.heads;
    wkv_place at;
    at.step = (uint64_t)args.heads * WKV_DIM;
    at.first = (uint64_t)batch * args.seq * at.step + head * WKV_DIM;
    at.state = (uint64_t)pair * WKV_DIM * WKV_DIM;
    at.n = (int32_t)args.seq;
    if (args.length != nullptr) {
        const int32_t n = args.length[batch];
        at.n = n < 0 ? 0 : (n < at.n ? n : at.n);
    }
    return at;
}

/* The decay of w: exp(-exp(w)). */
static __device__ __forceinline__ float wkv_decay(float w)
{
    return expf(-expf(w));
}

#endif

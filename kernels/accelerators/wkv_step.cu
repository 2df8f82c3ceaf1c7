/* SPDX-License-Identifier: Apache-2.0
 * One token of RWKV-7's recurrence: bound by reading and writing the state.
 * The rows of a state are independent, so two blocks share a head; 16 lanes
 * have a row, 16 bytes each, and a thread has two rows, which are read before
 * any other work.
 */
#include "rwkv_launch.cuh"
#include "wkv_device.cuh"

#define THREADS 256
#define ROWS 32 /* of a block */

struct step_vectors {
    float r[WKV_DIM], d[WKV_DIM], k[WKV_DIM], a[WKV_DIM], b[WKV_DIM];
    float v[ROWS];
};

static __device__ __forceinline__ float sum_16(float x)
{
    for (int d = 8; d > 0; d /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, d);
    return x;
}

static __device__ __forceinline__ float dot_4(float4 x, float4 y)
{
    return x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
}

template <typename T>
static __device__ __forceinline__ void
load_vectors(const vly_wkv_args &args, const wkv_place &at, uint32_t row,
             step_vectors *to)
{
    const uint32_t part = threadIdx.x / WKV_DIM; /* 0 to 3 */
    const uint32_t j = threadIdx.x % WKV_DIM;
    const uint64_t from = at.first + j;
    if (part == 0) {
        to->r[j] = wkv_float(((const T *)args.r)[from]);
        to->d[j] = wkv_decay(wkv_float(((const T *)args.w)[from]));
    } else if (part == 1) {
        to->k[j] = wkv_float(((const T *)args.k)[from]);
        to->a[j] = wkv_float(((const T *)args.a)[from]);
    } else if (part == 2) {
        to->b[j] = wkv_float(((const T *)args.b)[from]);
    } else if (j < ROWS) {
        to->v[j] = wkv_float(((const T *)args.v)[from + row]);
    }
}

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    wkv_step(const __grid_constant__ vly_wkv_args args)
{
    __shared__ __align__(16) step_vectors x;
    rwkv_wait();
    const wkv_place at = wkv_place_of(args, blockIdx.x);
    const uint32_t first = blockIdx.y * ROWS;
    const uint32_t column = threadIdx.x % 16 * 4;
    float4 s[2];
#pragma unroll
    for (int h = 0; h < 2; h++) {
        const uint32_t row = first + threadIdx.x / 16 + 16 * h;
        s[h] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (args.state_in != nullptr)
            s[h] = __ldcs((const float4 *)(args.state_in + at.state +
                                           row * WKV_DIM + column));
    }
    if (at.n > 0)
        load_vectors<T>(args, at, first, &x);
    __syncthreads();
#pragma unroll
    for (int h = 0; h < 2; h++) {
        const uint32_t local = threadIdx.x / 16 + 16 * h;
        const uint32_t row = first + local;
        if (at.n > 0) {
            const float4 d = *(const float4 *)(x.d + column);
            const float4 k = *(const float4 *)(x.k + column);
            const float4 a = *(const float4 *)(x.a + column);
            const float4 b = *(const float4 *)(x.b + column);
            const float4 r = *(const float4 *)(x.r + column);
            const float v = x.v[local];
            const float sa = sum_16(dot_4(s[h], a));
            s[h].x = s[h].x * d.x + sa * b.x + v * k.x;
            s[h].y = s[h].y * d.y + sa * b.y + v * k.y;
            s[h].z = s[h].z * d.z + sa * b.z + v * k.z;
            s[h].w = s[h].w * d.w + sa * b.w + v * k.w;
            const float y = sum_16(dot_4(s[h], r));
            if (threadIdx.x % 16 == 0)
                wkv_store((T *)args.y + at.first + row, y);
        }
        __stcs((float4 *)(args.state_out + at.state + row * WKV_DIM + column),
               s[h]);
    }
}

int vly_wkv_step(const vly_wkv_args *args, void *stream)
{
    const dim3 grid(args->batch * args->heads, WKV_DIM / ROWS);
    if (grid.x == 0)
        return 0;
    return rwkv_launch(args->type == 1   ? wkv_step<__half>
                       : args->type == 2 ? wkv_step<__nv_bfloat16>
                                         : wkv_step<float>,
                       grid, THREADS, 0, stream, args->early, *args);
}

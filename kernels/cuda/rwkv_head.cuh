/* SPDX-License-Identifier: Apache-2.0
 * One column of a head of RWKV-7's time mixing, before and after the
 * recurrence: the formulas of PREPARE and FINISH in volley/rwkv.h.
 */
#ifndef VLY_RWKV_HEAD_CUH
#define VLY_RWKV_HEAD_CUH

#include "rwkv_device.cuh"

struct head_column {
    float r, k, v;
    float z;  /* bias_w + w: the decay before its squashing */
    float kk; /* not yet of length 1 */
    float rate;
};

/* lora: w, a, v of the column; at: its place in [rows][width]; j: in width.
 * Writes v_first of the first layer. */
static __device__ __forceinline__ head_column
head_column_of(const vly_cuda_rwkv_heads &args, uint64_t at, uint32_t j,
               const float lora[3])
{
    head_column c;
    const float k = rwkv_get(args.k, args.type, at);
    c.r = rwkv_get(args.r, args.type, at);
    c.v = rwkv_get(args.v, args.type, at);
    c.z = args.bias[0][j] + lora[0];
    c.rate = rwkv_sigmoid(args.bias[1][j] + lora[1]);
    c.kk = k * args.k_k[j];
    c.k = k * fmaf(c.rate - 1.0f, args.k_a[j], 1.0f);
    if (args.is_first)
        rwkv_put(args.v_first, args.type, at, c.v);
    else
        c.v = fmaf(rwkv_get(args.v_first, args.type, at) - c.v,
                   rwkv_sigmoid(args.bias[2][j] + lora[2]), c.v);
    return c;
}

/* 1 / the length of kk, of its squares' sum. A sum that is no number stays so.
 */
static __device__ __forceinline__ float head_shorten(float squares)
{
    const float length = sqrtf(squares);
    return 1.0f / (length < 1e-12f ? 1e-12f : length);
}

/* exp(-exp(w)) of the w that volley.wkv/1 takes: both from z. */
static __device__ __forceinline__ float head_w(float z)
{
    return -rwkv_softplus(-z) - 0.5f;
}
static __device__ __forceinline__ float head_decay(float z)
{
    return expf(-0.6065306597126334f * rwkv_sigmoid(z)); /* exp(-1/2) */
}

/* y of the recurrence, normalised over its head, with the bonus and the gate */
static __device__ __forceinline__ float
head_finish(const vly_cuda_rwkv_heads &args, uint32_t j, float centered,
            float scale, float bonus, float v, float g)
{
    return (fmaf(centered * scale, args.group_weight[j], args.group_bias[j]) +
            v * bonus) *
           g;
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 * One column of a head of RWKV-7's time mixing, before and after the
 * recurrence: the formulas of PREPARE and FINISH in volley/rwkv.h.
 */
#ifndef VLY_RWKV_HEAD_CUH
#define VLY_RWKV_HEAD_CUH

#include "rwkv_device.cuh"

/* Inputs of a column: all loads start before the first use. */
struct head_inputs {
    float r, k, v, v_first;
    float bias[3];
    float k_k, k_a, r_k;
};

struct head_column {
    float r, k, v;
    float z;  /* bias_w + w: the decay before its squashing */
    float kk; /* not yet of length 1 */
    float rate;
};

/* at: place of the column in [rows][width]; j: in width. with_bonus: r_k too.
 */
static __device__ __forceinline__ head_inputs head_inputs_of(
    const vly_cuda_rwkv_heads &args, uint64_t at, uint32_t j, bool with_bonus)
{
    head_inputs in = {};
    in.r = rwkv_get(args.r, args.type, at);
    in.k = rwkv_get(args.k, args.type, at);
    in.v = rwkv_get(args.v, args.type, at);
    in.bias[0] = args.bias[0][j];
    in.bias[1] = args.bias[1][j];
    in.k_k = args.k_k[j];
    in.k_a = args.k_a[j];
    if (with_bonus)
        in.r_k = args.r_k[j];
    if (!args.is_first) {
        in.v_first = rwkv_get(args.v_first, args.type, at);
        in.bias[2] = args.bias[2][j];
    }
    return in;
}

/* lora: w, a, v of the column. Writes v_first of the first layer. */
static __device__ __forceinline__ head_column
head_column_of(const vly_cuda_rwkv_heads &args, const head_inputs &in,
               uint64_t at, const float lora[3])
{
    head_column c;
    c.r = in.r;
    c.v = in.v;
    c.z = in.bias[0] + lora[0];
    c.rate = rwkv_sigmoid(in.bias[1] + lora[1]);
    c.kk = in.k * in.k_k;
    c.k = in.k * fmaf(c.rate - 1.0f, in.k_a, 1.0f);
    if (args.is_first)
        rwkv_put(args.v_first, args.type, at, c.v);
    else
        c.v = fmaf(in.v_first - c.v, rwkv_sigmoid(in.bias[2] + lora[2]), c.v);
    return c;
}

/* 1 / the length of kk, from the sum of its squares. NaN stays NaN.
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
static __device__ __forceinline__ float head_finish(float weight, float bias,
                                                    float centered, float scale,
                                                    float bonus, float v,
                                                    float g)
{
    return (fmaf(centered * scale, weight, bias) + v * bonus) * g;
}

#endif

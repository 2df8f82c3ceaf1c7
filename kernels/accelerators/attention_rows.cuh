/* SPDX-License-Identifier: Apache-2.0
 * Rows computed again in plain loops. A product over a whole tile multiplies a
 * masked weight, 0, with a value after the length of a sequence: if that value
 * is NaN or infinite, the row would become NaN. So those tiles are searched for
 * such values, and their rows are computed again.
 */
#ifndef VLY_ATTENTION_ROWS_CUH
#define VLY_ATTENTION_ROWS_CUH

#include "attention_device.cuh"

static __device__ __forceinline__ float warp_sum_f32(float x)
{
    for (int d = 16; d > 0; d /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, d);
    return x;
}

/* One row of O and its lse, by one warp. */
static __device__ __noinline__ void
attention_row(const vly_attention_args &args, const attention_sequence &s,
              uint32_t head, int32_t i)
{
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t head_kv = head / (args.heads_q / args.heads_kv);
    const uint64_t q = query_row(args, s, args.stride_q, head, (uint32_t)i);
    const uint64_t o = query_row(args, s, args.stride_o, head, (uint32_t)i);
    const int32_t first = vly_attention_first(&s.mask, i);
    const int32_t end = vly_attention_end(&s.mask, i);
    float most = -INFINITY;
    float sum = 0.0f;
    float out[8] = {};
    for (int pass = 0; pass < 2; pass++) {
        const float base = most == -INFINITY ? 0.0f : most;
        for (int32_t j = first; j < end; j++) {
            const uint64_t k =
                key_row(args, s, args.stride_k, head_kv, (uint32_t)j);
            float score = 0.0f;
            for (uint32_t d = lane; d < args.dim; d += 32)
                score += load_element(args.q, q + d, args.type) *
                         load_element(args.k, k + d, args.type);
            score = warp_sum_f32(score) * args.scale;
            if (pass == 0) {
                most = fmaxf(most, score);
                continue;
            }
            const float p = expf(score - base);
            const uint64_t v =
                key_row(args, s, args.stride_v, head_kv, (uint32_t)j);
            sum += p;
#pragma unroll
            for (int t = 0; t < 8; t++)
                if (lane + 32 * t < args.dim_v)
                    out[t] +=
                        p * load_element(args.v, v + lane + 32 * t, args.type);
        }
    }
    const bool none = sum == 0.0f; /* no key, or none above -inf */
#pragma unroll
    for (int t = 0; t < 8; t++)
        if (lane + 32 * t < args.dim_v)
            store_element(args.o, o + lane + 32 * t, args.type_o,
                          none ? 0.0f : out[t] / sum);
    if (lane == 0 && args.lse != nullptr)
        args.lse[lse_at(args, s, head, (uint32_t)i)] =
            none ? -INFINITY : most + logf(sum);
}

/* Is one of the eight 16-bit elements NaN or infinite? exponent: its bits,
 * 0x7c00 of fp16, 0x7f80 of bf16 */
static __device__ __forceinline__ bool has_nonfinite(uint4 x, uint32_t exponent)
{
    const uint32_t word[4] = {x.x, x.y, x.z, x.w};
    bool found = false;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        found |= (word[i] & exponent) == exponent;
        found |= (word[i] >> 16 & exponent) == exponent;
    }
    return found;
}

#endif

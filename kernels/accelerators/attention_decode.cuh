/* SPDX-License-Identifier: Apache-2.0
 * The state of a warp of attention_decode.cu: heads are the rows of
 * mma.m16n8k16, each warp has a state, and a block combines those of its warps
 * at its end.
 */
#ifndef VLY_ATTENTION_DECODE_CUH
#define VLY_ATTENTION_DECODE_CUH

#include <math_constants.h>

#include "attention_mma.cuh"
#include "rwkv_launch.cuh"

#define HEADS 16
#define MOST_PARTS VLY_ATTENTION_MOST_PARTS

template <int D, int WARPS> struct decode_shared {
    float o[WARPS][HEADS][D + 4];
    float most[WARPS][HEADS];
    float sum[WARPS][HEADS];
};

/* State of a lane: rows lane / 4 and + 8 are heads. */
template <int D> struct decode_state {
    uint32_t q[D / 16][4];
    float o[D / 8][4];
    float most[2];
    float sum[2];
};

/* Scores to weights, in place; the state's sums and outputs are rescaled.
 * scale is times log2(e). */
template <int KEYS, int D>
static __device__ __forceinline__ void
soften_tile(float s[KEYS / 8][4], int32_t j, int32_t first, int32_t end,
            float scale, decode_state<D> *state)
{
    const uint32_t lane = threadIdx.x % 32;
    float now[2] = {state->most[0], state->most[1]};
#pragma unroll
    for (int t = 0; t < KEYS / 8; t++)
#pragma unroll
        for (int r = 0; r < 4; r++) {
            const int32_t key =
                j + 8 * t + (int32_t)vly_mma_c_column(lane, (uint32_t)r);
            s[t][r] =
                key >= first && key < end ? s[t][r] * scale : -CUDART_INF_F;
            now[r / 2] = fmaxf(now[r / 2], s[t][r]);
        }
    float keep[2];
#pragma unroll
    for (int h = 0; h < 2; h++) {
        now[h] = quad_max(now[h]);
        const float base = softmax_base(now[h]);
        keep[h] = exp2_fast(state->most[h] - base);
        state->most[h] = now[h];
        state->sum[h] *= keep[h];
        now[h] = base;
    }
#pragma unroll
    for (int t = 0; t < KEYS / 8; t++)
#pragma unroll
        for (int r = 0; r < 4; r++) {
            s[t][r] = exp2_fast(s[t][r] - now[r / 2]);
            state->sum[r / 2] += s[t][r];
        }
#pragma unroll
    for (int t = 0; t < D / 8; t++)
#pragma unroll
        for (int r = 0; r < 4; r++)
            state->o[t][r] *= keep[r / 2];
}

/* Place of a part until all are complete: [batch][head][part] of D outputs, the
 * largest score and the sum. */
static __device__ __forceinline__ float *part_at(const vly_attention_args &args,
                                                 uint32_t batch, uint32_t head,
                                                 uint32_t part)
{
    const uint64_t index =
        ((uint64_t)batch * args.heads_q + head) * args.n_splits + part;
    return (float *)args.workspace + index * (args.dim_v + 2);
}

static __device__ __forceinline__ void
store_result(const vly_attention_args &args, const attention_sequence &s,
             uint32_t head, uint32_t dim, float o, float most, float sum)
{
    const bool none = sum == 0.0f; /* no key, or none above -inf */
    store_element(args.o, query_row(args, s, args.stride_o, head, 0) + dim,
                  args.type_o, none ? 0.0f : o / sum);
    if (dim == 0 && args.lse != nullptr)
        args.lse[lse_at(args, s, head, 0)] =
            none ? -CUDART_INF_F : (most + log2f(sum)) * 0.69314718f;
}

/* The states of a block's warps become its part, or the result if it is the
 * only one. */
template <int D, int WARPS>
static __device__ __forceinline__ void
merge_states(const vly_attention_args &args, const attention_sequence &s,
             const decode_shared<D, WARPS> &shared, uint32_t head,
             uint32_t n_heads)
{
    for (uint32_t x = threadIdx.x; x < n_heads * D; x += WARPS * 32) {
        const uint32_t h = x / D;
        const uint32_t dim = x % D;
        float most = -CUDART_INF_F;
        for (int w = 0; w < WARPS; w++)
            most = fmaxf(most, shared.most[w][h]);
        float o = 0.0f;
        float sum = 0.0f;
        for (int w = 0; w < WARPS; w++) {
            const float keep =
                exp2_fast(shared.most[w][h] - softmax_base(most));
            o += shared.o[w][h][dim] * keep;
            sum += shared.sum[w][h] * keep;
        }
        if (args.n_splits == 1) {
            store_result(args, s, head + h, dim, o, most, sum);
            continue;
        }
        float *part = part_at(args, blockIdx.z, head + h, blockIdx.x);
        part[dim] = o;
        if (dim == 0) {
            part[args.dim_v] = most;
            part[args.dim_v + 1] = sum;
        }
    }
}

/* Sums and largest scores of a warp's heads. */
template <int D, int WARPS>
static __device__ __forceinline__ void
store_sums(const decode_state<D> &state, decode_shared<D, WARPS> *shared)
{
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t warp = threadIdx.x / 32;
#pragma unroll
    for (int h = 0; h < 2; h++) {
        const float sum = quad_sum(state.sum[h]);
        if (lane % 4 == 0) {
            shared->most[warp][lane / 4 + 8 * h] = state.most[h];
            shared->sum[warp][lane / 4 + 8 * h] = sum;
        }
    }
}

#endif

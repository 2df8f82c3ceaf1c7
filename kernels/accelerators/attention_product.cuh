/* SPDX-License-Identifier: Apache-2.0
 * Both products of a tile of keys for the 16 rows of a warp, with mma.sync from
 * shared memory: of attention_mma.cu and attention_decode.cu. Rows of K and V
 * are D elements, in the order of vly_attention_chunk.
 */
#ifndef VLY_ATTENTION_PRODUCT_CUH
#define VLY_ATTENTION_PRODUCT_CUH

#include "attention_mma.cuh"

/* s = Q K^T; queries(step): the fragment of A of 16 dimensions */
template <typename T, int D, int KEYS, typename QUERIES>
static __device__ __forceinline__ void score_keys(uint32_t k, QUERIES queries,
                                                  float s[KEYS / 8][4])
{
    const uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (int t = 0; t < KEYS / 8; t++)
#pragma unroll
        for (int r = 0; r < 4; r++)
            s[t][r] = 0.0f;
#pragma unroll
    for (int step = 0; step < D / 16; step++) {
        const auto a = queries(step);
#pragma unroll
        for (int t = 0; t < KEYS / 16; t++) {
            uint32_t x[4];
            ldmatrix(x, k + vly_attention_chunk(
                                16 * t + vly_ldmatrix_bt_row(lane),
                                2 * step + vly_ldmatrix_bt_chunk(lane), D / 8) *
                                16);
            mma_type<T>::mma(s[2 * t], a, x);
            mma_type<T>::mma(s[2 * t + 1], a, x + 2);
        }
    }
}

/* o += P V: weights s become fragments of A */
template <typename T, int D, int KEYS>
static __device__ __forceinline__ void
add_values(uint32_t v, const float s[KEYS / 8][4], float o[D / 8][4])
{
    const uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (int step = 0; step < KEYS / 16; step++) {
        const float *low = s[2 * step];
        const float *high = s[2 * step + 1];
        const uint32_t p[4] = {mma_type<T>::pack(low[0], low[1]),
                               mma_type<T>::pack(low[2], low[3]),
                               mma_type<T>::pack(high[0], high[1]),
                               mma_type<T>::pack(high[2], high[3])};
#pragma unroll
        for (int t = 0; t < D / 16; t++) {
            uint32_t x[4];
            ldmatrix_trans(
                x, v + vly_attention_chunk(16 * step + vly_ldmatrix_b_row(lane),
                                           2 * t + vly_ldmatrix_b_chunk(lane),
                                           D / 8) *
                           16);
            mma_type<T>::mma(o[2 * t], p, x);
            mma_type<T>::mma(o[2 * t + 1], p, x + 2);
        }
    }
}

#endif

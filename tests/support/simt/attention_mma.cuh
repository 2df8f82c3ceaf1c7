/* SPDX-License-Identifier: Apache-2.0
 * kernels/accelerators/attention_mma.cuh without PTX: mma.m16n8k16 and ldmatrix
 * as the PTX ISA draws them.
 */
#ifndef VLY_ATTENTION_MMA_CUH
#define VLY_ATTENTION_MMA_CUH

#include "attention_device.cuh"

inline float simt_float(__half x)
{
    return __half2float(x);
}
inline float simt_float(__nv_bfloat16 x)
{
    return __bfloat162float(x);
}
inline float simt_float(__nv_fp8_e4m3 x)
{
    return (float)x;
}
inline void simt_round(float x, __half *to)
{
    *to = __float2half_rn(x);
}
inline void simt_round(float x, __nv_bfloat16 *to)
{
    *to = __float2bfloat16_rn(x);
}

template <typename T> float simt_half_of(uint32_t word, int which)
{
    T pair[2];
    memcpy(pair, &word, sizeof pair);
    return simt_float(pair[which]);
}

template <typename T> struct mma_type {
    static uint32_t pack(float a, float b)
    {
        T pair[2];
        uint32_t word;
        simt_round(a, pair);
        simt_round(b, pair + 1);
        memcpy(&word, pair, sizeof word);
        return word;
    }
    struct fragments {
        uint32_t a[4], b[2];
    };
    static void mma(float c[4], const uint32_t a[4], const uint32_t b[2])
    {
        fragments mine;
        memcpy(mine.a, a, sizeof mine.a);
        memcpy(mine.b, b, sizeof mine.b);
        simt_exchange(mine, [c](auto lane) {
            const int self = simt_self % 32;
            for (int r = 0; r < 4; r++) {
                const int row = self / 4 + 8 * (r / 2);
                const int column = 2 * (self % 4) + r % 2;
                for (int k = 0; k < 16; k++) {
                    const fragments of_a = lane(row % 8 * 4 + k % 8 / 2);
                    const fragments of_b = lane(column * 4 + k % 8 / 2);
                    c[r] +=
                        simt_half_of<T>(of_a.a[row / 8 + 2 * (k / 8)], k % 2) *
                        simt_half_of<T>(of_b.b[k / 8], k % 2);
                }
            }
            return 0;
        });
    }
};

inline void simt_ldmatrix(uint32_t r[4], uint32_t address, bool transposed)
{
    simt_exchange(address, [&](auto lane) {
        const int self = simt_self % 32;
        for (int m = 0; m < 4; m++)
            for (int e = 0; e < 2; e++) {
                const int a = self / 4;
                const int b = 2 * (self % 4) + e;
                const uint32_t row = lane(8 * m + (transposed ? b : a));
                memcpy((char *)&r[m] + 2 * e,
                       simt_shared + row + 2 * (transposed ? a : b), 2);
            }
        return 0;
    });
    __syncwarp(); /* no lane writes there before all have read */
}
inline void ldmatrix(uint32_t r[4], uint32_t address)
{
    simt_ldmatrix(r, address, false);
}
inline void ldmatrix_trans(uint32_t r[4], uint32_t address)
{
    simt_ldmatrix(r, address, true);
}
inline void copy_async(uint32_t to, const void *from, bool valid)
{
    if (valid)
        memcpy(simt_shared + to, from, 16);
    else
        memset(simt_shared + to, 0, 16);
}
inline void copy_commit(void)
{
}
template <int PENDING> void copy_wait(void)
{
}
inline float quad_max(float x)
{
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
    return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}
inline float quad_sum(float x)
{
    x += __shfl_xor_sync(0xffffffffu, x, 1);
    return x + __shfl_xor_sync(0xffffffffu, x, 2);
}
inline float exp2_fast(float x)
{
    return exp2f(x);
}
inline float softmax_base(float most)
{
    return most == -INFINITY ? 0.0f : most;
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 * What kernels/accelerators/gemv_mma.cuh does, for tests: by the tables of
 * fragments in the PTX manual, exact products, one rounding.
 */
#ifndef VOLLEY_GEMV_MMA_CUH
#define VOLLEY_GEMV_MMA_CUH

#include "simt.h"

struct simt_halves {
    uint32_t a[4], b[2];
};

template <typename T> inline double simt_half(uint32_t word, int which)
{
    T x;
    const uint16_t bits = (uint16_t)(word >> (16 * which));
    memcpy((void *)&x, &bits, sizeof x);
    return (double)(float)x;
}

template <typename T>
inline void multiply(float (&sum)[4], uint32_t a0, uint32_t a1, uint32_t a2,
                     uint32_t a3, uint32_t b0, uint32_t b1, T)
{
    const simt_halves mine = {{a0, a1, a2, a3}, {b0, b1}};
    const int g = simt_self % 32 / 4, t = simt_self % 4;
    simt_exchange(mine, [&](auto lane) {
        for (int i = 0; i < 4; i++) {
            const int column = 2 * t + i % 2;
            double exact = sum[i];
            for (int k = 0; k < 16; k++) {
                const int from = k % 8 / 2, upper = k / 8;
                exact += simt_half<T>(lane(4 * g + from).a[i / 2 + 2 * upper],
                                      k % 2) *
                         simt_half<T>(lane(4 * column + from).b[upper], k % 2);
            }
            sum[i] = (float)exact;
        }
        return 0;
    });
}

#endif

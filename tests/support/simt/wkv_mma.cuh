/* SPDX-License-Identifier: Apache-2.0
 * What kernels/accelerators/wkv_mma.cuh does, for tests: by the tables of
 * fragments in the PTX manual, exact products of what tf32 keeps, one rounding.
 */
#ifndef VLY_WKV_MMA_CUH
#define VLY_WKV_MMA_CUH

#include "simt.h"

struct simt_tf32 {
    uint32_t a[4], b[2];
};

inline double simt_tf32_value(uint32_t bits)
{
    float x;
    bits &= 0xffffe000u;
    memcpy(&x, &bits, sizeof x);
    return x;
}

inline void wkv_mma_tf32(float c[4], const uint32_t a[4], const uint32_t b[2])
{
    const simt_tf32 mine = {{a[0], a[1], a[2], a[3]}, {b[0], b[1]}};
    const int g = simt_self % 32 / 4, t = simt_self % 4;
    simt_exchange(mine, [&](auto lane) {
        for (int i = 0; i < 4; i++) {
            const int row = i / 2, column = 2 * t + i % 2;
            double sum = c[i];
            for (int k = 0; k < 8; k++)
                sum += simt_tf32_value(lane(4 * g + k % 4).a[row + k / 4 * 2]) *
                       simt_tf32_value(lane(4 * column + k % 4).b[k / 4]);
            c[i] = (float)sum;
        }
        return 0;
    });
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 * kernels/accelerators/wgmma.cuh without PTX: what a descriptor of shared
 * memory means, as CUTLASS writes it down (mma_traits_sm90_gmma.hpp, canonical
 * layouts).
 */
#ifndef VLY_WGMMA_CUH
#define VLY_WGMMA_CUH

#include "attention_mma.cuh" /* numbers of every type as float */

inline void wgmma_fence(void)
{
}
inline void wgmma_commit(void)
{
}
template <int PENDING> void wgmma_wait(void)
{
    __syncwarp();
}
inline void wgmma_after(float, uint32_t)
{
}
template <typename X> void wgmma_hold(X &)
{
}
inline uint64_t wgmma_rows(uint32_t address)
{
    return (uint64_t)(address >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}
inline uint64_t wgmma_columns(uint32_t address, uint32_t slab)
{
    return (uint64_t)(address >> 4) | (uint64_t)(slab >> 4) << 16 |
           64ull << 32 | 1ull << 62;
}

inline uint64_t wgmma_at(uint64_t d, uint32_t bytes)
{
    return d + (bytes >> 4);
}

/* 32 bytes of the summed dimension at a time */
template <typename T, int N> struct wgmma {
    static constexpr int K = 32 / (int)sizeof(T);
    static uint32_t field(uint64_t descriptor, int bit)
    {
        return (uint32_t)(descriptor >> bit & 0x3fff) << 4;
    }
    static float at(uint32_t byte)
    {
        T x;
        byte ^= byte >> 3 & 0x70;
        memcpy(&x, simt_shared + byte, sizeof x);
        return simt_float(x);
    }
    /* rows of the summed dimension: ((8, n), 2) : ((8, SBO), 1) */
    static float by_row(uint64_t d, int row, int k)
    {
        return at(field(d, 0) + (uint32_t)(row / 8) * field(d, 32) +
                  (uint32_t)(row % 8 * 128 + k * (int)sizeof(T)));
    }
    /* or it goes down the rows: ((8, n), (8, k)) : ((1, LBO), (8, SBO)) */
    static float by_column(uint64_t d, int k, int n)
    {
        return at(field(d, 0) + (uint32_t)(n / 64) * field(d, 16) +
                  (uint32_t)(k / 8) * field(d, 32) +
                  (uint32_t)(k % 8 * 128 + n % 64 * 2));
    }
    template <typename B>
    static void product(float *d, const float a[2][K], B b, int add)
    {
        for (int x = 0; x < N / 2; x++) {
            const int n = x / 4 * 8 + 2 * (simt_self % 4) + x % 2;
            float sum = 0.0f;
            for (int k = 0; k < K; k++)
                sum += a[x / 2 % 2][k] * b(k, n);
            d[x] = (add ? d[x] : 0.0f) + sum;
        }
    }
    static void ss(float *d, uint64_t a, uint64_t b, int add)
    {
        const int row = simt_self % 128 / 32 * 16 + simt_self % 32 / 4;
        float rows[2][K];
        for (int k = 0; k < 2 * K; k++)
            rows[k / K][k % K] = by_row(a, row + k / K * 8, k % K);
        product(
            d, rows, [b](int k, int n) { return by_row(b, n, k); }, add);
    }
    struct fragment {
        uint32_t r[4];
    };
    /* a register has 4 bytes of a row; e4m3 wants b as ss does */
    static void rs(float *d, const uint32_t a[4], uint64_t b, int add)
    {
        constexpr int each = 4 / (int)sizeof(T);
        fragment mine;
        float rows[2][K];
        memcpy(mine.r, a, sizeof mine.r);
        simt_exchange(mine, [&](auto lane) {
            for (int k = 0; k < K; k++)
                for (int h = 0; h < 2; h++) {
                    T x[each];
                    const fragment of_k =
                        lane(simt_self % 32 / 4 * 4 + k % (K / 2) / each);
                    memcpy(x, &of_k.r[h + 2 * (k / (K / 2))], 4);
                    rows[h][k] = simt_float(x[k % each]);
                }
            return 0;
        });
        product(
            d, rows,
            [b](int k, int n) {
                return sizeof(T) == 1 ? by_row(b, n, k) : by_column(b, k, n);
            },
            add);
    }
};

/* as mma.m16n8k32: four bytes of a row of a, of a column of b, a register */
inline void mma_e4m3(float c[4], const uint32_t a[4], const uint32_t b[2])
{
    struct {
        uint32_t a[4], b[2];
    } mine = {{a[0], a[1], a[2], a[3]}, {b[0], b[1]}};
    float sum[4] = {};
    simt_exchange(mine, [&](auto lane) {
        const int self = simt_self % 32;
        for (int r = 0; r < 4; r++)
            for (int k = 0; k < 32; k++) {
                __nv_fp8_e4m3 x, y;
                const auto rows = lane(self / 4 * 4 + k % 16 / 4);
                const auto columns =
                    lane((2 * (self % 4) + r % 2) * 4 + k % 16 / 4);
                memcpy(&x, (const char *)&rows.a[r / 2 + k / 16 * 2] + k % 4,
                       1);
                memcpy(&y, (const char *)&columns.b[k / 16] + k % 4, 1);
                sum[r] += simt_float(x) * simt_float(y);
            }
        return 0;
    });
    for (int r = 0; r < 4; r++)
        c[r] += sum[r];
}

#endif

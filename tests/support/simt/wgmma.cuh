/* SPDX-License-Identifier: Apache-2.0
 * kernels/cuda/wgmma.cuh without PTX: what a descriptor of shared memory means,
 * as CUTLASS writes it down (mma_traits_sm90_gmma.hpp, canonical layouts).
 */
#ifndef VLY_WGMMA_CUH
#define VLY_WGMMA_CUH

inline void wgmma_fence(void)
{
}
inline void wgmma_commit(void)
{
}
template <int PENDING> void wgmma_wait(void)
{
    simt_sync_warp();
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

template <typename T, int N> struct wgmma {
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
                  (uint32_t)(row % 8 * 128 + k * 2));
    }
    /* or it goes down the rows: ((8, n), (8, k)) : ((1, LBO), (8, SBO)) */
    static float by_column(uint64_t d, int k, int n)
    {
        return at(field(d, 0) + (uint32_t)(n / 64) * field(d, 16) +
                  (uint32_t)(k / 8) * field(d, 32) +
                  (uint32_t)(k % 8 * 128 + n % 64 * 2));
    }
    template <typename B>
    static void product(float *d, const float a[2][16], B b, int add)
    {
        for (int x = 0; x < N / 2; x++) {
            const int n = x / 4 * 8 + 2 * (simt_self % 4) + x % 2;
            float sum = 0.0f;
            for (int k = 0; k < 16; k++)
                sum += a[x / 2 % 2][k] * b(k, n);
            d[x] = (add ? d[x] : 0.0f) + sum;
        }
    }
    static void ss(float *d, uint64_t a, uint64_t b, int add)
    {
        const int row = simt_self % 128 / 32 * 16 + simt_self % 32 / 4;
        float rows[2][16];
        for (int k = 0; k < 32; k++)
            rows[k / 16][k % 16] = by_row(a, row + k / 16 * 8, k % 16);
        product(
            d, rows, [b](int k, int n) { return by_row(b, n, k); }, add);
    }
    struct fragment {
        uint32_t r[4];
    };
    static void rs(float *d, const uint32_t a[4], uint64_t b, int add)
    {
        fragment mine;
        float rows[2][16];
        memcpy(mine.r, a, sizeof mine.r);
        simt_exchange(mine, [&](auto lane) {
            for (int k = 0; k < 16; k++)
                for (int h = 0; h < 2; h++)
                    rows[h][k] =
                        simt_half_of<T>(lane(simt_self % 32 / 4 * 4 + k % 8 / 2)
                                            .r[h + 2 * (k / 8)],
                                        k % 2);
            return 0;
        });
        product(
            d, rows, [b](int k, int n) { return by_column(b, k, n); }, add);
    }
};

#endif

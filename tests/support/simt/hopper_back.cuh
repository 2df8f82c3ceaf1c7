/* SPDX-License-Identifier: Apache-2.0
 * kernels/accelerators/hopper_back.cuh without PTX. Copies are done when they
 * are asked for; blocks come one after the other, so a flag that is not there
 * never comes.
 */
#ifndef VLY_HOPPER_BACK_CUH
#define VLY_HOPPER_BACK_CUH

#include <cstdlib>

#include "hopper.cuh"
#include "wgmma.cuh"

inline float2 shared_pair(uint32_t at)
{
    float2 x;
    memcpy(&x, simt_shared + at, sizeof x);
    return x;
}
inline void shared_store(uint32_t at, float a, float b, float c, float d)
{
    const float4 x = {a, b, c, d};
    memcpy(simt_shared + at, &x, sizeof x);
}
inline void bulk_load(uint32_t to, const void *from, uint32_t bytes,
                      uint32_t barrier)
{
    memcpy(simt_shared + to, from, bytes);
    simt_barriers[barrier].bytes -= bytes;
    simt_settle(&simt_barriers[barrier]);
}
inline void bulk_store(void *to, uint32_t from, uint32_t bytes)
{
    memcpy(to, simt_shared + from, bytes);
}
inline void bulk_add(float *to, uint32_t from, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes / 4; i++) {
        float x;
        memcpy(&x, simt_shared + from + 4 * i, 4);
        to[i] += x;
    }
}
inline void bulk_commit(void)
{
}
inline void bulk_wait_read(void)
{
}
inline void bulk_wait_all(void)
{
}
inline void flag_wait(const uint32_t *flag, uint32_t n)
{
    if (*flag != n)
        abort();
}
inline void flag_raise(uint32_t *flag)
{
    ++*flag;
}

template <typename T> struct wgmma_turned {
    using of = wgmma<T, 64>;
    static void ss(float *d, uint64_t a, uint64_t b, int add)
    {
        const int row = simt_self % 128 / 32 * 16 + simt_self % 32 / 4;
        float rows[2][16];
        for (int k = 0; k < 32; k++)
            rows[k / 16][k % 16] = of::by_column(a, k % 16, row + k / 16 * 8);
        of::product(
            d, rows, [b](int k, int n) { return of::by_column(b, k, n); }, add);
    }
};

#endif

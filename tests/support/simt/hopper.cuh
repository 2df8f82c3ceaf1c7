/* SPDX-License-Identifier: Apache-2.0
 * kernels/accelerators/hopper.cuh without PTX: barriers of transactions, TMA
 * with the swizzle of 128 bytes, named barriers.
 */
#ifndef VLY_HOPPER_CUH
#define VLY_HOPPER_CUH

#include <map>

#include <cuda.h>

#include "simt_tensor.h"

struct simt_barrier {
    int arrivals, pending;
    uint32_t phases;
    long bytes;
};
struct simt_named {
    uint32_t arrived, generation;
};
inline std::map<uint32_t, simt_barrier> simt_barriers;
inline simt_named simt_named_barriers[16];

inline void simt_settle(simt_barrier *b)
{
    if (b->pending == 0 && b->bytes == 0) {
        b->phases++;
        b->pending = b->arrivals;
    }
}
inline void barrier_init(uint32_t barrier, uint32_t arrivals)
{
    simt_barriers[barrier] = {(int)arrivals, (int)arrivals, 0, 0};
    for (simt_named &b : simt_named_barriers)
        b = simt_named();
}
inline void barrier_init_fence(void)
{
}
inline void barrier_expect(uint32_t barrier, uint32_t bytes)
{
    simt_barriers[barrier].bytes += bytes;
    simt_barriers[barrier].pending--;
    simt_settle(&simt_barriers[barrier]);
}
inline void fence_async(void)
{
}
inline void barrier_arrive(uint32_t barrier)
{
    barrier_expect(barrier, 0);
}
inline void barrier_wait(uint32_t barrier, uint32_t parity)
{
    const simt_barrier *b = &simt_barriers[barrier];
    while ((b->phases & 1u) == parity)
        emulated_wait(&b->phases, b->phases);
}
inline void tensor_load(uint32_t to, const CUtensorMap *map, uint32_t barrier,
                        int32_t c0, int32_t c1, int32_t c2, int32_t c3)
{
    simt_tensor t;
    memcpy(&t, map, sizeof t);
    for (uint32_t r = 0; r < t.rows; r++)
        for (uint32_t c = 0; c < 128 / t.size; c++) {
            const uint64_t row = (uint64_t)c1 + r;
            const uint64_t column = (uint64_t)c0 + c;
            const uint64_t from = column + row * t.stride[0] +
                                  (uint64_t)c2 * t.stride[1] +
                                  (uint64_t)c3 * t.stride[2];
            uint32_t at = to + r * 128 + c * t.size;
            at ^= at >> 3 & 0x70;
            memset(simt_shared + at, 0, t.size);
            if (row < t.dim[1] && column < t.dim[0])
                memcpy(simt_shared + at, (const char *)t.first + from * t.size,
                       t.size);
        }
    simt_barriers[barrier].bytes -= t.rows * 128;
    simt_settle(&simt_barriers[barrier]);
}
inline void tensor_prefetch(const CUtensorMap *)
{
}
template <int REGISTERS> void registers_more(void)
{
}
template <int REGISTERS> void registers_fewer(void)
{
}
inline void store_matrix(uint32_t address, const uint32_t r[4])
{
    struct {
        uint32_t address, r[4];
    } mine = {address, {r[0], r[1], r[2], r[3]}};
    simt_exchange(mine, [&](auto lane) {
        for (int m = 0; m < 4; m++)
            memcpy(simt_shared + lane(8 * m + simt_self % 32 / 4).address +
                       simt_self % 4 * 4,
                   &mine.r[m], 4);
        return 0;
    });
    __syncwarp();
}
inline void named_arrive(uint32_t id, uint32_t threads)
{
    simt_named *b = &simt_named_barriers[id];
    if (++b->arrived == threads) {
        b->arrived = 0;
        b->generation++;
    }
}
inline void named_wait(uint32_t id, uint32_t threads)
{
    const simt_named *b = &simt_named_barriers[id];
    const uint32_t generation = b->generation;
    named_arrive(id, threads);
    emulated_wait(&b->generation, generation);
}

#endif

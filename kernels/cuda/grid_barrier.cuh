/* SPDX-License-Identifier: Apache-2.0
 * A barrier over all blocks of a cooperative launch: one counter that only
 * grows. After it, what other blocks wrote before it is read with __ldcg,
 * which does not look into this multiprocessor's own cache.
 */
#ifndef VOLLEY_CUDA_GRID_BARRIER_CUH
#define VOLLEY_CUDA_GRID_BARRIER_CUH

#include <stdint.h>

/* First half, by one thread after __syncthreads. */
static __device__ __forceinline__ void grid_arrive(uint32_t *counter)
{
    __threadfence();
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter)
                 : "memory");
}

/* Second half, by the same thread; __syncthreads follows. */
static __device__ __forceinline__ void grid_wait(const uint32_t *counter,
                                                 uint32_t wanted)
{
    uint32_t seen;
    do {
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                     : "=r"(seen)
                     : "l"(counter)
                     : "memory");
    } while (seen < wanted);
    __threadfence();
}

#endif

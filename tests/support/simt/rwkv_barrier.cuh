/* SPDX-License-Identifier: Apache-2.0
 * kernels/cuda/rwkv_barrier.cuh on the processor: threads of blocks that run at
 * once, in turns.
 */
#ifndef VLY_RWKV_BARRIER_CUH
#define VLY_RWKV_BARRIER_CUH

#include "simt.h"

inline void rwkv_arrive(uint32_t *counter)
{
    (*counter)++;
}

inline void rwkv_wait_for(const uint32_t *counter, uint32_t wanted)
{
    while ((int32_t)(*(const volatile uint32_t *)counter - wanted) < 0)
        simt_yield();
}

inline void rwkv_sync_group(uint32_t group)
{
    simt_sync_group(group, 256);
}

inline void rwkv_sync_workers()
{
    simt_sync_group(2, 512);
}

template <typename... P>
int rwkv_launch_together(void (*kernel)(P...), uint32_t blocks,
                         uint32_t threads, size_t bytes, void *, P... args)
{
    if (bytes > SIMT_SHARED_BYTES)
        return (int)cudaErrorInvalidValue;
    simt_run_together(blocks, threads, [&] { kernel(args...); });
    return 0;
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 * kernels/accelerators/rwkv_launch.cuh on the processor: one kernel after the
 * other.
 */
#ifndef VLY_RWKV_LAUNCH_CUH
#define VLY_RWKV_LAUNCH_CUH

#include "simt.h"

inline void rwkv_wait()
{
}
inline void rwkv_prefetch(const void *)
{
}

template <typename... P>
int rwkv_launch(void (*kernel)(P...), dim3 grid, uint32_t threads, size_t bytes,
                void *, uint32_t, P... args)
{
    if (bytes > SIMT_SHARED_BYTES)
        return (int)cudaErrorInvalidValue;
    emulated_run([&] { kernel(args...); }, grid, dim3(threads), bytes);
    return 0;
}

#endif

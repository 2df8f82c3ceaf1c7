/* SPDX-License-Identifier: Apache-2.0
 * Barriers of a chain of operations (rwkv_chain.cu): over all blocks of a
 * launch, by one counter that only grows and may wrap, and over half a block.
 */
#ifndef VLY_RWKV_BARRIER_CUH
#define VLY_RWKV_BARRIER_CUH

#include <stdint.h>

#include <cuda_runtime.h>

/* By one thread of each block, after __syncthreads: what the block wrote is
 * there for those who wait. A thread that fetches nothing: it may wait for what
 * it has under way. */
static __device__ __forceinline__ void rwkv_arrive(uint32_t *counter)
{
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter)
                 : "memory");
}

/* Until the counter has reached `wanted`; by the same thread, __syncthreads
 * follows. */
static __device__ __forceinline__ void rwkv_wait_for(const uint32_t *counter,
                                                     uint32_t wanted)
{
    uint32_t seen;
    do {
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                     : "=r"(seen)
                     : "l"(counter)
                     : "memory");
    } while ((int32_t)(seen - wanted) < 0);
}

/* Of the 256 threads of a group, 0 or 1. */
static __device__ __forceinline__ void rwkv_sync_group(uint32_t group)
{
    asm volatile("bar.sync %0, 256;" ::"r"(group + 1) : "memory");
}

/* Of the 512 threads that work. */
static __device__ __forceinline__ void rwkv_sync_workers()
{
    asm volatile("bar.sync 3, 512;" ::: "memory");
}

/* All blocks run at once, or none. */
template <typename... P>
static int rwkv_launch_together(void (*kernel)(P...), uint32_t blocks,
                                uint32_t threads, size_t bytes, void *stream,
                                P... args)
{
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = bytes;
    config.stream = (cudaStream_t)stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    const cudaError_t code = cudaLaunchKernelEx(&config, kernel, args...);
    return code != cudaSuccess ? (int)code : (int)cudaGetLastError();
}

#endif

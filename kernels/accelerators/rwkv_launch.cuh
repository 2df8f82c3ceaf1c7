/* SPDX-License-Identifier: Apache-2.0
 * How the kernels of RWKV-7 follow each other. With `early`, a kernel starts
 * when every block of the previous one has called rwkv_wait. Before its own
 * rwkv_wait it must not touch memory that the previous kernel, or the one
 * before that, writes; it may read weights (programmatic dependent launch).
 */
#ifndef VLY_RWKV_LAUNCH_CUH
#define VLY_RWKV_LAUNCH_CUH

#include <stdint.h>

#include <cuda_runtime.h>

/* Waits until results of previous kernels are visible; lets the next kernel
 * start. */
static __device__ __forceinline__ void rwkv_wait()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* Prefetches a line into the second-level cache: for weights, before
 * rwkv_wait. */
static __device__ __forceinline__ void rwkv_prefetch(const void *at)
{
    asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
}

template <typename... P>
static int rwkv_launch(void (*kernel)(P...), dim3 grid, uint32_t threads,
                       size_t bytes, void *stream, uint32_t early, P... args)
{
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = bytes;
    config.stream = (cudaStream_t)stream;
    config.attrs = &attribute;
    config.numAttrs = early ? 1 : 0;
    const cudaError_t code = cudaLaunchKernelEx(&config, kernel, args...);
    return code != cudaSuccess ? (int)code : (int)cudaGetLastError();
}

#endif

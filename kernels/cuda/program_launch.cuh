/* SPDX-License-Identifier: Apache-2.0
 * Launching a kernel of global_burst.cuh with programs: its values in shared
 * memory, if they fit.
 */
#ifndef VOLLEY_CUDA_PROGRAM_LAUNCH_CUH
#define VOLLEY_CUDA_PROGRAM_LAUNCH_CUH

#include "allow_shared.cuh"
#include "program_kernels.h"

#define SLOT_BYTES (VLY_CUDA_THREADS * (uint32_t)sizeof(uint32_t))

static cudaError_t count_slots(const void *kernel, uint32_t *n_slots)
{
    int device = 0;
    int most = 0;
    cudaFuncAttributes own;
    cudaError_t code = cudaGetDevice(&device);
    if (code == cudaSuccess)
        code = cudaDeviceGetAttribute(
            &most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    if (code == cudaSuccess)
        code = cudaFuncGetAttributes(&own, kernel);
    if (code != cudaSuccess)
        return code;
    const uint32_t used = (uint32_t)own.sharedSizeBytes;
    *n_slots = (uint32_t)most > used ? ((uint32_t)most - used) / SLOT_BYTES : 0;
    return cudaSuccess;
}

static cudaError_t launch_programs(const void *kernel, void **arguments,
                                   const vly_cuda_programs *programs,
                                   uint32_t n_blocks, cudaStream_t stream)
{
    const uint32_t bytes =
        programs->values == nullptr ? programs->n_slots * SLOT_BYTES : 0;
    const cudaError_t code = allow_shared(kernel);
    if (code != cudaSuccess)
        return code;
    return cudaLaunchCooperativeKernel(kernel, dim3(n_blocks),
                                       dim3(VLY_CUDA_THREADS), arguments, bytes,
                                       stream);
}

#endif

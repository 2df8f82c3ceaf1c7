/* SPDX-License-Identifier: Apache-2.0
 * Shared memory of a kernel beyond the default limit.
 */
#ifndef VOLLEY_CUDA_ALLOW_SHARED_CUH
#define VOLLEY_CUDA_ALLOW_SHARED_CUH

#include <cuda_runtime_api.h>

/* All that the device has: the limit is the kernel's, not the net's, and a
 * smaller one set for another net would stop this one. */
static inline cudaError_t allow_shared(const void *kernel)
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
    if (code == cudaSuccess)
        code = cudaFuncSetAttribute(kernel,
                                    cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    most - (int)own.sharedSizeBytes);
    return code;
}

#endif

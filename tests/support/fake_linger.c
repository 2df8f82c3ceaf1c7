/* SPDX-License-Identifier: Apache-2.0
 * Launches that stay are not possible on the fake device (fake_cuda.c).
 */
#include "kernels/cuda/linger_kernels.h"

/* nothing is made of what they are given */
#pragma GCC diagnostic ignored "-Wunused-parameter"

cudaError_t vly_cuda_linger_resident_fit(const vly_cuda_view *view,
                                         const vly_cuda_resident *resident,
                                         int *fits)
{
    *fits = 0;
    return cudaSuccess;
}

cudaError_t vly_cuda_linger_partition_fit(const vly_cuda_view *view,
                                          const vly_cuda_partition *partition,
                                          int *fits)
{
    *fits = 0;
    return cudaSuccess;
}

cudaError_t vly_cuda_linger_resident(const vly_cuda_view *view,
                                     const vly_cuda_launch *launch,
                                     const vly_cuda_resident *resident,
                                     const vly_cuda_linger *linger,
                                     cudaStream_t stream)
{
    return cudaErrorNotSupported;
}

cudaError_t vly_cuda_linger_partition(const vly_cuda_view *view,
                                      const vly_cuda_launch *launch,
                                      const vly_cuda_partition *partition,
                                      const vly_cuda_linger *linger,
                                      cudaStream_t stream)
{
    return cudaErrorNotSupported;
}

/* SPDX-License-Identifier: Apache-2.0
 * Launches of the resident plan that stay on the device between runs
 * (linger_resident.cuh).
 */
#include "linger_resident.cuh"

static const void *pick(const vly_cuda_view *view,
                        const vly_cuda_resident *resident, bool few)
{
    return resident->step != 0 ? vly_cuda_linger_shifted_kernel(view, few)
                               : pick_linger(view, few);
}

cudaError_t vly_cuda_linger_resident_fit(const vly_cuda_view *view,
                                         const vly_cuda_resident *resident,
                                         int *fits)
{
    const size_t bytes = (size_t)vly_cuda_resident_bytes(view, resident);
    int n[2] = {0, 0};
    cudaError_t code = cudaSuccess;
    *fits = 0;
    if (!is_kept(view, resident))
        return cudaSuccess;
    for (int few = 0; few < 2 && code == cudaSuccess; few++) {
        const void *kernel = pick(view, resident, few != 0);
        code = allow_shared(kernel);
        if (code == cudaSuccess)
            code = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                &n[few], kernel, (int)(few != 0 ? FEW_THREADS : MANY_THREADS),
                bytes);
    }
    *fits = n[0] > 0 && n[1] > 0;
    return code;
}

cudaError_t vly_cuda_linger_resident(const vly_cuda_view *view,
                                     const vly_cuda_launch *launch,
                                     const vly_cuda_resident *resident,
                                     const vly_cuda_linger *linger,
                                     cudaStream_t stream)
{
    const uint32_t threads = n_threads(resident);
    void *arguments[4] = {(void *)view, (void *)launch, (void *)resident,
                          (void *)linger};
    return cudaLaunchCooperativeKernel(
        pick(view, resident, threads <= FEW_THREADS), dim3(resident->n_blocks),
        dim3(threads), arguments,
        (size_t)vly_cuda_resident_bytes(view, resident), stream);
}

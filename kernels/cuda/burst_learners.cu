/* SPDX-License-Identifier: Apache-2.0
 * The resident plan for nets with maps that learn: see learners_launch.cuh.
 */
#include "learners_launch.cuh"

const void *vly_cuda_learners_kernel(const vly_cuda_view *view,
                                     const vly_cuda_resident *resident)
{
    return pick_run(view, resident);
}

cudaError_t vly_cuda_launch_learners(const vly_cuda_view *view,
                                     const vly_cuda_launch *launch,
                                     const vly_cuda_resident *resident,
                                     const vly_cuda_learners *learners,
                                     const void *spliced, cudaStream_t stream)
{
    return launch_run(spliced != nullptr ? spliced : pick_run(view, resident),
                      view, launch, resident, learners, stream);
}

cudaError_t vly_cuda_launch_learners_flush(const vly_cuda_view *view,
                                           const vly_cuda_resident *resident,
                                           const vly_cuda_learners *learners,
                                           uint64_t burst, cudaStream_t stream)
{
    return launch_flush(view, resident, learners, burst, stream);
}

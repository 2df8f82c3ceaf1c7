/* SPDX-License-Identifier: Apache-2.0
 * The plan for every net, with maps that learn by rules of users: see
 * global_burst.cuh. One kernel, for built-in models alone or several.
 */
#define VLY_CUDA_LEARNS 1
#define VLY_CUDA_USERS_RULES 1
#include "global_burst.cuh"
#include "learning_flush.cuh"

cudaError_t vly_cuda_launch_rules(const vly_cuda_view *view,
                                  const vly_cuda_launch *launch,
                                  const vly_cuda_learnings *learnings,
                                  uint32_t n_blocks, cudaStream_t stream)
{
    void *arguments[3] = {(void *)view, (void *)launch, (void *)learnings};
    return cudaLaunchCooperativeKernel(pick_kernel(view->model), dim3(n_blocks),
                                       dim3(THREADS), arguments, 0, stream);
}

cudaError_t vly_cuda_launch_rules_flush(const vly_cuda_learnings *learnings,
                                        uint64_t burst, uint32_t n_blocks,
                                        cudaStream_t stream)
{
    return flush_and_renew(learnings, burst, n_blocks, stream);
}

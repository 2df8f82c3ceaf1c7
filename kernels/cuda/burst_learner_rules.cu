/* SPDX-License-Identifier: Apache-2.0
 * The resident plan for nets with maps that learn by rules of users: see
 * learners_launch.cuh.
 */
#define VLY_CUDA_USERS_RULES 1
#include "learners_launch.cuh"

/* Its shared memory is allowed here: vly_cuda_resident_prepare would load it
 * for nets without such rules, too. */
cudaError_t vly_cuda_launch_learner_rules(const vly_cuda_view *view,
                                          const vly_cuda_launch *launch,
                                          const vly_cuda_resident *resident,
                                          const vly_cuda_learners *learners,
                                          cudaStream_t stream)
{
    const void *kernel = pick_run(view, resident);
    const cudaError_t code = allow_shared(kernel);
    return code == cudaSuccess
               ? launch_run(kernel, view, launch, resident, learners, stream)
               : code;
}

cudaError_t vly_cuda_launch_learner_rules_flush(
    const vly_cuda_view *view, const vly_cuda_resident *resident,
    const vly_cuda_learners *learners, uint64_t burst, cudaStream_t stream)
{
    return launch_flush(view, resident, learners, burst, stream);
}

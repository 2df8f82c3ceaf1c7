/* SPDX-License-Identifier: Apache-2.0
 * The plan for every net, with users' models and maps that learn: see
 * global_burst.cuh.
 */
#define VLY_CUDA_LEARNS 1
#define VLY_CUDA_PROGRAMS 1
#include "global_burst.cuh"
#include "program_launch.cuh"

cudaError_t vly_cuda_programs_learning_slots(uint32_t *n_slots)
{
    return count_slots(pick_kernel(VLY_CUDA_N_MODELS), n_slots);
}

cudaError_t vly_cuda_launch_programs_learning(
    const vly_cuda_view *view, const vly_cuda_launch *launch,
    const vly_cuda_learnings *learnings, const vly_cuda_programs *programs,
    uint32_t n_blocks, cudaStream_t stream)
{
    void *arguments[4] = {(void *)view, (void *)launch, (void *)learnings,
                          (void *)programs};
    return launch_programs(pick_kernel(programs->model), arguments, programs,
                           n_blocks, stream);
}

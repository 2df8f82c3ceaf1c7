/* SPDX-License-Identifier: Apache-2.0
 * As burst_spliced_resident.cu, with maps that learn by any rule of this plan,
 * and with weights with shifts. The flush between launches is that of nets
 * without users' models (learners_launch.cuh).
 */
#define VLY_CUDA_USERS_RULES 1
#define VLY_CUDA_PROGRAMS 1
#define VLY_CUDA_SPLICED 1
#define RESIDENT_SHIFTED 1
#define RESIDENT_LEARNS 1
#include "resident_run.cuh"

/* So that the kernels are in the text. */
const void *vly_cuda_spliced_learners_kernel(uint32_t model, uint32_t threads)
{
    return pick_instance(model, threads);
}

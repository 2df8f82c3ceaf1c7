/* SPDX-License-Identifier: Apache-2.0
 * As burst_spliced.cu, with maps that learn by any rule: compiled to text only,
 * in which all kernels share the functions of the rules. The backend leaves the
 * one kernel and the rules that a net needs (backends/cuda/cuda_splice.c).
 */
#define VLY_CUDA_LEARNS 1
#define VLY_CUDA_USERS_RULES 1
#define VLY_CUDA_PROGRAMS 1
#define VLY_CUDA_SPLICED 1
#include "global_burst.cuh"

/* So that the kernels are in the text. */
const void *vly_cuda_spliced_learning_kernel(uint32_t model)
{
    return pick_kernel(model);
}

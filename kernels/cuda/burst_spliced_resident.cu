/* SPDX-License-Identifier: Apache-2.0
 * The resident plan with users' models as instructions, as burst_spliced.cu for
 * the plan for every net: compiled to text only. The backend leaves the one
 * kernel that a net needs (backends/cuda/cuda_splice.c).
 */
#define VLY_CUDA_PROGRAMS 1
#define VLY_CUDA_SPLICED 1
#include "resident_run.cuh"

/* So that the kernels are in the text. */
const void *vly_cuda_spliced_resident_kernel(uint32_t model, uint32_t threads)
{
    return pick_instance(model, threads);
}

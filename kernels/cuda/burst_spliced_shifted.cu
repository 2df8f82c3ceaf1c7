/* SPDX-License-Identifier: Apache-2.0
 * As burst_spliced_resident.cu, for weights with shifts (burst_shifted.cu).
 */
#define VLY_CUDA_PROGRAMS 1
#define VLY_CUDA_SPLICED 1
#define RESIDENT_SHIFTED 1
#include "resident_run.cuh"

/* So that the kernels are in the text. */
const void *vly_cuda_spliced_shifted_kernel(uint32_t model, uint32_t threads)
{
    return pick_instance(model, threads);
}

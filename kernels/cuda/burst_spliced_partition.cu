/* SPDX-License-Identifier: Apache-2.0
 * The partitioned plan with users' models as instructions, as burst_spliced.cu
 * for the plan for every net: compiled to text only. The backend leaves the one
 * kernel that a net needs (backends/cuda/cuda_splice.c).
 */
#define VLY_CUDA_PROGRAMS 1
#define VLY_CUDA_SPLICED 1
#include "partition_run.cuh"

/* So that the kernels are in the text. */
const void *vly_cuda_spliced_partition_kernel(uint32_t model, uint32_t unit,
                                              uint32_t kind)
{
    return kind == KIND_NARROW ? pick_unit<KIND_NARROW>(unit, model)
           : kind == KIND_PAIR ? pick_unit<KIND_PAIR>(unit, model)
                               : pick_unit<KIND_COPIES>(unit, model);
}

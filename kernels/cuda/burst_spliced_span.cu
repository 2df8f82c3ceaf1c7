/* SPDX-License-Identifier: Apache-2.0
 * The partitioned plan on several devices with users' models as instructions,
 * as burst_spliced_partition.cu on one: compiled to text only.
 */
#define VLY_CUDA_PROGRAMS 1
#define VLY_CUDA_SPLICED 1
#include "partition_span_run.cuh"

/* So that the kernels are in the text. */
const void *vly_cuda_spliced_span_kernel(uint32_t model, uint32_t unit,
                                         uint32_t kind)
{
    return kind == KIND_NARROW ? pick_span_unit<KIND_NARROW>(unit, model)
                               : pick_span_unit<KIND_COPIES>(unit, model);
}

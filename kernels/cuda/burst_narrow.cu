/* SPDX-License-Identifier: Apache-2.0
 * The partitioned plan with sums of 16 bits (narrow_sums.h): the kernels are in
 * a separate file, so that they compile in parallel.
 */
#include "partition_run.cuh"

const void *vly_cuda_narrow_kernel(uint32_t unit, uint32_t model)
{
    return pick_unit<KIND_NARROW>(unit, model);
}

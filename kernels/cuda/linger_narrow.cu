/* SPDX-License-Identifier: Apache-2.0
 * Launches that stay, of the partitioned plan with sums of 16 bits: the kernels
 * are in a separate file, so that they compile in parallel.
 */
#include "linger_partition.cuh"

const void *vly_cuda_linger_narrow_kernel(uint32_t unit, uint32_t model)
{
    return pick_linger_unit<KIND_NARROW>(unit, model);
}

/* SPDX-License-Identifier: Apache-2.0
 * The kernels of a span with sums of 16 bits.
 */
#include "partition_span_run.cuh"

const void *vly_cuda_span_narrow_kernel(uint32_t unit, uint32_t model)
{
    return pick_span_unit<KIND_NARROW>(unit, model);
}

/* SPDX-License-Identifier: Apache-2.0
 * The resident plan for weights with shifts (shift_classes.h): the kernels are
 * in a separate file, so that the others stay as short as they are and compile
 * in parallel.
 */
#define RESIDENT_SHIFTED 1
#include "resident_run.cuh"

const void *vly_cuda_shifted_kernel(const vly_cuda_view *view,
                                    const vly_cuda_resident *resident)
{
    return pick_run(view, resident);
}

/* SPDX-License-Identifier: Apache-2.0
 * Launches that stay, of the resident plan for weights with shifts: the kernels
 * are in a separate file, so that they compile in parallel.
 */
#define RESIDENT_SHIFTED 1
#include "linger_resident.cuh"

const void *vly_cuda_linger_shifted_kernel(const vly_cuda_view *view, bool few)
{
    return pick_linger(view, few);
}

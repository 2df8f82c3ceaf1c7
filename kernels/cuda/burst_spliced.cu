/* SPDX-License-Identifier: Apache-2.0
 * The plan for every net, with users' models as instructions: see
 * global_burst.cuh. It is compiled to text only, once for each
 * VLY_CUDA_SPLICED_MODEL, with marks (program_splice.cuh) where the backend
 * writes the steps of a net's programs. If all areas have programs, the kernel
 * holds no other model: nothing is spilled.
 */
#define VLY_CUDA_PROGRAMS 1
#define VLY_CUDA_SPLICED 1
#include "global_burst.cuh"

/* So that the kernel is in the text. */
const void *vly_cuda_spliced_kernel(uint32_t model)
{
    return pick_kernel(model);
}

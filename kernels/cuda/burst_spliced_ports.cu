/* SPDX-License-Identifier: Apache-2.0
 * As burst_spliced.cu, with users' models of three or four ports. The mark has
 * the operands of the others: the step finds the inputs of ports 2 and 3 in
 * memory (program_splice.cuh).
 */
#define VLY_CUDA_PROGRAMS 1
#define VLY_CUDA_SPLICED 1
#define VLY_CUDA_PROGRAM_PORTS 4
#include "global_burst.cuh"

/* So that the kernel is in the text. */
const void *vly_cuda_spliced_ports_kernel(void)
{
    return pick_kernel(VLY_CUDA_N_MODELS);
}

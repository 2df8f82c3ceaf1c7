/* SPDX-License-Identifier: Apache-2.0
 * As burst_spliced_learning.cu, with users' models of three or four ports,
 * whose step finds its inputs as in burst_spliced_ports.cu.
 */
#define VLY_CUDA_LEARNS 1
#define VLY_CUDA_USERS_RULES 1
#define VLY_CUDA_PROGRAMS 1
#define VLY_CUDA_SPLICED 1
#define VLY_CUDA_PROGRAM_PORTS 4
#include "global_burst.cuh"

/* So that the kernel is in the text. */
const void *vly_cuda_spliced_ports_learning_kernel(void)
{
    return pick_kernel(VLY_CUDA_N_MODELS);
}

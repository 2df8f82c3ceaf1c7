/* SPDX-License-Identifier: Apache-2.0
 * What only some nets that learn need: marks in texts of kernels
 * (program_splice.cuh). The backend writes an end of the thread in place of the
 * mark of a part that the net does not need, so that the driver's compiler
 * leaves that part out: with all rules it takes several times as long. Other
 * kernels have no instruction for it.
 */
#ifndef VOLLEY_CUDA_LEARNING_NEEDS_CUH
#define VOLLEY_CUDA_LEARNING_NEEDS_CUH

#include "learning_kernels.h"

/* PART: a rule, or VLY_CUDA_NEEDS_*. */
template <int PART> static __device__ __forceinline__ void learning_needs()
{
#if VLY_CUDA_SPLICED
    asm volatile("//VLY_NEEDS %0" : : "n"(PART));
#endif
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Marks of sources whose segments have a rest, in global memory.
 */
#ifndef VOLLEY_CUDA_SEGMENT_MARKS_CUH
#define VOLLEY_CUDA_SEGMENT_MARKS_CUH

#include "cuda_kernels.h"

/* Sources marked before source id, in a block's marks. */
static __device__ __forceinline__ uint32_t
marked_before(const vly_cuda_marks *marks, uint32_t id)
{
    const vly_cuda_marks at = marks[id / 32];
    return at.before + (uint32_t)__popc(at.bits & ((1u << id % 32) - 1));
}

#endif

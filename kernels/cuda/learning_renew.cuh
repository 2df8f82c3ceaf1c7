/* SPDX-License-Identifier: Apache-2.0
 * Ages of what traces remember, between launches.
 */
#ifndef VOLLEY_CUDA_LEARNING_RENEW_CUH
#define VOLLEY_CUDA_LEARNING_RENEW_CUH

#include "learning_kernels.h"

/* What is long ago gets an age that does not grow beyond 31 bits. */
static __device__ __forceinline__ void learning_renew(uint32_t *burst,
                                                      uint32_t now)
{
    if ((int32_t)(now - *burst) > (int32_t)VLY_CUDA_AGE_PERIOD)
        *burst = now - VLY_CUDA_AGE_NEVER;
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Copies of strided rows: a thread loads several chunks before it stores them,
 * since a load from another device takes a microsecond.
 */
#include "attention_copy.h"

#include <cuda_runtime_api.h>

enum { THREADS = 256, EACH = 4 };

/* Place of chunk i, in chunks from both pointers. */
static __device__ __forceinline__ void place_of(const vly_attention_copy &copy,
                                                uint32_t i, uint64_t *to,
                                                uint64_t *from)
{
    uint32_t rest = i / copy.width;
    *to = *from = i % copy.width;
    for (int axis = 0; axis < 3; axis++) {
        const uint32_t at = rest % copy.count[axis];
        rest /= copy.count[axis];
        *to += at * copy.to_step[axis];
        *from += at * copy.from_step[axis];
    }
}

static __global__ void
copy_rows(const __grid_constant__ vly_attention_copy copy, uint32_t n)
{
    const uint32_t first = blockIdx.x * (THREADS * EACH) + threadIdx.x;
    uint4 value[EACH];
    uint64_t to[EACH], from;
    for (int k = 0; k < EACH; k++) {
        const uint32_t i = first + k * THREADS;
        if (i < n) {
            place_of(copy, i, &to[k], &from);
            value[k] = ((const uint4 *)copy.from)[from];
        }
    }
    for (int k = 0; k < EACH; k++)
        if (first + k * THREADS < n)
            ((uint4 *)copy.to)[to[k]] = value[k];
}

int vly_attention_copy_rows(const vly_attention_copy *copy, void *stream)
{
    const uint64_t n = (uint64_t)copy->width * copy->count[0] * copy->count[1] *
                       copy->count[2];
    if (n > INT32_MAX)
        return (int)cudaErrorInvalidValue;
    const uint32_t blocks =
        (uint32_t)((n + THREADS * EACH - 1) / (THREADS * EACH));
    if (blocks == 0)
        return 0;
    copy_rows<<<blocks, THREADS, 0, (cudaStream_t)stream>>>(*copy, (uint32_t)n);
    return (int)cudaGetLastError();
}

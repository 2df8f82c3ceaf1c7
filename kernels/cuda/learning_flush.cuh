/* SPDX-License-Identifier: Apache-2.0
 * What happens to maps that learn between launches of the plan for every net:
 * all rows are brought up to date.
 */
#ifndef VOLLEY_CUDA_LEARNING_FLUSH_CUH
#define VOLLEY_CUDA_LEARNING_FLUSH_CUH

#include "learning_renew.cuh"
#include "learning_rows.cuh"

/* All spikes of targets before `burst` are folded in. */
static __global__ void __launch_bounds__(VLY_CUDA_THREADS, 1)
    flush_all(const __grid_constant__ vly_cuda_learnings learnings,
              uint64_t burst)
{
    learning_flush(learnings, burst, true);
}

/* After flush_all: they are; and what is long ago gets an age that does not
 * grow beyond 31 bits. */
static __global__ void __launch_bounds__(VLY_CUDA_THREADS, 1)
    renew_all(const __grid_constant__ vly_cuda_learnings learnings,
              uint64_t burst)
{
    const uint32_t step = gridDim.x * blockDim.x;
    const uint32_t from = blockIdx.x * blockDim.x + threadIdx.x;
    const uint32_t now = (uint32_t)burst;
    for (uint32_t p = 0; p < learnings.n; p++) {
        const vly_cuda_learning &l = learnings.list[p];
        const uint64_t posts = (uint64_t)l.n_targets * (l.mask + 1);
        if (from == 0)
            *l.flushed = now;
        if (learning_has_window(l)) {
            window_renew(l, now, from, step);
            continue;
        }
        for (uint32_t k = from; k < l.n_sources; k += step)
            learning_renew(l.arrived + k, now);
        for (uint32_t i = from; i < l.n_targets; i += step)
            for (uint32_t n = 0; n < VLY_CUDA_NEWEST; n++)
                learning_renew(&l.newest[i].burst[n], now);
        for (uint64_t at = from; at < posts; at += step)
            learning_renew(l.post + at, now);
    }
}

static cudaError_t flush_and_renew(const vly_cuda_learnings *learnings,
                                   uint64_t burst, uint32_t n_blocks,
                                   cudaStream_t stream)
{
    flush_all<<<n_blocks, VLY_CUDA_THREADS, 0, stream>>>(*learnings, burst);
    cudaError_t code = cudaGetLastError();
    if (code != cudaSuccess)
        return code;
    renew_all<<<n_blocks, VLY_CUDA_THREADS, 0, stream>>>(*learnings, burst);
    return cudaGetLastError();
}

#endif

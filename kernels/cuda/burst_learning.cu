/* SPDX-License-Identifier: Apache-2.0
 * The plan for every net, with maps that learn: global_burst.cuh with them, and
 * what happens to their synapses between launches.
 */
#define VLY_CUDA_LEARNS 1
#include "global_burst.cuh"

#include "kernels/models/digest.h"

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

/* Sum over words [0, n) of a snapshot's weights from word `at` on. */
static __global__ void digest_weights(const uint32_t *words, uint64_t n,
                                      uint64_t at, uint64_t *sum)
{
    uint64_t digest = 0;
    uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (; i < n; i += (uint64_t)gridDim.x * blockDim.x)
        digest += vly_digest_weight(at + i, __ldcg(words + i));
    digest = warp_sum(digest);
    if (threadIdx.x % 32 == 0)
        atomicAdd((unsigned long long *)sum, (unsigned long long)digest);
}

/* ---- launchers --------------------------------------------------------- */

cudaError_t vly_cuda_launch_learning(const vly_cuda_view *view,
                                     const vly_cuda_launch *launch,
                                     const vly_cuda_learnings *learnings,
                                     uint32_t n_blocks, cudaStream_t stream)
{
    void *arguments[3] = {(void *)view, (void *)launch, (void *)learnings};
    return cudaLaunchCooperativeKernel(pick_kernel(view->model), dim3(n_blocks),
                                       dim3(THREADS), arguments, 0, stream);
}

cudaError_t vly_cuda_launch_learning_flush(const vly_cuda_learnings *learnings,
                                           uint64_t burst, uint32_t n_blocks,
                                           cudaStream_t stream)
{
    flush_all<<<n_blocks, THREADS, 0, stream>>>(*learnings, burst);
    cudaError_t code = cudaGetLastError();
    if (code != cudaSuccess)
        return code;
    renew_all<<<n_blocks, THREADS, 0, stream>>>(*learnings, burst);
    return cudaGetLastError();
}

cudaError_t vly_cuda_launch_weights_digest(const uint32_t *words, uint64_t n,
                                           uint64_t at, uint64_t *sum,
                                           cudaStream_t stream)
{
    uint64_t blocks = (n + THREADS - 1) / THREADS;
    digest_weights<<<(uint32_t)(blocks < 1024 ? blocks + 1 : 1024), THREADS, 0,
                     stream>>>(words, n, at, sum);
    return cudaGetLastError();
}

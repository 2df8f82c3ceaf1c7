/* SPDX-License-Identifier: Apache-2.0
 * The plan for every net, with maps that learn: global_burst.cuh with them, and
 * what happens to their synapses between launches.
 */
#define VLY_CUDA_LEARNS 1
#include "global_burst.cuh"
#include "learning_flush.cuh"

#include "kernels/models/digest.h"

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
    return flush_and_renew(learnings, burst, n_blocks, stream);
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

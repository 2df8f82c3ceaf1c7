/* SPDX-License-Identifier: Apache-2.0
 * The resident plan for nets with maps that learn: a flush between launches,
 * and how its kernels are launched. Weights of other maps may have shifts. With
 * VLY_CUDA_USERS_RULES, maps may learn by rules of users.
 */
#ifndef VOLLEY_CUDA_LEARNERS_LAUNCH_CUH
#define VOLLEY_CUDA_LEARNERS_LAUNCH_CUH

#define RESIDENT_SHIFTED 1
#define RESIDENT_LEARNS 1
#include "resident_run.cuh"

static_assert(sizeof(vly_cuda_view) + sizeof(vly_cuda_launch) +
                      sizeof(vly_cuda_resident) + sizeof(vly_cuda_learners) <=
                  4096,
              "arguments of a kernel, before CUDA 12.1");

static __global__ void __launch_bounds__(VLY_CUDA_THREADS, 1)
    flush_learners(const __grid_constant__ vly_cuda_view view,
                   const __grid_constant__ vly_cuda_resident resident,
                   const __grid_constant__ vly_cuda_learners learners,
                   uint64_t burst)
{
    extern __shared__ uint4 dynamic[];
    const resident_block block = make_block(view, resident, dynamic);
    const resident_learner &learner =
        make_learner(view, learners, resident, block);
    __syncthreads();
    learner_load_newest(learner);
    if (threadIdx.x == 0)
        learner.flushed[0] = __ldcg(learners.flushed + blockIdx.x);
    __syncthreads();
    learner_flush<ANY_RULE>(learner, (uint32_t)burst);
    if (threadIdx.x == 0) {
        learners.flushed[blockIdx.x] = (uint32_t)burst;
        learners.full[blockIdx.x] = 0;
        if (blockIdx.x == 0)
            *learners.wanted = (uint32_t)burst;
    }
}

static cudaError_t launch_run(const void *kernel, const vly_cuda_view *view,
                              const vly_cuda_launch *launch,
                              const vly_cuda_resident *resident,
                              const vly_cuda_learners *learners,
                              cudaStream_t stream)
{
    void *arguments[4] = {(void *)view, (void *)launch, (void *)resident,
                          (void *)learners};
    return cudaLaunchCooperativeKernel(
        kernel, dim3(resident->n_blocks),
        dim3(is_kept(view, resident) ? n_threads(resident) : MANY_THREADS),
        arguments, (size_t)vly_cuda_resident_bytes(view, resident), stream);
}

static cudaError_t launch_flush(const vly_cuda_view *view,
                                const vly_cuda_resident *resident,
                                const vly_cuda_learners *learners,
                                uint64_t burst, cudaStream_t stream)
{
    cudaError_t code = allow_shared((const void *)flush_learners);
    if (code != cudaSuccess)
        return code;
    flush_learners<<<resident->n_blocks, MANY_THREADS,
                     (size_t)vly_cuda_resident_bytes(view, resident), stream>>>(
        *view, *resident, *learners, burst);
    return cudaGetLastError();
}

#endif

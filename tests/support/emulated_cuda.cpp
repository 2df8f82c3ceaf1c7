/* SPDX-License-Identifier: Apache-2.0
 * The calls of the runtime that launch the kernels of a burst on the processor
 * (emulated_cuda.h); the rest of the runtime is fake_cuda.c.
 */
#include "emulated_cuda.h"

#include <stdlib.h>
#include <time.h>

#include <mutex>
#include <vector>

long long emulated_clock()
{
    static long long time;
    return ++time;
}

uint64_t emulated_time_ns()
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void emulated_trap()
{
    emulated_fail("trap");
}

/* ---- the runtime's calls ----------------------------------------------- */

struct kernel_call {
    const emulated_kernel *kernel;
    void *arguments[EMULATED_ARGUMENTS];
};

static void call_kernel(void *context)
{
    kernel_call *call = (kernel_call *)context;
    call->kernel->call(call->arguments);
}

/* Launches that wait for what the host does next: launches on several devices
 * run together, as there, and a host that waited for the first before it made
 * the second would wait for ever. */
static std::vector<emulated_job> pending;
/* A thread that waits for its launch waits for those of other threads too. */
static std::mutex flushing;

extern "C" void fake_cuda_flush(void)
{
    const std::lock_guard<std::mutex> alone(flushing);
    std::vector<emulated_job> jobs;
    jobs.swap(pending);
    if (jobs.empty())
        return;
    emulated_run_jobs(jobs.data(), jobs.size());
    for (emulated_job &job : jobs) {
        kernel_call *call = (kernel_call *)job.context;
        for (void *argument : call->arguments)
            free(argument);
        delete call;
    }
}

extern "C" cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config,
                                           const void *kernel, void **arguments)
{
    kernel_call *call = new kernel_call{(const emulated_kernel *)kernel, {}};
    const uint32_t cluster =
        config->numAttrs > 1 ? config->attrs[1].val.clusterDim.x : 1;
    if (!emulated_has_room(config->dynamicSmemBytes))
        emulated_fail("a launch that it has no room for");
    for (uint32_t i = 0; i < EMULATED_ARGUMENTS; i++) {
        const size_t bytes = call->kernel->sizes[i];
        if (bytes == 0)
            break;
        call->arguments[i] = aligned_alloc(64, (bytes + 63) / 64 * 64);
        memcpy(call->arguments[i], arguments[i], bytes);
    }
    const std::lock_guard<std::mutex> alone(flushing);
    pending.push_back({call_kernel, call, config->gridDim, config->blockDim,
                       config->dynamicSmemBytes, cluster, 0,
                       config->gridDim.x});
    return cudaSuccess;
}

extern "C" cudaError_t
cudaLaunchCooperativeKernel(const void *kernel, dim3 grid, dim3 size,
                            void **arguments, size_t shared_bytes, cudaStream_t)
{
    kernel_call call = {(const emulated_kernel *)kernel, {}};
    for (uint32_t i = 0; call.kernel->sizes[i] != 0; i++)
        call.arguments[i] = arguments[i];
    fake_cuda_flush();
    emulated_run(call_kernel, &call, grid, size, shared_bytes, 1, true);
    return cudaSuccess;
}

extern "C" cudaError_t
cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *n, const void *, int,
                                              size_t shared_bytes)
{
    *n = shared_bytes <= FAKE_CUDA_SHARED;
    return cudaSuccess;
}

extern "C" cudaError_t
cudaOccupancyMaxActiveClusters(int *n, const void *,
                               const cudaLaunchConfig_t *config)
{
    const uint32_t cluster = config->attrs[0].val.clusterDim.x;
    *n = config->dynamicSmemBytes <= FAKE_CUDA_SHARED
             ? (int)(fake_cuda_units / cluster)
             : 0;
    return cudaSuccess;
}

extern "C" cudaError_t cudaFuncSetAttribute(const void *, cudaFuncAttribute,
                                            int)
{
    return cudaSuccess;
}

extern "C" cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes,
                                             const void *)
{
    *attributes = {};
    return cudaSuccess;
}

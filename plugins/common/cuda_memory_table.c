/* SPDX-License-Identifier: Apache-2.0
 * volley.memory/1 on CUDA. Streams, events and graphs are the runtime's own:
 * every plugin of one process sees the same primary context, so they are good
 * in all of them.
 */
#include <stdio.h>

#include <cuda_runtime_api.h>

#include "accel_common.h"
#include "accel_cuda.h"

static uint32_t device_count(void)
{
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess) {
        (void)cudaGetLastError();
        return 0;
    }
    return count > 0 ? (uint32_t)count : 0;
}

static vly_status device_info(uint32_t device, vly_device_info *info,
                              vly_error *error)
{
    struct cudaDeviceProp properties;
    vly_status status = VLY_OK;
    VLY_TRY(vly_support_check_info(info, error));
    VLY_TRY(vly_accel_cuda_enter(device, error));
    VLY_TRY(vly_accel_cuda_check(
        (int)cudaGetDeviceProperties(&properties, (int)device),
        "cudaGetDeviceProperties", error));
    info->index = device;
    snprintf(info->name, sizeof info->name, "%.127s", properties.name);
    snprintf(info->capability, sizeof info->capability,
             "compute capability %d.%d, %d multiprocessors", properties.major,
             properties.minor, properties.multiProcessorCount);
    info->memory_bytes = properties.totalGlobalMem;
out:
    return status;
}

static vly_status available(uint32_t device, uint64_t *free_bytes,
                            uint64_t *total_bytes, vly_error *error)
{
    size_t unused = 0, total = 0;
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_cuda_enter(device, error));
    VLY_TRY(vly_accel_cuda_check((int)cudaMemGetInfo(&unused, &total),
                                 "cudaMemGetInfo", error));
    *free_bytes = unused;
    *total_bytes = total;
out:
    return status;
}

static vly_status memory_alloc(uint32_t device, uint64_t bytes, void **memory,
                               vly_error *error)
{
    return vly_accel_cuda_take(device, bytes, VLY_QOS_BURSTABLE, memory, error);
}

static vly_status memory_alloc_host(uint32_t device, uint64_t bytes,
                                    void **memory, vly_error *error)
{
    void *made = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_cuda_enter(device, error));
    const cudaError_t code =
        cudaMallocHost(&made, (size_t)(bytes > 0 ? bytes : 1));
    if (code == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        return vly_support_fail_memory(bytes, vly_support_available(),
                                       " of pinned host memory", error);
    }
    VLY_TRY(vly_accel_cuda_check((int)code, "cudaMallocHost", error));
    *memory = made;
out:
    return status;
}

bool vly_accel_cuda_is_host(const void *memory)
{
    struct cudaPointerAttributes is;
    if (cudaPointerGetAttributes(&is, memory) != cudaSuccess) {
        (void)cudaGetLastError();
        return false;
    }
    return is.type == cudaMemoryTypeHost;
}

static void memory_free_host(uint32_t device, void *memory)
{
    if (!memory || vly_accel_cuda_enter(device, NULL) != VLY_OK)
        return;
    (void)cudaFreeHost(memory);
    (void)cudaGetLastError();
}

static vly_status memory_copy(uint32_t device, void *to, const void *from,
                              uint64_t bytes, uint32_t kind, void *stream,
                              vly_error *error)
{
    static const enum cudaMemcpyKind kinds[] = {
        [VLY_COPY_TO_DEVICE] = cudaMemcpyHostToDevice,
        [VLY_COPY_FROM_DEVICE] = cudaMemcpyDeviceToHost,
        [VLY_COPY_ON_DEVICE] = cudaMemcpyDeviceToDevice,
    };
    if (kind >= sizeof kinds / sizeof kinds[0])
        return vly_support_fail(error, VLY_E_INVALID,
                                "copy: kind is %u, wanted 0 to 2", kind);
    vly_status status = vly_accel_cuda_enter(device, error);
    if (status != VLY_OK || bytes == 0)
        return status;
    return vly_accel_cuda_check((int)cudaMemcpyAsync(to, from, (size_t)bytes,
                                                     kinds[kind],
                                                     (cudaStream_t)stream),
                                "copy", error);
}

static vly_status memory_fill(uint32_t device, void *memory, uint32_t byte,
                              uint64_t bytes, void *stream, vly_error *error)
{
    vly_status status = vly_accel_cuda_enter(device, error);
    if (status != VLY_OK || bytes == 0)
        return status;
    return vly_accel_cuda_check((int)cudaMemsetAsync(memory, (int)(byte & 255u),
                                                     (size_t)bytes,
                                                     (cudaStream_t)stream),
                                "fill", error);
}

/* ---- streams and events -------------------------------------------------- */

static vly_status stream_create(uint32_t device, void **stream,
                                vly_error *error)
{
    cudaStream_t made = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_cuda_enter(device, error));
    VLY_TRY(vly_accel_cuda_check(
        (int)cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking),
        "cudaStreamCreate", error));
    *stream = made;
out:
    return status;
}

static void stream_destroy(uint32_t device, void *stream)
{
    if (!stream || vly_accel_cuda_enter(device, NULL) != VLY_OK)
        return;
    (void)cudaStreamDestroy((cudaStream_t)stream);
    (void)cudaGetLastError();
}

static vly_status stream_wait(uint32_t device, void *stream, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_cuda_enter(device, error));
    status =
        vly_accel_cuda_check((int)cudaStreamSynchronize((cudaStream_t)stream),
                             "waiting for a stream", error);
out:
    return status;
}

static vly_status event_create(uint32_t device, vly_event **event,
                               vly_error *error)
{
    cudaEvent_t made = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_cuda_enter(device, error));
    VLY_TRY(vly_accel_cuda_check((int)cudaEventCreate(&made), "cudaEventCreate",
                                 error));
    *event = (vly_event *)made;
out:
    return status;
}

static void event_destroy(uint32_t device, vly_event *event)
{
    if (!event || vly_accel_cuda_enter(device, NULL) != VLY_OK)
        return;
    (void)cudaEventDestroy((cudaEvent_t)event);
    (void)cudaGetLastError();
}

static vly_status event_record(uint32_t device, vly_event *event, void *stream,
                               vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_cuda_enter(device, error));
    status = vly_accel_cuda_check(
        (int)cudaEventRecord((cudaEvent_t)event, (cudaStream_t)stream),
        "cudaEventRecord", error);
out:
    return status;
}

static vly_status event_elapsed(uint32_t device, vly_event *begin,
                                vly_event *end, double *seconds,
                                vly_error *error)
{
    float ms = 0.0f;
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_cuda_enter(device, error));
    VLY_TRY(vly_accel_cuda_check((int)cudaEventSynchronize((cudaEvent_t)begin),
                                 "waiting for an event", error));
    VLY_TRY(vly_accel_cuda_check((int)cudaEventSynchronize((cudaEvent_t)end),
                                 "waiting for an event", error));
    VLY_TRY(vly_accel_cuda_check(
        (int)cudaEventElapsedTime(&ms, (cudaEvent_t)begin, (cudaEvent_t)end),
        "cudaEventElapsedTime", error));
    *seconds = (double)ms * 1e-3;
out:
    return status;
}

/* ---- graphs ----------------------------------------------------------------
 */

static vly_status graph_begin(uint32_t device, void *stream, vly_error *error)
{
    if (!stream)
        return vly_support_fail(
            error, VLY_E_INVALID,
            "graph: the default stream cannot be kept, make "
            "one with stream_create");
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_cuda_enter(device, error));
    status = vly_accel_cuda_check(
        (int)cudaStreamBeginCapture((cudaStream_t)stream,
                                    cudaStreamCaptureModeThreadLocal),
        "cudaStreamBeginCapture", error);
out:
    return status;
}

static vly_status graph_end(uint32_t device, void *stream, vly_graph **graph,
                            vly_error *error)
{
    cudaGraph_t nodes = NULL;
    cudaGraphExec_t made = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_cuda_enter(device, error));
    VLY_TRY(vly_accel_cuda_check(
        (int)cudaStreamEndCapture((cudaStream_t)stream, &nodes),
        "cudaStreamEndCapture", error));
    status = vly_accel_cuda_check((int)cudaGraphInstantiate(&made, nodes, 0),
                                  "cudaGraphInstantiate", error);
    (void)cudaGraphDestroy(nodes);
    if (status == VLY_OK)
        *graph = (vly_graph *)made;
out:
    return status;
}

static vly_status graph_run(uint32_t device, vly_graph *graph, void *stream,
                            vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_cuda_enter(device, error));
    status = vly_accel_cuda_check(
        (int)cudaGraphLaunch((cudaGraphExec_t)graph, (cudaStream_t)stream),
        "cudaGraphLaunch", error);
out:
    return status;
}

static void graph_destroy(uint32_t device, vly_graph *graph)
{
    if (!graph || vly_accel_cuda_enter(device, NULL) != VLY_OK)
        return;
    (void)cudaGraphExecDestroy((cudaGraphExec_t)graph);
    (void)cudaGetLastError();
}

const vly_memory vly_accel_cuda_memory = {
    .struct_size = sizeof(vly_memory),
    .device_count = device_count,
    .device_info = device_info,
    .available = available,
    .alloc = memory_alloc,
    .free = vly_accel_cuda_give,
    .copy = memory_copy,
    .fill = memory_fill,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_wait = stream_wait,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_elapsed = event_elapsed,
    .graph_begin = graph_begin,
    .graph_end = graph_end,
    .graph_run = graph_run,
    .graph_destroy = graph_destroy,
    .alloc_as = vly_accel_cuda_take,
    .alloc_host = memory_alloc_host,
    .free_host = memory_free_host,
};

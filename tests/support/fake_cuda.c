/* SPDX-License-Identifier: Apache-2.0
 * A fake CUDA device: the backend's host side is linked with this
 * instead of the runtime and the kernels, so that it can be tested where there
 * is no device. Memory of the device is the host's, by the host table, so that
 * it is counted and fails there; kernels compute nothing: bursts pass and no
 * neuron fires. What a net computes is tested on devices only. There are two
 * devices; whatever waits for the one that FAKE_CUDA_FAULT names fails, and
 * with FAKE_CUDA_LOST its context is gone too. FAKE_CUDA_DETECT: a cudaError_t
 * instead of devices; FAKE_CUDA_DRIVER: the driver's version; FAKE_CUDA_COPY:
 * 1: copies to the device fail; FAKE_CUDA_PEERS: 0: devices cannot access each
 * other's memory; FAKE_CUDA_PREPARE: the device on which no kernel that the
 * driver has compiled can be loaded; FAKE_CUDA_MAJOR: compute capability.
 */
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/cuda_net.h"
#include "fake_cuda.h"

enum { ALIGN = 256, N_DEVICES = 2 };

#ifndef FAKE_CUDA_UNITS
#define FAKE_CUDA_UNITS 8
#endif
uint32_t fake_cuda_units = FAKE_CUDA_UNITS;

static _Thread_local int current;

/* Kernels that compute nothing have run when they are launched. */
__attribute__((weak)) void fake_cuda_flush(void)
{
}

static cudaError_t take(void **memory, size_t bytes)
{
    *memory = vly_cuda_host->alloc(vly_cuda_host->context, bytes, ALIGN);
    return *memory != NULL ? cudaSuccess : cudaErrorMemoryAllocation;
}

static cudaError_t give(void *memory)
{
    if (memory != NULL)
        vly_cuda_host->free(vly_cuda_host->context, memory);
    return cudaSuccess;
}

/* ---- device ------------------------------------------------------------- */

/* A number in the environment. */
static int number(const char *name, int otherwise)
{
    const char *text = getenv(name);
    return text != NULL ? atoi(text) : otherwise;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    int code = number("FAKE_CUDA_DETECT", (int)cudaSuccess);
    *count = code == (int)cudaSuccess ? N_DEVICES : 0;
    return (cudaError_t)code;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = number("FAKE_CUDA_DRIVER", 0);
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    if (device < 0 || device >= N_DEVICES)
        return cudaErrorInvalidDevice;
    current = device;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    *device = current;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute,
                                   int device)
{
    (void)device;
    *value = attribute == cudaDevAttrMultiProcessorCount ? (int)fake_cuda_units
             : attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin
                 ? (int)FAKE_CUDA_SHARED
             : attribute == cudaDevAttrComputeCapabilityMajor
                 ? number("FAKE_CUDA_MAJOR", 9)
                 : 1;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties,
                                    int device)
{
    (void)device;
    memset(properties, 0, sizeof *properties);
    strcpy(properties->name, "no device");
    properties->multiProcessorCount = (int)fake_cuda_units;
    properties->totalGlobalMem = (size_t)1 << 30;
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
    fake_cuda_flush();
    return number("FAKE_CUDA_LOST", -1) == current ? cudaErrorUnknown
                                                   : cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
    return cudaSuccess;
}

const char *cudaGetErrorString(cudaError_t code)
{
    return code == cudaErrorMemoryAllocation ? "out of memory" : "failed";
}

/* ---- links -------------------------------------------------------------- */

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    *can = device != peer && number("FAKE_CUDA_PEERS", 1) != 0;
    return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    static uint32_t links; /* a bit for each pair */
    const uint32_t link = 1u << (current * N_DEVICES + peer);
    (void)flags;
    if ((links & link) != 0)
        return cudaErrorPeerAccessAlreadyEnabled;
    links |= link;
    return cudaSuccess;
}

/* ---- memory ------------------------------------------------------------- */

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    return take(memory, bytes);
}

cudaError_t cudaMallocHost(void **memory, size_t bytes)
{
    return take(memory, bytes);
}

cudaError_t cudaFree(void *memory)
{
    fake_cuda_flush();
    return give(memory);
}

cudaError_t cudaFreeHost(void *memory)
{
    fake_cuda_flush();
    return give(memory);
}

/* All memory is the host's. */
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes,
                                     const void *memory)
{
    memset(attributes, 0, sizeof *attributes);
    attributes->type =
        memory != NULL ? cudaMemoryTypeHost : cudaMemoryTypeUnregistered;
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *total)
{
    *available = *total = (size_t)1 << 30;
    return number("FAKE_CUDA_LOST", -1) == current ? cudaErrorUnknown
                                                   : cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                            enum cudaMemcpyKind kind, cudaStream_t stream)
{
    fake_cuda_flush();
    (void)stream;
    if (kind == cudaMemcpyHostToDevice && number("FAKE_CUDA_COPY", 0) != 0)
        return cudaErrorUnknown;
    memcpy(to, from, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *memory, int byte, size_t bytes,
                            cudaStream_t stream)
{
    fake_cuda_flush();
    (void)stream;
    memset(memory, byte, bytes);
    return cudaSuccess;
}

/* ---- streams and events ------------------------------------------------- */

/* Not by the host table: a runtime without memory for one of these returns an
 * error of the device. */
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    (void)flags;
    *stream = malloc(1);
    return *stream != NULL ? cudaSuccess : cudaErrorUnknown;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    free(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    fake_cuda_flush();
    (void)stream;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    fake_cuda_flush();
    (void)stream;
    return number("FAKE_CUDA_FAULT", -1) == current ||
                   number("FAKE_CUDA_LOST", -1) == current
               ? cudaErrorUnknown
               : cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                unsigned flags)
{
    (void)stream;
    (void)event;
    (void)flags;
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    (void)flags;
    *event = malloc(1);
    return *event != NULL ? cudaSuccess : cudaErrorUnknown;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, 0);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    free(event);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    fake_cuda_flush();
    (void)event;
    (void)stream;
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    fake_cuda_flush();
    (void)event;
    return number("FAKE_CUDA_LOST", -1) == current ? cudaErrorUnknown
                                                   : cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t first, cudaEvent_t last)
{
    (void)first;
    (void)last;
    *ms = 1.0f;
    return cudaSuccess;
}

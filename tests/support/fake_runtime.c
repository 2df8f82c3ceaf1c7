/* SPDX-License-Identifier: Apache-2.0
 * A fake CUDA runtime for the accelerators: memory of the device is
 * the host's, by the host table, so that it is counted and fails there; what is
 * put into a stream is done at once, and a stream or an event of another device
 * than a call wants is an error; events are the thread's time on the
 * processor, so that what else the machine does changes no choice. With kernels
 * compiled by emulated_accelerators.h a whole plugin runs where there is no
 * device.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cuda_runtime_api.h>

#include "accel_common.h"

enum {
    UNITS = 4,
    L2_BYTES = 1 << 10,
    SHARED_BYTES = 227 << 10,
    ALIGN = 256,
    MOST_DEVICES = 8
};

static cudaError_t last;
static _Thread_local int current;

/* What a stream or an event points to. */
typedef struct thing {
    int device;
    struct timespec time; /* of an event */
} thing;

static cudaError_t keep(cudaError_t code)
{
    if (code != cudaSuccess)
        last = code;
    return code;
}

/* ---- device ------------------------------------------------------------- */

/* FAKE_DEVICES of the environment, otherwise one. */
cudaError_t cudaGetDeviceCount(int *count)
{
    const char *text = getenv("FAKE_DEVICES");
    const int n = text != NULL ? text[0] - '0' : 1;
    *count = n >= 1 && n <= MOST_DEVICES ? n : 1;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    *device = current;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    int count = 0;
    (void)cudaGetDeviceCount(&count);
    if (device < 0 || device >= count)
        return keep(cudaErrorInvalidDevice);
    current = device;
    return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int other)
{
    *can = device != other;
    return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int other, unsigned flags)
{
    (void)flags;
    return keep(other != current ? cudaErrorPeerAccessAlreadyEnabled
                                 : cudaErrorInvalidDevice);
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute,
                                   int device)
{
    (void)device;
    *value = attribute == cudaDevAttrMultiProcessorCount ? UNITS
             : attribute == cudaDevAttrL2CacheSize       ? L2_BYTES
             : attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin
                 ? SHARED_BYTES
             : attribute == cudaDevAttrComputeCapabilityMajor ? 9
             : attribute == cudaDevAttrComputeCapabilityMinor ? 0
                                                              : 1;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties,
                                    int device)
{
    (void)device;
    memset(properties, 0, sizeof *properties);
    strcpy(properties->name, "no device");
    properties->major = 9;
    properties->multiProcessorCount = UNITS;
    properties->sharedMemPerBlockOptin = SHARED_BYTES;
    properties->totalGlobalMem = (size_t)1 << 30;
    return cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t code = last;
    last = cudaSuccess;
    return code;
}

const char *cudaGetErrorString(cudaError_t code)
{
    return code == cudaErrorMemoryAllocation ? "out of memory" : "failed";
}

/* ---- memory ------------------------------------------------------------- */

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    if (bytes > (size_t)1 << 30)
        return keep(cudaErrorMemoryAllocation);
    *memory = vly_support_host->alloc(vly_support_host->context, bytes, ALIGN);
    return keep(*memory != NULL ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaFree(void *memory)
{
    if (memory != NULL)
        vly_support_host->free(vly_support_host->context, memory);
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **memory, size_t bytes)
{
    return cudaMalloc(memory, bytes);
}

cudaError_t cudaFreeHost(void *memory)
{
    return cudaFree(memory);
}

/* All of it is the host's. */
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes,
                                     const void *memory)
{
    memset(attributes, 0, sizeof *attributes);
    attributes->type = cudaMemoryTypeHost;
    attributes->hostPointer = (void *)(uintptr_t)memory;
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *total)
{
    *available = *total = (size_t)1 << 30;
    return cudaSuccess;
}

/* Does the stream take work now? */
static bool takes(cudaStream_t stream)
{
    return stream == NULL || ((const thing *)stream)->device == current;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                            enum cudaMemcpyKind kind, cudaStream_t stream)
{
    (void)kind;
    if (!takes(stream))
        return keep(cudaErrorInvalidValue);
    memcpy(to, from, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from,
                              size_t from_pitch, size_t width, size_t height,
                              enum cudaMemcpyKind kind, cudaStream_t stream)
{
    (void)kind;
    if (!takes(stream) || to_pitch < width || from_pitch < width)
        return keep(cudaErrorInvalidValue);
    for (size_t i = 0; i < height; i++)
        memcpy((char *)to + i * to_pitch, (const char *)from + i * from_pitch,
               width);
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *memory, int byte, size_t bytes,
                            cudaStream_t stream)
{
    (void)stream;
    memset(memory, byte, bytes);
    return cudaSuccess;
}

/* ---- streams and events ------------------------------------------------- */

/* Not by the host table: a runtime without memory for one of these returns an
 * error of the device. */
static void *make_thing(void)
{
    thing *made = calloc(1, sizeof *made);
    if (made != NULL)
        made->device = current;
    return made;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    (void)flags;
    *stream = make_thing();
    return keep(*stream != NULL ? cudaSuccess : cudaErrorUnknown);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    free(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    (void)stream;
    return cudaSuccess;
}

/* An event of any device. */
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                unsigned flags)
{
    (void)flags;
    return keep(event != NULL && takes(stream) ? cudaSuccess
                                               : cudaErrorInvalidValue);
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    *event = make_thing();
    return keep(*event != NULL ? cudaSuccess : cudaErrorUnknown);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    (void)flags;
    return cudaEventCreate(event);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    free(event);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    thing *of = (thing *)(void *)event;
    if (!takes(stream) || of->device != current)
        return keep(cudaErrorInvalidValue);
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &of->time);
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    (void)event;
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t first, cudaEvent_t end)
{
    const struct timespec a = ((const thing *)first)->time;
    const struct timespec b = ((const thing *)end)->time;
    *ms = (float)((double)(b.tv_sec - a.tv_sec) * 1e3 +
                  (double)(b.tv_nsec - a.tv_nsec) * 1e-6);
    return cudaSuccess;
}

/* ---- graphs: none ------------------------------------------------------- */

cudaError_t cudaStreamBeginCapture(cudaStream_t stream,
                                   enum cudaStreamCaptureMode mode)
{
    (void)stream;
    (void)mode;
    return keep(cudaErrorNotSupported);
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    (void)stream;
    *graph = NULL;
    return keep(cudaErrorNotSupported);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *made, cudaGraph_t graph,
                                 unsigned long long flags)
{
    (void)graph;
    (void)flags;
    *made = NULL;
    return keep(cudaErrorNotSupported);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    (void)graph;
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream)
{
    (void)graph;
    (void)stream;
    return keep(cudaErrorNotSupported);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph)
{
    (void)graph;
    return cudaSuccess;
}

/* SPDX-License-Identifier: Apache-2.0
 * Memory and error messages of the CUDA backend. Every block of a net, on the
 * host and on the device, is in a list, so that a net that could be made only
 * in part is freed like a whole one.
 */
#include "cuda_net.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define ALIGN 64u

struct vly_cuda_block {
    vly_cuda_block *next;
    vly_cuda_block *previous;
    uint64_t bytes; /* with this header */
    uint8_t pad[ALIGN - 2 * sizeof(void *) - sizeof(uint64_t)];
};

_Static_assert(sizeof(vly_cuda_block) == ALIGN, "header keeps the alignment");

struct vly_cuda_buffer {
    vly_cuda_buffer *next;
    void *memory;
    uint64_t bytes;
    uint32_t pinned; /* 1: on the host */
};

const vly_host *vly_cuda_host;

/* The error after which the device answers no more: written once. */
static _Atomic uint32_t is_dead;
static char dead_message[200];

/* ---- messages ---------------------------------------------------------- */

vly_status vly_cuda_fail(vly_error *error, vly_status status,
                         const char *format, ...)
{
    if (error == NULL)
        return status;
    error->status = status;
    error->bytes_requested = 0;
    error->bytes_available = 0;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return status;
}

static vly_status fail_memory(uint64_t requested, uint64_t available,
                              const char *where, vly_error *error)
{
    vly_cuda_fail(error, VLY_E_NOMEM,
                  "out of memory: the cuda backend needs a block of %llu bytes "
                  "%s, %llu are free",
                  (unsigned long long)requested, where,
                  (unsigned long long)available);
    if (error != NULL) {
        error->bytes_requested = requested;
        error->bytes_available = available;
    }
    return VLY_E_NOMEM;
}

static vly_status fail_dead(vly_error *error)
{
    return vly_cuda_fail(error, VLY_E_DEVICE,
                         "the CUDA device failed and answers no more in this "
                         "process: %s",
                         dead_message);
}

vly_status vly_cuda_check(int code, const char *what, vly_error *error)
{
    if (code == (int)cudaSuccess)
        return VLY_OK;
    if (atomic_load(&is_dead) == 2)
        return fail_dead(error);
    /* an error that stays after it has been read has ended the context */
    (void)cudaGetLastError();
    cudaError_t again = cudaDeviceSynchronize();
    uint32_t alive = 0;
    if (again != cudaSuccess &&
        atomic_compare_exchange_strong(&is_dead, &alive, 1)) {
        snprintf(dead_message, sizeof dead_message, "%s: %s", what,
                 cudaGetErrorString((cudaError_t)code));
        atomic_store(&is_dead, 2);
        return fail_dead(error);
    }
    return vly_cuda_fail(error, VLY_E_DEVICE, "%s: %s", what,
                         cudaGetErrorString((cudaError_t)code));
}

vly_status vly_cuda_enter(int32_t device, vly_error *error)
{
    if (atomic_load(&is_dead) == 2)
        return fail_dead(error);
    return vly_cuda_check((int)cudaSetDevice(device), "cudaSetDevice", error);
}

/* ---- host -------------------------------------------------------------- */

vly_status vly_cuda_alloc(vly_backend_net *net, uint64_t count, uint64_t size,
                          void *out, vly_error *error)
{
    const uint64_t limit = (uint64_t)PTRDIFF_MAX - sizeof(vly_cuda_block);
    if (size != 0 && count > limit / size)
        return fail_memory(UINT64_MAX, 0, "on the host", error);
    uint64_t bytes = count * size + sizeof(vly_cuda_block);
    vly_cuda_block *block =
        vly_cuda_host->alloc(vly_cuda_host->context, bytes, ALIGN);
    if (block == NULL)
        return fail_memory(bytes, 0, "on the host", error);
    memset(block, 0, (size_t)bytes);
    block->bytes = bytes;
    block->next = net->blocks;
    if (net->blocks != NULL)
        net->blocks->previous = block;
    net->blocks = block;
    net->host_bytes += bytes;
    void *memory = block + 1;
    memcpy(out, &memory, sizeof memory); /* out is a pointer to any pointer */
    return VLY_OK;
}

void vly_cuda_release(vly_backend_net *net, void *memory)
{
    if (memory == NULL)
        return;
    vly_cuda_block *block = (vly_cuda_block *)memory - 1;
    if (block->previous != NULL)
        block->previous->next = block->next;
    else
        net->blocks = block->next;
    if (block->next != NULL)
        block->next->previous = block->previous;
    net->host_bytes -= block->bytes;
    vly_cuda_host->free(vly_cuda_host->context, block);
}

/* ---- device ------------------------------------------------------------ */

static vly_status buffer_alloc(vly_backend_net *net, uint64_t count,
                               uint64_t size, uint32_t pinned, void *out,
                               vly_error *error)
{
    const char *where = pinned ? "of pinned host memory" : "on the device";
    if (size != 0 && count > (uint64_t)PTRDIFF_MAX / size)
        return fail_memory(UINT64_MAX, 0, where, error);
    uint64_t bytes = count * size > 0 ? count * size : 1;
    vly_cuda_buffer *buffer = NULL;
    vly_status status = vly_cuda_alloc(net, 1, sizeof *buffer, &buffer, error);
    if (status != VLY_OK)
        return status;
    cudaError_t code = pinned ? cudaMallocHost(&buffer->memory, (size_t)bytes)
                              : cudaMalloc(&buffer->memory, (size_t)bytes);
    if (code != cudaSuccess) {
        vly_cuda_release(net, buffer);
        if (code != cudaErrorMemoryAllocation)
            return vly_cuda_check((int)code, "cudaMalloc", error);
        size_t available = 0;
        size_t total = 0;
        (void)cudaGetLastError();
        if (!pinned && cudaMemGetInfo(&available, &total) != cudaSuccess)
            available = 0;
        return fail_memory(bytes, available, where, error);
    }
    buffer->bytes = bytes;
    buffer->pinned = pinned;
    buffer->next = net->buffers;
    net->buffers = buffer;
    if (pinned)
        net->host_bytes += bytes;
    else
        net->device_bytes += bytes;
    memcpy(out, &buffer->memory, sizeof buffer->memory);
    return VLY_OK;
}

vly_status vly_cuda_device_alloc(vly_backend_net *net, uint64_t count,
                                 uint64_t size, void *out, vly_error *error)
{
    void *memory = NULL;
    vly_status status = buffer_alloc(net, count, size, 0, &memory, error);
    if (status != VLY_OK)
        return status;
    cudaError_t code = cudaMemsetAsync(memory, 0, (size_t)(count * size),
                                       (cudaStream_t)net->stream);
    if (code != cudaSuccess) {
        vly_cuda_device_release(net, memory);
        return vly_cuda_check((int)code, "cudaMemset", error);
    }
    memcpy(out, &memory, sizeof memory);
    return VLY_OK;
}

vly_status vly_cuda_pinned_alloc(vly_backend_net *net, uint64_t count,
                                 uint64_t size, void *out, vly_error *error)
{
    return buffer_alloc(net, count, size, 1, out, error);
}

static void buffer_free(vly_backend_net *net, vly_cuda_buffer *buffer)
{
    if (buffer->pinned) {
        (void)cudaFreeHost(buffer->memory);
        net->host_bytes -= buffer->bytes;
    } else {
        (void)cudaFree(buffer->memory);
        net->device_bytes -= buffer->bytes;
    }
    vly_cuda_release(net, buffer);
}

void vly_cuda_device_release(vly_backend_net *net, const void *memory)
{
    vly_cuda_buffer **at = &net->buffers;
    while (*at != NULL && (*at)->memory != memory)
        at = &(*at)->next;
    if (memory == NULL || *at == NULL)
        return;
    vly_cuda_buffer *buffer = *at;
    *at = buffer->next;
    buffer_free(net, buffer);
}

void vly_cuda_release_all(vly_backend_net *net)
{
    while (net->buffers != NULL) {
        vly_cuda_buffer *buffer = net->buffers;
        net->buffers = buffer->next;
        buffer_free(net, buffer);
    }
    while (net->blocks != NULL)
        vly_cuda_release(net, net->blocks + 1);
    (void)cudaGetLastError(); /* what freeing on a dead device left behind */
}

/* ---- copies ------------------------------------------------------------ */

vly_status vly_cuda_synchronize(vly_backend_net *net, const char *what,
                                vly_error *error)
{
    return vly_cuda_check((int)cudaStreamSynchronize((cudaStream_t)net->stream),
                          what, error);
}

static vly_status copy(vly_backend_net *net, void *to, const void *from,
                       uint64_t bytes, enum cudaMemcpyKind kind,
                       const char *what, vly_error *error)
{
    if (bytes == 0)
        return VLY_OK;
    vly_status status =
        vly_cuda_check((int)cudaMemcpyAsync(to, from, (size_t)bytes, kind,
                                            (cudaStream_t)net->stream),
                       what, error);
    return status != VLY_OK ? status : vly_cuda_synchronize(net, what, error);
}

vly_status vly_cuda_upload(vly_backend_net *net, void *device,
                           const void *words, uint64_t bytes, vly_error *error)
{
    return copy(net, device, words, bytes, cudaMemcpyHostToDevice,
                "copy to the device", error);
}

vly_status vly_cuda_download(vly_backend_net *net, void *words,
                             const void *device, uint64_t bytes,
                             vly_error *error)
{
    return copy(net, words, device, bytes, cudaMemcpyDeviceToHost,
                "copy from the device", error);
}

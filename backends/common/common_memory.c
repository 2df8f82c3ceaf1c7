/* SPDX-License-Identifier: Apache-2.0
 * Memory of the host and error messages. Every block of a net is in one list,
 * so a net that could be made only in part is freed like a whole one.
 */
#include "backend_common.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ALIGN 64u

struct vly_common_block {
    vly_common_block *next;
    vly_common_block *previous;
    uint64_t bytes; /* with this header */
    uint8_t pad[ALIGN - 2 * sizeof(void *) - sizeof(uint64_t)];
};

_Static_assert(sizeof(vly_common_block) == ALIGN, "header keeps the alignment");

const vly_host *vly_common_host;

vly_status vly_common_fail(vly_error *error, vly_status status,
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

vly_status vly_common_fail_memory(uint64_t requested, uint64_t available,
                                  const char *where, vly_error *error)
{
    vly_common_fail(error, VLY_E_NOMEM,
                    "out of memory: the %s backend needs a block of %llu "
                    "bytes%s, %llu are free",
                    vly_common_backend, (unsigned long long)requested, where,
                    (unsigned long long)available);
    if (error != NULL) {
        error->bytes_requested = requested;
        error->bytes_available = available;
    }
    return VLY_E_NOMEM;
}

static uint64_t available_bytes(void)
{
#ifdef _SC_AVPHYS_PAGES
    long pages = sysconf(_SC_AVPHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
#else
    return 0;
#endif
}

vly_status vly_common_alloc(vly_common_heap *heap, uint64_t count,
                            uint64_t size, void *out, vly_error *error)
{
    const uint64_t limit = (uint64_t)PTRDIFF_MAX - sizeof(vly_common_block);
    if (size != 0 && count > limit / size)
        return vly_common_fail_memory(UINT64_MAX, available_bytes(), "", error);
    uint64_t bytes = count * size + sizeof(vly_common_block);
    vly_common_block *block =
        vly_common_host->alloc(vly_common_host->context, bytes, ALIGN);
    if (block == NULL)
        return vly_common_fail_memory(bytes, available_bytes(), "", error);
    memset(block, 0, (size_t)bytes);
    block->bytes = bytes;
    block->next = heap->blocks;
    if (heap->blocks != NULL)
        heap->blocks->previous = block;
    heap->blocks = block;
    heap->bytes += bytes;
    void *memory = block + 1;
    memcpy(out, &memory, sizeof memory); /* out is a pointer to any pointer */
    return VLY_OK;
}

void vly_common_release(vly_common_heap *heap, void *memory)
{
    if (memory == NULL)
        return;
    vly_common_block *block = (vly_common_block *)memory - 1;
    if (block->previous != NULL)
        block->previous->next = block->next;
    else
        heap->blocks = block->next;
    if (block->next != NULL)
        block->next->previous = block->previous;
    heap->bytes -= block->bytes;
    vly_common_host->free(vly_common_host->context, block);
}

void vly_common_release_all(vly_common_heap *heap)
{
    while (heap->blocks != NULL)
        vly_common_release(heap, heap->blocks + 1);
}

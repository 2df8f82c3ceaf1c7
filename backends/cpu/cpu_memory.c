/* SPDX-License-Identifier: Apache-2.0
 * Memory and error messages of the CPU backend. Every block of a net is in
 * one list, so a net that could be made only in part is freed like a whole
 * one.
 */
#include "cpu_net.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ALIGN 64u

struct vly_cpu_block {
    vly_cpu_block *next;
    vly_cpu_block *previous;
    uint64_t bytes; /* with this header */
    uint8_t pad[ALIGN - 2 * sizeof(void *) - sizeof(uint64_t)];
};

_Static_assert(sizeof(vly_cpu_block) == ALIGN, "header keeps the alignment");

const vly_host *vly_cpu_host;

vly_status vly_cpu_fail(vly_error *error, vly_status status, const char *format,
                        ...)
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

static vly_status fail_memory(uint64_t bytes, vly_error *error)
{
    uint64_t available = available_bytes();
    vly_cpu_fail(error, VLY_E_NOMEM,
                 "out of memory: the cpu backend needs a block of %llu bytes, "
                 "%llu are free",
                 (unsigned long long)bytes, (unsigned long long)available);
    if (error != NULL) {
        error->bytes_requested = bytes;
        error->bytes_available = available;
    }
    return VLY_E_NOMEM;
}

vly_status vly_cpu_alloc(vly_backend_net *net, uint64_t count, uint64_t size,
                         void *out, vly_error *error)
{
    const uint64_t limit = (uint64_t)PTRDIFF_MAX - sizeof(vly_cpu_block);
    if (size != 0 && count > limit / size)
        return fail_memory(UINT64_MAX, error);
    uint64_t bytes = count * size + sizeof(vly_cpu_block);
    vly_cpu_block *block =
        vly_cpu_host->alloc(vly_cpu_host->context, bytes, ALIGN);
    if (block == NULL)
        return fail_memory(bytes, error);
    memset(block, 0, (size_t)bytes);
    block->bytes = bytes;
    block->next = net->blocks;
    if (net->blocks != NULL)
        net->blocks->previous = block;
    net->blocks = block;
    net->bytes += bytes;
    void *memory = block + 1;
    memcpy(out, &memory, sizeof memory); /* out is a pointer to any pointer */
    return VLY_OK;
}

void vly_cpu_release(vly_backend_net *net, void *memory)
{
    if (memory == NULL)
        return;
    vly_cpu_block *block = (vly_cpu_block *)memory - 1;
    if (block->previous != NULL)
        block->previous->next = block->next;
    else
        net->blocks = block->next;
    if (block->next != NULL)
        block->next->previous = block->previous;
    net->bytes -= block->bytes;
    vly_cpu_host->free(vly_cpu_host->context, block);
}

void vly_cpu_release_all(vly_backend_net *net)
{
    while (net->blocks != NULL)
        vly_cpu_release(net, net->blocks + 1);
}

/* SPDX-License-Identifier: Apache-2.0
 * Memory of the host. Every block of a net is in one list,
 * so a net that could be made only in part is freed like a whole one.
 */
#include "backend_common.h"

#include <string.h>

#define ALIGN 64u

struct vly_common_block {
    vly_common_block *next;
    vly_common_block *previous;
    uint64_t bytes; /* with this header */
    uint8_t pad[ALIGN - 2 * sizeof(void *) - sizeof(uint64_t)];
};

_Static_assert(sizeof(vly_common_block) == ALIGN, "header keeps the alignment");

vly_status vly_common_alloc(vly_common_heap *heap, uint64_t count,
                            uint64_t size, void *out, vly_error *error)
{
    const uint64_t limit = (uint64_t)PTRDIFF_MAX - sizeof(vly_common_block);
    if (size != 0 && count > limit / size)
        return vly_support_fail_memory(UINT64_MAX, vly_support_available(), "",
                                       error);
    uint64_t bytes = count * size + sizeof(vly_common_block);
    vly_common_block *block =
        vly_support_host->alloc(vly_support_host->context, bytes, ALIGN);
    if (!block)
        return vly_support_fail_memory(bytes, vly_support_available(), "",
                                       error);
    memset(block, 0, (size_t)bytes);
    block->bytes = bytes;
    block->next = heap->blocks;
    if (heap->blocks)
        heap->blocks->previous = block;
    heap->blocks = block;
    heap->bytes += bytes;
    void *memory = block + 1;
    memcpy(out, &memory, sizeof memory); /* out is a pointer to any pointer */
    return VLY_OK;
}

void vly_common_release(vly_common_heap *heap, void *memory)
{
    if (!memory)
        return;
    vly_common_block *block = (vly_common_block *)memory - 1;
    if (block->previous)
        block->previous->next = block->next;
    else
        heap->blocks = block->next;
    if (block->next)
        block->next->previous = block->previous;
    heap->bytes -= block->bytes;
    vly_support_host->free(vly_support_host->context, block);
}

void vly_common_release_all(vly_common_heap *heap)
{
    while (heap->blocks)
        vly_common_release(heap, heap->blocks + 1);
}

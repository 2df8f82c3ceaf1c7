/* SPDX-License-Identifier: Apache-2.0
 * Memory that is freed at once: a chain of blocks.
 */
#include "neuron/neuron_arena.h"

#include <stdint.h>
#include <string.h>

#include "base/memory.h"

#define BLOCK_BYTES 16384u
#define ALIGN 16u

void *vly_arena_take(vly_arena *arena, size_t count, size_t size)
{
    size_t bytes = 0;
    if (!vly_size_mul(count, size, &bytes) || bytes > SIZE_MAX / 2)
        return NULL;
    bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (arena->room - arena->used < bytes) {
        size_t room = bytes + ALIGN > BLOCK_BYTES ? bytes + ALIGN : BLOCK_BYTES;
        char *block = vly_calloc(1, room);
        if (!block)
            return NULL;
        memcpy(block, &arena->first, sizeof arena->first);
        arena->first = block;
        arena->used = ALIGN;
        arena->room = room;
    }
    char *taken = (char *)arena->first + arena->used;
    arena->used += bytes;
    return taken;
}

char *vly_arena_text(vly_arena *arena, const char *text, size_t n)
{
    char *copy = vly_arena_take(arena, n + 1, 1);
    if (copy)
        memcpy(copy, text, n);
    return copy;
}

void vly_arena_deinit(vly_arena *arena)
{
    while (arena->first) {
        void *next;
        memcpy(&next, arena->first, sizeof next);
        vly_free(arena->first);
        arena->first = next;
    }
    arena->used = 0;
    arena->room = 0;
}

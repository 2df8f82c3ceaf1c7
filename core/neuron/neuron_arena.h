/* SPDX-License-Identifier: Apache-2.0
 * Memory that is freed at once: the parts of one neuron model. Internal to
 * core/neuron.
 */
#ifndef VOLLEY_NEURON_NEURON_ARENA_H
#define VOLLEY_NEURON_NEURON_ARENA_H

#include <stddef.h>

typedef struct vly_arena {
    void *first;
    size_t used; /* bytes of the first block */
    size_t room;
} vly_arena;

/* Cleared memory; NULL if there is none. */
void *vly_arena_take(vly_arena *arena, size_t count, size_t size);
/* A copy of n characters and an end; NULL if there is no memory. */
char *vly_arena_text(vly_arena *arena, const char *text, size_t n);
void vly_arena_deinit(vly_arena *arena);

#endif

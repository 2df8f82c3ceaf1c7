/* SPDX-License-Identifier: Apache-2.0
 * Injected input that has not been delivered yet: one entry a call of inject,
 * in any order; sorted and summed when a chunk of bursts takes it.
 */
#ifndef VOLLEY_ENGINE_PENDING_H
#define VOLLEY_ENGINE_PENDING_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/volley.h>

/* Largest |input| of the host for one neuron, port and burst. */
#define VLY_INPUT_MAX ((INT64_C(1) << 30) - 1)

typedef struct vly_pending_input {
    uint64_t burst;
    int64_t value; /* units of the port's 2^-q, not yet clamped */
    uint32_t neuron;
    uint32_t port;
} vly_pending_input;

typedef struct vly_pending {
    vly_pending_input *entries; /* [capacity] */
    uint64_t n;
    uint64_t capacity;
    bool sorted; /* by burst, neuron, port; all different */
} vly_pending;

/* Room for n more. Errors E_NOMEM */
vly_status vly_pending_reserve(vly_pending *pending, uint64_t n,
                               vly_error *error);
/* There is room. Entries that come in order stay sorted. */
static inline void vly_pending_append(vly_pending *pending,
                                      const vly_pending_input *entry)
{
    vly_pending_input *to = pending->entries + pending->n;
    if (pending->n == 0) {
        pending->sorted = true;
    } else if (pending->sorted) {
        uint64_t left = (uint64_t)to[-1].neuron << 32 | to[-1].port;
        uint64_t right = (uint64_t)entry->neuron << 32 | entry->port;
        pending->sorted = to[-1].burst < entry->burst ||
                          (to[-1].burst == entry->burst && left < right);
    }
    *to = *entry;
    pending->n++;
}
vly_status vly_pending_add(vly_pending *pending, const vly_pending_input *entry,
                           vly_error *error);
/* Sorts and sums what is for the same neuron, port and burst. A sum stays
 * within int64 (it saturates). */
void vly_pending_sort(vly_pending *pending);
/* First entry at or after burst; sorted only. */
uint64_t vly_pending_find(const vly_pending *pending, uint64_t burst);
/* Removes entries before burst; sorted only. */
void vly_pending_drop(vly_pending *pending, uint64_t burst);
/* *copy gets memory of its own. */
vly_status vly_pending_copy(const vly_pending *pending, vly_pending *copy,
                            vly_error *error);
void vly_pending_deinit(vly_pending *pending);

/* Sum without overflow. */
int64_t vly_sum_saturated(int64_t a, int64_t b);

#endif

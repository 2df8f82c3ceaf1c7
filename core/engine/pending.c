/* SPDX-License-Identifier: Apache-2.0
 * Injected input that waits for its burst. Entries are appended and sorted
 * once a chunk, so that many injections in any order cost n log n.
 */
#include "engine/pending.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

int64_t vly_sum_saturated(int64_t a, int64_t b)
{
    if (b > 0 && a > INT64_MAX - b)
        return INT64_MAX;
    if (b < 0 && a < INT64_MIN - b)
        return INT64_MIN;
    return a + b;
}

static int compare(const void *left, const void *right)
{
    const vly_pending_input *a = left;
    const vly_pending_input *b = right;
    if (a->burst != b->burst)
        return a->burst < b->burst ? -1 : 1;
    if (a->neuron != b->neuron)
        return a->neuron < b->neuron ? -1 : 1;
    if (a->port != b->port)
        return a->port < b->port ? -1 : 1;
    /* by value too, so that even a sum that saturates has one order */
    return (a->value > b->value) - (a->value < b->value);
}

static bool same_place(const vly_pending_input *a, const vly_pending_input *b)
{
    return a->burst == b->burst && a->neuron == b->neuron && a->port == b->port;
}

vly_status vly_pending_add(vly_pending *pending, const vly_pending_input *entry,
                           vly_error *error)
{
    if (pending->n == pending->capacity) {
        uint64_t capacity = pending->capacity < 16 ? 16 : 2 * pending->capacity;
        vly_pending_input *grown = vly_realloc(
            pending->entries, (size_t)capacity, sizeof *pending->entries);
        if (!grown)
            return vly_fail_nomem(error, capacity * sizeof *grown,
                                  "injected input");
        pending->entries = grown;
        pending->capacity = capacity;
    }
    pending->entries[pending->n++] = *entry;
    pending->sorted = false;
    return VLY_OK;
}

void vly_pending_sort(vly_pending *pending)
{
    uint64_t kept = 0;
    if (pending->sorted || pending->n == 0)
        return;
    qsort(pending->entries, (size_t)pending->n, sizeof *pending->entries,
          compare);
    for (uint64_t i = 1; i < pending->n; i++) {
        vly_pending_input *last = &pending->entries[kept];
        if (same_place(last, &pending->entries[i]))
            last->value =
                vly_sum_saturated(last->value, pending->entries[i].value);
        else
            pending->entries[++kept] = pending->entries[i];
    }
    pending->n = kept + 1;
    pending->sorted = true;
}

uint64_t vly_pending_find(const vly_pending *pending, uint64_t burst)
{
    uint64_t low = 0;
    uint64_t high = pending->n;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (pending->entries[middle].burst < burst)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void vly_pending_drop(vly_pending *pending, uint64_t burst)
{
    uint64_t first = vly_pending_find(pending, burst);
    if (first == 0)
        return;
    pending->n -= first;
    memmove(pending->entries, pending->entries + first,
            (size_t)pending->n * sizeof *pending->entries);
}

vly_status vly_pending_copy(const vly_pending *pending, vly_pending *copy,
                            vly_error *error)
{
    vly_pending made = {
        .n = pending->n, .capacity = pending->n, .sorted = pending->sorted};
    if (made.n != 0) {
        made.entries = vly_malloc((size_t)made.n, sizeof *made.entries);
        if (!made.entries)
            return vly_fail_nomem(error, made.n * sizeof *made.entries,
                                  "a copy of the injected input");
        memcpy(made.entries, pending->entries,
               (size_t)made.n * sizeof *made.entries);
    }
    *copy = made;
    return VLY_OK;
}

void vly_pending_deinit(vly_pending *pending)
{
    vly_free(pending->entries);
    *pending = (vly_pending){0};
}

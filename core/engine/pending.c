/* SPDX-License-Identifier: Apache-2.0
 * Injected input that waits for its burst. Entries are appended and sorted once
 * a chunk, which costs nothing if they came in order.
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

vly_status vly_pending_reserve(vly_pending *pending, uint64_t n,
                               vly_error *error)
{
    uint64_t capacity = pending->capacity < 16 ? 16 : pending->capacity;
    if (pending->capacity - pending->n >= n)
        return VLY_OK;
    while (capacity - pending->n < n)
        capacity *= 2;
    vly_pending_input *grown = vly_realloc(pending->entries, (size_t)capacity,
                                           sizeof *pending->entries);
    if (!grown)
        return vly_fail_nomem(error, capacity * sizeof *grown,
                              "injected input");
    pending->entries = grown;
    pending->capacity = capacity;
    return VLY_OK;
}

vly_status vly_pending_add(vly_pending *pending, const vly_pending_input *entry,
                           vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_pending_reserve(pending, 1, error));
    vly_pending_append(pending, entry);
out:
    return status;
}

/* ---- radix sort: for 1,000 unsorted injections a burst, qsort took 60 us
 * ---------------------------------------------------------------- */

#define DIGIT 11u
#define DIGITS (UINT32_C(1) << DIGIT)

/* Burst, neuron and port in one word; ports are 0 to 3. */
static uint64_t sort_key(const vly_pending_input *entry, uint64_t first)
{
    return (entry->burst - first) << 34 | (uint64_t)entry->neuron << 2 |
           entry->port;
}

static void sort_digit(const vly_pending_input *from, vly_pending_input *to,
                       uint64_t n, uint64_t first, uint32_t shift)
{
    uint32_t place[DIGITS] = {0};
    uint32_t sum = 0;
    for (uint64_t i = 0; i < n; i++)
        place[sort_key(&from[i], first) >> shift & (DIGITS - 1)]++;
    for (uint32_t d = 0; d < DIGITS; d++) {
        uint32_t count = place[d];
        place[d] = sum;
        sum += count;
    }
    for (uint64_t i = 0; i < n; i++)
        to[place[sort_key(&from[i], first) >> shift & (DIGITS - 1)]++] =
            from[i];
}

/* Sorts by burst, neuron and port only. False: bursts too far apart, or no
 * memory. */
static bool radix_sort(vly_pending *pending)
{
    uint64_t n = pending->n;
    uint64_t first = UINT64_MAX;
    uint64_t last = 0;
    uint64_t differ = 0;
    if (n > UINT32_MAX)
        return false;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t burst = pending->entries[i].burst;
        first = burst < first ? burst : first;
        last = burst > last ? burst : last;
    }
    if (last - first >= UINT64_C(1) << 30)
        return false;
    vly_pending_input *room =
        vly_malloc((size_t)pending->capacity, sizeof *room);
    if (!room)
        return false;
    for (uint64_t i = 0; i < n; i++)
        differ |= sort_key(&pending->entries[i], first) ^
                  sort_key(&pending->entries[0], first);
    for (uint32_t shift = 0; shift < 64; shift += DIGIT) {
        if ((differ >> shift & (DIGITS - 1)) == 0)
            continue;
        vly_pending_input *from = pending->entries;
        sort_digit(from, room, n, first, shift);
        pending->entries = room;
        room = from;
    }
    vly_free(room);
    return true;
}

static void sort_places(vly_pending *pending)
{
    vly_pending_input *entries = pending->entries;
    if (pending->n < 64 || !radix_sort(pending)) {
        qsort(entries, (size_t)pending->n, sizeof *entries, compare);
        return;
    }
    entries = pending->entries;
    for (uint64_t low = 0, high; low < pending->n; low = high) {
        for (high = low + 1;
             high < pending->n && same_place(&entries[low], &entries[high]);)
            high++;
        if (high - low > 1)
            qsort(entries + low, (size_t)(high - low), sizeof *entries,
                  compare);
    }
}

void vly_pending_sort(vly_pending *pending)
{
    uint64_t kept = 0;
    if (pending->sorted || pending->n == 0)
        return;
    pending->sorted = true;
    sort_places(pending);
    for (uint64_t i = 1; i < pending->n; i++) {
        vly_pending_input *last = &pending->entries[kept];
        if (same_place(last, &pending->entries[i]))
            last->value =
                vly_sum_saturated(last->value, pending->entries[i].value);
        else
            pending->entries[++kept] = pending->entries[i];
    }
    pending->n = kept + 1;
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

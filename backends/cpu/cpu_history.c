/* SPDX-License-Identifier: Apache-2.0
 * The fired sets of the last max_delay bursts: spikes that are still to be
 * delivered and that a snapshot holds. Each set is stored contiguously in a
 * ring that grows when it is full, so a long delay costs memory only for
 * neurons that fired.
 */
#include "cpu_net.h"
#include "cpu_ranks.h"

#include <string.h>

#define FIRST_CAPACITY 4096u

static uint32_t row_length(const vly_backend_net *net)
{
    return net->n_areas + 1;
}

static uint32_t *slot_row(const vly_backend_net *net, uint32_t slot)
{
    return net->history.row + (uint64_t)slot * row_length(net);
}

static uint32_t slot_count(const vly_backend_net *net, uint32_t slot)
{
    return slot_row(net, slot)[net->n_areas];
}

vly_status vly_cpu_spikes_alloc(vly_backend_net *net, uint64_t capacity,
                                uint32_t **ids, uint32_t **gains,
                                vly_error *error)
{
    uint32_t *made = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_alloc(&net->heap, capacity, sizeof *made, &made, error));
    status = vly_common_alloc(&net->heap, capacity, sizeof *made, gains, error);
    if (status == VLY_OK)
        *ids = made;
    else
        vly_common_release(&net->heap, made);
out:
    return status;
}

vly_status vly_cpu_history_create(vly_backend_net *net, vly_error *error)
{
    vly_cpu_history *history = &net->history;
    history->n_slots = net->desc->max_delay;
    history->capacity = FIRST_CAPACITY;
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_alloc(&net->heap, history->n_slots, sizeof(uint64_t),
                             &history->start, error));
    VLY_TRY(vly_common_alloc(&net->heap,
                             (uint64_t)history->n_slots * row_length(net),
                             sizeof(uint32_t), &history->row, error));
    VLY_TRY(vly_cpu_spikes_alloc(net, history->capacity, &history->ids,
                                 &history->gains, error));
out:
    return status;
}

/* Moves all sets but the oldest, whose slot is about to be used again, into a
 * ring that holds count more. */
static vly_status grow(vly_backend_net *net, uint32_t count, vly_error *error)
{
    vly_cpu_history *history = &net->history;
    uint64_t held = count;
    for (uint32_t i = 0; i < history->n_slots; i++)
        held += i != history->next ? slot_count(net, i) : 0;
    uint64_t capacity = history->capacity;
    while (capacity < 2 * held)
        capacity *= 2;
    uint32_t *ids = NULL;
    uint32_t *gains = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_cpu_spikes_alloc(net, capacity, &ids, &gains, error));
    uint64_t head = 0;
    uint32_t slot = history->next;
    for (uint32_t i = 1; i < history->n_slots; i++) {
        slot = slot + 1 < history->n_slots ? slot + 1 : 0;
        uint64_t from = history->start[slot] % history->capacity;
        uint64_t n = slot_count(net, slot);
        memcpy(ids + head, history->ids + from, (size_t)n * sizeof *ids);
        memcpy(gains + head, history->gains + from, (size_t)n * sizeof *ids);
        history->start[slot] = head;
        head += n;
    }
    vly_common_release(&net->heap, history->ids);
    vly_common_release(&net->heap, history->gains);
    history->ids = ids;
    history->gains = gains;
    history->head = head;
    history->capacity = capacity;
out:
    return status;
}

/* Finds a contiguous place for a set of count spikes; false if there is no room
 * beside the sets that are still needed. */
static uint32_t place(const vly_cpu_history *history, uint32_t count,
                      uint64_t *start)
{
    uint64_t offset = history->head % history->capacity;
    *start = history->head;
    if (offset + count > history->capacity)
        *start += history->capacity - offset;
    uint32_t oldest =
        history->next + 1 < history->n_slots ? history->next + 1 : 0;
    uint64_t tail =
        history->n_slots > 1 ? history->start[oldest] : history->head;
    return *start + count - tail <= history->capacity;
}

vly_status vly_cpu_history_push(vly_backend_net *net, uint32_t count,
                                uint32_t **ids, uint32_t **gains,
                                uint32_t **row, vly_error *error)
{
    vly_status status = VLY_OK;
    vly_cpu_history *history = &net->history;
    uint64_t start;
    if (!place(history, count, &start)) {
        VLY_TRY(grow(net, count, error));
        (void)place(history, count, &start);
    }
    uint32_t slot = history->next;
    history->start[slot] = start;
    history->head = start + count;
    history->next = slot + 1 < history->n_slots ? slot + 1 : 0;
    *ids = history->ids + start % history->capacity;
    *gains = history->gains + start % history->capacity;
    *row = slot_row(net, slot);
out:
    return status;
}

const uint32_t *vly_cpu_history_set(const vly_backend_net *net, uint64_t age,
                                    const uint32_t **ids,
                                    const uint32_t **gains)
{
    const vly_cpu_history *history = &net->history;
    const uint32_t n_kept = net->ranks.all.n_kept;
    uint32_t back = (uint32_t)age;
    if (back <= n_kept)
        return vly_cpu_ranks_set(net, back, ids, gains);
    back -= n_kept;
    uint32_t slot = history->next >= back
                        ? history->next - back
                        : history->next + (history->n_slots - back);
    uint64_t from = history->start[slot] % history->capacity;
    *ids = history->ids + from;
    *gains = history->gains + from;
    return slot_row(net, slot);
}

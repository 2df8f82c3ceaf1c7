/* SPDX-License-Identifier: Apache-2.0
 * The spike log on the device: spikes that are still to be delivered, that a
 * snapshot holds, and that a recording reads. It grows after a submission that
 * stopped because the log was full.
 */
#include "vulkan_net.h"

#include <string.h>

#include "vulkan_short_term.h"

#define FIRST_CAPACITY (UINT64_C(1) << 16)
/* Shaders count in 32 bits. */
#define LOG_MOST (UINT64_C(1) << 31)
/* The largest size to which it grows only to make submissions longer. */
#define GROWN_CAPACITY (UINT64_C(1) << 24)

static vly_status log_alloc(vly_backend_net *net, uint64_t capacity,
                            vly_vulkan_buffer **ids, vly_vulkan_buffer **gains,
                            vly_error *error)
{
    if (capacity > LOG_MOST)
        return vly_support_fail_memory(capacity * 8, LOG_MOST * 8,
                                       " for spikes on their way", error);
    vly_status status = VLY_OK;
    VLY_TRY(vly_vulkan_buffer_create(net, VLY_VULKAN_ON_DEVICE, capacity,
                                     sizeof(uint32_t), ids, error));
    status = vly_vulkan_buffer_create(net, VLY_VULKAN_ON_DEVICE, capacity,
                                      sizeof(uint32_t), gains, error);
    if (status != VLY_OK)
        vly_vulkan_buffer_release(net, *ids);
out:
    return status;
}

static void log_use(vly_backend_net *net, vly_vulkan_buffer *ids,
                    vly_vulkan_buffer *gains, uint64_t capacity)
{
    net->log_ids = ids;
    net->log_gains = gains;
    net->view->log_ids = ids->address;
    net->view->log_gains = gains->address;
    net->view->log_mask = (uint32_t)(capacity - 1);
    net->view->log_room = (uint32_t)(capacity - net->desc->n_neurons);
}

vly_status vly_vulkan_history_create(vly_backend_net *net, vly_error *error)
{
    uint64_t n_records = vly_common_power_of_two(
        (uint64_t)net->desc->max_delay + VLY_VULKAN_LAUNCH_BURSTS + 2);
    uint64_t capacity =
        vly_common_power_of_two(UINT64_C(4) * net->desc->n_neurons);
    vly_vulkan_buffer *ids = NULL;
    vly_vulkan_buffer *gains = NULL;
    capacity = capacity > FIRST_CAPACITY ? capacity : FIRST_CAPACITY;
    if (n_records > UINT32_MAX)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "net: a delay of %u bursts is too long for the "
                                "vulkan backend",
                                net->desc->max_delay);
    vly_status status = VLY_OK;
    VLY_TRY(log_alloc(net, capacity, &ids, &gains, error));
    log_use(net, ids, gains, capacity);
    VLY_TRY(vly_vulkan_buffer_create(net, VLY_VULKAN_ON_DEVICE, n_records,
                                     sizeof(vly_vulkan_record), &net->records,
                                     error));
    VLY_TRY(vly_vulkan_buffer_create(
        net, VLY_VULKAN_TO_HOST, net->records->bytes + net->area_spikes->bytes,
        1, &net->results, error));
    net->view->records = net->records->address;
    net->view->record_mask = (uint32_t)(n_records - 1);
out:
    return status;
}

/* A range of a ring has one or two pieces: how many of the n entries from `at`
 * on are in the first.
 */
static uint64_t piece_of(uint64_t at, uint64_t n, uint64_t mask)
{
    uint64_t room = mask + 1 - (at & mask);
    return n < room ? n : room;
}

vly_status vly_vulkan_history_records(vly_backend_net *net, uint64_t burst,
                                      uint32_t n_bursts,
                                      vly_vulkan_record *records,
                                      vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t done = 0; done < n_bursts && status == VLY_OK;) {
        uint64_t at = (burst + done) & net->view->record_mask;
        uint64_t n = piece_of(at, n_bursts - done, net->view->record_mask);
        status = vly_vulkan_download(net, records + done, net->records,
                                     at * sizeof *records, n * sizeof *records,
                                     error);
        done += (uint32_t)n;
    }
    return status;
}

/* ---- growing ----------------------------------------------------------- */

/* Positions [from, to) of the log into a ring of another size. */
static void move_ring(vly_backend_net *net, uint64_t from, uint64_t to,
                      const vly_vulkan_buffer *old,
                      const vly_vulkan_buffer *new, uint64_t mask)
{
    while (from < to) {
        uint64_t n = piece_of(from, to - from, net->view->log_mask);
        n = piece_of(from, n, mask);
        const VkBufferCopy range = {(from & net->view->log_mask) * 4,
                                    (from & mask) * 4, n * 4};
        vkCmdCopyBuffer(net->once, old->buffer, new->buffer, 1, &range);
        from += n;
    }
}

vly_status vly_vulkan_history_reserve(vly_backend_net *net, uint64_t oldest,
                                      uint64_t n, vly_error *error)
{
    vly_vulkan_record record = {.start = net->head};
    vly_vulkan_buffer *ids = NULL;
    vly_vulkan_buffer *gains = NULL;
    vly_status status = VLY_OK;
    if (oldest < net->burst)
        status = vly_vulkan_history_records(net, oldest, 1, &record, error);
    uint64_t capacity =
        vly_common_power_of_two(2 * (net->head - record.start + n));
    if (status != VLY_OK || capacity <= net->view->log_mask + UINT64_C(1))
        return status;
    VLY_TRY(log_alloc(net, capacity, &ids, &gains, error));
    VLY_TRY(vly_vulkan_once(net, error));
    move_ring(net, record.start, net->head, net->log_ids, ids, capacity - 1);
    move_ring(net, record.start, net->head, net->log_gains, gains,
              capacity - 1);
    VLY_TRY(vly_vulkan_once_end(net, "moving the spike log", error));
    vly_vulkan_buffer_release(net, net->log_ids);
    vly_vulkan_buffer_release(net, net->log_gains);
    log_use(net, ids, gains, capacity);
out:
    return status;
}

vly_status vly_vulkan_history_grow(vly_backend_net *net, vly_error *error)
{
    uint32_t delay = net->desc->max_delay;
    uint64_t oldest = net->burst > delay ? net->burst - delay : 0;
    uint64_t capacity = net->view->log_mask + UINT64_C(1);
    return capacity < GROWN_CAPACITY
               ? vly_vulkan_history_reserve(net, oldest, capacity, error)
               : VLY_OK;
}

/* ---- in order, to the host --------------------------------------------- */

vly_status vly_vulkan_history_sorted(vly_backend_net *net, uint64_t n,
                                     vly_error *error)
{
    uint64_t room = vly_common_power_of_two(n);
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < 2; i++) {
        if (net->sorted[i] && net->sorted[i]->bytes >= n * 4)
            continue;
        vly_vulkan_buffer_release(net, net->sorted[i]);
        net->sorted[i] = NULL;
        VLY_TRY(vly_vulkan_buffer_create(net, VLY_VULKAN_TO_HOST, room,
                                         sizeof(uint32_t), &net->sorted[i],
                                         error));
    }
out:
    return status;
}

vly_status vly_vulkan_history_read(vly_backend_net *net, uint64_t burst,
                                   uint32_t n_bursts, uint64_t n_spikes,
                                   uint32_t *ids, uint32_t *gains,
                                   vly_error *error)
{
    if (n_spikes == 0)
        return VLY_OK;
    vly_status status = VLY_OK;
    VLY_TRY(vly_vulkan_history_sorted(net, n_spikes, error));
    *net->launch = (vly_vulkan_launch){
        .burst = burst,
        .n_bursts = n_bursts,
        .sorted_ids = net->sorted[0]->address,
        .sorted_gains = net->sorted[1]->address,
    };
    VLY_TRY(vly_vulkan_once(net, error));
    VLY_TRY(vly_vulkan_record_sort(net, net->once, n_bursts, error));
    VLY_TRY(vly_vulkan_once_end(net, "sorting spikes", error));
    memcpy(ids, net->sorted[0]->mapped, (size_t)n_spikes * sizeof *ids);
    memcpy(gains, net->sorted[1]->mapped, (size_t)n_spikes * sizeof *gains);
out:
    return status;
}

/* ---- from a snapshot --------------------------------------------------- */

static vly_status load_records(vly_backend_net *net,
                               const vly_snapshot *snapshot, vly_error *error)
{
    uint32_t n = snapshot->n_fired_bursts;
    uint64_t first = snapshot->burst - n;
    uint64_t mask = net->view->record_mask;
    vly_vulkan_record *records = NULL;
    vly_status status =
        vly_common_alloc(&net->heap, n, sizeof *records, &records, error);
    for (uint32_t j = 0; j < n && status == VLY_OK; j++) {
        const uint64_t *row = snapshot->fired_row + j;
        records[j] = (vly_vulkan_record){
            .start = row[0], .count = (uint32_t)(row[1] - row[0]), .ran = 1};
    }
    for (uint32_t done = 0; done < n && status == VLY_OK;) {
        uint64_t at = (first + done) & mask;
        uint64_t m = piece_of(at, n - done, mask);
        status = vly_vulkan_upload(net, net->records, at * sizeof *records,
                                   records + done, m * sizeof *records, error);
        done += (uint32_t)m;
    }
    vly_common_release(&net->heap, records);
    return status;
}

vly_status vly_vulkan_history_load(vly_backend_net *net,
                                   const vly_snapshot *snapshot,
                                   vly_error *error)
{
    uint64_t n = snapshot->n_fired;
    vly_status status = vly_vulkan_history_reserve(
        net, net->burst, n + net->desc->n_neurons, error);
    if (status == VLY_OK)
        status = vly_vulkan_upload(net, net->log_ids, 0, snapshot->fired,
                                   n * sizeof(uint32_t), error);
    if (status == VLY_OK)
        status = vly_vulkan_upload(net, net->log_gains, 0, snapshot->fired_gain,
                                   n * sizeof(uint32_t), error);
    if (status == VLY_OK)
        status = load_records(net, snapshot, error);
    net->head = n;
    if (status == VLY_OK)
        status = vly_vulkan_restore(net, error);
    return status == VLY_OK ? vly_vulkan_short_term_restore(net, error)
                            : status;
}

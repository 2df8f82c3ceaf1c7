/* SPDX-License-Identifier: Apache-2.0
 * The log of spikes on the device: what is still to be delivered, what a
 * snapshot holds, and what a recording reads. It grows when a launch had to
 * stop for want of room.
 */
#include "cuda_net.h"

#include <string.h>

#define FIRST_CAPACITY (UINT64_C(1) << 16)
/* As far as it grows only to make launches longer. */
#define GROWN_CAPACITY (UINT64_C(1) << 24)

static vly_status log_alloc(vly_backend_net *net, uint64_t capacity,
                            uint32_t **ids, uint32_t **gains, vly_error *error)
{
    vly_status status =
        vly_cuda_device_alloc(net, capacity, sizeof **ids, ids, error);
    if (status == VLY_OK) {
        status =
            vly_cuda_device_alloc(net, capacity, sizeof **gains, gains, error);
        if (status != VLY_OK)
            vly_cuda_device_release(net, *ids);
    }
    return status;
}

vly_status vly_cuda_history_create(vly_backend_net *net, vly_error *error)
{
    uint64_t n_records = vly_common_power_of_two(
        (uint64_t)net->desc->max_delay + VLY_CUDA_LAUNCH_BURSTS + 2);
    uint64_t capacity =
        vly_common_power_of_two(UINT64_C(4) * net->desc->n_neurons);
    capacity = capacity > FIRST_CAPACITY ? capacity : FIRST_CAPACITY;
    if (n_records > UINT32_MAX)
        return vly_cuda_fail(error, VLY_E_UNSUPPORTED,
                             "net: a delay of %u bursts is too long for the "
                             "cuda backend",
                             net->desc->max_delay);
    vly_status status = log_alloc(net, capacity, &net->view.log_ids,
                                  &net->view.log_gains, error);
    if (status == VLY_OK)
        status =
            vly_cuda_device_alloc(net, n_records, sizeof *net->view.records,
                                  &net->view.records, error);
    if (status == VLY_OK)
        status =
            vly_cuda_pinned_alloc(net, VLY_CUDA_LAUNCH_BURSTS,
                                  sizeof *net->records, &net->records, error);
    net->view.log_mask = capacity - 1;
    net->view.record_mask = (uint32_t)(n_records - 1);
    return status;
}

/* One or two copies: the records are a ring. */
int vly_cuda_history_fetch(vly_backend_net *net, uint64_t burst,
                           uint32_t n_bursts, vly_cuda_record *records)
{
    cudaError_t code = cudaSuccess;
    for (uint32_t done = 0; done < n_bursts && code == cudaSuccess;) {
        uint32_t at = (uint32_t)(burst + done) & net->view.record_mask;
        uint32_t n = n_bursts - done;
        uint32_t room = net->view.record_mask - at + 1;
        n = n < room ? n : room;
        code = cudaMemcpyAsync(records + done, net->view.records + at,
                               n * sizeof *records, cudaMemcpyDeviceToHost,
                               (cudaStream_t)net->stream);
        done += n;
    }
    return (int)code;
}

vly_status vly_cuda_history_records(vly_backend_net *net, uint64_t burst,
                                    uint32_t n_bursts, vly_cuda_record *records,
                                    vly_error *error)
{
    vly_status status =
        vly_cuda_check(vly_cuda_history_fetch(net, burst, n_bursts, records),
                       "reading records", error);
    return status == VLY_OK
               ? vly_cuda_synchronize(net, "reading records", error)
               : status;
}

static uint64_t position_of(vly_backend_net *net, uint64_t burst,
                            vly_status *status, vly_error *error)
{
    vly_cuda_record record = {.start = net->head};
    if (burst < net->burst && *status == VLY_OK)
        *status = vly_cuda_history_records(net, burst, 1, &record, error);
    return record.start;
}

vly_status vly_cuda_history_reserve(vly_backend_net *net, uint64_t oldest,
                                    uint64_t n, vly_error *error)
{
    vly_status status = VLY_OK;
    uint64_t from = position_of(net, oldest, &status, error);
    uint64_t held = net->head - from;
    uint64_t capacity = vly_common_power_of_two(2 * (held + n));
    uint32_t *ids = NULL;
    uint32_t *gains = NULL;
    if (status != VLY_OK || capacity <= net->view.log_mask + 1)
        return status;
    status = log_alloc(net, capacity, &ids, &gains, error);
    if (status == VLY_OK)
        status = vly_cuda_check((int)vly_cuda_launch_log_move(
                                    &net->view, from, net->head, ids, gains,
                                    capacity - 1, (cudaStream_t)net->stream),
                                "moving the spike log", error);
    if (status == VLY_OK)
        status = vly_cuda_synchronize(net, "moving the spike log", error);
    if (status != VLY_OK)
        return status;
    vly_cuda_device_release(net, net->view.log_ids);
    vly_cuda_device_release(net, net->view.log_gains);
    net->view.log_ids = ids;
    net->view.log_gains = gains;
    net->view.log_mask = capacity - 1;
    return VLY_OK;
}

vly_status vly_cuda_history_grow(vly_backend_net *net, vly_error *error)
{
    uint32_t delay = net->desc->max_delay;
    uint64_t oldest = net->burst > delay ? net->burst - delay : 0;
    uint64_t capacity = net->view.log_mask + 1;
    return capacity < GROWN_CAPACITY
               ? vly_cuda_history_reserve(net, oldest, capacity, error)
               : VLY_OK;
}

vly_status vly_cuda_history_clear(vly_backend_net *net, uint32_t n_bursts,
                                  vly_error *error)
{
    uint32_t delay = net->desc->max_delay;
    uint64_t oldest = net->burst > delay ? net->burst - delay : 0;
    uint64_t end = oldest + net->view.record_mask + 1;
    cudaError_t code = cudaSuccess;
    if (net->burst + n_bursts <= net->cleared)
        return VLY_OK;
    /* all that no longer matters, for thousands of bursts to come */
    while (net->cleared < end && code == cudaSuccess) {
        uint32_t at = (uint32_t)net->cleared & net->view.record_mask;
        uint64_t n = end - net->cleared;
        uint64_t room = net->view.record_mask - at + UINT64_C(1);
        n = n < room ? n : room;
        code = cudaMemsetAsync(net->view.records + at, 0,
                               (size_t)n * sizeof *net->view.records,
                               (cudaStream_t)net->stream);
        net->cleared += n;
    }
    return vly_cuda_check((int)code, "clearing records", error);
}

/* ---- spikes on their way to the host ----------------------------------- */

static vly_status drain_reserve(vly_backend_net *net, uint64_t n,
                                vly_error *error)
{
    if (n <= net->drain_room)
        return VLY_OK;
    uint64_t room = vly_common_power_of_two(n);
    uint32_t *ids = NULL;
    uint32_t *gains = NULL;
    uint32_t *both = NULL;
    vly_status status = log_alloc(net, room, &ids, &gains, error);
    if (status != VLY_OK)
        return status;
    status = vly_cuda_pinned_alloc(net, room, 2 * sizeof *both, &both, error);
    if (status != VLY_OK) {
        vly_cuda_device_release(net, ids);
        vly_cuda_device_release(net, gains);
        return status;
    }
    vly_cuda_device_release(net, net->drain[0]);
    vly_cuda_device_release(net, net->drain[1]);
    vly_cuda_device_release(net, net->drain_at[0]);
    net->drain[0] = ids;
    net->drain[1] = gains;
    net->drain_at[0] = both;
    net->drain_at[1] = both + room;
    net->drain_room = room;
    return VLY_OK;
}

vly_status vly_cuda_history_sort(vly_backend_net *net, uint64_t burst,
                                 uint32_t n_bursts, uint64_t room, int gains,
                                 vly_error *error)
{
    cudaStream_t stream = (cudaStream_t)net->stream;
    uint64_t most = (uint64_t)n_bursts * net->desc->n_neurons;
    vly_status status = drain_reserve(net, room < most ? room : most, error);
    if (status != VLY_OK)
        return status;
    cudaError_t code =
        vly_cuda_launch_sort(&net->view, burst, n_bursts, net->drain[0],
                             gains ? net->drain[1] : NULL, stream);
    if (code == cudaSuccess)
        code = cudaEventRecord((cudaEvent_t)net->events[4], stream);
    return vly_cuda_check((int)code, "sorting spikes", error);
}

/* In a stream of its own: the next launch need not wait for the bus. */
vly_status vly_cuda_history_send(vly_backend_net *net, uint64_t n_spikes,
                                 uint32_t *ids, uint32_t *gains,
                                 vly_error *error)
{
    cudaStream_t stream = (cudaStream_t)net->drain_stream;
    size_t bytes = (size_t)n_spikes * sizeof *ids;
    cudaError_t code = cudaSuccess;
    net->n_sent = n_spikes;
    net->sent_to[0] = ids;
    net->sent_to[1] = gains;
    if (n_spikes == 0)
        return VLY_OK;
    code = cudaStreamWaitEvent(stream, (cudaEvent_t)net->events[4], 0);
    for (int i = 0; i < 2 && code == cudaSuccess; i++)
        if (net->sent_to[i] != NULL)
            code = cudaMemcpyAsync(net->drain_at[i], net->drain[i], bytes,
                                   cudaMemcpyDeviceToHost, stream);
    if (code == cudaSuccess)
        code = cudaEventRecord((cudaEvent_t)net->events[3], stream);
    return vly_cuda_check((int)code, "reading spikes", error);
}

vly_status vly_cuda_history_receive(vly_backend_net *net, vly_error *error)
{
    size_t bytes = (size_t)net->n_sent * sizeof(uint32_t);
    if (bytes == 0)
        return VLY_OK;
    net->n_sent = 0;
    vly_status status =
        vly_cuda_check((int)cudaEventSynchronize((cudaEvent_t)net->events[3]),
                       "reading spikes", error);
    for (int i = 0; i < 2 && status == VLY_OK; i++)
        if (net->sent_to[i] != NULL)
            memcpy(net->sent_to[i], net->drain_at[i], bytes);
    return status;
}

/* Of bursts that are done. */
vly_status vly_cuda_history_read(vly_backend_net *net, uint64_t burst,
                                 uint32_t n_bursts, uint64_t n_spikes,
                                 uint32_t *ids, uint32_t *gains,
                                 vly_error *error)
{
    if (n_spikes == 0)
        return VLY_OK;
    vly_status status = vly_cuda_history_sort(net, burst, n_bursts, n_spikes,
                                              gains != NULL, error);
    if (status == VLY_OK)
        status = vly_cuda_history_send(net, n_spikes, ids, gains, error);
    return status == VLY_OK ? vly_cuda_history_receive(net, error) : status;
}

static vly_status load_records(vly_backend_net *net,
                               const vly_snapshot *snapshot, vly_error *error)
{
    uint64_t first = snapshot->burst - snapshot->n_fired_bursts;
    vly_status status = VLY_OK;
    for (uint32_t done = 0;
         done < snapshot->n_fired_bursts && status == VLY_OK;) {
        uint32_t at = (uint32_t)(first + done) & net->view.record_mask;
        uint32_t n = snapshot->n_fired_bursts - done;
        uint32_t room = net->view.record_mask - at + 1;
        n = n < room ? n : room;
        n = n < VLY_CUDA_LAUNCH_BURSTS ? n : VLY_CUDA_LAUNCH_BURSTS;
        for (uint32_t i = 0; i < n; i++) {
            const uint64_t *row = snapshot->fired_row + done + i;
            net->records[i] = (vly_cuda_record){
                .start = row[0], .count = (uint32_t)(row[1] - row[0])};
        }
        status = vly_cuda_upload(net, net->view.records + at, net->records,
                                 n * sizeof *net->records, error);
        done += n;
    }
    return status;
}

vly_status vly_cuda_history_load(vly_backend_net *net,
                                 const vly_snapshot *snapshot, vly_error *error)
{
    uint64_t n = snapshot->n_fired;
    vly_status status = vly_cuda_history_reserve(
        net, net->burst, n + net->desc->n_neurons, error);
    if (status == VLY_OK)
        status = vly_cuda_upload(net, net->view.log_ids, snapshot->fired,
                                 n * sizeof(uint32_t), error);
    if (status == VLY_OK)
        status = vly_cuda_upload(net, net->view.log_gains, snapshot->fired_gain,
                                 n * sizeof(uint32_t), error);
    if (status == VLY_OK)
        status = load_records(net, snapshot, error);
    net->head = n;
    net->cleared = net->burst - snapshot->n_fired_bursts +
                   net->view.record_mask + UINT64_C(1);
    if (status == VLY_OK)
        status = vly_cuda_plan_restore(net, error);
    if (status == VLY_OK)
        status = vly_cuda_synchronize(net, "restoring events", error);
    return status;
}

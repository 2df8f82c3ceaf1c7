/* SPDX-License-Identifier: Apache-2.0
 * The log of spikes on the device: spikes that are still to be delivered, that
 * a snapshot contains, and that a recording reads. It grows after a launch that
 * stopped because the log was full.
 */
#include "cuda_history.h"

#include <string.h>

#include "cuda_error.h"
#include "cuda_memory.h"
#include "cuda_net.h"

#define FIRST_CAPACITY (UINT64_C(1) << 16)
/* Limit of growth if the log grows only to make launches longer. */
#define GROWN_CAPACITY (UINT64_C(1) << 24)

static vly_status log_alloc(vly_cuda_shard *shard, uint64_t capacity,
                            uint32_t **ids, uint32_t **gains, vly_error *error)
{
    vly_status status =
        vly_cuda_device_alloc(shard, capacity, sizeof **ids, ids, error);
    if (status == VLY_OK) {
        status = vly_cuda_device_alloc(shard, capacity, sizeof **gains, gains,
                                       error);
        if (status != VLY_OK)
            vly_cuda_device_release(shard, *ids);
    }
    return status;
}

vly_status vly_cuda_history_create(vly_cuda_shard *shard, vly_error *error)
{
    uint64_t n_records = vly_common_power_of_two(
        (uint64_t)shard->net->desc->max_delay + VLY_CUDA_LAUNCH_BURSTS + 2);
    uint64_t capacity =
        vly_common_power_of_two(UINT64_C(4) * shard->net->desc->n_neurons);
    capacity = capacity > FIRST_CAPACITY ? capacity : FIRST_CAPACITY;
    if (n_records > UINT32_MAX)
        return vly_cuda_fail(error, VLY_E_UNSUPPORTED,
                             "net: a delay of %u bursts is too long for the "
                             "cuda backend",
                             shard->net->desc->max_delay);
    vly_status status = VLY_OK;
    VLY_TRY(log_alloc(shard, capacity, &shard->view.log_ids,
                      &shard->view.log_gains, error));
    VLY_TRY(vly_cuda_device_alloc(shard, n_records, sizeof *shard->view.records,
                                  &shard->view.records, error));
    VLY_TRY(vly_cuda_pinned_alloc(shard, VLY_CUDA_LAUNCH_BURSTS,
                                  sizeof *shard->records, &shard->records,
                                  error));
out:
    shard->view.log_mask = capacity - 1;
    shard->view.record_mask = (uint32_t)(n_records - 1);
    return status;
}

/* Copied in one or two pieces: the records are a ring. */
int vly_cuda_history_fetch(vly_cuda_shard *shard, uint64_t burst,
                           uint32_t n_bursts, vly_cuda_record *records)
{
    cudaError_t code = cudaSuccess;
    for (uint32_t done = 0; done < n_bursts && code == cudaSuccess;) {
        uint32_t at = (uint32_t)(burst + done) & shard->view.record_mask;
        uint32_t n = n_bursts - done;
        uint32_t room = shard->view.record_mask - at + 1;
        n = n < room ? n : room;
        code = cudaMemcpyAsync(records + done, shard->view.records + at,
                               n * sizeof *records, cudaMemcpyDeviceToHost,
                               (cudaStream_t)shard->stream);
        done += n;
    }
    return (int)code;
}

vly_status vly_cuda_history_records(vly_cuda_shard *shard, uint64_t burst,
                                    uint32_t n_bursts, vly_cuda_record *records,
                                    vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(
        vly_cuda_check(vly_cuda_history_fetch(shard, burst, n_bursts, records),
                       "reading records", error));
    VLY_TRY(vly_cuda_synchronize(shard, "reading records", error));
out:
    return status;
}

static uint64_t position_of(vly_cuda_shard *shard, uint64_t burst,
                            vly_status *status, vly_error *error)
{
    vly_cuda_record record = {.start = shard->head};
    if (burst < shard->net->burst && *status == VLY_OK)
        *status = vly_cuda_history_records(shard, burst, 1, &record, error);
    return record.start;
}

vly_status vly_cuda_history_move(vly_cuda_shard *shard, uint64_t from,
                                 uint64_t n, vly_error *error)
{
    uint64_t held = shard->head - from;
    uint64_t capacity = vly_common_power_of_two(2 * (held + n));
    uint32_t *ids = NULL;
    uint32_t *gains = NULL;
    if (capacity <= shard->view.log_mask + 1)
        return VLY_OK;
    vly_status status = VLY_OK;
    VLY_TRY(log_alloc(shard, capacity, &ids, &gains, error));
    VLY_TRY(vly_cuda_check((int)vly_cuda_launch_log_move(
                               &shard->view, from, shard->head, ids, gains,
                               capacity - 1, (cudaStream_t)shard->stream),
                           "moving the spike log", error));
    VLY_TRY(vly_cuda_synchronize(shard, "moving the spike log", error));
    vly_cuda_device_release(shard, shard->view.log_ids);
    vly_cuda_device_release(shard, shard->view.log_gains);
    shard->view.log_ids = ids;
    shard->view.log_gains = gains;
    shard->view.log_mask = capacity - 1;
out:
    return status;
}

vly_status vly_cuda_history_reserve(vly_cuda_shard *shard, uint64_t oldest,
                                    uint64_t n, vly_error *error)
{
    vly_status status = VLY_OK;
    uint64_t from = position_of(shard, oldest, &status, error);
    return status == VLY_OK ? vly_cuda_history_move(shard, from, n, error)
                            : status;
}

vly_status vly_cuda_history_grow(vly_cuda_shard *shard, vly_error *error)
{
    uint32_t delay = shard->net->desc->max_delay;
    uint64_t oldest = shard->net->burst > delay ? shard->net->burst - delay : 0;
    uint64_t capacity = shard->view.log_mask + 1;
    return capacity < GROWN_CAPACITY
               ? vly_cuda_history_reserve(shard, oldest, capacity, error)
               : VLY_OK;
}

vly_status vly_cuda_history_clear(vly_cuda_shard *shard, uint32_t n_bursts,
                                  vly_error *error)
{
    uint32_t delay = shard->net->desc->max_delay;
    uint64_t oldest = shard->net->burst > delay ? shard->net->burst - delay : 0;
    uint64_t end = oldest + shard->view.record_mask + 1;
    cudaError_t code = cudaSuccess;
    if (shard->net->burst + n_bursts <= shard->cleared)
        return VLY_OK;
    /* clears all records that are no longer needed, for thousands of bursts */
    while (shard->cleared < end && code == cudaSuccess) {
        uint32_t at = (uint32_t)shard->cleared & shard->view.record_mask;
        uint64_t n = end - shard->cleared;
        uint64_t room = shard->view.record_mask - at + UINT64_C(1);
        n = n < room ? n : room;
        code = cudaMemsetAsync(shard->view.records + at, 0,
                               (size_t)n * sizeof *shard->view.records,
                               (cudaStream_t)shard->stream);
        shard->cleared += n;
    }
    return vly_cuda_check((int)code, "clearing records", error);
}

/* ---- transfer of spikes to the host -------------------------------------- */

static vly_status drain_reserve(vly_cuda_shard *shard, uint64_t n,
                                vly_error *error)
{
    if (n <= shard->drain_room)
        return VLY_OK;
    uint64_t room = vly_common_power_of_two(n);
    uint32_t *ids = NULL;
    uint32_t *gains = NULL;
    uint32_t *both = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(log_alloc(shard, room, &ids, &gains, error));
    status = vly_cuda_pinned_alloc(shard, room, 2 * sizeof *both, &both, error);
    if (status != VLY_OK) {
        vly_cuda_device_release(shard, ids);
        vly_cuda_device_release(shard, gains);
        return status;
    }
    vly_cuda_device_release(shard, shard->drain[0]);
    vly_cuda_device_release(shard, shard->drain[1]);
    vly_cuda_device_release(shard, shard->drain_at[0]);
    shard->drain[0] = ids;
    shard->drain[1] = gains;
    shard->drain_at[0] = both;
    shard->drain_at[1] = both + room;
    shard->drain_room = room;
    return VLY_OK;
out:
    return status;
}

vly_status vly_cuda_history_sort(vly_cuda_shard *shard, uint64_t burst,
                                 uint32_t n_bursts, uint64_t room, bool gains,
                                 vly_error *error)
{
    cudaStream_t stream = (cudaStream_t)shard->stream;
    uint64_t most = (uint64_t)n_bursts * shard->net->desc->n_neurons;
    vly_status status = VLY_OK;
    VLY_TRY(drain_reserve(shard, room < most ? room : most, error));
    cudaError_t code =
        vly_cuda_launch_sort(&shard->view, burst, n_bursts, shard->drain[0],
                             gains ? shard->drain[1] : NULL, stream);
    if (code == cudaSuccess)
        code = cudaEventRecord((cudaEvent_t)shard->events[4], stream);
    return vly_cuda_check((int)code, "sorting spikes", error);
out:
    return status;
}

/* In a separate stream, so that the next launch does not wait for the bus. */
vly_status vly_cuda_history_send(vly_cuda_shard *shard, uint64_t n_spikes,
                                 uint32_t *ids, uint32_t *gains,
                                 vly_error *error)
{
    cudaStream_t stream = (cudaStream_t)shard->drain_stream;
    size_t bytes = (size_t)n_spikes * sizeof *ids;
    cudaError_t code = cudaSuccess;
    shard->n_sent = n_spikes;
    shard->sent_to[0] = ids;
    shard->sent_to[1] = gains;
    if (n_spikes == 0)
        return VLY_OK;
    code = cudaStreamWaitEvent(stream, (cudaEvent_t)shard->events[4], 0);
    for (int i = 0; i < 2 && code == cudaSuccess; i++)
        if (shard->sent_to[i])
            code = cudaMemcpyAsync(shard->drain_at[i], shard->drain[i], bytes,
                                   cudaMemcpyDeviceToHost, stream);
    if (code == cudaSuccess)
        code = cudaEventRecord((cudaEvent_t)shard->events[3], stream);
    return vly_cuda_check((int)code, "reading spikes", error);
}

vly_status vly_cuda_history_receive(vly_cuda_shard *shard, vly_error *error)
{
    size_t bytes = (size_t)shard->n_sent * sizeof(uint32_t);
    if (bytes == 0)
        return VLY_OK;
    shard->n_sent = 0;
    vly_status status = VLY_OK;
    VLY_TRY(
        vly_cuda_check((int)cudaEventSynchronize((cudaEvent_t)shard->events[3]),
                       "reading spikes", error));
    for (int i = 0; i < 2; i++)
        if (shard->sent_to[i])
            memcpy(shard->sent_to[i], shard->drain_at[i], bytes);
out:
    return status;
}

/* Records of finished bursts. */
vly_status vly_cuda_history_read(vly_cuda_shard *shard, uint64_t burst,
                                 uint32_t n_bursts, uint64_t n_spikes,
                                 uint32_t *ids, uint32_t *gains,
                                 vly_error *error)
{
    if (n_spikes == 0)
        return VLY_OK;
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_history_sort(shard, burst, n_bursts, n_spikes,
                                  gains != NULL, error));
    VLY_TRY(vly_cuda_history_send(shard, n_spikes, ids, gains, error));
    VLY_TRY(vly_cuda_history_receive(shard, error));
out:
    return status;
}

static vly_status load_records(vly_cuda_shard *shard,
                               const vly_snapshot *snapshot, vly_error *error)
{
    uint64_t first = snapshot->burst - snapshot->n_fired_bursts;
    vly_status status = VLY_OK;
    for (uint32_t done = 0;
         done < snapshot->n_fired_bursts && status == VLY_OK;) {
        uint32_t at = (uint32_t)(first + done) & shard->view.record_mask;
        uint32_t n = snapshot->n_fired_bursts - done;
        uint32_t room = shard->view.record_mask - at + 1;
        n = n < room ? n : room;
        n = n < VLY_CUDA_LAUNCH_BURSTS ? n : VLY_CUDA_LAUNCH_BURSTS;
        for (uint32_t i = 0; i < n; i++) {
            const uint64_t *row = snapshot->fired_row + done + i;
            shard->records[i] = (vly_cuda_record){
                .start = row[0], .count = (uint32_t)(row[1] - row[0])};
        }
        status =
            vly_cuda_upload(shard, shard->view.records + at, shard->records,
                            n * sizeof *shard->records, error);
        done += n;
    }
    return status;
}

vly_status vly_cuda_history_load(vly_cuda_shard *shard,
                                 const vly_snapshot *snapshot, vly_error *error)
{
    uint64_t n = snapshot->n_fired;
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_history_reserve(shard, shard->net->burst,
                                     n + shard->net->desc->n_neurons, error));
    VLY_TRY(vly_cuda_upload(shard, shard->view.log_ids, snapshot->fired,
                            n * sizeof(uint32_t), error));
    VLY_TRY(vly_cuda_upload(shard, shard->view.log_gains, snapshot->fired_gain,
                            n * sizeof(uint32_t), error));
    VLY_TRY(load_records(shard, snapshot, error));
out:
    shard->head = n;
    shard->cleared = shard->net->burst - snapshot->n_fired_bursts +
                     shard->view.record_mask + UINT64_C(1);
    return status;
}

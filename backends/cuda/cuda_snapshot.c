/* SPDX-License-Identifier: Apache-2.0
 * State in and out: snapshots, fields, the state digest.
 */
#include "cuda_net.h"

#include <string.h>

/* ---- out --------------------------------------------------------------- */

static vly_status read_all(vly_backend_net *net, vly_snapshot *snapshot,
                           const vly_cuda_record *records, uint32_t n_bursts,
                           uint64_t n_fired, vly_error *error)
{
    vly_status status =
        vly_cuda_download(net, snapshot->state, net->state,
                          net->n_state_words * sizeof(uint32_t), error);
    if (status == VLY_OK)
        status =
            vly_cuda_history_read(net, net->burst - n_bursts, n_bursts, n_fired,
                                  snapshot->fired, snapshot->fired_gain, error);
    uint64_t at = 0;
    for (uint32_t j = 0; j < n_bursts && status == VLY_OK; j++) {
        snapshot->fired_row[j] = at;
        at += records[j].count;
    }
    if (status == VLY_OK)
        snapshot->fired_row[n_bursts] = at;
    return status;
}

static vly_status snapshot_read(vly_backend_net *net, vly_snapshot *snapshot,
                                vly_error *error)
{
    uint32_t n_bursts = vly_common_fired_bursts(net->desc, net->burst);
    uint64_t n_fired = 0;
    vly_cuda_record *records = NULL;
    vly_cuda_settle(net);
    vly_status status = vly_cuda_enter(net->device, error);
    if (status == VLY_OK)
        status =
            vly_cuda_alloc(net, n_bursts, sizeof *records, &records, error);
    if (status == VLY_OK)
        status = vly_cuda_history_records(net, net->burst - n_bursts, n_bursts,
                                          records, error);
    for (uint32_t j = 0; j < n_bursts && status == VLY_OK; j++)
        n_fired += records[j].count;
    vly_snapshot made = *snapshot; /* untouched on failure */
    if (status == VLY_OK)
        status = vly_common_snapshot_counts(net->desc, net->burst, n_fired,
                                            &made, error);
    if (status == VLY_OK && made.state != NULL)
        status = read_all(net, &made, records, n_bursts, n_fired, error);
    vly_cuda_release(net, records);
    if (status == VLY_OK)
        *snapshot = made;
    return status;
}

vly_status vly_cuda_snapshot_read(vly_backend_net *net, vly_snapshot *snapshot,
                                  vly_error *error)
{
    vly_cuda_range_begin("volley snapshot");
    vly_status status = snapshot_read(net, snapshot, error);
    vly_cuda_range_end();
    return status;
}

/* ---- fields ------------------------------------------------------------ */

static vly_status check_range(const vly_backend_net *net, uint32_t area,
                              uint32_t field, uint32_t first, uint32_t count,
                              vly_error *error)
{
    vly_status status =
        vly_common_check_field(net->desc, area, field, first, count, error);
    return status == VLY_OK ? vly_cuda_enter(net->device, error) : status;
}

vly_status vly_cuda_field_read(vly_backend_net *net, uint32_t area,
                               uint32_t field, uint32_t first, uint32_t count,
                               uint32_t *words, vly_error *error)
{
    vly_status status = check_range(net, area, field, first, count, error);
    if (status != VLY_OK)
        return status;
    if (vly_cuda_short_read(net, area, field, first, count, words))
        return VLY_OK;
    vly_cuda_settle(net);
    return vly_cuda_download(net, words, net->areas[area].field[field] + first,
                             count * sizeof *words, error);
}

vly_status vly_cuda_field_write(vly_backend_net *net, uint32_t area,
                                uint32_t field, uint32_t first, uint32_t count,
                                const uint32_t *words, vly_error *error)
{
    vly_status status = check_range(net, area, field, first, count, error);
    if (status != VLY_OK)
        return status;
    vly_cuda_short_forget(net);
    vly_cuda_settle(net);
    return vly_cuda_upload(net, net->areas[area].field[field] + first, words,
                           count * sizeof *words, error);
}

vly_status vly_cuda_state_digest(vly_backend_net *net, uint64_t *digest,
                                 vly_error *error)
{
    cudaStream_t stream = (cudaStream_t)net->stream;
    uint64_t *sum = &net->done->digest;
    vly_cuda_settle(net);
    vly_status status = vly_cuda_enter(net->device, error);
    if (status == VLY_OK)
        status =
            vly_cuda_check((int)cudaMemsetAsync(sum, 0, sizeof *sum, stream),
                           "state digest", error);
    for (uint32_t a = 0; a < net->view.n_areas && status == VLY_OK; a++) {
        const vly_cuda_area *area = &net->areas[a];
        for (uint32_t f = 0;
             f < net->info[a].model->n_fields && status == VLY_OK; f++)
            status = vly_cuda_check(
                (int)vly_cuda_launch_state_digest(area->field[f], area->first,
                                                  area->n, f, sum, stream),
                "state digest", error);
    }
    uint64_t made = 0;
    if (status == VLY_OK)
        status = vly_cuda_download(net, &made, sum, sizeof made, error);
    if (status == VLY_OK)
        *digest = made;
    return status;
}

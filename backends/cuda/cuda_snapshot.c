/* SPDX-License-Identifier: Apache-2.0
 * State in and out: snapshots, fields, the state digest.
 */
#include "cuda_net.h"

#include <string.h>

uint32_t vly_cuda_fired_bursts(const vly_net_desc *desc, uint64_t burst)
{
    return burst < desc->max_delay ? (uint32_t)burst : desc->max_delay;
}

/* ---- in ---------------------------------------------------------------- */

static vly_status check_fired(const vly_net_desc *desc,
                              const vly_snapshot *snapshot, vly_error *error)
{
    uint32_t n = snapshot->n_fired_bursts;
    const uint64_t *row = snapshot->fired_row;
    uint64_t from = 0;
    for (uint32_t j = 0; j < n; j++) {
        if (row[j] != from || row[j + 1] < from ||
            row[j + 1] > snapshot->n_fired)
            return vly_cuda_fail(error, VLY_E_INVALID,
                                 "snapshot: rows of fired set %u are damaged",
                                 j);
        for (uint64_t i = from; i < row[j + 1]; i++)
            if (snapshot->fired[i] >= desc->n_neurons ||
                (i > from && snapshot->fired[i] <= snapshot->fired[i - 1]))
                return vly_cuda_fail(error, VLY_E_INVALID,
                                     "snapshot: fired set %u has neuron %u "
                                     "out of order or above %u",
                                     j, snapshot->fired[i], desc->n_neurons);
        from = row[j + 1];
    }
    if (from != snapshot->n_fired)
        return vly_cuda_fail(
            error, VLY_E_INVALID, "snapshot: %llu spikes, its rows have %llu",
            (unsigned long long)snapshot->n_fired, (unsigned long long)from);
    return VLY_OK;
}

vly_status vly_cuda_snapshot_check(const vly_net_desc *desc,
                                   const vly_snapshot *snapshot,
                                   vly_error *error)
{
    if (snapshot == NULL || snapshot->struct_size < sizeof *snapshot)
        return vly_cuda_fail(error, VLY_E_INVALID,
                             "snapshot: missing, or struct_size too small");
    uint64_t words = 0;
    for (uint32_t a = 0; a < desc->n_areas; a++) {
        const vly_area_desc *area = vly_cuda_area_desc(desc, a);
        words += (uint64_t)area->n_fields * area->n_neurons;
    }
    if (snapshot->n_state_words != words)
        return vly_cuda_fail(error, VLY_E_INVALID,
                             "snapshot: %llu words of state, the net has %llu",
                             (unsigned long long)snapshot->n_state_words,
                             (unsigned long long)words);
    uint32_t bursts = vly_cuda_fired_bursts(desc, snapshot->burst);
    if (snapshot->n_fired_bursts != bursts)
        return vly_cuda_fail(error, VLY_E_INVALID,
                             "snapshot: fired sets of %u bursts, wanted %u",
                             snapshot->n_fired_bursts, bursts);
    if (snapshot->n_weight_bytes != 0)
        return vly_cuda_fail(error, VLY_E_UNSUPPORTED,
                             "snapshot: the cuda backend has no plastic "
                             "weights yet");
    return check_fired(desc, snapshot, error);
}

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
    if (snapshot->struct_size < sizeof *snapshot)
        return vly_cuda_fail(error, VLY_E_INVALID,
                             "snapshot: struct_size is %u, wanted %u",
                             snapshot->struct_size, (uint32_t)sizeof *snapshot);
    uint32_t n_bursts = vly_cuda_fired_bursts(net->desc, net->burst);
    uint64_t n_fired = 0;
    vly_cuda_record *records = NULL;
    vly_status status = vly_cuda_enter(net->device, error);
    if (status == VLY_OK)
        status =
            vly_cuda_alloc(net, n_bursts, sizeof *records, &records, error);
    if (status == VLY_OK)
        status = vly_cuda_history_records(net, net->burst - n_bursts, n_bursts,
                                          records, error);
    for (uint32_t j = 0; j < n_bursts && status == VLY_OK; j++)
        n_fired += records[j].count;
    if (status == VLY_OK && snapshot->state != NULL &&
        (snapshot->n_fired_bursts != n_bursts ||
         snapshot->n_state_words != net->n_state_words ||
         snapshot->n_fired != n_fired))
        status = vly_cuda_fail(error, VLY_E_INVALID,
                               "snapshot: memory for other counts than this "
                               "net has now; ask again with state NULL");
    if (status == VLY_OK && snapshot->state != NULL)
        status = read_all(net, snapshot, records, n_bursts, n_fired, error);
    vly_cuda_release(net, records);
    if (status != VLY_OK)
        return status;
    snapshot->n_fired_bursts = n_bursts;
    snapshot->burst = net->burst;
    snapshot->n_state_words = net->n_state_words;
    snapshot->n_fired = n_fired;
    snapshot->n_weight_bytes = 0;
    return VLY_OK;
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
    if (area >= net->view.n_areas)
        return vly_cuda_fail(error, VLY_E_INVALID, "area %u, but there are %u",
                             area, net->view.n_areas);
    const vly_cuda_area_info *info = &net->info[area];
    uint32_t n = net->areas[area].n;
    if (field >= info->model->n_fields)
        return vly_cuda_fail(
            error, VLY_E_INVALID, "area %s: field %u, but model %s has %u",
            info->name, field, info->model->id, info->model->n_fields);
    if ((uint64_t)first + count > n)
        return vly_cuda_fail(
            error, VLY_E_INVALID, "area %s: neurons %u to %llu, but it has %u",
            info->name, first, (unsigned long long)first + count, n);
    return vly_cuda_enter(net->device, error);
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
    return vly_cuda_upload(net, net->areas[area].field[field] + first, words,
                           count * sizeof *words, error);
}

vly_status vly_cuda_state_digest(vly_backend_net *net, uint64_t *digest,
                                 vly_error *error)
{
    cudaStream_t stream = (cudaStream_t)net->stream;
    uint64_t *sum = &net->done->digest;
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

/* SPDX-License-Identifier: Apache-2.0
 * State in and out: snapshots, fields, the state digest.
 */
#include "cuda_snapshot.h"

#include <string.h>

#include "backends/common/common_weights.h"
#include "cuda_error.h"
#include "cuda_history.h"
#include "cuda_linger.h"
#include "cuda_memory.h"
#include "cuda_net.h"
#include "cuda_range.h"
#include "cuda_ranks.h"
#include "cuda_short.h"
#include "cuda_span.h"

/* ---- out --------------------------------------------------------------- */

static vly_status read_counts(vly_backend_net *net, uint64_t burst,
                              uint32_t n_bursts, uint32_t *counts,
                              vly_error *error)
{
    vly_cuda_shard *shard = &net->shards[0];
    vly_cuda_record *records = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_alloc(shard, n_bursts, sizeof *records, &records, error));
    VLY_TRY(vly_cuda_history_records(shard, burst, n_bursts, records, error));
    for (uint32_t j = 0; j < n_bursts; j++)
        counts[j] = records[j].count;
out:
    vly_cuda_release(shard, records);
    return status;
}

static vly_status read_state(vly_backend_net *net, uint32_t *words,
                             vly_error *error)
{
    vly_cuda_shard *shard = &net->shards[0];
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_ranks_refresh(net, error));
    if (net->n_shards == 1)
        return vly_cuda_download(shard, words, shard->state,
                                 shard->n_state_words * sizeof *words, error);
    for (uint32_t a = 0; a < shard->view.n_areas; a++) {
        const vly_area_desc *area = vly_cuda_area_desc(net->desc, a);
        for (uint32_t f = 0; f < area->n_fields && status == VLY_OK; f++) {
            status =
                vly_cuda_span_read(net, a, f, 0, area->n_neurons, words, error);
            words += area->n_neurons;
        }
    }
    return status == VLY_OK ? vly_cuda_enter(shard->device, error) : status;
out:
    return status;
}

static vly_status read_weights(vly_backend_net *net, uint32_t *words,
                               vly_error *error)
{
    return vly_cuda_learning_save(&net->shards[0], words, error);
}

static vly_status read_spikes(vly_backend_net *net, uint64_t burst,
                              uint32_t n_bursts, uint64_t n_spikes,
                              uint32_t *ids, uint32_t *gains, vly_error *error)
{
    return vly_cuda_history_read(&net->shards[0], burst, n_bursts, n_spikes,
                                 ids, gains, error);
}

vly_status vly_cuda_snapshot_read(vly_backend_net *net, vly_snapshot *snapshot,
                                  vly_error *error)
{
    static const vly_common_reader reader = {
        .counts = read_counts,
        .state = read_state,
        .weights = read_weights,
        .spikes = read_spikes,
    };
    vly_cuda_shard *shard = &net->shards[0];
    vly_cuda_range_begin("volley snapshot");
    vly_cuda_settle(shard);
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_enter(shard->device, error));
    VLY_TRY(vly_common_snapshot_read(net, net->desc, net->burst, &reader,
                                     snapshot, error));
out:
    vly_cuda_range_end();
    return status;
}

vly_status vly_cuda_weights_read(vly_backend_net *net, uint32_t projection,
                                 uint64_t first, uint64_t count,
                                 int32_t *masters, vly_error *error)
{
    vly_cuda_shard *shard = &net->shards[0];
    uint32_t i = 0;
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_check_range(net->desc, projection, first, count, error));
    VLY_TRY(vly_cuda_learning_begin(net, projection, &i, error));
    VLY_TRY(vly_cuda_ranks_refresh(net, error));
    if (count > 0 && shard->plastic.ranks)
        memcpy(masters, shard->plastic.ranks[i].master + first,
               (size_t)count * sizeof *masters);
    else if (count > 0)
        VLY_TRY(vly_cuda_download(shard, masters,
                                  shard->plastic.list[i].master + first,
                                  count * sizeof *masters, error));
out:
    return status;
}

/* ---- fields ------------------------------------------------------------ */

vly_status vly_cuda_field_read(vly_backend_net *net, uint32_t area,
                               uint32_t field, uint32_t first, uint32_t count,
                               uint32_t *words, vly_error *error)
{
    vly_cuda_shard *shard = &net->shards[0];
    vly_status status = VLY_OK;
    VLY_TRY(
        vly_common_check_field(net->desc, area, field, first, count, error));
    if (!net->ranks.all.to &&
        vly_cuda_short_read(shard, area, field, first, count, words))
        return VLY_OK; /* needs no call of the runtime */
    VLY_TRY(vly_cuda_enter(shard->device, error));
    vly_cuda_settle(shard);
    VLY_TRY(vly_cuda_ranks_refresh(net, error));
    return vly_cuda_span_read(net, area, field, first, count, words, error);
out:
    return status;
}

vly_status vly_cuda_field_write(vly_backend_net *net, uint32_t area,
                                uint32_t field, uint32_t first, uint32_t count,
                                const uint32_t *words, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(
        vly_common_check_field(net->desc, area, field, first, count, error));
    for (uint32_t i = 0; i < net->n_shards; i++) {
        vly_cuda_shard *shard = &net->shards[i];
        VLY_TRY(vly_cuda_enter(shard->device, error));
        vly_cuda_short_forget(shard);
        vly_cuda_settle(shard);
        VLY_TRY(vly_cuda_upload(shard,
                                vly_cuda_field(shard, area, field) + first,
                                words, count * sizeof *words, error));
    }
out:
    return status;
}

vly_status vly_cuda_state_digest(vly_backend_net *net, uint64_t *digest,
                                 vly_error *error)
{
    vly_cuda_shard *shard = &net->shards[0];
    cudaStream_t stream = (cudaStream_t)shard->stream;
    uint64_t *sum = &shard->done->digest;
    vly_cuda_settle(shard);
    if (net->n_shards > 1)
        return vly_cuda_span_digest(net, digest, error);
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_enter(shard->device, error));
    VLY_TRY(vly_cuda_ranks_refresh(net, error));
    VLY_TRY(vly_cuda_check((int)cudaMemsetAsync(sum, 0, sizeof *sum, stream),
                           "state digest", error));
    for (uint32_t a = 0; a < shard->view.n_areas; a++) {
        const vly_cuda_area *area = &shard->areas[a];
        const uint32_t n = vly_cuda_area_desc(net->desc, a)->n_fields;
        for (uint32_t f = 0; f < n; f++)
            VLY_TRY(vly_cuda_check((int)vly_cuda_launch_state_digest(
                                       vly_cuda_field(shard, a, f), area->first,
                                       area->n, f, sum, stream),
                                   "state digest", error));
    }
    uint64_t made = 0;
    VLY_TRY(vly_cuda_learning_digest(shard, error));
    VLY_TRY(vly_cuda_download(shard, &made, sum, sizeof made, error));
    *digest = made;
out:
    return status;
}

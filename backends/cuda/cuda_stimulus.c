/* SPDX-License-Identifier: Apache-2.0
 * Stimuli on the device, area by area.
 */
#include "cuda_stimulus.h"

#include <string.h>

#include "cuda_error.h"
#include "cuda_linger.h"
#include "cuda_memory.h"
#include "cuda_net.h"

static vly_status stimulus_upload(vly_cuda_shard *shard, uint32_t index,
                                  const vly_stimulus_desc *desc,
                                  vly_error *error)
{
    const uint32_t slot = shard->stimulus_slot[index];
    uint32_t *thresholds =
        shard->thresholds + (uint64_t)slot * VLY_CUDA_THRESHOLDS;
    vly_cuda_stimulus made = {
        .start = desc->start,
        .stop = desc->stop,
        .thresholds = thresholds,
        .first = desc->first,
        .n = desc->n_neurons,
        .stream = desc->stream,
        .n_thresholds = desc->n_thresholds,
        .base = desc->base,
        .step = desc->step,
        .port = desc->port,
        .always = (desc->flags & VLY_STIMULUS_ALWAYS) != 0,
    };
    vly_cuda_stimulus *table = NULL;
    memcpy(&table, &shard->view.stimuli, sizeof table);
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_upload(shard, thresholds, desc->thresholds,
                            desc->n_thresholds * sizeof(uint32_t), error));
    VLY_TRY(vly_cuda_upload(shard, table + slot, &made, sizeof made, error));
out:
    return status;
}

static vly_status sort_stimuli(vly_cuda_shard *shard, vly_error *error)
{
    const uint32_t n = shard->net->desc->n_areas;
    uint32_t *first = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(
        vly_cuda_alloc(shard, n + UINT64_C(1), sizeof *first, &first, error));
    vly_common_sort_stimuli(shard->net->desc, shard->stimulus_slot, first);
    for (uint32_t a = 0; a < n; a++) {
        shard->areas[a].stimulus_first = first[a];
        shard->areas[a].n_stimuli = first[a + 1] - first[a];
    }
    vly_cuda_release(shard, first);
out:
    return status;
}

vly_status vly_cuda_stimulus_create(vly_cuda_shard *shard, vly_error *error)
{
    uint32_t n = shard->net->desc->n_stimuli;
    vly_cuda_stimulus *table = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_alloc(shard, n, sizeof *shard->stimulus_slot,
                           &shard->stimulus_slot, error));
    VLY_TRY(vly_cuda_device_alloc(shard, n, sizeof *table, &table, error));
    VLY_TRY(vly_cuda_device_alloc(shard, (uint64_t)n * VLY_CUDA_THRESHOLDS,
                                  sizeof *shard->thresholds, &shard->thresholds,
                                  error));
    shard->view.stimuli = table;
    VLY_TRY(sort_stimuli(shard, error));
    for (uint32_t i = 0; i < n; i++)
        VLY_TRY(stimulus_upload(
            shard, i, vly_cuda_stimulus_desc(shard->net->desc, i), error));
out:
    return status;
}

vly_status vly_cuda_stimulus_write(vly_backend_net *net, uint32_t index,
                                   const vly_stimulus_desc *desc,
                                   vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_check_stimulus_write(net->desc, index, desc, error));
    for (uint32_t i = 0; i < net->n_shards; i++) {
        vly_cuda_shard *shard = &net->shards[i];
        vly_cuda_settle(shard);
        VLY_TRY(vly_cuda_enter(shard->device, error));
        VLY_TRY(stimulus_upload(shard, index, desc, error));
    }
out:
    return status;
}

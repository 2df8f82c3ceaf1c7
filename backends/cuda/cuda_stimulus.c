/* SPDX-License-Identifier: Apache-2.0
 * Stimuli on the device, area by area.
 */
#include "cuda_net.h"

#include <string.h>

static vly_status stimulus_upload(vly_backend_net *net, uint32_t index,
                                  const vly_stimulus_desc *desc,
                                  vly_error *error)
{
    const uint32_t slot = net->stimulus_slot[index];
    uint32_t *thresholds =
        net->thresholds + (uint64_t)slot * VLY_CUDA_THRESHOLDS;
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
    memcpy(&table, &net->view.stimuli, sizeof table);
    vly_status status =
        vly_cuda_upload(net, thresholds, desc->thresholds,
                        desc->n_thresholds * sizeof(uint32_t), error);
    if (status == VLY_OK)
        status = vly_cuda_upload(net, table + slot, &made, sizeof made, error);
    return status;
}

static vly_status sort_stimuli(vly_backend_net *net, vly_error *error)
{
    const uint32_t n = net->desc->n_areas;
    uint32_t *first = NULL;
    vly_status status =
        vly_cuda_alloc(net, n + UINT64_C(1), sizeof *first, &first, error);
    if (status != VLY_OK)
        return status;
    vly_common_sort_stimuli(net->desc, net->stimulus_slot, first);
    for (uint32_t a = 0; a < n; a++) {
        net->areas[a].stimulus_first = first[a];
        net->areas[a].n_stimuli = first[a + 1] - first[a];
    }
    vly_cuda_release(net, first);
    return VLY_OK;
}

vly_status vly_cuda_stimulus_create(vly_backend_net *net, vly_error *error)
{
    uint32_t n = net->desc->n_stimuli;
    vly_cuda_stimulus *table = NULL;
    vly_status status = vly_cuda_alloc(net, n, sizeof *net->stimulus_slot,
                                       &net->stimulus_slot, error);
    if (status == VLY_OK)
        status = vly_cuda_device_alloc(net, n, sizeof *table, &table, error);
    if (status == VLY_OK)
        status = vly_cuda_device_alloc(net, (uint64_t)n * VLY_CUDA_THRESHOLDS,
                                       sizeof *net->thresholds,
                                       &net->thresholds, error);
    if (status != VLY_OK)
        return status;
    net->view.stimuli = table;
    status = sort_stimuli(net, error);
    for (uint32_t i = 0; i < n && status == VLY_OK; i++)
        status = stimulus_upload(net, i, vly_cuda_stimulus_desc(net->desc, i),
                                 error);
    return status;
}

vly_status vly_cuda_stimulus_write(vly_backend_net *net, uint32_t index,
                                   const vly_stimulus_desc *desc,
                                   vly_error *error)
{
    vly_status status =
        vly_common_check_stimulus_write(net->desc, index, desc, error);
    if (status == VLY_OK)
        vly_cuda_settle(net);
    if (status == VLY_OK)
        status = vly_cuda_enter(net->device, error);
    return status == VLY_OK ? stimulus_upload(net, index, desc, error) : status;
}

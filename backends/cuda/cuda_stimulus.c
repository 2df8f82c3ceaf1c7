/* SPDX-License-Identifier: Apache-2.0
 * Stimuli on the device, area by area.
 */
#include "cuda_net.h"

#include <string.h>

static vly_status stimulus_upload(vly_backend_net *net, uint32_t index,
                                  const vly_stimulus_desc *desc,
                                  vly_error *error)
{
    const vly_cuda_stimulus_info *info = &net->stimuli[index];
    vly_cuda_stimulus made = {
        .start = desc->start,
        .stop = desc->stop,
        .thresholds = info->thresholds,
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
        vly_cuda_upload(net, info->thresholds, desc->thresholds,
                        desc->n_thresholds * sizeof(uint32_t), error);
    if (status == VLY_OK)
        status =
            vly_cuda_upload(net, table + info->slot, &made, sizeof made, error);
    return status;
}

/* Gives every stimulus its place, those of an area together. */
static void sort_stimuli(vly_backend_net *net)
{
    const vly_net_desc *desc = net->desc;
    for (uint32_t i = 0; i < desc->n_stimuli; i++) {
        const vly_stimulus_desc *s = vly_cuda_stimulus_desc(desc, i);
        if (s->n_neurons > 0)
            net->areas[vly_cuda_area_of(desc, s->first)].n_stimuli++;
    }
    uint32_t at = 0;
    for (uint32_t a = 0; a < desc->n_areas; a++) {
        net->areas[a].stimulus_first = at;
        at += net->areas[a].n_stimuli;
        net->areas[a].n_stimuli = 0;
    }
    for (uint32_t i = 0; i < desc->n_stimuli; i++) {
        const vly_stimulus_desc *s = vly_cuda_stimulus_desc(desc, i);
        vly_cuda_stimulus_info *info = &net->stimuli[i];
        info->slot = at;
        if (s->n_neurons == 0) {
            at++; /* behind all others, read by nobody */
            continue;
        }
        vly_cuda_area *area = &net->areas[vly_cuda_area_of(desc, s->first)];
        info->slot = area->stimulus_first + area->n_stimuli++;
    }
}

vly_status vly_cuda_stimulus_create(vly_backend_net *net, vly_error *error)
{
    uint32_t n = net->desc->n_stimuli;
    uint32_t *thresholds = NULL;
    vly_cuda_stimulus *table = NULL;
    vly_status status =
        vly_cuda_alloc(net, n, sizeof *net->stimuli, &net->stimuli, error);
    if (status == VLY_OK)
        status = vly_cuda_device_alloc(net, n, sizeof *table, &table, error);
    if (status == VLY_OK)
        status = vly_cuda_device_alloc(net, (uint64_t)n * VLY_CUDA_THRESHOLDS,
                                       sizeof *thresholds, &thresholds, error);
    if (status != VLY_OK)
        return status;
    net->view.stimuli = table;
    sort_stimuli(net);
    for (uint32_t i = 0; i < n && status == VLY_OK; i++) {
        net->stimuli[i].thresholds =
            thresholds + (uint64_t)i * VLY_CUDA_THRESHOLDS;
        status = stimulus_upload(net, i, vly_cuda_stimulus_desc(net->desc, i),
                                 error);
    }
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

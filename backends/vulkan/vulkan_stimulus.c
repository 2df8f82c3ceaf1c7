/* SPDX-License-Identifier: Apache-2.0
 * Stimuli on the device, area by area.
 */
#include "vulkan_net.h"

static vly_status stimulus_upload(vly_backend_net *net, uint32_t index,
                                  const vly_stimulus_desc *desc,
                                  vly_error *error)
{
    const uint32_t slot = net->stimulus_slot[index];
    const uint32_t at = slot * VLY_VULKAN_THRESHOLDS;
    const vly_vulkan_stimulus made = {
        .start = desc->start,
        .stop = desc->stop,
        .first = desc->first,
        .n = desc->n_neurons,
        .stream = desc->stream,
        .thresholds = at,
        .n_thresholds = desc->n_thresholds,
        .base = desc->base,
        .step = desc->step,
        .port = desc->port,
        .always = (desc->flags & VLY_STIMULUS_ALWAYS) != 0,
    };
    vly_status status = VLY_OK;
    VLY_TRY(vly_vulkan_upload(net, net->thresholds, at * UINT64_C(4),
                              desc->thresholds,
                              desc->n_thresholds * sizeof(uint32_t), error));
    VLY_TRY(vly_vulkan_upload(net, net->stimuli, slot * sizeof made, &made,
                              sizeof made, error));
out:
    return status;
}

static vly_status sort_stimuli(vly_backend_net *net, vly_error *error)
{
    const uint32_t n = net->desc->n_areas;
    uint32_t *first = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_alloc(&net->heap, n + UINT64_C(1), sizeof *first, &first,
                             error));
    vly_common_sort_stimuli(net->desc, net->stimulus_slot, first);
    for (uint32_t a = 0; a < n; a++) {
        net->area[a].stimulus_first = first[a];
        net->area[a].n_stimuli = first[a + 1] - first[a];
    }
    vly_common_release(&net->heap, first);
out:
    return status;
}

vly_status vly_vulkan_stimulus_create(vly_backend_net *net, vly_error *error)
{
    uint32_t n = net->desc->n_stimuli;
    if (n > UINT32_MAX / VLY_VULKAN_THRESHOLDS)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "net: %u stimuli, the vulkan backend takes up "
                                "to %u",
                                n, UINT32_MAX / VLY_VULKAN_THRESHOLDS);
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_alloc(&net->heap, n, sizeof *net->stimulus_slot,
                             &net->stimulus_slot, error));
    VLY_TRY(vly_vulkan_buffer_create(net, VLY_VULKAN_ON_DEVICE, n,
                                     sizeof(vly_vulkan_stimulus), &net->stimuli,
                                     error));
    VLY_TRY(vly_vulkan_buffer_create(net, VLY_VULKAN_ON_DEVICE, n,
                                     VLY_VULKAN_THRESHOLDS * sizeof(uint32_t),
                                     &net->thresholds, error));
    net->view->stimuli = net->stimuli->address;
    net->view->thresholds = net->thresholds->address;
    VLY_TRY(sort_stimuli(net, error));
    for (uint32_t i = 0; i < n; i++)
        VLY_TRY(stimulus_upload(net, i, vly_common_stimulus_desc(net->desc, i),
                                error));
out:
    return status;
}

vly_status vly_vulkan_stimulus_write(vly_backend_net *net, uint32_t index,
                                     const vly_stimulus_desc *desc,
                                     vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_check_stimulus_write(net->desc, index, desc, error));
    VLY_TRY(vly_vulkan_enter(net->device, error));
    VLY_TRY(stimulus_upload(net, index, desc, error));
out:
    return status;
}

/* SPDX-License-Identifier: Apache-2.0
 * Modulators: see vulkan_modulator.h.
 */
#include "vulkan_modulator.h"

#include "backends/common/common_modulator.h"
#include "vulkan_blocks.h"
#include "vulkan_learning.h"

/* ---- create ------------------------------------------------------------ */

vly_status vly_vulkan_modulator_create(vly_backend_net *net,
                                       const vly_learning_desc *learning,
                                       const uint32_t *words,
                                       vly_vulkan_plastic_map *map,
                                       vly_vulkan_learning *l, vly_error *error)
{
    vly_common_modulator modulator;
    vly_status status = VLY_OK;
    if (!vly_common_modulated(learning))
        return VLY_OK;
    net->plastic.modulates = 1;
    vly_common_modulator_load(&modulator, words);
    const vly_vulkan_modulator made = {.value = modulator.value,
                                       .age = modulator.age};
    VLY_TRY(vly_vulkan_put(net, 1, sizeof made, &made, &map->modulator, error));
    l->modulator = map->modulator->address;
    l->modulator_trace.rate = learning->modulator.rate;
    l->modulator_trace.bursts = learning->modulator.bursts;
    l->interval = learning->interval;
    if (learning->modulator_area < net->desc->n_areas) {
        const vly_area_desc *area =
            vly_common_area_desc(net->desc, learning->modulator_area);
        l->modulator_first = area->first;
        l->n_modulator = area->n_neurons;
    }
out:
    return status;
}

/* ---- values of the host ------------------------------------------------ */

static uint32_t *given_row(const vly_backend_net *net, uint32_t projection)
{
    uint32_t *all = net->plastic.given->mapped;
    return all + (size_t)vly_vulkan_learning_find(net, projection) *
                     VLY_VULKAN_LAUNCH_BURSTS;
}

vly_status vly_vulkan_modulations_create(vly_backend_net *net, vly_error *error)
{
    vly_vulkan_plastic *plastic = &net->plastic;
    uint64_t words = (uint64_t)plastic->n * VLY_VULKAN_LAUNCH_BURSTS;
    if (!plastic->modulates)
        return VLY_OK;
    return vly_vulkan_buffer_create(net, VLY_VULKAN_TO_DEVICE, words,
                                    sizeof(uint32_t), &plastic->given, error);
}

void vly_vulkan_modulations_send(vly_backend_net *net, const vly_run *run)
{
    vly_vulkan_plastic *plastic = &net->plastic;
    vly_vulkan_launch *launch = net->launch;
    uint64_t words = (uint64_t)plastic->n * VLY_VULKAN_LAUNCH_BURSTS;
    uint64_t n = 0;
    const vly_input *given =
        vly_common_modulations(run, launch->burst, launch->n_bursts, &n);
    if (n == 0)
        return;
    uint32_t *all = plastic->given->mapped;
    for (uint64_t i = 0; i < words; i++)
        all[i] = VLY_VULKAN_NOT_GIVEN;
    for (uint64_t i = 0; i < n; i++)
        given_row(net, given[i].neuron)[given[i].burst - launch->burst] =
            (uint32_t)given[i].value;
    launch->given = plastic->given->address;
}

/* ---- out --------------------------------------------------------------- */

vly_status vly_vulkan_modulator_save(vly_backend_net *net,
                                     const vly_vulkan_plastic_map *map,
                                     uint32_t *words, vly_error *error)
{
    vly_vulkan_modulator found = {.reserved = 0};
    vly_status status = VLY_OK;
    VLY_TRY(vly_vulkan_download(net, &found, map->modulator, 0, sizeof found,
                                error));
    const vly_common_modulator modulator = {.value = found.value,
                                            .age = found.age};
    vly_common_modulator_save(&modulator, words);
out:
    return status;
}

/* SPDX-License-Identifier: Apache-2.0
 * Input of the host, written to memory that the device reads in place.
 */
#include "vulkan_net.h"

/* The area of a neuron; inputs of one area follow each other, mostly. */
static uint32_t input_area(const vly_backend_net *net, uint32_t last,
                           uint32_t neuron)
{
    const vly_vulkan_area *area = &net->area[last];
    return neuron - area->first < area->n
               ? last
               : vly_common_area_of(net->desc, neuron);
}

/* Rows and inputs into the buffer. */
static void fill(vly_backend_net *net, const vly_input *from, uint64_t n,
                 uint64_t row_bytes)
{
    const vly_vulkan_launch *launch = net->launch;
    uint8_t *bytes = net->inputs->mapped;
    uint32_t *row = (uint32_t *)(void *)bytes;
    vly_vulkan_input *to = (vly_vulkan_input *)(void *)(bytes + row_bytes);
    uint32_t area = 0;
    uint32_t at = 0;
    for (uint32_t k = 0; k < launch->n_bursts; k++) {
        row[k] = at;
        for (; at < n && from[at].burst == launch->burst + k; at++) {
            area = input_area(net, area, from[at].neuron);
            to[at] = (vly_vulkan_input){from[at].neuron, from[at].port,
                                        (uint32_t)from[at].value,
                                        net->area[area].feagi};
        }
    }
    row[launch->n_bursts] = at;
}

vly_status vly_vulkan_inputs_send(vly_backend_net *net, const vly_run *run,
                                  uint64_t *from, vly_error *error)
{
    vly_vulkan_launch *launch = net->launch;
    uint64_t end = launch->burst + launch->n_bursts;
    uint64_t n = 0;
    while (*from < run->n_inputs && run->inputs[*from].burst < launch->burst)
        (*from)++;
    while (*from + n < run->n_inputs && run->inputs[*from + n].burst < end)
        n++;
    launch->input_row = 0;
    if (n == 0)
        return VLY_OK;
    if (n > UINT32_MAX)
        return vly_common_fail(error, VLY_E_UNSUPPORTED,
                               "run: %llu inputs in one submission",
                               (unsigned long long)n);
    uint64_t row_bytes = (launch->n_bursts / 2 + UINT64_C(1)) * 8;
    uint64_t bytes = row_bytes + n * sizeof(vly_vulkan_input);
    if (net->inputs == NULL || net->inputs->bytes < bytes) {
        vly_vulkan_buffer_release(net, net->inputs);
        net->inputs = NULL;
        vly_status status = vly_vulkan_buffer_create(
            net, VLY_VULKAN_TO_DEVICE, bytes, 2, &net->inputs, error);
        if (status != VLY_OK)
            return status;
    }
    fill(net, run->inputs + *from, n, row_bytes);
    launch->input_row = net->inputs->address;
    launch->inputs = net->inputs->address + row_bytes;
    return VLY_OK;
}

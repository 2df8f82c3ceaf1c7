/* SPDX-License-Identifier: Apache-2.0
 * Input of the host, written to memory that the device reads in place.
 */
#include "vulkan_net.h"

#include <stddef.h>

_Static_assert(sizeof(vly_vulkan_input) == 4 * VLY_COMMON_INPUT_WORDS &&
                   offsetof(vly_vulkan_input, value) == 8,
               "an input is what vly_common_inputs_write writes");

vly_status vly_vulkan_inputs_send(vly_backend_net *net, const vly_run *run,
                                  uint64_t *from, vly_error *error)
{
    vly_vulkan_launch *launch = net->launch;
    uint64_t n =
        vly_common_inputs_find(run, launch->burst, launch->n_bursts, from);
    launch->input_row = 0;
    if (n == 0)
        return VLY_OK;
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_inputs_check(n, error));
    uint64_t row_bytes = 4 * vly_common_input_rows(launch->n_bursts);
    uint64_t bytes = row_bytes + n * sizeof(vly_vulkan_input);
    if (!net->inputs || net->inputs->bytes < bytes) {
        vly_vulkan_buffer_release(net, net->inputs);
        net->inputs = NULL;
        VLY_TRY(vly_vulkan_buffer_create(net, VLY_VULKAN_TO_DEVICE, bytes, 2,
                                         &net->inputs, error));
    }
    vly_common_inputs_write(net->desc, run->inputs + *from, n, launch->burst,
                            launch->n_bursts, net->inputs->mapped);
    launch->input_row = net->inputs->address;
    launch->inputs = net->inputs->address + row_bytes;
out:
    return status;
}

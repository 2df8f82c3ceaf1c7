/* SPDX-License-Identifier: Apache-2.0
 * The plugin "vulkan": its entry and its table of functions.
 */
#include "vulkan_learning.h"
#include "vulkan_net.h"
#include "vulkan_short_term.h"

const char vly_support_plugin[] = "vulkan";

static void deinit(void)
{
    vly_vulkan_stop();
    vly_support_stop();
}

#define FLAGS                                                                  \
    (VLY_BACKEND_AREA_SPIKES | VLY_BACKEND_LEARNS | VLY_BACKEND_SHORT_TERM |   \
     VLY_BACKEND_MODULATES | VLY_BACKEND_PROGRAMS)

static vly_status supports(const vly_net_desc *desc, vly_error *error)
{
    return vly_common_supports_planes(desc, error);
}

/* The instance is made by init. A device is opened once and stays, so of
 * several only the first one, which a net gets in any case. */
static void prepare(const vly_device_spec *devices, uint32_t n_devices,
                    const uint32_t *wanted)
{
    vly_vulkan_device *opened = NULL;
    if (n_devices > 0 && __atomic_load_n(wanted, __ATOMIC_ACQUIRE) == 0)
        (void)vly_vulkan_device_open(devices[0].index, &opened, NULL);
}

/* flags are completed by init */
static vly_backend backend = {
    .struct_size = sizeof(vly_backend),
    .flags = FLAGS,
    .device_count = vly_vulkan_device_count,
    .device_info = vly_vulkan_device_info,
    .supports = supports,
    .net_create = vly_vulkan_net_create,
    .net_destroy = vly_vulkan_net_destroy,
    .net_info = vly_vulkan_net_info,
    .net_run = vly_vulkan_net_run,
    .field_read = vly_vulkan_field_read,
    .field_write = vly_vulkan_field_write,
    .coef_write = vly_vulkan_coef_write,
    .stimulus_write = vly_vulkan_stimulus_write,
    .snapshot_read = vly_vulkan_snapshot_read,
    .learning_read = vly_vulkan_learning_read,
    .learning_write = vly_vulkan_learning_write,
    .learning_set = vly_vulkan_learning_set,
    .short_term_set = vly_vulkan_short_term_set,
    .prepare = prepare,
};

static vly_status init(const vly_host *host, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_support_start(host, error));
    status = vly_vulkan_start(error);
    if (status != VLY_OK) {
        vly_support_stop();
        return status;
    }
    backend.flags = FLAGS;
    if (vly_vulkan_is_emulated())
        backend.flags |= VLY_BACKEND_EMULATED;
out:
    return status;
}

#define VLY_COMMON_BUILD VLY_VULKAN_BUILD
#define VLY_COMMON_RANK 200
#define VLY_COMMON_ALIASES "gpu amd intel opencl"
#include "backends/common/common_entry.h"

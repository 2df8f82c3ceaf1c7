/* SPDX-License-Identifier: Apache-2.0
 * The plugin "cpu": its entry, its one device and its table of functions.
 */
#include <string.h>

#include "cpu_learning.h"
#include "cpu_net.h"
#include "cpu_short_term.h"
#include "plugins/support/support_processor.h"

const char vly_support_plugin[] = "cpu";

static vly_status init(const vly_host *host, vly_error *error)
{
    return vly_support_start(host, error);
}

static void deinit(void)
{
    vly_support_stop();
}

static uint32_t device_count(void)
{
    return 1;
}

static vly_status device_info(uint32_t index, vly_device_info *info,
                              vly_error *error)
{
    if (index != 0)
        return vly_support_fail(error, VLY_E_DEVICE,
                                "cpu: device %u, but there is only 0", index);
    const char *isa = vly_cpu_best_kernels()->isa;
    const char *text = "portable";
    if (strcmp(isa, "avx512") == 0)
        text = "AVX-512";
    else if (strcmp(isa, "avx2") == 0)
        text = "AVX2";
    return vly_support_processor_info(info, text, error);
}

static vly_status supports(const vly_net_desc *desc, vly_error *error)
{
    return vly_common_supports(desc, error);
}

static const vly_backend backend = {
    .struct_size = sizeof(vly_backend),
    .flags = VLY_BACKEND_AREA_SPIKES | VLY_BACKEND_HOST | VLY_BACKEND_LEARNS |
             VLY_BACKEND_SHORT_TERM | VLY_BACKEND_MODULATES |
             VLY_BACKEND_PROGRAMS | VLY_BACKEND_RANKS,
    .device_count = device_count,
    .device_info = device_info,
    .supports = supports,
    .net_create = vly_cpu_net_create,
    .net_destroy = vly_cpu_net_destroy,
    .net_info = vly_cpu_net_info,
    .net_run = vly_cpu_net_run,
    .field_read = vly_cpu_field_read,
    .field_write = vly_cpu_field_write,
    .coef_write = vly_cpu_coef_write,
    .stimulus_write = vly_cpu_stimulus_write,
    .snapshot_read = vly_cpu_snapshot_read,
    .state_digest = vly_cpu_state_digest,
    .learning_read = vly_cpu_learning_read,
    .learning_write = vly_cpu_learning_write,
    .learning_set = vly_cpu_learning_set,
    .short_term_set = vly_cpu_short_term_set,
};

#define VLY_COMMON_BUILD VLY_CPU_BUILD
#define VLY_COMMON_RANK 100
#define VLY_COMMON_ALIASES "host processor"
#include "backends/common/common_entry.h"

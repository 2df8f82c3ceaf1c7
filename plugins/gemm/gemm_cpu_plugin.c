/* SPDX-License-Identifier: Apache-2.0
 * The plugin gemm_cpu: its entry and its tables of functions.
 */
#include <string.h>

#include "gemm_cpu.h"
#include "plugins/support/support_version.h"

const char vly_support_plugin[] = "gemm_cpu";

static const vly_gemm gemm = {
    .struct_size = sizeof(vly_gemm),
    .supports = vly_gemm_cpu_supports,
    .plan_create = vly_gemm_cpu_plan_create,
    .plan_destroy = vly_gemm_cpu_plan_destroy,
    .plan_info = vly_gemm_cpu_plan_info,
    .plan_candidate = vly_gemm_cpu_plan_candidate,
    .run = vly_gemm_cpu_run,
};

static const void *get_interface(const char *id)
{
    if (strcmp(id, VLY_GEMM_INTERFACE) == 0)
        return &gemm;
    return strcmp(id, VLY_MEMORY_INTERFACE) == 0 ? &vly_accel_host_memory
                                                 : NULL;
}

static void deinit(void)
{
    vly_gemm_measure_forget();
    vly_accel_host_stop();
}

extern const vly_plugin vly_plugin_entry;
VLY_EXPORT const vly_plugin vly_plugin_entry = {
    .struct_size = sizeof(vly_plugin),
    .abi_version = VLY_ABI_VERSION,
    .id = vly_support_plugin,
    .version = VLY_SUPPORT_VERSION,
    .build = VLY_GEMM_BUILD,
    .init = vly_accel_host_start,
    .deinit = deinit,
    .get_interface = get_interface,
};

/* SPDX-License-Identifier: Apache-2.0
 * The plugin "attention_cpu": its entry, its options and its tables.
 */
#include <string.h>

#include <volley/attention.h>
#include <volley/rwkv.h>
#include <volley/wkv.h>

#include "cpu_options.h"
#include "plugins/support/support_version.h"

const char vly_support_plugin[] = "attention_cpu";

extern const vly_attention vly_attention_cpu_table;
extern const vly_wkv vly_wkv_cpu_table;
extern const vly_rwkv vly_rwkv_cpu_table;

/* ---- the plugin ---------------------------------------------------------- */

static const void *get_interface(const char *id)
{
    if (strcmp(id, VLY_ATTENTION_INTERFACE) == 0)
        return &vly_attention_cpu_table;
    if (strcmp(id, VLY_WKV_INTERFACE) == 0)
        return &vly_wkv_cpu_table;
    if (strcmp(id, VLY_RWKV_INTERFACE) == 0)
        return &vly_rwkv_cpu_table;
    return strcmp(id, VLY_MEMORY_INTERFACE) == 0 ? &vly_accel_host_memory
                                                 : NULL;
}

extern const vly_plugin vly_plugin_entry;
VLY_EXPORT const vly_plugin vly_plugin_entry = {
    .struct_size = sizeof(vly_plugin),
    .abi_version = VLY_ABI_VERSION,
    .id = "attention_cpu",
    .version = VLY_SUPPORT_VERSION,
    .build = VLY_ATTENTION_BUILD,
    .init = vly_accel_host_start,
    .deinit = vly_accel_host_stop,
    .get_interface = get_interface,
};

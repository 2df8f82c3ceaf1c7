/* SPDX-License-Identifier: Apache-2.0
 * The plugin "attention_cuda": its entry and its tables.
 */
#include <string.h>

#include <volley/rwkv.h>
#include <volley/wkv.h>

#include "accel_cuda.h"
#include "attention_cuda.h"
#include "plugins/support/support_version.h"

const char vly_support_plugin[] = "attention_cuda";

extern const vly_rwkv vly_rwkv_cuda_table;
extern const vly_wkv vly_wkv_cuda_table;

static vly_status init(const vly_host *host, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_cuda_detect(error));
    VLY_TRY(vly_support_start(host, error));
    status = vly_accel_cuda_memory_start(error);
    if (status != VLY_OK)
        vly_support_stop();
out:
    return status;
}

static void deinit(void)
{
    vly_accel_cuda_memory_stop();
    vly_support_stop();
}

static const void *get_interface(const char *id)
{
    if (strcmp(id, VLY_ATTENTION_INTERFACE) == 0)
        return &vly_attention_cuda_table;
    if (strcmp(id, VLY_WKV_INTERFACE) == 0)
        return &vly_wkv_cuda_table;
    if (strcmp(id, VLY_RWKV_INTERFACE) == 0)
        return &vly_rwkv_cuda_table;
    return strcmp(id, VLY_MEMORY_INTERFACE) == 0 ? &vly_accel_cuda_memory
                                                 : NULL;
}

extern const vly_plugin vly_plugin_entry;
VLY_EXPORT const vly_plugin vly_plugin_entry = {
    .struct_size = sizeof(vly_plugin),
    .abi_version = VLY_ABI_VERSION,
    .id = "attention_cuda",
    .version = VLY_SUPPORT_VERSION,
    .build = VLY_CUDA_BUILD,
    .init = init,
    .deinit = deinit,
    .get_interface = get_interface,
};

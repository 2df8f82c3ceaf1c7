/* SPDX-License-Identifier: Apache-2.0
 * attention_cuda where there is no device: its interfaces over kernels that run
 * on the processor (tests/support/simt) and a fake runtime. What it copies is
 * done at once, and it keeps no graphs. Of the ways of attention it has those
 * that need neither a library nor tensor maps.
 */
#include <string.h>

#include <volley/rwkv.h>
#include <volley/wkv.h>

#include "attention_cuda.h"

const char vly_support_plugin[] = "attention_cuda";

extern const vly_rwkv vly_rwkv_cuda_table;
extern const vly_wkv vly_wkv_cuda_table;

/* ---- ways of other sources ----------------------------------------------- */

static vly_status takes_none(const vly_attention_device *device,
                             const vly_attention_desc *desc, vly_error *error)
{
    (void)device;
    (void)desc;
    return vly_support_fail(error, VLY_E_UNSUPPORTED, "needs a device");
}

const vly_cuda_way vly_cuda_way_cudnn = {.name = "cudnn",
                                         .supports = takes_none};
const vly_cuda_way vly_cuda_way_sm90 = {.name = "own_sm90",
                                        .supports = takes_none};
const vly_cuda_way vly_cuda_way_back = {.name = "own_back",
                                        .supports = takes_none};

/* ---- the plugin ---------------------------------------------------------- */

static vly_status init(const vly_host *host, vly_error *error)
{
    return vly_support_start(host, error);
}

static void deinit(void)
{
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
    return strcmp(id, VLY_MEMORY_INTERFACE) == 0 ? &vly_accel_host_memory
                                                 : NULL;
}

extern const vly_plugin vly_plugin_entry;
VLY_EXPORT const vly_plugin vly_plugin_entry = {
    .struct_size = sizeof(vly_plugin),
    .abi_version = VLY_ABI_VERSION,
    .id = "attention_cuda",
    .version = "0.1.0",
    .build = "no device",
    .init = init,
    .deinit = deinit,
    .get_interface = get_interface,
};

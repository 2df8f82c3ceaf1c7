/* SPDX-License-Identifier: Apache-2.0
 * The plugin "gemm_cuda": its entry and its tables of functions.
 */
#include <string.h>

#include "gemm_cuda.h"

const char vly_accel_plugin[] = "gemm_cuda";

static vly_status init(const vly_host *host, vly_error *error)
{
    vly_status status = vly_accel_start(host, error);
    if (status != VLY_OK)
        return status;
    status = vly_accel_cuda_detect(error);
    if (status == VLY_OK)
        status = vly_accel_cuda_memory_start(error);
    if (status != VLY_OK)
        vly_accel_stop();
    return status;
}

static void deinit(void)
{
    vly_accel_cuda_memory_stop();
    vly_accel_stop();
}

static const vly_gemm gemm = {
    .struct_size = sizeof(vly_gemm),
    .supports = vly_gemm_cuda_supports,
    .plan_create = vly_gemm_cuda_plan_create,
    .plan_destroy = vly_gemm_cuda_plan_destroy,
    .plan_info = vly_gemm_cuda_plan_info,
    .plan_candidate = vly_gemm_cuda_plan_candidate,
    .run = vly_gemm_cuda_run,
};

static const void *get_interface(const char *id)
{
    if (strcmp(id, VLY_GEMM_INTERFACE) == 0)
        return &gemm;
    return strcmp(id, VLY_MEMORY_INTERFACE) == 0 ? &vly_accel_cuda_memory
                                                 : NULL;
}

extern const vly_plugin vly_plugin_entry;
VLY_EXPORT const vly_plugin vly_plugin_entry = {
    .struct_size = sizeof(vly_plugin),
    .abi_version = VLY_ABI_VERSION,
    .id = "gemm_cuda",
    .version = "0.1.0",
    .build = VLY_CUDA_BUILD,
    .init = init,
    .deinit = deinit,
    .get_interface = get_interface,
};

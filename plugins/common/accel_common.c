/* SPDX-License-Identifier: Apache-2.0
 * Memory, checks and sizes of an accelerator plugin.
 */
#include "accel_common.h"

#include <string.h>

vly_status vly_accel_check_qos(uint32_t qos, vly_error *error)
{
    return qos <= VLY_QOS_BEST_EFFORT
               ? VLY_OK
               : vly_support_fail(error, VLY_E_INVALID,
                                  "%s: memory of class %u, wanted 0 to %u",
                                  vly_support_plugin, qos, VLY_QOS_BEST_EFFORT);
}

vly_status vly_accel_alloc(uint64_t count, uint64_t size, void *out,
                           vly_error *error)
{
    uint64_t bytes = 0;
    if (!vly_support_mul(count, size, &bytes) || bytes > PTRDIFF_MAX)
        return vly_support_fail_memory(UINT64_MAX, vly_support_available(), "",
                                       error);
    void *memory = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_take(bytes, VLY_QOS_BURSTABLE, &memory, error));
    memset(memory, 0, (size_t)bytes);
    memcpy(out, &memory, sizeof memory);
out:
    return status;
}

void vly_accel_free(void *memory)
{
    vly_accel_give(memory);
}

vly_status vly_accel_check_device(const vly_device_spec *device,
                                  vly_error *error)
{
    if (device && device->struct_size >= sizeof *device)
        return VLY_OK;
    return vly_support_fail(error, VLY_E_INVALID,
                            "%s: the device specification is shorter than that "
                            "of version 1.0",
                            vly_support_plugin);
}

vly_status vly_accel_check_reserved(const char *where, uint32_t reserved,
                                    vly_error *error)
{
    if (reserved == 0)
        return VLY_OK;
    return vly_support_fail(error, VLY_E_INVALID,
                            "%s: %s: reserved is %u, wanted 0",
                            vly_support_plugin, where, reserved);
}

vly_status vly_accel_plan_info(vly_plan_info *info, vly_error *error)
{
    const uint32_t size = info ? info->struct_size : 0;
    if (size < sizeof *info)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: plan info: struct_size is %u, wanted at "
                                "least %u",
                                vly_support_plugin, size,
                                (uint32_t)sizeof *info);
    *info = (vly_plan_info){.struct_size = size, .n_candidates = 1};
    return VLY_OK;
}

bool vly_accel_extent(uint64_t batch, uint64_t stride, uint64_t rows,
                      uint64_t pitch, uint64_t cols, uint32_t bits,
                      uint64_t *bytes)
{
    uint64_t elements = 0;
    uint64_t products = 0;
    if (batch == 0 || rows == 0 || cols == 0) {
        *bytes = 0;
        return true;
    }
    if (!vly_support_mul(rows - 1, pitch, &elements) ||
        !vly_support_add(elements, cols, &elements) ||
        !vly_support_mul(batch - 1, stride, &products) ||
        !vly_support_add(elements, products, &elements) ||
        !vly_support_mul(elements, bits, &elements) ||
        elements > (uint64_t)INT64_MAX - 7)
        return false;
    *bytes = (elements + 7) / 8;
    return true;
}

void vly_accel_parallel(uint32_t n_tasks, void (*body)(void *arg, uint32_t),
                        void *arg)
{
    if (n_tasks > 1 &&
        vly_support_host->parallel_for(vly_support_host->context, n_tasks, body,
                                       arg) == VLY_OK)
        return;
    for (uint32_t task = 0; task < n_tasks; task++)
        body(arg, task);
}

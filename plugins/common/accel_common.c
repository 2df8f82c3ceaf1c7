/* SPDX-License-Identifier: Apache-2.0
 * The host, messages, memory and checked sizes of an accelerator plugin.
 */
#include "accel_common.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const vly_host *vly_accel_host;

vly_status vly_accel_start(const vly_host *host, vly_error *error)
{
    if (host == NULL || host->struct_size < sizeof(vly_host))
        return vly_accel_fail(error, VLY_E_ABI,
                              "%s: the host table is smaller than version 1.0",
                              vly_accel_plugin);
    vly_accel_host = host;
    return VLY_OK;
}

void vly_accel_stop(void)
{
    vly_accel_host = NULL;
}

vly_status vly_accel_fail(vly_error *error, vly_status status,
                          const char *format, ...)
{
    if (error == NULL)
        return status;
    error->status = status;
    error->bytes_requested = 0;
    error->bytes_available = 0;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return status;
}

vly_status vly_accel_fail_memory(uint64_t requested, uint64_t available,
                                 const char *where, vly_error *error)
{
    vly_accel_fail(error, VLY_E_NOMEM,
                   "out of memory: %s needs a block of %llu bytes%s, %llu are "
                   "free",
                   vly_accel_plugin, (unsigned long long)requested, where,
                   (unsigned long long)available);
    if (error != NULL) {
        error->bytes_requested = requested;
        error->bytes_available = available;
    }
    return VLY_E_NOMEM;
}

uint64_t vly_accel_available(void)
{
#ifdef _SC_AVPHYS_PAGES
    long pages = sysconf(_SC_AVPHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
#else
    return 0;
#endif
}

uint64_t vly_accel_total(void)
{
#ifdef _SC_PHYS_PAGES
    long pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
#else
    return 0;
#endif
}

vly_status vly_accel_check_qos(uint32_t qos, vly_error *error)
{
    return qos <= VLY_QOS_BEST_EFFORT
               ? VLY_OK
               : vly_accel_fail(error, VLY_E_INVALID,
                                "%s: memory of class %u, wanted 0 to %u",
                                vly_accel_plugin, qos, VLY_QOS_BEST_EFFORT);
}

vly_status vly_accel_alloc(uint64_t count, uint64_t size, void *out,
                           vly_error *error)
{
    uint64_t bytes = 0;
    if (!vly_accel_mul(count, size, &bytes) || bytes > PTRDIFF_MAX)
        return vly_accel_fail_memory(UINT64_MAX, vly_accel_available(), "",
                                     error);
    void *memory = NULL;
    vly_status status =
        vly_accel_take(bytes, VLY_QOS_BURSTABLE, &memory, error);
    if (status != VLY_OK)
        return status;
    memset(memory, 0, (size_t)bytes);
    memcpy(out, &memory, sizeof memory);
    return VLY_OK;
}

void vly_accel_free(void *memory)
{
    vly_accel_give(memory);
}

vly_status vly_accel_check_device(const vly_device_spec *device,
                                  vly_error *error)
{
    if (device != NULL && device->struct_size >= sizeof *device)
        return VLY_OK;
    return vly_accel_fail(error, VLY_E_INVALID,
                          "%s: the device specification is shorter than that "
                          "of version 1.0",
                          vly_accel_plugin);
}

vly_status vly_accel_check_reserved(const char *where, uint32_t reserved,
                                    vly_error *error)
{
    if (reserved == 0)
        return VLY_OK;
    return vly_accel_fail(error, VLY_E_INVALID,
                          "%s: %s: reserved is %u, wanted 0", vly_accel_plugin,
                          where, reserved);
}

vly_status vly_accel_plan_info(vly_plan_info *info, vly_error *error)
{
    const uint32_t size = info != NULL ? info->struct_size : 0;
    if (size < sizeof *info)
        return vly_accel_fail(error, VLY_E_INVALID,
                              "%s: plan info: struct_size is %u, wanted at "
                              "least %u",
                              vly_accel_plugin, size, (uint32_t)sizeof *info);
    *info = (vly_plan_info){.struct_size = size, .n_candidates = 1};
    return VLY_OK;
}

bool vly_accel_mul(uint64_t a, uint64_t b, uint64_t *out)
{
    if (b != 0 && a > UINT64_MAX / b)
        return false;
    *out = a * b;
    return true;
}

bool vly_accel_add(uint64_t a, uint64_t b, uint64_t *out)
{
    if (a > UINT64_MAX - b)
        return false;
    *out = a + b;
    return true;
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
    if (!vly_accel_mul(rows - 1, pitch, &elements) ||
        !vly_accel_add(elements, cols, &elements) ||
        !vly_accel_mul(batch - 1, stride, &products) ||
        !vly_accel_add(elements, products, &elements) ||
        !vly_accel_mul(elements, bits, &elements) ||
        elements > (uint64_t)INT64_MAX - 7)
        return false;
    *bytes = (elements + 7) / 8;
    return true;
}

void vly_accel_parallel(uint32_t n_tasks, void (*body)(void *arg, uint32_t),
                        void *arg)
{
    if (n_tasks > 1 &&
        vly_accel_host->parallel_for(vly_accel_host->context, n_tasks, body,
                                     arg) == VLY_OK)
        return;
    for (uint32_t task = 0; task < n_tasks; task++)
        body(arg, task);
}

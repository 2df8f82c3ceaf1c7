/* SPDX-License-Identifier: Apache-2.0
 * A plugin's host table, errors and sizes.
 */
#include "plugins/support/support_host.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

const vly_host *vly_support_host;

vly_status vly_support_start(const vly_host *host, vly_error *error)
{
    if (!host || host->struct_size < sizeof(vly_host))
        return vly_support_fail(
            error, VLY_E_ABI, "%s: the host table is smaller than version 1.0",
            vly_support_plugin);
    vly_support_host = host;
    return VLY_OK;
}

void vly_support_stop(void)
{
    vly_support_host = NULL;
}

vly_status vly_support_fail(vly_error *error, vly_status status,
                            const char *format, ...)
{
    if (!error)
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

vly_status vly_support_fail_memory(uint64_t requested, uint64_t available,
                                   const char *where, vly_error *error)
{
    vly_support_fail(
        error, VLY_E_NOMEM,
        "out of memory: %s needs a block of %llu bytes%s, %llu are free",
        vly_support_plugin, (unsigned long long)requested, where,
        (unsigned long long)available);
    if (error) {
        error->bytes_requested = requested;
        error->bytes_available = available;
    }
    return VLY_E_NOMEM;
}

vly_status vly_support_check_info(const vly_device_info *info, vly_error *error)
{
    if (info && info->struct_size >= sizeof *info)
        return VLY_OK;
    return vly_support_fail(
        error, VLY_E_INVALID, "device info: struct_size is %u, wanted %u",
        info ? info->struct_size : 0, (uint32_t)sizeof *info);
}

uint64_t vly_support_available(void)
{
#ifdef _SC_AVPHYS_PAGES
    long pages = sysconf(_SC_AVPHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
#else
    return 0;
#endif
}

uint64_t vly_support_total(void)
{
#ifdef _SC_PHYS_PAGES
    long pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
#else
    return 0;
#endif
}

bool vly_support_mul(uint64_t a, uint64_t b, uint64_t *out)
{
    if (b != 0 && a > UINT64_MAX / b)
        return false;
    *out = a * b;
    return true;
}

bool vly_support_add(uint64_t a, uint64_t b, uint64_t *out)
{
    if (a > UINT64_MAX - b)
        return false;
    *out = a + b;
    return true;
}

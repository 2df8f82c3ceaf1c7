/* SPDX-License-Identifier: Apache-2.0
 * volley.memory/1 of the processor. There is one device and no stream: every
 * function has done its work when it returns.
 */
#include <string.h>

#include "accel_common.h"
#include "plugins/support/support_processor.h"

struct vly_event {
    uint64_t ns;
    uint32_t recorded;
    uint32_t reserved;
};

static uint32_t device_count(void)
{
    return 1;
}

static vly_status check_device(uint32_t device, vly_error *error)
{
    return device == 0 ? VLY_OK
                       : vly_support_fail(error, VLY_E_INVALID,
                                          "%s: device %u, but there is only 0",
                                          vly_support_plugin, device);
}

static vly_status check(uint32_t device, const void *stream, vly_error *error)
{
    if (stream)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: a stream, but the processor has none: "
                                "wanted NULL",
                                vly_support_plugin);
    return check_device(device, error);
}

static vly_status device_info(uint32_t device, vly_device_info *info,
                              vly_error *error)
{
    vly_status status = check_device(device, error);
    return status != VLY_OK ? status
                            : vly_support_processor_info(info, NULL, error);
}

static vly_status available(uint32_t device, uint64_t *free_bytes,
                            uint64_t *total, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(check_device(device, error));
    *free_bytes = vly_support_available();
    *total = vly_support_total();
out:
    return status;
}

static vly_status memory_alloc_as(uint32_t device, uint64_t bytes, uint32_t qos,
                                  void **memory, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(check_device(device, error));
    VLY_TRY(vly_accel_check_qos(qos, error));
    if (bytes > PTRDIFF_MAX)
        return vly_support_fail_memory(bytes, vly_support_available(), "",
                                       error);
    status = vly_accel_take(bytes, qos, memory, error);
out:
    return status;
}

static vly_status memory_alloc(uint32_t device, uint64_t bytes, void **memory,
                               vly_error *error)
{
    return memory_alloc_as(device, bytes, VLY_QOS_BURSTABLE, memory, error);
}

static void memory_free(uint32_t device, void *memory)
{
    (void)device;
    vly_accel_give(memory);
}

static vly_status memory_copy(uint32_t device, void *to, const void *from,
                              uint64_t bytes, uint32_t kind, void *stream,
                              vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(check(device, stream, error));
    if (kind > VLY_COPY_ON_DEVICE)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: copy of kind %u, wanted 0 to %u",
                                vly_support_plugin, kind, VLY_COPY_ON_DEVICE);
    if (bytes > 0)
        memmove(to, from, (size_t)bytes);
out:
    return status;
}

static vly_status memory_fill(uint32_t device, void *memory, uint32_t byte,
                              uint64_t bytes, void *stream, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(check(device, stream, error));
    if (bytes > 0)
        memset(memory, (int)(byte & 0xffu), (size_t)bytes);
out:
    return status;
}

static vly_status stream_create(uint32_t device, void **stream,
                                vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(check_device(device, error));
    *stream = NULL;
out:
    return status;
}

static void stream_destroy(uint32_t device, void *stream)
{
    (void)device;
    (void)stream;
}

static vly_status stream_wait(uint32_t device, void *stream, vly_error *error)
{
    return check(device, stream, error);
}

static vly_status event_create(uint32_t device, vly_event **event,
                               vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(check_device(device, error));
    VLY_TRY(vly_accel_alloc(1, sizeof **event, event, error));
out:
    return status;
}

static void event_destroy(uint32_t device, vly_event *event)
{
    (void)device;
    vly_accel_free(event);
}

static vly_status event_record(uint32_t device, vly_event *event, void *stream,
                               vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(check(device, stream, error));
    event->ns = vly_support_host->clock_ns(vly_support_host->context);
    event->recorded = 1;
out:
    return status;
}

static vly_status event_elapsed(uint32_t device, vly_event *begin,
                                vly_event *end, double *seconds,
                                vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(check_device(device, error));
    if (begin->recorded == 0 || end->recorded == 0)
        return vly_support_fail(
            error, VLY_E_INVALID, "%s: the %s event was not recorded",
            vly_support_plugin, begin->recorded == 0 ? "first" : "second");
    /* the second may be earlier: the difference is negative in two's
     * complement */
    *seconds = (double)(int64_t)(end->ns - begin->ns) * 1e-9;
out:
    return status;
}

const vly_memory vly_accel_host_memory = {
    .struct_size = sizeof(vly_memory),
    .flags = VLY_MEMORY_HOST,
    .device_count = device_count,
    .device_info = device_info,
    .available = available,
    .alloc = memory_alloc,
    .free = memory_free,
    .copy = memory_copy,
    .fill = memory_fill,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_wait = stream_wait,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_elapsed = event_elapsed,
    .alloc_as = memory_alloc_as,
    .alloc_host = memory_alloc,
    .free_host = memory_free,
};

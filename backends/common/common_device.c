/* SPDX-License-Identifier: Apache-2.0
 * Memory of a device: the backend's allocator, called through the host's
 * policy.
 */
#include "common_device.h"

#include <stdio.h>
#include <string.h>

/* The functions of the policy that are used here must exist. */
static const vly_device_memory *policy_of(const vly_host *host)
{
    const vly_device_memory *policy = host->device_memory;
    if (policy == NULL ||
        policy->struct_size <
            offsetof(vly_device_memory, free) + sizeof policy->free)
        return NULL;
    return policy;
}

vly_status vly_common_device_open(vly_common_device *device,
                                  const vly_device_allocator *raw,
                                  uint32_t index, vly_error *error)
{
    vly_common_device made = {.raw = *raw};
    if (raw->device != NULL)
        snprintf(made.name, sizeof made.name, "%s", raw->device);
    else
        snprintf(made.name, sizeof made.name, "%s:%u", vly_common_backend,
                 index);
    made.policy = policy_of(vly_common_host);
    *device = made;
    device->raw.device = device->name;
    if (device->policy == NULL)
        return VLY_OK;
    vly_status status = device->policy->open(
        vly_common_host->context, &device->raw, &device->client, error);
    if (status != VLY_OK)
        memset(device, 0, sizeof *device);
    return status;
}

void vly_common_device_close(vly_common_device *device)
{
    if (device->policy != NULL)
        device->policy->close(device->client);
    memset(device, 0, sizeof *device);
}

vly_status vly_common_device_take(vly_common_device *device, uint32_t kind,
                                  uint64_t bytes, void **memory,
                                  vly_error *error)
{
    if (device->policy != NULL)
        return device->policy->alloc(device->client, kind, bytes,
                                     VLY_QOS_GUARANTEED, memory, error);
    return device->raw.alloc(device->raw.context, kind, bytes, memory, error);
}

void vly_common_device_give(vly_common_device *device, uint32_t kind,
                            void *memory)
{
    if (memory == NULL)
        return;
    if (device->policy != NULL)
        device->policy->free(device->client, memory);
    else
        device->raw.free(device->raw.context, kind, memory);
}

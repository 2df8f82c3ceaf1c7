/* SPDX-License-Identifier: Apache-2.0
 * Memory of a device: the plugin's allocator, used through the host's policy.
 */
#include "plugins/support/support_account.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* The functions of the policy that are used here must exist. */
static const vly_device_memory *policy_of(const vly_host *host)
{
    const vly_device_memory *policy = host->device_memory;
    if (!policy || policy->struct_size < offsetof(vly_device_memory, release) +
                                             sizeof policy->release)
        return NULL;
    return policy;
}

bool vly_support_has_policy(void)
{
    return policy_of(vly_support_host) != NULL;
}

vly_status vly_support_account_open(vly_support_account *device,
                                    const vly_device_allocator *raw,
                                    uint32_t index, vly_error *error)
{
    vly_support_account made = {.raw = *raw};
    if (raw->device)
        snprintf(made.name, sizeof made.name, "%s", raw->device);
    else
        snprintf(made.name, sizeof made.name, "%s:%u", vly_support_plugin,
                 index);
    made.policy = policy_of(vly_support_host);
    *device = made;
    device->raw.device = device->name;
    if (!device->policy)
        return VLY_OK;
    vly_status status = device->policy->open(
        vly_support_host->context, &device->raw, &device->client, error);
    if (status != VLY_OK)
        memset(device, 0, sizeof *device);
    return status;
}

void vly_support_account_close(vly_support_account *device)
{
    if (device->policy)
        device->policy->close(device->client);
    memset(device, 0, sizeof *device);
}

vly_status vly_support_account_take(vly_support_account *device, uint32_t kind,
                                    uint64_t bytes, uint32_t qos, void **memory,
                                    vly_error *error)
{
    if (device->policy)
        return device->policy->alloc(device->client, kind, bytes, qos, memory,
                                     error);
    return device->raw.alloc(device->raw.context, kind, bytes, memory, error);
}

void vly_support_account_give(vly_support_account *device, uint32_t kind,
                              void *memory)
{
    if (!memory)
        return;
    if (device->policy)
        device->policy->free(device->client, memory);
    else
        device->raw.free(device->raw.context, kind, memory);
}

/* SPDX-License-Identifier: Apache-2.0
 * Memory of a device: the plugin's allocator, used through the host's policy
 * (quota, reuse, eviction), or directly on a host older than ABI 1.3.
 */
#ifndef VOLLEY_SUPPORT_ACCOUNT_H
#define VOLLEY_SUPPORT_ACCOUNT_H

#include "plugins/support/support_host.h"

/* All 0: not open. */
typedef struct vly_support_account {
    vly_device_allocator raw;
    const vly_device_memory *policy; /* NULL: the host has none */
    vly_device_client *client;
    char name[32]; /* "cuda:0", "host" */
} vly_support_account;

/* false: the host is older than ABI 1.3 */
bool vly_support_has_policy(void);
/* raw->device: NULL, then the name is that of the plugin's device `index`. It
 * is copied. vly_support_host is set. */
vly_status vly_support_account_open(vly_support_account *device,
                                    const vly_device_allocator *raw,
                                    uint32_t index, vly_error *error);
void vly_support_account_close(vly_support_account *device);
/* Not cleared: may contain data of another client. qos: VLY_QOS_*
 * Errors  E_NOMEM with bytes requested and available; the allocator's */
vly_status vly_support_account_take(vly_support_account *device, uint32_t kind,
                                    uint64_t bytes, uint32_t qos, void **memory,
                                    vly_error *error);
/* Work that uses the memory must have ended. NULL is legal. */
void vly_support_account_give(vly_support_account *device, uint32_t kind,
                              void *memory);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Memory of a device: the backend's allocator, called through the host's policy
 * (quota, reuse, eviction), or directly if the host is older than ABI 1.3 and
 * has no policy.
 */
#ifndef VOLLEY_COMMON_DEVICE_H
#define VOLLEY_COMMON_DEVICE_H

#include "backend_common.h"

/* All 0: not open. */
typedef struct vly_common_device {
    vly_device_allocator raw;
    const vly_device_memory *policy; /* NULL: the host has none */
    vly_device_client *client;
    char name[32]; /* "cuda:0", "host" */
} vly_common_device;

/* raw->device: NULL, then the name is that of the backend's device `index`. It
 * is copied. vly_common_host is set. */
vly_status vly_common_device_open(vly_common_device *device,
                                  const vly_device_allocator *raw,
                                  uint32_t index, vly_error *error);
void vly_common_device_close(vly_common_device *device);
/* Not cleared; may hold old data of another net.
 * Errors  E_NOMEM with bytes requested and available; the allocator's */
vly_status vly_common_device_take(vly_common_device *device, uint32_t kind,
                                  uint64_t bytes, void **memory,
                                  vly_error *error);
/* No work that uses it may be under way. NULL: none */
void vly_common_device_give(vly_common_device *device, uint32_t kind,
                            void *memory);

#endif

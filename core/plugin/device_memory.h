/* SPDX-License-Identifier: Apache-2.0
 * The policy of device memory: implements vly_host.device_memory. Limits and
 * statistics are in volley.h, the rules in README.md.
 */
#ifndef VOLLEY_PLUGIN_DEVICE_MEMORY_H
#define VOLLEY_PLUGIN_DEVICE_MEMORY_H

#include <volley/volley.h>

/* The functions of vly_device_memory (plugin.h). user: id of the plugin, for
 * messages. */
vly_status vly_account_open(const char *user,
                            const vly_device_allocator *allocator,
                            vly_device_client **client, vly_error *error);
void vly_account_close(vly_device_client *client);
vly_status vly_account_alloc(vly_device_client *client, uint32_t kind,
                             uint64_t bytes, uint32_t qos, void **memory,
                             vly_error *error);
void vly_account_free(vly_device_client *client, void *memory);
vly_status vly_account_reloadable(vly_device_client *client, void *memory,
                                  void (*drop)(void *arg), void *arg,
                                  uint64_t *token, vly_error *error);
uint32_t vly_account_hold(vly_device_client *client, void *memory,
                          uint64_t token);
void vly_account_release(vly_device_client *client, void *memory,
                         uint64_t token);

/* Drops all reloadable blocks without a hold, on every device: for tests that
 * count the remaining blocks. Not allowed inside drop. */
void vly_account_drop_all(void);

/* The size class of a block of this many bytes. 0: too large. */
uint64_t vly_account_class(uint64_t bytes);

#endif

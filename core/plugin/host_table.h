/* SPDX-License-Identifier: Apache-2.0
 * The host's services for plugins, and the plugins that run in this process.
 */
#ifndef VOLLEY_PLUGIN_HOST_TABLE_H
#define VOLLEY_PLUGIN_HOST_TABLE_H

#include <stdint.h>

#include <volley/plugin.h>

/* The engine's own table, for backends that tests call without a plugin.
 * [any-thread] */
const vly_host *vly_host_table(void);

/* Calls init with the plugin's own table, unless the plugin runs already (for
 * another registry of this process); then only the count is increased. plugin:
 * a checked copy; entry: the symbol in the shared object, which identifies the
 * plugin. *
 *
 * Errors   those of init; VLY_E_ABI too many plugins in this process
 * Thread   [any-thread] init is called under a lock
 */
vly_status vly_plugin_start(const vly_plugin *plugin, const void *entry,
                            vly_error *error);
/* The counterpart: the last call calls deinit, and a warning is logged if the
 * plugin did not free all blocks. */
void vly_plugin_stop(const vly_plugin *plugin, const void *entry);
/* Blocks that this plugin has and did not free; entry NULL: the engine's own
 * table. 0 if it never ran. */
uint64_t vly_plugin_live_blocks(const void *entry);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * The entry of a backend's plugin. Included once, last, by the file that has
 * `backend`, its table of functions, and `init` and `deinit`; VLY_COMMON_BUILD
 * says what it was compiled with, VLY_COMMON_RANK and VLY_COMMON_ALIASES are
 * auto_rank and aliases of vly_plugin.
 */
#include <string.h>

#include "backend_common.h"
#include "plugins/support/support_version.h"

static const void *get_interface(const char *id)
{
    return strcmp(id, VLY_BACKEND_INTERFACE) == 0 ? &backend : NULL;
}

extern const vly_plugin vly_plugin_entry;
VLY_EXPORT const vly_plugin vly_plugin_entry = {
    .struct_size = sizeof(vly_plugin),
    .abi_version = VLY_ABI_VERSION,
    .id = vly_support_plugin,
    .version = VLY_SUPPORT_VERSION,
    .build = VLY_COMMON_BUILD,
    .init = init,
    .deinit = deinit,
    .get_interface = get_interface,
    .auto_rank = VLY_COMMON_RANK,
    .aliases = VLY_COMMON_ALIASES,
};

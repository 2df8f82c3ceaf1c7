/* SPDX-License-Identifier: Apache-2.0
 * A plugin as one is built with ABI 1.8: the template with the header of that
 * version (abi_1_8, never to be changed), which it finds first, and with what
 * 1.8 brought: ranks, which this one does not take.
 */
#define vly_plugin_entry template_entry
#include "../../plugins/template/template.c"
#undef vly_plugin_entry

_Static_assert(VLY_ABI_MINOR == 8, "the header of 1.8 is found first");
_Static_assert(sizeof(vly_net_desc) == 120, "as it was in 1.8");
_Static_assert(sizeof(vly_ranks) == 40, "as it was in 1.8");

extern const vly_plugin vly_plugin_entry;
VLY_EXPORT const vly_plugin vly_plugin_entry = {
    .struct_size = sizeof(vly_plugin),
    .abi_version = VLY_ABI_VERSION,
    .id = "minor_8",
    .version = "1.8",
    .build = "test",
    .init = init,
    .deinit = deinit,
    .get_interface = get_interface,
    .aliases = "eighth",
};

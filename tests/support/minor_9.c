/* SPDX-License-Identifier: Apache-2.0
 * A plugin built with ABI 1.9: the template with the header of that version
 * (abi_1_9, never to be changed), which it finds first. 1.9 added `prepare`,
 * which is optional; this plugin leaves it out.
 */
#define vly_plugin_entry template_entry
#include "../../plugins/template/template.c"
#undef vly_plugin_entry

_Static_assert(VLY_ABI_MINOR == 9, "the header of 1.9 is found first");
_Static_assert(sizeof(vly_backend) == 200, "as it was in 1.9");
_Static_assert(offsetof(vly_backend, prepare) == 176, "as it was in 1.9");

extern const vly_plugin vly_plugin_entry;
VLY_EXPORT const vly_plugin vly_plugin_entry = {
    .struct_size = sizeof(vly_plugin),
    .abi_version = VLY_ABI_VERSION,
    .id = "minor_9",
    .version = "1.9",
    .build = "test",
    .init = init,
    .deinit = deinit,
    .get_interface = get_interface,
    .aliases = "ninth",
};

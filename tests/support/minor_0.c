/* SPDX-License-Identifier: Apache-2.0
 * A plugin as one was built when the ABI was 1.0: the template with the header
 * of that version (abi_1_0, never to be changed), which it finds first.
 */
#define vly_plugin_entry template_entry
#include "../../plugins/template/template.c"
#undef vly_plugin_entry

_Static_assert(VLY_ABI_MINOR == 0, "the header of 1.0 is found first");

extern const vly_plugin vly_plugin_entry;
VLY_EXPORT const vly_plugin vly_plugin_entry = {
    .struct_size = sizeof(vly_plugin),
    .abi_version = VLY_ABI_VERSION,
    .id = "minor_0",
    .version = "1.0",
    .build = "test",
    .init = init,
    .deinit = deinit,
    .get_interface = get_interface,
};

/* SPDX-License-Identifier: Apache-2.0
 * A plugin built with ABI 1.10: the template with the header of that version
 * (abi_1_10, never to be changed), which it finds first, and with what 1.10
 * brought: projections whose weights are all one, without the weights.
 */
#define vly_plugin_entry template_entry
#include "../../plugins/template/template.c"
#undef vly_plugin_entry

_Static_assert(VLY_ABI_MINOR == 10, "the header of 1.10 is found first");
_Static_assert(sizeof(vly_projection_desc) == 88, "as it was in 1.10");
_Static_assert(offsetof(vly_projection_desc, one_weight) == 68,
               "as it was in 1.10");

extern const vly_plugin vly_plugin_entry;
VLY_EXPORT const vly_plugin vly_plugin_entry = {
    .struct_size = sizeof(vly_plugin),
    .abi_version = VLY_ABI_VERSION,
    .id = "minor_10",
    .version = "1.10",
    .build = "test",
    .init = init,
    .deinit = deinit,
    .get_interface = get_interface,
    .aliases = "tenth",
};

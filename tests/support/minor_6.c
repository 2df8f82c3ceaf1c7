/* SPDX-License-Identifier: Apache-2.0
 * A plugin as one is built with ABI 1.6: the template with the header of that
 * version (abi_1_6, never to be changed), which it finds first, and with what
 * 1.6 brought: the descriptions of short-term plasticity and of modulators, and
 * rules of windows, none of which this one takes.
 */
#define vly_plugin_entry template_entry
#include "../../plugins/template/template.c"
#undef vly_plugin_entry

_Static_assert(VLY_ABI_MINOR == 6, "the header of 1.6 is found first");
_Static_assert(VLY_LEARNING_WINDOW == 16, "as it was in 1.6");
_Static_assert(sizeof(vly_projection_desc) == 88, "as it was in 1.6");
_Static_assert(sizeof(vly_learning_desc) == 88, "as it was in 1.6");

extern const vly_plugin vly_plugin_entry;
VLY_EXPORT const vly_plugin vly_plugin_entry = {
    .struct_size = sizeof(vly_plugin),
    .abi_version = VLY_ABI_VERSION,
    .id = "minor_6",
    .version = "1.6",
    .build = "test",
    .init = init,
    .deinit = deinit,
    .get_interface = get_interface,
    .aliases = "sixth",
};

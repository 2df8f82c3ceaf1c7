/* SPDX-License-Identifier: Apache-2.0
 * A plugin as one is built with ABI 1.4: the template with the header of that
 * version (abi_1_4, never to be changed), which it finds first, and with what
 * 1.4 brought: weights of a projection in units of 2^shift, a rank for the
 * backend "auto", and aliases.
 */
#define vly_plugin_entry template_entry
#include "../../plugins/template/template.c"
#undef vly_plugin_entry

_Static_assert(VLY_ABI_MINOR == 4, "the header of 1.4 is found first");
_Static_assert(sizeof(vly_projection_desc) == 72, "as it was in 1.4");

extern const vly_plugin vly_plugin_entry;
VLY_EXPORT const vly_plugin vly_plugin_entry = {
    .struct_size = sizeof(vly_plugin),
    .abi_version = VLY_ABI_VERSION,
    .id = "minor_4",
    .version = "1.4",
    .build = "test",
    .init = init,
    .deinit = deinit,
    .get_interface = get_interface,
    .auto_rank = 1,
    .aliases = "fourth",
};

/* SPDX-License-Identifier: Apache-2.0
 * A plugin as one is built with ABI 1.7: the template with the header of that
 * version (abi_1_7, never to be changed), which it finds first, and with what
 * 1.7 brought: programs of users' models, which this one does not take.
 */
#define vly_plugin_entry template_entry
#include "../../plugins/template/template.c"
#undef vly_plugin_entry

_Static_assert(VLY_ABI_MINOR == 7, "the header of 1.7 is found first");
_Static_assert(VLY_PROGRAM_CODES == 23, "as it was in 1.7");
_Static_assert(sizeof(vly_area_desc) == 80, "as it was in 1.7");
_Static_assert(sizeof(vly_program) == 40, "as it was in 1.7");

extern const vly_plugin vly_plugin_entry;
VLY_EXPORT const vly_plugin vly_plugin_entry = {
    .struct_size = sizeof(vly_plugin),
    .abi_version = VLY_ABI_VERSION,
    .id = "minor_7",
    .version = "1.7",
    .build = "test",
    .init = init,
    .deinit = deinit,
    .get_interface = get_interface,
    .aliases = "seventh",
};

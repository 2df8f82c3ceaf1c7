/* SPDX-License-Identifier: Apache-2.0
 * A plugin as one was built when the ABI was 1.2: the template with the header
 * of that version (abi_1_2, never to be changed), which it finds first, and
 * with what 1.2 brought: it says that its device is emulated.
 */
#define vly_plugin_entry template_entry
#include "../../plugins/template/template.c"
#undef vly_plugin_entry

_Static_assert(VLY_ABI_MINOR == 2, "the header of 1.2 is found first");
_Static_assert(sizeof(vly_run) == 152, "vly_run as it was in 1.2");
_Static_assert(VLY_BACKEND_EMULATED == 2, "the flag as it was in 1.2");

static vly_backend emulated_backend;

static vly_status emulated_init(const vly_host *given, vly_error *error)
{
    emulated_backend = backend;
    emulated_backend.flags = VLY_BACKEND_EMULATED;
    return init(given, error);
}

static const void *emulated_interface(const char *id)
{
    return strcmp(id, VLY_BACKEND_INTERFACE) == 0 ? &emulated_backend : NULL;
}

extern const vly_plugin vly_plugin_entry;
VLY_EXPORT const vly_plugin vly_plugin_entry = {
    .struct_size = sizeof(vly_plugin),
    .abi_version = VLY_ABI_VERSION,
    .id = "minor_2",
    .version = "1.2",
    .build = "test",
    .init = emulated_init,
    .deinit = deinit,
    .get_interface = emulated_interface,
};

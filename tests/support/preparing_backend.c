/* SPDX-License-Identifier: Apache-2.0
 * The template with a `prepare` that is slow: it returns when the host begins
 * to wait for it, after 5 s at the latest; with the option short=1 after 0.2 s.
 */
#define vly_plugin_entry template_entry
#include "../../plugins/template/template.c"
#undef vly_plugin_entry

#include <string.h>

#include "preparing_backend.h"

static preparing_seen seen;
static vly_backend with_prepare;

static uint32_t is_set(const uint32_t *flag)
{
    return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

static void prepare(const vly_device_spec *devices, uint32_t n_devices,
                    const uint32_t *wanted)
{
    const uint64_t begin = host->clock_ns(host->context);
    const int always =
        devices->options && strcmp(devices->options, "short=1") == 0;
    const uint64_t most = always ? 200000000u : 5000000000u;
    seen.n_devices = n_devices;
    seen.first = devices[0].index;
    seen.last = devices[n_devices - 1].index;
    seen.thread = pthread_self();
    __atomic_fetch_add(&seen.n_calls, 1, __ATOMIC_RELEASE);
    while (host->clock_ns(host->context) - begin < most &&
           (always || !is_set(wanted)))
        ;
    seen.wanted = is_set(wanted);
    __atomic_fetch_add(&seen.done, 1, __ATOMIC_RELEASE);
}

static const void *get_more(const char *id)
{
    if (strcmp(id, PREPARING_INTERFACE) == 0)
        return &seen;
    if (strcmp(id, VLY_BACKEND_INTERFACE) != 0)
        return get_interface(id);
    with_prepare = backend;
    with_prepare.prepare = prepare;
    return &with_prepare;
}

extern const vly_plugin vly_plugin_entry;
VLY_EXPORT const vly_plugin vly_plugin_entry = {
    .struct_size = sizeof(vly_plugin),
    .abi_version = VLY_ABI_VERSION,
    .id = "preparing",
    .version = "1",
    .build = "test",
    .init = init,
    .deinit = deinit,
    .get_interface = get_more,
};

/* SPDX-License-Identifier: Apache-2.0
 * Queries of the registry: an interface or the backend of a plugin, or the
 * reason why there is none, and the order in which "auto" tries backends.
 */
#include "plugin/registry_parts.h"

#include <volley/ranks.h>

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/suggest.h"
#include "plugin/plugin_check.h"

/* "cpu, template": those with the interface, NULL: any; "none" */
static void usable_list(const vly_registry *registry, const char *interface_id,
                        char *text, size_t bytes)
{
    size_t used = 0;
    snprintf(text, bytes, "none");
    for (uint32_t i = 0; i < registry->count && used + 40 < bytes; i++)
        if (vly_registry_start(registry->entries[i]) &&
            (!interface_id ||
             vly_word_in(registry->entries[i]->interfaces, interface_id)))
            used +=
                (size_t)snprintf(text + used, bytes - used, "%s%s",
                                 used ? ", " : "", registry->entries[i]->id);
}

/* status: VLY_E_NOMEM if memory ran out, VLY_E_UNSUPPORTED for every other
 * reason, because the caller may then try another plugin. The list in the
 * message starts every plugin and opens its drivers, so it is made only if the
 * caller wants a message. */
static vly_status not_available(const vly_registry *registry, const char *id,
                                const char *interface_id, vly_status status,
                                const char *why, vly_error *error)
{
    char usable[256];
    if (!error)
        return status;
    usable_list(registry, interface_id, usable, sizeof(usable));
    return vly_fail(error, status, "plugin %s: %.700s (usable: %s)", id, why,
                    usable);
}

/* The plugins with id among their aliases, or a similar id. */
static const char *near_id(const vly_registry *registry, const char *id,
                           char *text, uint32_t bytes)
{
    vly_suggest near = {0};
    size_t used = 0;
    for (uint32_t i = 0; i < registry->count; i++) {
        const registry_entry *entry = registry->entries[i];
        if (entry->id[0] != '\0' && vly_word_in(entry->plugin.aliases, id) &&
            used + 80 < bytes)
            used +=
                (size_t)snprintf(text + used, bytes - used, "%s%s",
                                 used ? " or " : ", did you mean ", entry->id);
    }
    if (used != 0) {
        snprintf(text + used, bytes - used, "?");
        return text;
    }
    /* one letter from cpu, but not meant so */
    if (strcmp(id, "gpu") == 0) {
        snprintf(text, bytes, ": no backend for GPUs is installed");
        return text;
    }
    for (uint32_t i = 0; i < registry->count; i++)
        vly_suggest_offer(&near, id, registry->entries[i]->id);
    return vly_suggest_text(&near, text, bytes);
}

/* interface_id: what is wanted of it, for the message. */
static vly_status entry_get(const vly_registry *registry, const char *id,
                            const char *interface_id,
                            const registry_entry **entry, vly_error *error)
{
    if (!registry || !id)
        return vly_fail(error, VLY_E_INVALID, "plugin: no registry or no id");
    registry_entry *found = *id ? vly_registry_listed(registry, id) : NULL;
    if (found && vly_registry_start(found)) {
        *entry = found;
        return VLY_OK;
    }
    char why[320];
    char near[200];
    snprintf(why, sizeof(why), "there is none with this id%s",
             near_id(registry, id, near, sizeof(near)));
    bool no_memory = found && found->failure.status == VLY_E_NOMEM;
    return not_available(registry, id, interface_id,
                         no_memory ? VLY_E_NOMEM : VLY_E_UNSUPPORTED,
                         found ? found->failure.message : why, error);
}

static vly_status no_interface(const vly_registry *registry,
                               const registry_entry *entry,
                               const char *interface_id, vly_error *error)
{
    char why[256];
    snprintf(why, sizeof(why), "does not offer %.60s, only %s", interface_id,
             entry->interfaces);
    return not_available(registry, entry->id, interface_id, VLY_E_UNSUPPORTED,
                         why, error);
}

vly_status vly_registry_backend(const vly_registry *registry, const char *id,
                                const vly_backend **backend, vly_error *error)
{
    const registry_entry *entry = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(entry_get(registry, id, VLY_BACKEND_INTERFACE, &entry, error));
    if (entry->backend.struct_size == 0)
        return no_interface(registry, entry, VLY_BACKEND_INTERFACE, error);
    const vly_backend *table = &entry->backend;
    if (registry->wrap)
        VLY_TRY(registry->wrap(registry->wrap_arg, entry->id, &entry->backend,
                               &table, error));
    *backend = table;
out:
    return status;
}

vly_status vly_registry_exchange(const vly_registry *registry, const char *id,
                                 const vly_exchange **exchange,
                                 vly_error *error)
{
    const registry_entry *entry = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(entry_get(registry, id, VLY_EXCHANGE_INTERFACE, &entry, error));
    if (entry->exchange.struct_size == 0)
        return no_interface(registry, entry, VLY_EXCHANGE_INTERFACE, error);
    *exchange = &entry->exchange;
out:
    return status;
}

vly_status vly_registry_device(const vly_registry *registry,
                               const vly_backend_spec *spec, uint32_t n_threads,
                               const vly_backend **backend,
                               vly_device_spec *device, vly_error *error)
{
    const vly_backend *table = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_registry_backend(registry, spec->id, &table, error));
    VLY_TRY(vly_backend_spec_device(spec,
                                    (table->flags & VLY_BACKEND_HOST) != 0,
                                    n_threads, device, error));
    *backend = table;
out:
    return status;
}

vly_status vly_device_find(const vly_registry *registry, const char *name,
                           uint32_t n_threads, vly_named_device *device,
                           vly_error *error)
{
    vly_named_device made = {0};
    vly_backend_spec spec;
    vly_device_spec found = {.struct_size = sizeof(found)};
    const vly_backend *backend = NULL;
    vly_status status = VLY_OK;
    if (!name)
        return vly_fail(error, VLY_E_INVALID, "vly_device_find: name is NULL");
    VLY_TRY(vly_struct_check(device, sizeof(*device), "device", error));
    VLY_TRY(vly_backend_spec_parse(name, &spec, error));
    memcpy(made.id, spec.id, sizeof(made.id));
    if (registry && strcmp(spec.id, "auto") != 0) {
        VLY_TRY(vly_registry_device(registry, &spec, n_threads, &backend,
                                    &found, error));
        made.flags = backend->flags;
        made.index = found.index;
        if ((backend->flags & VLY_BACKEND_HOST) != 0)
            made.n_threads = found.n_threads;
    }
    (void)vly_struct_fill(device, &made, sizeof(made));
out:
    return status;
}

/* Whether b is tried before a. Both are indexes in the list with a nonzero
 * rank.
 */
static bool is_before(const vly_registry *registry, uint32_t b, uint32_t a)
{
    const uint32_t rank_a = registry->entries[a]->plugin.auto_rank;
    const uint32_t rank_b = registry->entries[b]->plugin.auto_rank;
    return rank_b > rank_a || (rank_b == rank_a && b < a);
}

const char *vly_registry_auto(const vly_registry *registry, uint32_t n)
{
    for (uint32_t i = 0; i < registry->count; i++) {
        const registry_entry *entry = registry->entries[i];
        uint32_t before = 0;
        if (entry->id[0] == '\0' || entry->plugin.auto_rank == 0)
            continue;
        for (uint32_t k = 0; k < registry->count; k++)
            before += registry->entries[k]->id[0] != '\0' &&
                      is_before(registry, k, i);
        if (before == n)
            return entry->id;
    }
    return NULL;
}

void vly_registry_wrap(vly_registry *registry, vly_registry_wrap_fn wrap,
                       void *arg)
{
    registry->wrap = wrap;
    registry->wrap_arg = arg;
}

vly_status vly_registry_interface(const vly_registry *registry, const char *id,
                                  const char *interface_id,
                                  const void **interface_table,
                                  vly_error *error)
{
    const registry_entry *entry = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(entry_get(registry, id, interface_id, &entry, error));
    if (!interface_id)
        return vly_fail(error, VLY_E_INVALID, "plugin: no interface named");
    if (strcmp(interface_id, VLY_BACKEND_INTERFACE) == 0) {
        const vly_backend *backend = NULL;
        status = vly_registry_backend(registry, id, &backend, error);
        if (status == VLY_OK)
            *interface_table = backend;
        return status;
    }
    const void *table = strcmp(interface_id, VLY_EXCHANGE_INTERFACE) == 0 &&
                                entry->exchange.struct_size != 0
                            ? &entry->exchange
                            : entry->plugin.get_interface(interface_id);
    if (!table)
        return no_interface(registry, entry, interface_id, error);
    *interface_table = table;
out:
    return status;
}

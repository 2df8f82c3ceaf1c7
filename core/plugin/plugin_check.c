/* SPDX-License-Identifier: Apache-2.0
 * Checks whether a plugin fits this engine.
 */
#include "plugin/plugin_check.h"

#include <string.h>

#include "base/error.h"
#include "plugin/registry.h"

/* Sizes of version 1.0: the minimum of every plugin of major 1. They never
 * change; those of plugin.h grow. */
#define PLUGIN_BYTES_1_0 72u
#define BACKEND_BYTES_1_0 200u
/* the same of volley.exchange/1 */
#define EXCHANGE_BYTES 80u

#define MAX_ID 31u

int vly_plugin_id_valid(const char *id)
{
    if (id[0] < 'a' || id[0] > 'z' || strcmp(id, "auto") == 0)
        return false;
    size_t length = strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return length <= MAX_ID && id[length] == 0;
}

vly_status vly_table_copy(void *target, size_t target_size, size_t least_size,
                          const void *source, const char *what,
                          vly_error *error)
{
    uint32_t size;
    memcpy(&size, source, sizeof(size));
    if (size < least_size)
        return vly_fail(error, VLY_E_ABI,
                        "%s: struct_size is %u, wanted at least %zu", what,
                        size, least_size);
    memset(target, 0, target_size);
    memcpy(target, source, size < target_size ? size : target_size);
    return VLY_OK;
}

static vly_status major_check(const void *entry, vly_error *error)
{
    uint32_t head[2]; /* struct_size, abi_version: the same in every major */
    memcpy(head, entry, sizeof(head));
    if (head[0] < sizeof(head))
        return vly_fail(error, VLY_E_ABI,
                        "vly_plugin: struct_size is %u, wanted at least %u",
                        head[0], PLUGIN_BYTES_1_0);
    if (head[1] >> 16 != VLY_ABI_MAJOR)
        return vly_fail(error, VLY_E_ABI,
                        "was built for plugin ABI %u.%u, this engine has "
                        "%u.%u: the major versions differ",
                        head[1] >> 16, head[1] & 0xffffu, VLY_ABI_MAJOR,
                        VLY_ABI_MINOR);
    return VLY_OK;
}

static vly_status id_check(const char *id, vly_error *error)
{
    if (!id || !*id)
        return vly_fail(error, VLY_E_ABI, "has no id");
    size_t length = strnlen(id, MAX_ID + 1);
    if (length > MAX_ID)
        return vly_fail(error, VLY_E_ABI,
                        "id \"%.*s...\" is too long, wanted at most %u "
                        "characters",
                        (int)MAX_ID, id, MAX_ID);
    if (!vly_plugin_id_valid(id)) {
        char shown[MAX_ID + 1]; /* it may contain any bytes */
        for (size_t i = 0; i <= length; i++)
            shown[i] =
                id[i] == 0 || (id[i] >= ' ' && id[i] <= '~') ? id[i] : '?';
        return vly_fail(error, VLY_E_ABI,
                        "id \"%s\" is invalid, wanted a-z, then a-z, 0-9 and "
                        "_, and not auto",
                        shown);
    }
    return VLY_OK;
}

static vly_status function_missing(const char *what, const char *name,
                                   vly_error *error)
{
    return vly_fail(error, VLY_E_ABI, "%s: required function %s is missing",
                    what, name);
}

vly_status vly_plugin_check(const void *entry, vly_plugin *plugin,
                            vly_error *error)
{
    vly_plugin copy;
    vly_status status = VLY_OK;
    VLY_TRY(major_check(entry, error));
    VLY_TRY(vly_table_copy(&copy, sizeof(copy), PLUGIN_BYTES_1_0, entry,
                           "vly_plugin", error));
    VLY_TRY(id_check(copy.id, error));
    if (!copy.init)
        return function_missing("vly_plugin", "init", error);
    if (!copy.deinit)
        return function_missing("vly_plugin", "deinit", error);
    if (!copy.get_interface)
        return function_missing("vly_plugin", "get_interface", error);
    *plugin = copy;
out:
    return status;
}

/* Every slot of 1.0 that is not [optional]. A slot of a later minor is never
 * required: plugins of 1.0 lack it. */
#define BACKEND_REQUIRED(X)                                                    \
    X(device_count)                                                            \
    X(device_info)                                                             \
    X(supports)                                                                \
    X(net_create)                                                              \
    X(net_destroy)                                                             \
    X(net_info)                                                                \
    X(net_run)                                                                 \
    X(field_read)                                                              \
    X(field_write)                                                             \
    X(coef_write)                                                              \
    X(stimulus_write)                                                          \
    X(snapshot_read)

#define EXCHANGE_REQUIRED(X)                                                   \
    X(open)                                                                    \
    X(close)                                                                   \
    X(info)                                                                    \
    X(gather)                                                                  \
    X(abort)

vly_status vly_backend_check(const void *table, vly_backend *backend,
                             vly_error *error)
{
    vly_backend copy;
    vly_status status = VLY_OK;
    VLY_TRY(vly_table_copy(&copy, sizeof(copy), BACKEND_BYTES_1_0, table,
                           VLY_BACKEND_INTERFACE, error));
#define BACKEND_CHECK(name)                                                    \
    if (!copy.name)                                                            \
        return function_missing(VLY_BACKEND_INTERFACE, #name, error);
    BACKEND_REQUIRED(BACKEND_CHECK)
#undef BACKEND_CHECK
    if ((copy.flags & VLY_BACKEND_LEARNS) == 0) {
        copy.learning_read = NULL;
        copy.learning_write = NULL;
        copy.learning_set = NULL;
    } else if (!copy.learning_read || !copy.learning_write ||
               !copy.learning_set) {
        return function_missing(VLY_BACKEND_INTERFACE,
                                "learning_read, learning_write or learning_set",
                                error);
    }
    if ((copy.flags & VLY_BACKEND_SHORT_TERM) == 0)
        copy.short_term_set = NULL;
    else if (!copy.short_term_set)
        return function_missing(VLY_BACKEND_INTERFACE, "short_term_set", error);
    *backend = copy;
out:
    return status;
}

vly_status vly_exchange_check(const void *table, vly_exchange *exchange,
                              vly_error *error)
{
    vly_exchange copy;
    vly_status status = VLY_OK;
    VLY_TRY(vly_table_copy(&copy, sizeof(copy), EXCHANGE_BYTES, table,
                           VLY_EXCHANGE_INTERFACE, error));
#define EXCHANGE_CHECK(name)                                                   \
    if (!copy.name)                                                            \
        return function_missing(VLY_EXCHANGE_INTERFACE, #name, error);
    EXCHANGE_REQUIRED(EXCHANGE_CHECK)
#undef EXCHANGE_CHECK
    *exchange = copy;
out:
    return status;
}

vly_status vly_backend_supports(const vly_backend *table,
                                const vly_net_desc *desc, vly_error *why)
{
    if (desc->ranks && !(table->flags & VLY_BACKEND_RANKS))
        return vly_fail(why, VLY_E_UNSUPPORTED,
                        "the network is to run on %u ranks, and this backend "
                        "runs whole networks only; wanted --backend cpu or "
                        "cuda, or one process",
                        desc->ranks->n_ranks);
    for (uint32_t p = 0;
         (table->flags & VLY_BACKEND_NO_SHIFTS) && p < desc->n_projections; p++)
        if (desc->projections[p].shift != 0)
            return vly_fail(why, VLY_E_UNSUPPORTED,
                            "map %s has weights in units of its own, which "
                            "plugins built for an ABI before 1.4 do not know",
                            desc->projections[p].map);
    for (uint32_t a = 0;
         !(table->flags & VLY_BACKEND_PROGRAMS) && a < desc->n_areas; a++)
        if (desc->areas[a].program)
            return vly_fail(why, VLY_E_UNSUPPORTED,
                            "area %s has model %s of a [neuron], and this "
                            "backend runs built-in models only",
                            desc->areas[a].name, desc->areas[a].model);
    for (uint32_t p = 0;
         !(table->flags & VLY_BACKEND_LEARNS) && p < desc->n_projections; p++)
        if ((desc->projections[p].flags & VLY_PROJECTION_PLASTIC) != 0)
            return vly_fail(why, VLY_E_UNSUPPORTED,
                            "map %s is plastic, and this backend cannot learn",
                            desc->projections[p].map);
    for (uint32_t p = 0;
         (table->flags & VLY_BACKEND_NO_WINDOWS) && p < desc->n_projections;
         p++) {
        const vly_learning_desc *learning = desc->projections[p].learning;
        if (learning && (learning->flags & VLY_LEARNING_WINDOW))
            return vly_fail(why, VLY_E_UNSUPPORTED,
                            "map %s learns by rule %s, which plugins built for "
                            "an ABI before 1.6 do not know",
                            desc->projections[p].map, learning->rule);
    }
    for (uint32_t p = 0;
         !(table->flags & VLY_BACKEND_SHORT_TERM) && p < desc->n_projections;
         p++)
        if ((desc->projections[p].flags & VLY_PROJECTION_SHORT_TERM) != 0)
            return vly_fail(why, VLY_E_UNSUPPORTED,
                            "map %s has short-term plasticity, which this "
                            "backend does not know",
                            desc->projections[p].map);
    for (uint32_t p = 0;
         !(table->flags & VLY_BACKEND_MODULATES) && p < desc->n_projections;
         p++) {
        const vly_learning_desc *learning = desc->projections[p].learning;
        if (learning && learning->modulator.bursts != 0)
            return vly_fail(why, VLY_E_UNSUPPORTED,
                            "map %s learns by %s, and this backend has no "
                            "modulators",
                            desc->projections[p].map, learning->rule);
    }
    return table->supports(desc, why);
}

bool vly_word_in(const char *list, const char *word)
{
    const size_t n = strlen(word);
    const char *at = list;
    while (n != 0 && at && (at = strstr(at, word))) {
        if ((at == list || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
            return true;
        at += n;
    }
    return false;
}

/* SPDX-License-Identifier: Apache-2.0
 * Options of accelerators: "tune=0,choose=plain".
 */
#include "accel_common.h"

#include <string.h>

static bool key_is(const char *text, size_t n, const char *key)
{
    return strlen(key) == n && strncmp(text, key, n) == 0;
}

static bool is_extra(const char *const *extra, const char *text, size_t n)
{
    for (uint32_t i = 0; extra && extra[i]; i++)
        if (key_is(text, n, extra[i]))
            return true;
    return false;
}

/* ", isa" for each key of the plugin's own */
static void extra_list(const char *const *extra, char *text, size_t size)
{
    size_t used = 0;
    text[0] = 0;
    for (uint32_t i = 0; extra && extra[i]; i++) {
        size_t n = strlen(extra[i]);
        if (used + n + 3 > size)
            return;
        memcpy(text + used, ", ", 2);
        memcpy(text + used + 2, extra[i], n + 1);
        used += n + 2;
    }
}

static vly_status copy(char *to, size_t size, const char *from, size_t n,
                       const char *key, vly_error *error)
{
    if (n == 0 || n >= size)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: option %s has %zu characters, wanted 1 to "
                                "%zu",
                                vly_support_plugin, key, n, size - 1);
    memcpy(to, from, n);
    to[n] = 0;
    return VLY_OK;
}

static vly_status set_cache(const char *value, size_t n,
                            vly_accel_options *options, vly_error *error)
{
    if (key_is(value, n, "off")) {
        options->cache = VLY_ACCEL_CACHE_OFF;
        return VLY_OK;
    }
    options->cache = VLY_ACCEL_CACHE_FOLDER;
    return copy(options->cache_folder, sizeof options->cache_folder, value, n,
                "cache", error);
}

static vly_status set_switch(const char *key, const char *value, size_t n,
                             bool *on, vly_error *error)
{
    if (n != 1 || (value[0] != '0' && value[0] != '1'))
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: option %s is \"%.*s\", wanted 0 or 1",
                                vly_support_plugin, key, (int)n, value);
    *on = value[0] == '1';
    return VLY_OK;
}

static vly_status set(const char *key, size_t n_key, const char *value,
                      size_t n, const char *const *extra,
                      vly_accel_options *options, vly_error *error)
{
    char known[128];
    if (key_is(key, n_key, "choose"))
        return copy(options->choose, sizeof options->choose, value, n, "choose",
                    error);
    if (key_is(key, n_key, "cache"))
        return set_cache(value, n, options, error);
    if (key_is(key, n_key, "tune"))
        return set_switch("tune", value, n, &options->tune, error);
    if (key_is(key, n_key, "early"))
        return set_switch("early", value, n, &options->early, error);
    if (key_is(key, n_key, "chain"))
        return set_switch("chain", value, n, &options->chain, error);
    if (is_extra(extra, key, n_key))
        return VLY_OK;
    extra_list(extra, known, sizeof known);
    return vly_support_fail(error, VLY_E_INVALID,
                            "%s: unknown option \"%.*s\", wanted tune, cache, "
                            "choose, early, chain%s",
                            vly_support_plugin, (int)(n_key < 64 ? n_key : 64),
                            key, known);
}

/* Does the key also occur before `at`? */
static bool is_repeated(const char *text, const char *at, size_t key)
{
    while (text < at) {
        if (strcspn(text, "=,") == key && memcmp(text, at, key) == 0)
            return true;
        text += strcspn(text, ",") + 1;
    }
    return false;
}

vly_status vly_accel_options_parse(const char *text, const char *const *extra,
                                   vly_accel_options *options, vly_error *error)
{
    vly_status status = VLY_OK;
    vly_accel_options made = {.tune = true, .early = true, .chain = true};
    const char *at = text ? text : "";
    while (*at != 0) {
        size_t whole = strcspn(at, ",");
        size_t key = strcspn(at, "=,");
        if (key == 0 || at[key] != '=')
            return vly_support_fail(
                error, VLY_E_INVALID, "%s: option \"%.*s\", wanted key=value",
                vly_support_plugin, (int)(whole < 64 ? whole : 64), at);
        if (is_repeated(text, at, key))
            return vly_support_fail(
                error, VLY_E_INVALID, "%s: option %.*s twice, wanted it once",
                vly_support_plugin, (int)(key < 64 ? key : 64), at);
        VLY_TRY(
            set(at, key, at + key + 1, whole - key - 1, extra, &made, error));
        at += whole + (at[whole] == ',');
    }
    *options = made;
out:
    return status;
}

bool vly_accel_options_value(const char *text, const char *key, char *value,
                             size_t size)
{
    const char *at = text ? text : "";
    while (*at != 0) {
        size_t whole = strcspn(at, ",");
        size_t n_key = strcspn(at, "=,");
        if (key_is(at, n_key, key) && at[n_key] == '=') {
            size_t n = whole - n_key - 1;
            if (n >= size)
                return false;
            memcpy(value, at + n_key + 1, n);
            value[n] = 0;
            return true;
        }
        at += whole + (at[whole] == ',');
    }
    return false;
}

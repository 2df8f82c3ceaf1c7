/* SPDX-License-Identifier: Apache-2.0
 * Parses "cpu:4,isa=scalar" into plugin, number and options.
 */
#include "plugin/backend_spec.h"

#include <string.h>

#include "base/error.h"
#include "base/thread.h"
#include "plugin/plugin_check.h"

/* the maximum of vly_host.parallel_for */
#define MAX_THREADS 1024u
/* more devices than any host has; detects typing errors early */
#define MAX_DEVICE 1023u

vly_status vly_ranks_pick(const char *text, uint32_t rank,
                          char one[VLY_BACKEND_ONE_BYTES], uint32_t *n,
                          vly_error *error)
{
    uint32_t n_specs = 1;
    for (const char *at = text; *at; at++)
        n_specs += *at == '+';
    for (uint32_t k = rank % n_specs; k > 0; k--)
        text = strchr(text, '+') + 1;
    const size_t length = strcspn(text, "+");
    if (length >= VLY_BACKEND_ONE_BYTES)
        return vly_fail(error, VLY_E_INVALID, "backend \"%.64s\" is too long",
                        text);
    memcpy(one, text, length);
    one[length] = '\0';
    if (n)
        *n = n_specs;
    return VLY_OK;
}

static vly_status one_parse(const char *text, uint32_t rank,
                            vly_backend_spec *spec, vly_error *error)
{
    char one[VLY_BACKEND_ONE_BYTES];
    vly_status status = VLY_OK;
    VLY_TRY(vly_ranks_pick(text, rank, one, NULL, error));
    VLY_TRY(vly_backend_spec_parse(one, spec, error));
out:
    return status;
}

/* Otherwise it is dealt all devices. */
static bool names_devices(const vly_backend_spec *spec)
{
    return spec->has_number && !spec->all;
}

static bool same_devices(const vly_backend_spec *a, const vly_backend_spec *b)
{
    return strcmp(a->id, b->id) == 0 && names_devices(a) == names_devices(b) &&
           (!names_devices(a) ||
            (a->number == b->number && a->last == b->last));
}

vly_status vly_backend_spec_local(const char *text, const uint32_t *hosts,
                                  uint32_t rank, uint32_t *local,
                                  vly_error *error)
{
    vly_backend_spec own;
    uint32_t before = 0;
    vly_status status = VLY_OK;
    VLY_TRY(one_parse(text, rank, &own, error));
    for (uint32_t r = 0; r < rank; r++) {
        vly_backend_spec other;
        if (hosts[r] != hosts[rank])
            continue;
        VLY_TRY(one_parse(text, r, &other, error));
        before += same_devices(&own, &other);
    }
    *local = before;
out:
    return status;
}

uint32_t vly_backend_spec_deal(const vly_backend_spec *spec, uint32_t n_devices,
                               uint32_t local)
{
    const uint32_t n =
        names_devices(spec) ? spec->last - spec->number + 1 : n_devices;
    return spec->number + (n > 0 ? local % n : 0);
}

static bool number_parse(const char *text, size_t length, uint32_t *number)
{
    uint32_t value = 0;
    if (length == 0 || length > 6)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        value = value * 10 + (uint32_t)(text[i] - '0');
    }
    *number = value;
    return true;
}

/* "3", "0-3" or "all" */
static bool devices_parse(const char *text, size_t length,
                          vly_backend_spec *made)
{
    const char *dash = memchr(text, '-', length);
    size_t first = dash ? (size_t)(dash - text) : length;
    made->has_number = true;
    made->all = length == 3 && memcmp(text, "all", length) == 0;
    if (made->all)
        return true;
    if (!number_parse(text, first, &made->number))
        return false;
    made->last = made->number;
    return !dash || (number_parse(dash + 1, length - first - 1, &made->last) &&
                     made->last >= made->number);
}

/* Whether there is an option with this key before the end. */
static bool key_known(const char *options, const char *key, size_t length)
{
    for (const char *at = options; at < key; at++) {
        if (strncmp(at, key, length + 1) == 0) /* with the '=' */
            return true;
        at = strchr(at, ',');
        if (!at)
            break;
    }
    return false;
}

static vly_status options_check(const char *text, const char *options,
                                vly_error *error)
{
    const char *at = options;
    for (;;) {
        size_t whole = strcspn(at, ",");
        size_t key = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789_");
        if (key == 0 || at[key] != '=' || key + 1 == whole)
            return vly_fail(error, VLY_E_INVALID,
                            "backend \"%s\": option \"%.*s\", wanted key=value",
                            text, (int)whole, at);
        if (key_known(options, at, key))
            return vly_fail(error, VLY_E_INVALID,
                            "backend \"%s\": option %.*s is given twice", text,
                            (int)key, at);
        if (at[whole] == 0)
            return VLY_OK;
        at += whole + 1;
    }
}

static vly_status too_long(const char *text, const char *what, vly_error *error)
{
    return vly_fail(error, VLY_E_INVALID, "backend \"%.64s\": %s is too long",
                    text, what);
}

vly_status vly_backend_spec_parse(const char *text, vly_backend_spec *spec,
                                  vly_error *error)
{
    vly_status status = VLY_OK;
    vly_backend_spec made = {.number = 0};
    if (!text || !*text)
        return vly_fail(error, VLY_E_INVALID,
                        "backend is empty, wanted for example cpu:4");
    size_t id_length = strcspn(text, ":,");
    if (id_length >= sizeof(made.id))
        return too_long(text, "the id", error);
    memcpy(made.id, text, id_length);
    if (strcmp(made.id, "auto") != 0 && !vly_plugin_id_valid(made.id))
        return vly_fail(error, VLY_E_INVALID,
                        "backend \"%.64s\": id \"%s\", wanted a name such as "
                        "cpu or cuda (a-z, 0-9 and _)",
                        text, made.id);
    const char *at = text + id_length;
    if (*at && strcmp(made.id, "auto") == 0)
        return vly_fail(error, VLY_E_INVALID,
                        "backend \"%.64s\": auto takes no number and no "
                        "options",
                        text);
    if (strlen(at) >= sizeof(made.options))
        return too_long(text, "the list of options", error);
    if (*at == ':') {
        size_t length = strcspn(++at, ",");
        if (!devices_parse(at, length, &made))
            return vly_fail(error, VLY_E_INVALID,
                            "backend \"%s\": \"%.*s\" after the colon, wanted "
                            "a number, a range such as 0-3, or all",
                            text, (int)length, at);
        at += length;
    }
    if (*at == ',') {
        VLY_TRY(options_check(text, ++at, error));
        memcpy(made.options, at, strlen(at) + 1);
    }
    *spec = made;
out:
    return status;
}

vly_status vly_backend_spec_device(const vly_backend_spec *spec, bool is_host,
                                   uint32_t n_threads, vly_device_spec *device,
                                   vly_error *error)
{
    uint32_t threads = is_host && spec->has_number ? spec->number : n_threads;
    if (is_host && vly_backend_spec_is_span(spec))
        return vly_fail(error, VLY_E_INVALID,
                        "backend \"%s\": several devices, but it has the "
                        "processors, wanted a number of threads",
                        spec->id);
    if (is_host && spec->has_number &&
        (spec->number < 1 || spec->number > MAX_THREADS))
        return vly_fail(error, VLY_E_INVALID,
                        "backend \"%s:%u\": %u threads, wanted 1 to %u",
                        spec->id, spec->number, spec->number, MAX_THREADS);
    if (!is_host && spec->last > MAX_DEVICE)
        return vly_fail(error, VLY_E_INVALID,
                        "backend \"%s:%u\": device %u, wanted 0 to %u",
                        spec->id, spec->last, spec->last, MAX_DEVICE);
    if (threads == 0)
        threads = vly_thread_cores();
    *device = (vly_device_spec){
        .struct_size = sizeof(*device),
        .index = is_host ? 0 : spec->number,
        .n_threads = threads < MAX_THREADS ? threads : MAX_THREADS,
        .options = spec->options[0] ? spec->options : NULL,
    };
    return VLY_OK;
}

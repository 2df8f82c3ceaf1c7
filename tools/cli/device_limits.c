/* SPDX-License-Identifier: Apache-2.0
 * Device memory as the command shows and limits it.
 */
#include "tools/cli/device_limits.h"

#include <volley/host.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "accelerator/accelerator.h"
#include "base/error.h"
#include "base/memory.h"
#include "tools/cli/tool.h"

/* ---- the option --------------------------------------------------------- */

static vly_status bad_limit(const char *text, vly_error *error)
{
    return vly_fail(error, VLY_E_INVALID,
                    "--device-memory %s: wanted [DEVICE=]BYTES, as in 8GiB, "
                    "500MB or cuda:1=8GiB",
                    text);
}

bool device_limits_bytes(const char *text, uint64_t *bytes)
{
    static const struct {
        const char *name;
        double bytes;
    } units[] = {{"", 1},         {"B", 1},        {"KB", 1e3},
                 {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12},
                 {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30},
                 {"TiB", 0x1p40}};
    size_t n = strspn(text, "0123456789.");
    char number[32];
    double value;
    if (n == 0 || n >= sizeof number)
        return false;
    memcpy(number, text, n);
    number[n] = '\0';
    if (!tool_read_number(number, &value))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        double all = value * units[i].bytes;
        if (strcmp(text + n, units[i].name) != 0)
            continue;
        if (!(all >= 1 && all < 0x1p63))
            return false;
        *bytes = (uint64_t)all;
        return true;
    }
    return false;
}

/* "host", or a plugin's id and a number */
static bool is_device(const char *name)
{
    char id[32];
    size_t n = strcspn(name, ":");
    uint64_t number;
    if (strcmp(name, "host") == 0)
        return true;
    if (n == 0 || n >= sizeof id || name[n] != ':' ||
        !tool_read_count(name + n + 1, &number) || number > UINT32_MAX)
        return false;
    memcpy(id, name, n);
    id[n] = '\0';
    return vly_plugin_id_valid(id) != 0;
}

/* Devices that were named: a note at the end names those without
 * allocations. */
enum { MOST_NAMED = 64 }; /* at most so many in the library */
static char named[MOST_NAMED][32];
static uint32_t n_named;
static bool has_usual; /* one without a name was given */

static vly_status limit_named(const char *device, uint64_t bytes,
                              vly_error *error)
{
    vly_status status = vly_device_memory_limit(device, bytes, error);
    if (status == VLY_OK && n_named < MOST_NAMED)
        (void)snprintf(named[n_named++], sizeof named[0], "%s", device);
    return status;
}

static vly_status read_one(const char *text, vly_error *error)
{
    char device[32];
    const char *equals = strchr(text, '=');
    size_t n = equals ? (size_t)(equals - text) : 0;
    uint64_t bytes;
    if (!device_limits_bytes(equals ? equals + 1 : text, &bytes))
        return bad_limit(text, error);
    if (!equals) {
        has_usual = true;
        return vly_device_memory_limit(NULL, bytes, error);
    }
    if (n >= sizeof device)
        return bad_limit(text, error);
    memcpy(device, text, n);
    device[n] = '\0';
    if (!is_device(device))
        return bad_limit(text, error);
    if (strncmp(device, "cpu:", 4) == 0)
        return vly_fail(error, VLY_E_INVALID,
                        "--device-memory %s: the processor is not a device "
                        "with separate memory; the limit of accelerators on "
                        "it is host=BYTES",
                        text);
    return limit_named(device, bytes, error);
}

vly_status device_limits_read(const tool_args *args, vly_error *error)
{
    vly_status status = VLY_OK;
    const char *text;
    for (uint32_t k = 0; (text = tool_text_at(args, "device-memory", k)); k++) {
        VLY_TRY(read_one(text, error));
    }
out:
    return status;
}

/* ---- do the devices exist? ----------------------------------------------- */

/* Is this a backend with this id, or an accelerator as "gemm_cuda" for
 * "cuda"? */
static vly_status count_devices(const vly_registry *registry, const char *id,
                                const char *plugin, uint32_t *count,
                                vly_error *error)
{
    const vly_backend *backend = NULL;
    const void *table = NULL;
    vly_memory memory;
    vly_status status = VLY_OK;
    if (strcmp(id, plugin) == 0) {
        VLY_TRY(vly_registry_backend(registry, id, &backend, error));
        *count = backend->device_count();
    } else {
        VLY_TRY(vly_registry_interface(registry, plugin, VLY_MEMORY_INTERFACE,
                                       &table, error));
        VLY_TRY(vly_memory_check(table, &memory, error));
        *count = memory.device_count();
    }
out:
    return status;
}

static bool is_of(const char *plugin, const char *id)
{
    const size_t n = strlen(plugin);
    const size_t m = strlen(id);
    return strcmp(plugin, id) == 0 || (n > m && plugin[n - m - 1] == '_' &&
                                       strcmp(plugin + n - m, id) == 0);
}

static vly_status check_named(const vly_registry *registry, const char *device,
                              vly_error *error)
{
    char id[32];
    uint64_t index = 0;
    uint32_t count = 0;
    bool known = false;
    vly_error why = VLY_ERROR_INIT;
    const size_t n = strcspn(device, ":");
    if (device[n] == '\0') /* host */
        return VLY_OK;
    snprintf(id, sizeof id, "%.*s", (int)n, device);
    (void)tool_read_count(device + n + 1, &index); /* read_one has checked it */
    for (uint32_t i = 0; i < vly_registry_count(registry) && count == 0; i++) {
        const char *plugin = vly_registry_id(registry, i);
        if (!is_of(plugin, id))
            continue;
        known = true;
        (void)count_devices(registry, id, plugin, &count, &why);
    }
    if (!known)
        return vly_fail(error, VLY_E_INVALID,
                        "--device-memory %s=: no plugin has devices of this "
                        "name; volley plugins lists them",
                        device);
    if (count > 0 && index >= count)
        return vly_fail(error, VLY_E_INVALID,
                        "--device-memory %s=: there is no such device, %s has "
                        "%u, the first is %s:0",
                        device, id, count, id);
    if (count == 0)
        tool_message("--device-memory %s= has no effect: %s", device,
                     why.status != VLY_OK ? why.message
                                          : "there is no such device here");
    return VLY_OK;
}

vly_status device_limits_check(const vly_registry *registry, vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < n_named && status == VLY_OK; i++)
        status = check_named(registry, named[i], error);
    return status;
}

/* ---- figures ------------------------------------------------------------ */

/* Account `index`, if memory was ever allocated there. */
static bool used_at(uint32_t index, vly_device_usage *usage)
{
    *usage = (vly_device_usage){.struct_size = sizeof *usage};
    return vly_device_memory_usage(index, usage) == VLY_OK &&
           (usage->peak_bytes > 0 || usage->refusals > 0);
}

bool device_limits_usage(const char *device, vly_device_usage *usage)
{
    for (uint32_t i = 0; i < vly_device_memory_count(); i++) {
        *usage = (vly_device_usage){.struct_size = sizeof *usage};
        if (vly_device_memory_usage(i, usage) == VLY_OK &&
            strcmp(usage->device, device) == 0)
            return true;
    }
    return false;
}

/* Appends ", 2 refusals" at position n and advances it; nothing for 0. */
static int put_count(char *text, size_t size, int n, const char *what,
                     uint64_t count)
{
    if (count == 0)
        return n;
    return n + snprintf(text + n, size - (size_t)n, ", %s %s%s",
                        tool_thousands(count), what, count == 1 ? "" : "s");
}

const char *device_limits_text(const vly_device_usage *usage)
{
    static _Thread_local char text[256];
    int n =
        snprintf(text, sizeof text, "%s in use, %s kept, at most %s",
                 tool_bytes(usage->used_bytes), tool_bytes(usage->kept_bytes),
                 tool_bytes(usage->peak_bytes));
    if (usage->quota_bytes != UINT64_MAX)
        n += snprintf(text + n, sizeof text - (size_t)n, " of %s",
                      tool_bytes(usage->quota_bytes));
    n = put_count(text, sizeof text, n, "eviction", usage->evictions);
    (void)put_count(text, sizeof text, n, "refusal", usage->refusals);
    return text;
}

/* Is limit i of a device on which no memory was allocated? The last limit has
 * no name and holds for all devices but the host. */
static bool limits_nothing(uint32_t i, char *text, size_t size)
{
    vly_device_usage usage;
    bool taken = false;
    for (uint32_t k = 0; k < vly_device_memory_count(); k++)
        if (used_at(k, &usage))
            taken = taken || (i < n_named ? strcmp(usage.device, named[i]) == 0
                                          : strcmp(usage.device, "host") != 0);
    if (taken || (i == n_named && !has_usual))
        return false;
    if (i < n_named)
        (void)snprintf(text, size,
                       "%s: limited, but nothing here took memory there",
                       named[i]);
    else
        (void)snprintf(text, size,
                       "limited, but nothing here took memory of a device");
    return true;
}

void device_limits_print(void)
{
    for (uint32_t i = 0; i < vly_device_memory_count(); i++) {
        vly_device_usage usage;
        if (used_at(i, &usage))
            tool_print("device memory     %s: %s\n", usage.device,
                       device_limits_text(&usage));
    }
    char text[128];
    for (uint32_t i = 0; i <= n_named; i++)
        if (limits_nothing(i, text, sizeof text))
            tool_print("device memory     %s\n", text);
}

void device_limits_tell(void)
{
    char text[128];
    for (uint32_t i = 0; i <= n_named; i++)
        if (limits_nothing(i, text, sizeof text))
            tool_message("--device-memory: %s", text);
}

void device_limits_put(const char *key, const vly_device_usage *usage,
                       json_writer *json)
{
    json_object(json, key);
    json_text(json, "device", usage->device);
    if (usage->quota_bytes != UINT64_MAX)
        json_u64(json, "quota_bytes", usage->quota_bytes);
    else
        json_text(json, "quota_bytes", NULL);
    json_u64(json, "used_bytes", usage->used_bytes);
    json_u64(json, "guaranteed_bytes", usage->used_by[VLY_QOS_GUARANTEED]);
    json_u64(json, "burstable_bytes", usage->used_by[VLY_QOS_BURSTABLE]);
    json_u64(json, "best_effort_bytes", usage->used_by[VLY_QOS_BEST_EFFORT]);
    json_u64(json, "kept_bytes", usage->kept_bytes);
    json_u64(json, "peak_bytes", usage->peak_bytes);
    json_u64(json, "blocks", usage->n_blocks);
    json_u64(json, "reuses", usage->reuses);
    json_u64(json, "evictions", usage->evictions);
    json_u64(json, "evicted_bytes", usage->evicted_bytes);
    json_u64(json, "refusals", usage->refusals);
    json_object_end(json);
}

void device_limits_json(json_writer *json)
{
    json_array(json, "device_memory");
    for (uint32_t i = 0; i < vly_device_memory_count(); i++) {
        vly_device_usage usage;
        if (used_at(i, &usage))
            device_limits_put(NULL, &usage, json);
    }
    json_array_end(json);
}

/* ---- metrics ------------------------------------------------------------ */

/* Appends to *text, which becomes NULL if memory runs out. */
static void append(char **text, char *more)
{
    char *longer = *text && more ? vly_format("%s%s", *text, more) : NULL;
    vly_free(*text);
    vly_free(more);
    *text = longer;
}

static char *bytes_line(const vly_device_usage *usage, const char *kind,
                        uint64_t bytes)
{
    return vly_format("volley_device_memory_bytes{device=\"%s\",kind=\"%s\"} "
                      "%" PRIu64 "\n",
                      usage->device, kind, bytes);
}

static char *bytes_lines(const vly_device_usage *usage)
{
    char *text = bytes_line(usage, "used", usage->used_bytes);
    append(&text, bytes_line(usage, "kept", usage->kept_bytes));
    append(&text, bytes_line(usage, "peak", usage->peak_bytes));
    if (usage->quota_bytes != UINT64_MAX)
        append(&text, bytes_line(usage, "quota", usage->quota_bytes));
    return text;
}

static char *events_lines(const vly_device_usage *usage)
{
    static const char line[] =
        "volley_device_memory_events_total{device=\"%s\",what=\"%s\"} "
        "%" PRIu64 "\n";
    char *text = vly_format(line, usage->device, "evictions", usage->evictions);
    append(&text, vly_format(line, usage->device, "refusals", usage->refusals));
    append(&text, vly_format(line, usage->device, "reuses", usage->reuses));
    return text;
}

char *device_limits_metrics(void)
{
    char *bytes = vly_format("# HELP volley_device_memory_bytes Memory of "
                             "devices, by client.\n"
                             "# TYPE volley_device_memory_bytes gauge\n");
    char *events =
        vly_format("# HELP volley_device_memory_events_total Evicted "
                   "blocks, failed requests, reused blocks.\n"
                   "# TYPE volley_device_memory_events_total "
                   "counter\n");
    for (uint32_t i = 0; i < vly_device_memory_count(); i++) {
        vly_device_usage usage;
        if (!used_at(i, &usage))
            continue;
        append(&bytes, bytes_lines(&usage));
        append(&events, events_lines(&usage));
    }
    append(&bytes, events);
    return bytes;
}

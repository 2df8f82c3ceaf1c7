/* SPDX-License-Identifier: Apache-2.0
 * volley plugins: what was found, and what cannot be used and why.
 */
#include "tools/cli/commands.h"

#include <volley/host.h>

#include <stdio.h>

#include "accelerator/accelerator.h"
#include "accelerator/telemetry_source.h"
#include "base/error.h"
#include "base/writer.h"
#include "tools/cli/device_limits.h"
#include "tools/cli/json_writer.h"
#include "tools/cli/output_apart.h"
#include "tools/cli/setup.h"
#include "tools/cli/tool.h"

static const tool_option options[] = {
    {"json", 0, false, TOOL_TEXT, "FILE", "the list as JSON; - is stdout", 0,
     0},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

/* NULL if the plugin is not a backend or cannot be used. */
static const vly_backend *backend_of(const vly_registry *registry,
                                     const vly_plugin_info *info)
{
    const vly_backend *backend = NULL;
    vly_error error = VLY_ERROR_INIT;
    if (info->status != VLY_OK ||
        vly_registry_backend(registry, info->id, &backend, &error) != VLY_OK)
        return NULL;
    return backend;
}

/* The devices of a backend or an accelerator; count is NULL if the plugin is
 * neither. */
typedef struct devices {
    const char *id; /* of the plugin */
    uint32_t (*count)(void);
    vly_status (*info)(uint32_t index, vly_device_info *info, vly_error *error);
} devices;

static devices devices_of(const vly_registry *registry,
                          const vly_plugin_info *info)
{
    const vly_backend *backend = backend_of(registry, info);
    const void *table = NULL;
    vly_memory memory;
    vly_error error = VLY_ERROR_INIT;
    if (backend)
        return (devices){info->id, backend->device_count, backend->device_info};
    if (info->status == VLY_OK &&
        vly_registry_interface(registry, info->id, VLY_MEMORY_INTERFACE, &table,
                               &error) == VLY_OK &&
        vly_memory_check(table, &memory, &error) == VLY_OK)
        return (devices){info->id, memory.device_count, memory.device_info};
    return (devices){info->id, NULL, NULL};
}

/* Does this plugin report about devices (volley.telemetry/1)? */
static bool tells(const vly_registry *registry, const vly_plugin_info *info,
                  vly_telemetry_source *source)
{
    vly_error error = VLY_ERROR_INIT;
    return info->status == VLY_OK &&
           vly_telemetry_find(registry, info->id, source, &error) == VLY_OK;
}

static void print_sources(const vly_telemetry_source *source)
{
    const vly_telemetry_metric *metrics = NULL;
    for (uint32_t i = 0; i < source->device_count(); i++) {
        tool_plain_text a;
        tool_plain_text b;
        tool_plain_text c;
        vly_telemetry_device device = {.struct_size = sizeof device};
        vly_error error = VLY_ERROR_INIT;
        if (source->device_info(i, &device, &error) != VLY_OK)
            tool_print("    gpu %u: %s\n", i, tool_plain(error.message, &a));
        else
            tool_print("    gpu %u: %s, %s, driver %s, %u metrics\n", i,
                       tool_plain(device.name, &a), tool_plain(device.uuid, &b),
                       tool_plain(device.driver, &c),
                       source->metrics(&metrics));
    }
}

static void put_sources(const vly_telemetry_source *source, json_writer *json)
{
    json_array(json, "gpus");
    for (uint32_t i = 0; i < source->device_count(); i++) {
        vly_telemetry_device device = {.struct_size = sizeof device};
        vly_error error = VLY_ERROR_INIT;
        vly_status status = source->device_info(i, &device, &error);
        json_object(json, NULL);
        json_u64(json, "gpu", i);
        json_text(json, "name", device.name);
        json_text(json, "uuid", device.uuid);
        json_text(json, "driver", device.driver);
        if (status != VLY_OK)
            json_text(json, "reason", error.message);
        json_object_end(json);
    }
    json_array_end(json);
}

/* The memory account of a device of this plugin; false if there is none. */
static bool usage_of(const char *id, uint32_t index, vly_device_usage *usage)
{
    char name[48];
    snprintf(name, sizeof name, "%s:%u", id, index);
    return device_limits_usage(name, usage);
}

static void print_devices(const devices *all)
{
    uint32_t n = all->count ? all->count() : 0;
    for (uint32_t i = 0; i < n; i++) {
        tool_plain_text a;
        tool_plain_text b;
        vly_device_info device = {.struct_size = sizeof device};
        vly_error error = VLY_ERROR_INIT;
        if (all->info(i, &device, &error) != VLY_OK) {
            tool_print("    device %u: %s\n", i, tool_plain(error.message, &a));
            continue;
        }
        tool_print(
            "    device %u: %s, %s%s%s\n", i, tool_plain(device.name, &a),
            tool_plain(device.capability, &b),
            device.memory_bytes > 0 ? ", " : "",
            device.memory_bytes > 0 ? tool_bytes(device.memory_bytes) : "");
        vly_device_usage usage;
        if (usage_of(all->id, i, &usage))
            tool_print("        memory: %s\n", device_limits_text(&usage));
    }
}

static void print_plugin(const vly_registry *registry,
                         const vly_plugin_info *info)
{
    const devices all = devices_of(registry, info);
    tool_plain_text a;
    tool_plain_text b;
    tool_plain_text c;
    tool_print("%s %s: %s\n",
               info->id[0] != '\0' ? tool_plain(info->id, &a) : "?",
               tool_plain(info->version, &b),
               info->status == VLY_OK ? "ok" : tool_plain(info->reason, &c));
    tool_print("    %s\n", tool_plain(info->path, &a));
    if (info->interfaces[0] != '\0')
        tool_print("    offers %s\n", tool_plain(info->interfaces, &a));
    if (info->build[0] != '\0')
        tool_print("    built with %s\n", tool_plain(info->build, &a));
    tool_print("    file hash %s\n", tool_hash_text(info->hash));
    print_devices(&all);
    vly_telemetry_source source;
    if (tells(registry, info, &source))
        print_sources(&source);
}

static void put_devices(const devices *all, json_writer *json)
{
    uint32_t n = all->count ? all->count() : 0;
    json_array(json, "devices");
    for (uint32_t i = 0; i < n; i++) {
        vly_device_info device = {.struct_size = sizeof device};
        vly_error error = VLY_ERROR_INIT;
        vly_status status = all->info(i, &device, &error);
        json_object(json, NULL);
        json_u64(json, "index", i);
        json_text(json, "name", device.name);
        json_text(json, "capability", device.capability);
        json_u64(json, "memory_bytes", device.memory_bytes);
        vly_device_usage usage;
        if (usage_of(all->id, i, &usage))
            device_limits_put("memory", &usage, json);
        if (status != VLY_OK)
            json_text(json, "reason", error.message);
        json_object_end(json);
    }
    json_array_end(json);
}

static void put_plugin(const vly_registry *registry,
                       const vly_plugin_info *info, json_writer *json)
{
    const devices all = devices_of(registry, info);
    json_object(json, NULL);
    json_text(json, "id", info->id);
    json_text(json, "version", info->version);
    json_text(json, "status", vly_status_name(info->status));
    json_text(json, "reason", info->reason);
    json_text(json, "file", info->path);
    json_text(json, "interfaces", info->interfaces);
    json_text(json, "build", info->build);
    json_text(json, "hash", tool_hash_text(info->hash));
    put_devices(&all, json);
    vly_telemetry_source source;
    if (tells(registry, info, &source))
        put_sources(&source, json);
    json_object_end(json);
}

/* The list must not replace the file of a plugin. */
static vly_status check_apart(const vly_registry *registry, const char *path,
                              vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < vly_registry_count(registry); i++) {
        vly_plugin_info info = {.struct_size = sizeof info};
        if (vly_registry_info(registry, i, &info) == VLY_OK)
            VLY_TRY(output_apart(path, info.path, "a plugin", error));
    }
out:
    return status;
}

static vly_status save(const vly_registry *registry, const char *path,
                       vly_error *error)
{
    json_writer json;
    size_t n_text = 0;
    vly_status apart = check_apart(registry, path, error);
    if (apart != VLY_OK)
        return apart;
    json_init(&json, true);
    json_object(&json, NULL);
    json_array(&json, "plugins");
    for (uint32_t i = 0; i < vly_registry_count(registry); i++) {
        vly_plugin_info info = {.struct_size = sizeof info};
        if (vly_registry_info(registry, i, &info) == VLY_OK)
            put_plugin(registry, &info, &json);
    }
    json_array_end(&json);
    json_object_end(&json);
    const char *text = json_finish(&json, &n_text);
    vly_status status = text ? vly_writer_save(path, text, n_text, error)
                             : vly_fail_nomem(error, json.capacity, "JSON");
    json_deinit(&json);
    return status;
}

static int run(const tool_args *args)
{
    vly_error error = VLY_ERROR_INIT;
    vly_registry *registry = NULL;
    if (tool_registry_create(&registry, &error) != VLY_OK)
        return tool_fail(&error);
    const char *path = tool_text(args, "json");
    uint32_t n = vly_registry_count(registry);
    if (path)
        save(registry, path, &error);
    for (uint32_t i = 0; !path && i < n; i++) {
        vly_plugin_info info = {.struct_size = sizeof info};
        if (vly_registry_info(registry, i, &info) == VLY_OK)
            print_plugin(registry, &info);
    }
    if (n == 0)
        tool_message("no plugin found; VOLLEY_PLUGIN_PATH names folders to "
                     "search");
    vly_registry_destroy(registry);
    return error.status != VLY_OK ? tool_fail(&error) : TOOL_EXIT_DONE;
}

const tool_command cmd_plugins = {
    .name = "plugins",
    .arguments = "[--json FILE]",
    .summary = "Lists plugins, their devices, and why one cannot be used.",
    .details = "Searches the folders of VOLLEY_PLUGIN_PATH (separated by "
               "colons), lib beside the\n"
               "command, and the installed folder; never the working "
               "folder.\n",
    .options = options,
    .n_positional_min = 0,
    .n_positional_max = 0,
    .run = run};

/* SPDX-License-Identifier: Apache-2.0
 * The plugins of this process: found, checked, started, with the reasons of
 * failures.
 *
 * An entry passes the steps read, load, check, duplicate, and, when it is first
 * requested or listed, start, interfaces. The first step that fails stores its
 * message in the entry, which stays listed. A failing plugin does not make
 * these functions fail; only memory can run out.
 *
 * Plugins are started late, since starting opens drivers: a Vulkan instance
 * costs 40 ms, which a run on the processors does not need.
 */
#include "plugin/registry_parts.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <volley/attention.h>
#include <volley/gemm.h>
#include <volley/rwkv.h>
#include <volley/telemetry.h>
#include <volley/wkv.h>

#include "base/error.h"
#include "base/memory.h"
#include "plugin/plugin_check.h"
#include "plugin/plugin_search.h"

/* Interfaces that are queried to list a plugin. Others are found by name. */
static const char *const known_interfaces[] = {
    VLY_BACKEND_INTERFACE,   VLY_GEMM_INTERFACE,     VLY_ATTENTION_INTERFACE,
    VLY_WKV_INTERFACE,       VLY_RWKV_INTERFACE,     VLY_MEMORY_INTERFACE,
    VLY_TELEMETRY_INTERFACE, VLY_EXCHANGE_INTERFACE,
};
#define N_KNOWN (sizeof(known_interfaces) / sizeof(known_interfaces[0]))

/* ---- one plugin ------------------------------------------------------- */

registry_entry *vly_registry_listed(const vly_registry *registry,
                                    const char *id)
{
    for (uint32_t i = 0; i < registry->count; i++)
        if (strcmp(registry->entries[i]->id, id) == 0)
            return registry->entries[i];
    return NULL;
}

/* The first one is used even if its init failed: otherwise "cuda" would be
 * another file on a machine without a driver. */
static vly_status duplicate_check(const vly_registry *registry, const char *id,
                                  vly_error *error)
{
    const registry_entry *first = vly_registry_listed(registry, id);
    if (!first)
        return VLY_OK;
    return vly_fail(error, VLY_E_ABI, "the id %s is taken by %s", id,
                    first->path);
}

/* What a plugin of this minor cannot know. */
static void limit_to_minor(vly_backend *backend, uint32_t minor)
{
    if (minor < 4)
        backend->flags |= VLY_BACKEND_NO_SHIFTS;
    if (minor < 5)
        backend->flags &= ~(uint32_t)VLY_BACKEND_LEARNS;
    if (minor < 6) {
        backend->flags |= VLY_BACKEND_NO_WINDOWS;
        backend->flags &=
            ~(uint32_t)(VLY_BACKEND_SHORT_TERM | VLY_BACKEND_MODULATES);
    }
    if (minor < 7)
        backend->flags &= ~(uint32_t)VLY_BACKEND_PROGRAMS;
    if (minor < 8)
        backend->flags &= ~(uint32_t)VLY_BACKEND_RANKS;
    if (minor < 9)
        backend->prepare = NULL;
    if (minor < 10)
        backend->flags |= VLY_BACKEND_ALL_WEIGHTS;
}

static vly_status interfaces_ask(registry_entry *entry)
{
    vly_status status = VLY_OK;
    size_t used = 0;
    for (size_t i = 0; i < N_KNOWN; i++) {
        const void *table = entry->plugin.get_interface(known_interfaces[i]);
        if (!table)
            continue;
        if (strcmp(known_interfaces[i], VLY_BACKEND_INTERFACE) == 0) {
            VLY_TRY(vly_backend_check(table, &entry->backend, &entry->failure));
            limit_to_minor(&entry->backend, vly_registry_minor(entry));
        }
        if (strcmp(known_interfaces[i], VLY_EXCHANGE_INTERFACE) == 0)
            VLY_TRY(
                vly_exchange_check(table, &entry->exchange, &entry->failure));
        used += (size_t)snprintf(entry->interfaces + used,
                                 sizeof(entry->interfaces) - used, "%s%s",
                                 used ? " " : "", known_interfaces[i]);
    }
    if (used > 0)
        return VLY_OK;
    status = vly_fail(&entry->failure, VLY_E_ABI,
                      "get_interface gives NULL for every interface of this "
                      "engine (%s, ...)",
                      VLY_BACKEND_INTERFACE);
out:
    return status;
}

static void entry_stop(registry_entry *entry)
{
    if (entry->started)
        vly_plugin_stop(&entry->plugin, entry->symbol);
    entry->started = false;
}

static void entry_log(const registry_entry *entry)
{
    if (entry->failure.status != VLY_OK)
        vly_log_write(VLY_LOG_INFO, "volley", "plugin %s: %s", entry->path,
                      entry->failure.message);
}

/* Fills entry->failure if something is wrong. */
static void entry_load(const vly_registry *registry, registry_entry *entry)
{
    vly_error *error = &entry->failure;
    if (vly_plugin_file_open(entry->path, &entry->file, error) == VLY_OK &&
        vly_plugin_file_load(entry->path, &entry->symbol, error) == VLY_OK &&
        vly_plugin_check(entry->symbol, &entry->plugin, error) == VLY_OK &&
        duplicate_check(registry, entry->plugin.id, error) == VLY_OK)
        memcpy(entry->id, entry->plugin.id, strlen(entry->plugin.id) + 1);
    entry_log(entry);
}

bool vly_registry_start(registry_entry *entry)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (!entry->tried && entry->failure.status == VLY_OK) {
        vly_forks_exempt(1); /* a thread that prepares may wait for the lock */
        vly_status status =
            vly_plugin_start(&entry->plugin, entry->symbol, &entry->failure);
        vly_forks_exempt(-1);
        entry->started = status == VLY_OK;
        if (status == VLY_OK && interfaces_ask(entry) != VLY_OK)
            entry_stop(entry);
        entry_log(entry);
    }
    entry->tried = true;
    bool usable = entry->failure.status == VLY_OK;
    pthread_mutex_unlock(&lock);
    return usable;
}

static void entry_destroy(registry_entry *entry)
{
    if (!entry)
        return;
    entry_stop(entry);
    vly_plugin_file_close(&entry->file);
    vly_free(entry->path);
    vly_free(entry);
}

/* ---- the list --------------------------------------------------------- */

static vly_status registry_reserve(vly_registry *registry, vly_error *error)
{
    if (registry->count < registry->capacity)
        return VLY_OK;
    uint32_t capacity = registry->capacity ? registry->capacity * 2 : 8;
    registry_entry **entries =
        vly_realloc(registry->entries, capacity, sizeof(registry->entries[0]));
    if (!entries)
        return vly_fail_nomem(error, capacity * sizeof(registry->entries[0]),
                              "list of plugins");
    registry->entries = entries;
    registry->capacity = capacity;
    return VLY_OK;
}

static vly_status entry_new(vly_registry *registry, const char *path,
                            registry_entry **entry, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(registry_reserve(registry, error));
    registry_entry *made = vly_calloc(1, sizeof(*made));
    char *copy = vly_strdup(path);
    if (!made || !copy) {
        vly_free(made);
        vly_free(copy);
        return vly_fail_nomem(error, sizeof(*made) + strlen(path) + 1,
                              "list of plugins");
    }
    made->path = copy;
    made->failure.struct_size = sizeof(made->failure);
    *entry = made;
out:
    return status;
}

/* By inode, as dlopen does it. The inode of a file that was never loaded may be
 * reused, so then the path must be the same too. */
static registry_entry *same_file(const vly_registry *registry, const char *path,
                                 const struct stat *about)
{
    for (uint32_t i = 0; i < registry->count; i++) {
        registry_entry *entry = registry->entries[i];
        if (entry->has_inode && entry->device == about->st_dev &&
            entry->inode == about->st_ino &&
            (entry->symbol || strcmp(entry->path, path) == 0))
            return entry;
    }
    return NULL;
}

/* Adds one file to the list, or finds it there. */
static vly_status file_add(vly_registry *registry, const char *path,
                           registry_entry **listed, vly_error *error)
{
    struct stat about;
    bool exists = stat(path, &about) == 0;
    *listed = exists ? same_file(registry, path, &about) : NULL;
    if (*listed)
        return VLY_OK;
    registry_entry *entry = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(entry_new(registry, path, &entry, error));
    if (exists) {
        entry->device = about.st_dev;
        entry->inode = about.st_ino;
        entry->has_inode = true;
    }
    entry_load(registry, entry);
    registry->entries[registry->count++] = entry;
    *listed = entry;
out:
    return status;
}

typedef struct search_state {
    vly_registry *registry;
    vly_error *error;
} search_state;

static vly_status search_found(void *arg, const char *path, vly_status status,
                               const char *reason)
{
    const search_state *state = arg;
    registry_entry *listed = NULL;
    if (!reason)
        return file_add(state->registry, path, &listed, state->error);
    registry_entry *entry = NULL;
    vly_status made = entry_new(state->registry, path, &entry, state->error);
    if (made != VLY_OK)
        return made;
    vly_fail(&entry->failure, status, "%s", reason);
    state->registry->entries[state->registry->count++] = entry;
    vly_log_write(VLY_LOG_WARN, "volley", "%s: %s", path, reason);
    return VLY_OK;
}

vly_status vly_registry_create_from(const vly_plugin_places *places,
                                    vly_registry **registry, vly_error *error)
{
    registry_entry *listed = NULL;
    vly_status status = VLY_OK;
    if (!places || !registry || places->struct_size < sizeof(*places))
        return vly_fail(error, VLY_E_INVALID,
                        "vly_registry_create_from: an argument is NULL, or "
                        "struct_size is too small");
    vly_registry *made = vly_calloc(1, sizeof(*made));
    if (!made)
        return vly_fail_nomem(error, sizeof(*made), "list of plugins");
    search_state state = {.registry = made, .error = error};
    if (places->first)
        VLY_TRY(file_add(made, places->first, &listed, error));
    if (!places->only)
        VLY_TRY(vly_plugin_search(places->beside, search_found, &state, error));
out:
    if (status == VLY_OK)
        *registry = made;
    else
        vly_registry_destroy(made);
    return status;
}

vly_status vly_registry_create(vly_registry **registry, vly_error *error)
{
    const vly_plugin_places places = {.struct_size = sizeof places};
    return vly_registry_create_from(&places, registry, error);
}

void vly_registry_destroy(vly_registry *registry)
{
    if (!registry)
        return;
    for (uint32_t i = registry->count; i-- > 0;)
        entry_destroy(registry->entries[i]);
    vly_free(registry->entries);
    vly_free(registry);
}

vly_status vly_registry_add(vly_registry *registry, const char *path,
                            vly_error *error)
{
    registry_entry *listed = NULL;
    if (!registry || !path || !*path)
        return vly_fail(error, VLY_E_INVALID,
                        "plugin: no path, wanted that of a file");
    /* dlopen looks for a name without a slash in the system's folders; the
     * caller means a file. realpath fails if there is none; that is reported
     * below. */
    char absolute[PATH_MAX];
    if (path[0] != '/' && realpath(path, absolute))
        path = absolute;
    vly_status status = file_add(registry, path, &listed, error);
    if (status == VLY_OK && !vly_registry_start(listed))
        status = vly_fail(error, listed->failure.status, "%s: %s", path,
                          listed->failure.message);
    return status;
}

uint32_t vly_registry_count(const vly_registry *registry)
{
    return registry ? registry->count : 0;
}

vly_status vly_registry_info(const vly_registry *registry, uint32_t index,
                             vly_plugin_info *info)
{
    if (registry && index < registry->count)
        vly_registry_start(
            registry->entries[index]); /* usable? shows only then */
    return vly_registry_file(registry, index, info);
}

const char *vly_registry_id(const vly_registry *registry, uint32_t index)
{
    const char *id = registry->entries[index]->plugin.id;
    return id ? id : "";
}

/* 0 if it is not known */
static vly_hash entry_hash(registry_entry *entry)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    vly_hash hash = {{0, 0}};
    vly_error why = VLY_ERROR_INIT;
    pthread_mutex_lock(&lock);
    vly_status status = vly_plugin_file_hash(&entry->file, &hash, &why);
    pthread_mutex_unlock(&lock);
    if (status != VLY_OK)
        vly_log_write(VLY_LOG_WARN, "volley", "plugin %s: %s", entry->path,
                      why.message);
    return hash;
}

vly_status vly_registry_file(const vly_registry *registry, uint32_t index,
                             vly_plugin_info *info)
{
    if (!registry || index >= registry->count)
        return VLY_E_INVALID;
    registry_entry *entry = registry->entries[index];
    const vly_hash hash = entry_hash(entry);
    const char *version = entry->plugin.version;
    const char *build = entry->plugin.build;
    vly_plugin_info full = {
        .status = entry->failure.status,
        .id = vly_registry_id(registry, index),
        .path = entry->path,
        .version = version ? version : "",
        .build = build ? build : "",
        .reason = entry->failure.message,
        .interfaces = entry->interfaces,
        .hash = {hash.lane[0], hash.lane[1]},
    };
    return vly_struct_fill(info, &full, sizeof(full));
}

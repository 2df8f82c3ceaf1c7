/* SPDX-License-Identifier: Apache-2.0
 * Declarations shared by the files of the registry: registry.c has the list,
 * registry_find.c the queries, prepare.c starts a plugin early.
 */
#ifndef VOLLEY_PLUGIN_REGISTRY_PARTS_H
#define VOLLEY_PLUGIN_REGISTRY_PARTS_H

#include <stdbool.h>
#include <sys/types.h>

#include "plugin/loader.h"
#include "plugin/registry.h"

typedef struct registry_entry {
    vly_error failure; /* status VLY_OK: usable */
    char *path;
    const void *symbol; /* vly_plugin_entry; NULL if it could not be loaded */
    vly_plugin plugin;
    vly_backend backend;   /* struct_size 0: it offers none */
    vly_exchange exchange; /* the same */
    char id[32];
    char interfaces[160];
    vly_plugin_file file; /* for its hash */
    dev_t device;         /* with inode: is it the same file? */
    ino_t inode;
    bool has_inode;
    bool tried; /* to start it; nothing changes any more */
    bool started;
} registry_entry;

struct vly_registry {
    registry_entry **entries;
    uint32_t count;
    uint32_t capacity;
    vly_registry_wrap_fn wrap; /* NULL: tables are given as they are */
    void *wrap_arg;
};

/* The plugin with this id, even if it cannot be used. A second plugin with the
 * same id was refused and is not found. */
registry_entry *vly_registry_listed(const vly_registry *registry,
                                    const char *id);

/* +1: from now on forks of the calling thread do not wait for threads that
 * prepare (prepare.c), because a driver that starts may fork; -1: they wait
 * again. */
void vly_forks_exempt(int by);

/* The minor version of the ABI that it was built for. */
static inline uint32_t vly_registry_minor(const registry_entry *entry)
{
    return entry->plugin.abi_version & 0xffffu;
}

/* true: it can be used. Nets of two threads may share a registry. */
bool vly_registry_start(registry_entry *entry);

#endif

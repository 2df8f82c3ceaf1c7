/* SPDX-License-Identifier: Apache-2.0
 * The engine's interface of the registry. vly_registry_create and other
 * functions for users are declared in volley.h.
 */
#ifndef VOLLEY_PLUGIN_REGISTRY_H
#define VOLLEY_PLUGIN_REGISTRY_H

#include <stdbool.h>

#include <volley/exchange.h>
#include <volley/volley.h>

#include "plugin/backend_spec.h"
#include "plugin/host_log.h"
#include "plugin/host_table.h"

/* Where the plugins of a registry come from. */
typedef struct vly_plugin_places {
    /* A file that the user named by its absolute path; NULL: none. It comes
     * before all others, and its permissions are not checked. */
    const char *first;
    bool only; /* nothing but that file */
    /* as in vly_plugin_search; NULL: of libvolley */
    const char *const *beside;
} vly_plugin_places;

/* vly_registry_create, which is this with all of it 0. If `first` cannot be
 * loaded, that is not an error: it is listed with the reason. */
vly_status vly_registry_create_from(const vly_plugin_places *places,
                                    vly_registry **registry, vly_error *error);

/* Id of plugin `index`, which is less than their number, usable or not; "" if
 * its file is no plugin. Starts no plugin and reads no file. */
const char *vly_registry_id(const vly_registry *registry, uint32_t index);

/* Like vly_registry_info, but starts no plugin: for a plugin that has not been
 * requested yet, status and reason only tell whether its file is a plugin. */
vly_status vly_registry_file(const vly_registry *registry, uint32_t index,
                             vly_plugin_info *info);

/* Internal flag in the engine's copy of a table: the plugin was built before
 * 1.4 and would take every shift for 0. */
#define VLY_BACKEND_NO_SHIFTS (UINT32_C(1) << 31)
/* The same of a plugin built before 1.6, which knows no rule of windows. */
#define VLY_BACKEND_NO_WINDOWS (UINT32_C(1) << 30)

/* Id of plugin n in the order of "auto", or NULL if there are fewer. Starts no
 * plugin. [main-thread] */
const char *vly_registry_auto(const vly_registry *registry, uint32_t n);

/* The plugin's volley.backend/1 in the engine's own layout: every required slot
 * is set, optional slots that the plugin does not have are NULL. Valid until
 * the registry is destroyed.
 *
 * Errors   VLY_E_UNSUPPORTED  no such plugin, not a backend, or it cannot be
 *                             used: with its reason and a list of the usable
 *                             ones
 *          VLY_E_NOMEM        the same, if memory is the reason
 * Thread   [main-thread]
 */
vly_status vly_registry_backend(const vly_registry *registry, const char *id,
                                const vly_backend **backend, vly_error *error);

/* vly_registry_backend, and the device that spec requests
 * (vly_backend_spec_device). */
vly_status vly_registry_device(const vly_registry *registry,
                               const vly_backend_spec *spec, uint32_t n_threads,
                               const vly_backend **backend,
                               vly_device_spec *device, vly_error *error);

/* The plugin's volley.exchange/1 ("shm", "mpi"), with all functions. Valid
 * until the registry is destroyed. Errors and thread as vly_registry_backend.
 */
vly_status vly_registry_exchange(const vly_registry *registry, const char *id,
                                 const vly_exchange **exchange,
                                 vly_error *error);

/* The result of the table's `supports`, or an error if its plugin is too old.
 */
vly_status vly_backend_supports(const vly_backend *table,
                                const vly_net_desc *desc, vly_error *why);

/* From now on each call of vly_registry_backend returns the table that wrap
 * makes of a plugin's table; *wrapped is the original table on entry. Tables
 * that were returned before are unchanged. wrap NULL: stops wrapping.
 *
 * Errors   those of wrap are those of vly_registry_backend
 * Thread   [main-thread] before nets are made
 */
typedef vly_status (*vly_registry_wrap_fn)(void *arg, const char *id,
                                           const vly_backend *table,
                                           const vly_backend **wrapped,
                                           vly_error *error);
void vly_registry_wrap(vly_registry *registry, vly_registry_wrap_fn wrap,
                       void *arg);

#endif

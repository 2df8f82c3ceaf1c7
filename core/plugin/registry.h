/* SPDX-License-Identifier: Apache-2.0
 * The registry as the engine sees it. vly_registry_create and what else users
 * call is declared in volley.h.
 */
#ifndef VOLLEY_PLUGIN_REGISTRY_H
#define VOLLEY_PLUGIN_REGISTRY_H

#include <stdbool.h>

#include <volley/volley.h>

#include "plugin/backend_spec.h"
#include "plugin/host_log.h"
#include "plugin/host_table.h"

/* Where the plugins of a registry come from. */
typedef struct vly_plugin_places {
    /* A file that somebody asked for by its path, absolute; NULL: none. It
     * comes before all others and is not asked who else may write there. */
    const char *first;
    bool only; /* nothing but that file */
    /* as in vly_plugin_search; NULL: of libvolley */
    const char *const *beside;
} vly_plugin_places;

/* vly_registry_create, which is this with all of it 0. That first cannot be
 * loaded is no error here: it is listed with the reason. */
vly_status vly_registry_create_from(const vly_plugin_places *places,
                                    vly_registry **registry, vly_error *error);

/* As vly_registry_info, but starts nothing: of a plugin that nobody has asked
 * for yet status and reason say only whether its file is one. */
vly_status vly_registry_file(const vly_registry *registry, uint32_t index,
                             vly_plugin_info *info);

/* Of the engine alone, in the flags of its copy of a table: the plugin was
 * built before 1.4 and would take every shift for 0. */
#define VLY_BACKEND_NO_SHIFTS (UINT32_C(1) << 31)

/* Id of plugin n in the order in which the backend "auto" tries them, or NULL:
 * there are not so many. Starts no plugin. [main-thread] */
const char *vly_registry_auto(const vly_registry *registry, uint32_t n);

/* The plugin's volley.backend/1 in the engine's own layout: every required
 * slot is set, optional slots that the plugin does not have are NULL. Valid
 * until the registry is destroyed.
 *
 * Errors   VLY_E_UNSUPPORTED  no such plugin, no backend, or it cannot be
 *                             used: with its reason and a list of the usable
 *          VLY_E_NOMEM        the same, where memory is the reason
 * Thread   [main-thread]
 */
vly_status vly_registry_backend(const vly_registry *registry, const char *id,
                                const vly_backend **backend, vly_error *error);

/* vly_registry_backend, and the device that spec asks of it
 * (vly_backend_spec_device). */
vly_status vly_registry_device(const vly_registry *registry,
                               const vly_backend_spec *spec, uint32_t n_threads,
                               const vly_backend **backend,
                               vly_device_spec *device, vly_error *error);

/* What the table's `supports` says, or that its plugin is too old to be asked.
 */
vly_status vly_backend_supports(const vly_backend *table,
                                const vly_net_desc *desc, vly_error *why);

/* From now on vly_registry_backend gives what wrap makes of a plugin's table,
 * each time that it is asked; *wrapped is the table itself before. Tables that
 * were given out before stay as they are. wrap NULL: no longer.
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

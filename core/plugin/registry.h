/* SPDX-License-Identifier: Apache-2.0
 * The engine's interface of the registry. vly_registry_create and other
 * functions for users are declared in volley.h and host.h.
 */
#ifndef VOLLEY_PLUGIN_REGISTRY_H
#define VOLLEY_PLUGIN_REGISTRY_H

#include <stdbool.h>

#include <volley/exchange.h>
#include <volley/host.h>

#include "plugin/backend_spec.h"
#include "plugin/host_log.h"
#include "plugin/host_table.h"

/* Internal flag in the engine's copy of a table: the plugin was built before
 * 1.4 and would take every shift for 0. */
#define VLY_BACKEND_NO_SHIFTS (UINT32_C(1) << 31)
/* The same of a plugin built before 1.6, which knows no rule of windows. */
#define VLY_BACKEND_NO_WINDOWS (UINT32_C(1) << 30)
/* The same of a plugin built before 1.10, which reads a weight of every synapse
 * (all_weights.h). */
#define VLY_BACKEND_ALL_WEIGHTS (UINT32_C(1) << 29)

/* Id of plugin n in the order of "auto", or NULL if there are fewer. Starts no
 * plugin. [main-thread] */
const char *vly_registry_auto(const vly_registry *registry, uint32_t n);

/* vly_registry_backend, and the device that spec requests
 * (vly_backend_spec_device). */
vly_status vly_registry_device(const vly_registry *registry,
                               const vly_backend_spec *spec, uint32_t n_threads,
                               const vly_backend **backend,
                               vly_device_spec *device, vly_error *error);

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

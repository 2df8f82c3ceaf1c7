/* SPDX-License-Identifier: Apache-2.0
 * volley.telemetry/1 of a plugin in our own layout.
 */
#ifndef VOLLEY_ACCELERATOR_TELEMETRY_SOURCE_H
#define VOLLEY_ACCELERATOR_TELEMETRY_SOURCE_H

#include <volley/telemetry.h>

#include "plugin/registry.h"

/* More are refused. */
enum { VLY_TELEMETRY_METRICS_MAX = 1024 };

/* Size, required functions, and metrics: names, labels, kinds, no duplicates.
 * [any-thread]
 * Errors   VLY_E_ABI with the error; *out untouched
 */
vly_status vly_telemetry_check(const void *table, vly_telemetry_source *out,
                               vly_error *error);
/* The table of the plugin with this id. [main-thread]
 * Errors   VLY_E_UNSUPPORTED  no such plugin, or it cannot be used: its reason
 *          VLY_E_ABI          the table does not fit
 */
vly_status vly_telemetry_find(const vly_registry *registry, const char *id,
                              vly_telemetry_source *out, vly_error *error);
/* Metric `index` by the plugin's stride. */
const vly_telemetry_metric *
vly_telemetry_metric_at(const vly_telemetry_source *table, uint32_t index);

#endif

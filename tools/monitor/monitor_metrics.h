/* SPDX-License-Identifier: Apache-2.0
 * What the monitor of a run did, as metrics of Prometheus. Part of run_monitor.
 */
#ifndef VOLLEY_TOOLS_MONITOR_METRICS_H
#define VOLLEY_TOOLS_MONITOR_METRICS_H

#include <stdbool.h>

#include "tools/monitor/run_monitor_figures.h"

/* Lines of a page, volley_monitor_*. watches: a model is watching now. NULL:
 * memory ran out. The caller frees it (vly_free). */
char *monitor_metrics(const run_monitor_figures *figures, bool watches);

#endif

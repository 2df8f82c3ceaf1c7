/* SPDX-License-Identifier: Apache-2.0
 * What the monitor of a run did, as metrics of Prometheus. Part of run_monitor.
 */
#ifndef VOLLEY_TOOLS_MONITOR_METRICS_H
#define VOLLEY_TOOLS_MONITOR_METRICS_H

#include <stdbool.h>

#include "monitor/gate.h"
#include "monitor/watcher.h"

/* watches: a model does, now; seconds: that it has so far. */
typedef struct monitor_figures {
    bool watches;
    double seconds;
    vly_watcher_figures watched;
    vly_gate_usage usage;
} monitor_figures;

/* Lines of a page, volley_monitor_*. NULL: no memory. The caller frees it
 * (vly_free). */
char *monitor_metrics(const monitor_figures *figures);

#endif

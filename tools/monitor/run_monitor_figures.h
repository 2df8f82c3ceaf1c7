/* SPDX-License-Identifier: Apache-2.0
 * What the monitor of a run did: as members of JSON, as lines for people. Part
 * of run_monitor.
 */
#ifndef VOLLEY_TOOLS_RUN_MONITOR_FIGURES_H
#define VOLLEY_TOOLS_RUN_MONITOR_FIGURES_H

#include <stdbool.h>
#include <stddef.h>

#include "monitor/gate.h"
#include "monitor/watcher.h"
#include "tools/cli/json_writer.h"

/* seconds: watched so far; every_ms: between two samples. */
typedef struct run_monitor_figures {
    vly_watcher_figures watched;
    vly_gate_usage usage;
    double seconds;
    double every_ms;
} run_monitor_figures;

/* Share of time used by the model. */
double run_monitor_share(const run_monitor_figures *figures);
/* For a run in which the model judged no record: the reason, and settings that
 * would have been enough, as a sentence. false: it judged records. */
bool run_monitor_unjudged(const run_monitor_figures *figures, char *text,
                          size_t capacity);
/* Members, except those that are written elsewhere (model, device). */
void run_monitor_figures_json(const run_monitor_figures *figures,
                              json_writer *json);
void run_monitor_figures_print(const run_monitor_figures *figures,
                               const char *device);

#endif

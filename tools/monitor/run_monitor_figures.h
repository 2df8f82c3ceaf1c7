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

/* Share of the time that the model took. */
double run_monitor_share(const run_monitor_figures *figures);
/* A run in which the model could judge nothing: why, and what would have been
 * enough, in a sentence. false: it could. */
bool run_monitor_unjudged(const run_monitor_figures *figures, char *text,
                          size_t capacity);
/* Members, none of which says what is told elsewhere (model, device). */
void run_monitor_figures_json(const run_monitor_figures *figures,
                              json_writer *json);
void run_monitor_figures_print(const run_monitor_figures *figures,
                               const char *device);

#endif

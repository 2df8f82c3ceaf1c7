/* SPDX-License-Identifier: Apache-2.0
 * The rules of a run that is watched (facts.h). They read the ring themselves,
 * sample by sample, also the samples that the model skips or cannot judge yet.
 * They do not need the gate: a sample costs as much as summing its areas.
 */
#ifndef VOLLEY_MONITOR_WATCHER_RULES_H
#define VOLLEY_MONITOR_WATCHER_RULES_H

#include "monitor/watcher.h"

typedef struct vly_watcher_rules vly_watcher_rules;

/* What options point to lives until destroy. Errors  E_NOMEM */
vly_status vly_watcher_rules_create(const vly_watcher_options *options,
                                    double threshold, vly_watcher_rules **rules,
                                    vly_error *error);
void vly_watcher_rules_destroy(vly_watcher_rules *rules); /* NULL is legal */

/* Checks new samples in the ring and reports through on_anomaly. One thread at
 * a time. */
void vly_watcher_rules_look(vly_watcher_rules *rules);
/* Samples read, samples compared with the previous one, and facts reported so
 * far. One thread at a time. */
uint64_t vly_watcher_rules_samples(const vly_watcher_rules *rules);
uint64_t vly_watcher_rules_checked(const vly_watcher_rules *rules);
uint64_t vly_watcher_rules_told(const vly_watcher_rules *rules);

#endif

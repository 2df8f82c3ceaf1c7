/* SPDX-License-Identifier: Apache-2.0
 * The rules of a run that is watched (facts.h). They read the ring by
 * themselves, sample by sample: whatever the model skips because it is behind,
 * has no time for or cannot judge yet, they have looked at. They are not what
 * the gate is for: a sample costs as much as adding up its areas.
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

/* Looks at what is new in the ring, and tells by on_anomaly. One thread at a
 * time. */
void vly_watcher_rules_look(vly_watcher_rules *rules);
/* Samples read, those that were held against the one before them, and facts
 * told so far. As above. */
uint64_t vly_watcher_rules_samples(const vly_watcher_rules *rules);
uint64_t vly_watcher_rules_checked(const vly_watcher_rules *rules);
uint64_t vly_watcher_rules_told(const vly_watcher_rules *rules);

#endif

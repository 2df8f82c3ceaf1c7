/* SPDX-License-Identifier: Apache-2.0
 * Spikes of a run, written to a file by a thread of their own.
 */
#ifndef VOLLEY_TOOLS_RUN_RECORD_H
#define VOLLEY_TOOLS_RUN_RECORD_H

#include "record/spike_csv.h"

typedef struct run_record run_record;

/* csv is the thread's until close, and stays the caller's. Errors E_NOMEM */
vly_status run_record_open(vly_spike_csv *csv, run_record **record,
                           vly_error *error);
/* Bursts ascend. Errors  those of writing, some bursts late; E_NOMEM */
vly_status run_record_add(run_record *record, uint64_t burst,
                          const uint32_t *ids, uint32_t n_ids,
                          vly_error *error);
/* Marks what was added so far; the burst loop goes on. One mark at a time: the
 * next one once marked has returned. Errors  as add */
vly_status run_record_mark(run_record *record, vly_error *error);
/* Waits until all up to the mark is in the file; *place is behind it.
 * [any-thread] Errors  those of writing */
vly_status run_record_marked(run_record *record, vly_spike_place *place,
                             vly_error *error);
/* Back to a place that marked has told; what came later is cut off.
 * Errors  those of writing */
vly_status run_record_rewind(run_record *record, const vly_spike_place *place,
                             vly_error *error);
/* Waits until all is written. record is gone, also on failure. NULL is legal.
 * Errors  those of writing that add has not returned, or has */
vly_status run_record_close(run_record *record, vly_error *error);

#endif

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
/* Waits until all is written. record is gone, also on failure. NULL is legal.
 * Errors  those of writing that add has not returned, or has */
vly_status run_record_close(run_record *record, vly_error *error);

#endif

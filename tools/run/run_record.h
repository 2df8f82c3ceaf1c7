/* SPDX-License-Identifier: Apache-2.0
 * Spikes and samples of a run on their way to a file and to statistics, by a
 * thread of their own. The run waits for it only where its memory is used up,
 * and what it waited is told.
 */
#ifndef VOLLEY_TOOLS_RUN_RECORD_H
#define VOLLEY_TOOLS_RUN_RECORD_H

#include "record/spike_csv.h"
#include "record/spike_stats.h"
#include "record/stream.h"

/* Memory between the run and the thread, if nothing else is asked for. */
#define RUN_RECORD_MEMORY (UINT64_C(1) << 30)

typedef struct run_record run_record;

/* Where things go; each may be NULL. */
typedef struct run_sink {
    vly_spike_csv *csv;
    vly_stream *stream;
    vly_spike_stats *stats; /* of all spikes, whatever is recorded */
    const uint8_t *mask;    /* a bit a neuron: others are not written */
} run_sink;

/* What it cost. */
typedef struct run_record_load {
    uint64_t n_waits;    /* times that the run waited for the thread */
    uint64_t waited_ns;  /* in all */
    uint64_t bytes_most; /* of what was on its way at once */
} run_record_load;

/* What sink names is the thread's until close, and stays the caller's.
 * memory_bytes  the run waits where more would be on its way, or where no
 *               memory is to be had; two blocks are always there
 * Errors        E_NOMEM */
vly_status run_record_open(const run_sink *sink, uint64_t memory_bytes,
                           run_record **record, vly_error *error);
/* Bursts ascend. Errors  those of writing, some bursts late; E_NOMEM */
vly_status run_record_add(run_record *record, uint64_t burst,
                          const uint32_t *ids, uint32_t n_ids,
                          vly_error *error);
/* A frame of the stream, when n_bursts are done. Errors  as add */
vly_status run_record_frame(run_record *record, uint64_t n_bursts,
                            uint32_t report, const uint32_t *words, uint32_t n,
                            vly_error *error);
/* Between two calls of vly_net_run: once a second all so far goes to the file,
 * so that a run that is killed loses no more. Errors  as add */
vly_status run_record_tick(run_record *record, vly_error *error);
/* Marks what was added so far; the burst loop goes on. One mark at a time: the
 * next one once marked has returned. Errors  as add */
vly_status run_record_mark(run_record *record, vly_error *error);
/* Waits until all up to the mark is in the file; *place is behind it.
 * [any-thread] Errors  those of writing */
vly_status run_record_marked(run_record *record, vly_spike_place *place,
                             vly_error *error);
/* Waits until the thread has nothing to do: until more is added, what it writes
 * to is the caller's. Errors  those of writing */
vly_status run_record_drain(run_record *record, vly_error *error);
/* Back to a place that marked has told; what came later is cut off, and the
 * statistics begin again at this burst. place is not read without a file.
 * Errors  those of writing */
vly_status run_record_rewind(run_record *record, const vly_spike_place *place,
                             uint64_t burst, vly_error *error);
/* [main-thread] any time before close */
void run_record_get_load(run_record *record, run_record_load *load);
/* Waits until all is written; a stream gets its last block, with this number of
 * bursts. record is gone, also on failure. NULL is legal.
 * Errors  those of writing that add has not returned, or has */
vly_status run_record_close(run_record *record, uint64_t n_bursts,
                            vly_error *error);

#endif

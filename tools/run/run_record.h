/* SPDX-License-Identifier: Apache-2.0
 * Spikes and samples of a run on their way to a file and to statistics, by a
 * thread of their own. The run waits for it only where its memory is used up,
 * and the summary has how long it waited.
 */
#ifndef VOLLEY_TOOLS_RUN_RECORD_H
#define VOLLEY_TOOLS_RUN_RECORD_H

#include <volley/record.h>

#include "record/spike_csv.h"
#include "record/stream.h"

/* Default memory between the run and the thread. */
#define RUN_RECORD_MEMORY (UINT64_C(1) << 30)

typedef struct run_record run_record;

/* Destinations; each may be NULL. */
typedef struct run_sink {
    vly_spike_csv *csv;
    vly_stream *stream;
    vly_spike_stats *stats;    /* of all spikes, whatever is recorded */
    const uint8_t *mask;       /* a bit a neuron: others are not written */
    const vly_genome *windows; /* its [[record]]s decide for each burst; NULL:
                                * none has a window */
} run_sink;

/* Leaves those of the ids, which ascend, that a [[record]] of spikes has in a
 * burst (run_window_keep.c); returns how many. */
uint32_t run_window_keep(const vly_genome *genome, uint64_t burst,
                         uint32_t *ids, uint32_t n_ids);

/* Cost of recording. */
typedef struct run_record_load {
    uint64_t n_waits;    /* times that the run waited for the thread */
    uint64_t waited_ns;  /* in all */
    uint64_t bytes_most; /* most bytes that were queued at once */
} run_record_load;

/* The thread uses the members of sink until close; the caller owns them.
 * memory_bytes limit of queued data: the run waits if more is queued or memory
 * runs out; two blocks always exist
 * Errors        E_NOMEM */
vly_status run_record_open(const run_sink *sink, uint64_t memory_bytes,
                           run_record **record, vly_error *error);
/* Bursts must ascend.
 * Errors  those of writing, some bursts late; E_NOMEM */
vly_status run_record_add(run_record *record, uint64_t burst,
                          const uint32_t *ids, uint32_t n_ids,
                          vly_error *error);
/* Adds a frame to the stream after n_bursts bursts.
 * Errors  as add */
vly_status run_record_frame(run_record *record, uint64_t n_bursts,
                            uint32_t report, const uint32_t *words, uint32_t n,
                            vly_error *error);
/* Called between two calls of vly_net_run: once a second everything so far is
 * written to the file, so that a killed run loses at most one second.
 * Errors  as add */
vly_status run_record_tick(run_record *record, vly_error *error);
/* Marks the data added so far; the burst loop continues. One mark at a time:
 * the next one only after run_record_marked has returned.
 * Errors  as add */
vly_status run_record_mark(run_record *record, vly_error *error);
/* Waits until all data up to the mark is in the file; *place is the position
 * after it. [any-thread]
 * Errors  those of writing */
vly_status run_record_marked(run_record *record, vly_spike_place *place,
                             vly_error *error);
/* Waits until the thread is idle: the caller may use the members of sink until
 * more is added.
 * Errors  those of writing */
vly_status run_record_drain(run_record *record, vly_error *error);
/* Returns to a position from run_record_marked: later data is cut off, and the
 * statistics restart at this burst. place is not read without a file.
 * Errors  those of writing */
vly_status run_record_rewind(run_record *record, const vly_spike_place *place,
                             uint64_t burst, vly_error *error);
/* [main-thread] any time before close */
void run_record_get_load(run_record *record, run_record_load *load);
/* Waits until all data is written; a stream gets its last block, with this
 * number of bursts. record is freed, also on failure. NULL is legal.
 * Errors  those of writing that add has not returned, or has */
vly_status run_record_close(run_record *record, uint64_t n_bursts,
                            vly_error *error);

#endif

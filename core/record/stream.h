/* SPDX-License-Identifier: Apache-2.0
 * The stream of a run: spikes and samples of fields, appended block by block,
 * each with a checksum that the next one continues. The stream of a killed run
 * is valid up to its last complete block. A block is one burst, so the bytes
 * depend only on the recorded data: not on threads, flushes, or where a run was
 * resumed. README.md has the layout.
 */
#ifndef VOLLEY_RECORD_STREAM_H
#define VOLLEY_RECORD_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/plugin.h>

#include "base/random.h"
#include "record/spike_csv.h"

#define VLY_STREAM_MAGIC "VOLLEYST"
#define VLY_STREAM_SUFFIX ".vls"

/* A field of neurons of one area, or their rate, sampled when a multiple of
 * `interval` bursts is done. */
typedef struct vly_stream_report {
    uint32_t record; /* [[record]] of fields or rates, from 1; several areas
                      * share one */
    uint32_t area;
    uint32_t type;           /* VLY_TYPE_* of the words */
    uint32_t n_neurons;      /* of the frame */
    const uint32_t *neurons; /* [n_neurons] ascending; NULL: 0, 1, ... */
    const char *field;
    const char *unit; /* "" none */
    uint64_t interval;
    bool mean; /* a frame is one word, the mean of the neurons */
} vly_stream_report;

typedef struct vly_stream_head {
    vly_hash genome_hash;
    vly_hash connectome_hash;
    vly_hash connectome_digest; /* 0 from a stream of version 1 */
    double dt_ms;
    uint64_t first_burst; /* recorded from here on */
    const vly_spike_area *areas;
    uint32_t n_areas;
    uint32_t n_reports;
    const vly_stream_report *reports;
    uint32_t purpose; /* vly_export_format of the intended export */
} vly_stream_head;

/* ---- writing ----------------------------------------------------------- */

typedef struct vly_stream vly_stream;

/* Opens path ("-" is standard output); the head goes out with the first blocks
 * or the first flush. A file is locked until close, so that no other process
 * repairs it meanwhile.
 * Errors  as vly_writer_open; E_IO another process writes it */
vly_status vly_stream_open(const char *path, const vly_stream_head *head,
                           vly_stream **stream, vly_error *error);
/* Continues after this place, which is the end of a block; later data is
 * truncated. A stream of an older version keeps it.
 * Errors  as vly_writer_resume; E_PARSE not the stream of this head, or
 *         damaged before that place.
 * Cost  one pass over the kept part */
vly_status vly_stream_resume(const char *path, const vly_stream_head *head,
                             const vly_spike_place *place, vly_stream **stream,
                             vly_error *error);
/* Writes all blocks so far to the file; *place is after them. */
vly_status vly_stream_flush(vly_stream *stream, vly_spike_place *place,
                            vly_error *error);
/* Back to a place of this stream. Errors  as vly_writer_rewind */
vly_status vly_stream_rewind(vly_stream *stream, const vly_spike_place *place,
                             vly_error *error);
/* ids [n_ids] ascending; those of areas that are not recorded are left out.
 * Errors  E_IO nothing more will be written; E_INVALID an id in no area;
 *         E_NOMEM */
vly_status vly_stream_spikes(vly_stream *stream, uint64_t burst,
                             const uint32_t *ids, uint32_t n_ids,
                             vly_error *error);
/* Words of a frame of the report. */
static inline uint32_t vly_stream_words(const vly_stream_report *report)
{
    return report->mean ? 1 : report->n_neurons;
}
/* words [of a frame of the report], when n_bursts are done.
 * Errors  as above */
vly_status vly_stream_frame(vly_stream *stream, uint64_t n_bursts,
                            uint32_t report, const uint32_t *words,
                            vly_error *error);
/* Writes the last block: the run has ended after this many bursts. */
vly_status vly_stream_end(vly_stream *stream, uint64_t n_bursts,
                          vly_error *error);
/* Spikes and bytes written so far. */
uint64_t vly_stream_count(const vly_stream *stream);
uint64_t vly_stream_bytes(const vly_stream *stream);
/* Like vly_writer_hold: after close, this process still has the stream
 * exclusively. */
int vly_stream_hold(const vly_stream *stream);
/* As vly_writer_cancel: close then leaves nothing of it. NULL is legal. */
void vly_stream_cancel(vly_stream *stream);
/* Frees stream, also on failure. NULL is legal. */
vly_status vly_stream_close(vly_stream *stream, vly_error *error);

/* ---- reading ----------------------------------------------------------- */

typedef struct vly_stream_reader vly_stream_reader;

typedef enum vly_stream_kind {
    VLY_STREAM_SPIKES = 1,
    VLY_STREAM_FRAME = 2,
    VLY_STREAM_END = 3
} vly_stream_kind;

/* One block; ids and words are borrowed until the next call. */
typedef struct vly_stream_block {
    vly_stream_kind kind;
    uint32_t n;           /* ids or words */
    uint64_t burst;       /* of the spikes; FRAME, END: bursts done */
    uint64_t n_spikes;    /* END: of the whole stream */
    uint32_t report;      /* FRAME */
    const uint32_t *data; /* [n] */
} vly_stream_block;

/* How a stream ended, known when there is no further block. */
typedef enum vly_stream_state {
    VLY_STREAM_WHOLE,  /* with an end block */
    VLY_STREAM_OPEN,   /* without an end block: the run was killed, or is
                        * running */
    VLY_STREAM_CUT,    /* inside a block: the run was killed, or is running */
    VLY_STREAM_DAMAGED /* in a block with a wrong checksum */
} vly_stream_state;

typedef struct vly_stream_tail {
    vly_stream_state state;
    uint64_t n_bytes;  /* up to the end of the last good block */
    uint64_t n_left;   /* after it */
    uint64_t n_bursts; /* done, according to the blocks */
    uint64_t n_spikes;
    uint64_t n_frames;
} vly_stream_tail;

/* Errors  E_IO cannot be read, or is being written; E_PARSE not a stream,
 *         another version, a damaged head; E_NOMEM */
vly_status vly_stream_reader_open(const char *path, vly_stream_reader **reader,
                                  vly_error *error);
/* The same by the process that holds the stream, see vly_stream_hold. */
vly_status vly_stream_reader_open_held(const char *path,
                                       vly_stream_reader **reader,
                                       vly_error *error);
/* Borrowed until close. */
const vly_stream_head *vly_stream_reader_head(const vly_stream_reader *reader);
/* *more is false after the last good block; tail describes how the stream
 * ended. All blocks before are good; a damaged block is never returned.
 * Errors  E_IO cannot be read; E_NOMEM */
vly_status vly_stream_reader_next(vly_stream_reader *reader,
                                  vly_stream_block *block, bool *more,
                                  vly_error *error);
void vly_stream_reader_tail(const vly_stream_reader *reader,
                            vly_stream_tail *tail);
/* Back to the first block. Errors  E_IO */
vly_status vly_stream_reader_rewind(vly_stream_reader *reader,
                                    vly_error *error);
void vly_stream_reader_close(vly_stream_reader *reader); /* NULL is legal */

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Conversion of a stream to formats of other programs: CSV, or SONATA files
 * (HDF5; Dai et al. 2020, doi:10.1371/journal.pcbi.1007696). Spikes are one
 * file; of the samples, each field of each [[record]] is one,
 * STEM.RECORD.FIELD.csv or .h5.
 */
#ifndef VOLLEY_RECORD_EXPORT_H
#define VOLLEY_RECORD_EXPORT_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/record.h>

#include "record/stream.h"

typedef enum vly_export_format {
    VLY_EXPORT_NONE = VLY_RECORDING_STREAM, /* the stream itself */
    VLY_EXPORT_CSV = VLY_RECORDING_CSV,
    VLY_EXPORT_SONATA = VLY_RECORDING_SONATA
} vly_export_format;

/* The format by the suffix of a file: .h5, .hdf5 and .sonata are SONATA, .vls
 * is a stream, all others are CSV. */
vly_export_format vly_export_format_of(const char *path);
/* Whether this build has HDF5. */
bool vly_export_has_sonata(void);
/* Errors  E_UNSUPPORTED SONATA is requested, and this build has no HDF5 */
vly_status vly_export_check(vly_export_format format, const char *path,
                            vly_error *error);

/* The file of one report, for a recording in path; vly_free frees it. NULL
 * without memory. */
char *vly_export_report_path(const char *path, uint32_t record,
                             const char *field);

/* Content of a stream, by area and by report; from one pass over it. */
typedef struct vly_export_counts {
    uint64_t *area_spikes;   /* [n_areas] */
    uint64_t *report_frames; /* [n_reports] */
    uint64_t *report_first;  /* [n_reports] bursts done at the first frame */
    vly_stream_tail tail;
} vly_export_counts;

/* Errors  those of reading; E_PARSE frames that do not follow each other */
vly_status vly_export_count(vly_stream_reader *reader,
                            vly_export_counts *counts, vly_error *error);
void vly_export_counts_deinit(vly_export_counts *counts);

/* Writes all files of a stream one after the other, each completely or not at
 * all; existing files are replaced. Data after the last good block is left out;
 * counts->tail describes it (filled, deinit in any case). There is no spike
 * file if no area's spikes are recorded.
 * whole    a stream without an end block, or a damaged one: E_PARSE, and no
 *          file
 * told     called with the name of every file written; NULL: not called
 * Errors   those of reading; E_IO a file cannot be written; E_UNSUPPORTED no
 *          HDF5 in this build; E_NOMEM
 * Thread   [any-thread], with HDF5 one at a time
 * Cost     one pass over the stream to count, one for each file */
vly_status vly_export(vly_stream_reader *reader, vly_export_format format,
                      const char *path, bool whole, vly_export_counts *counts,
                      void (*told)(void *arg, const char *path), void *arg,
                      vly_error *error);

/* ---- the writers, one file each ---------------------------------------- */

vly_status vly_export_spikes_csv(vly_stream_reader *reader, const char *path,
                                 vly_error *error);
/* Reports [first, first + n) of the head: one [[record]] and field, a report
 * for each area. */
vly_status vly_export_report_csv(vly_stream_reader *reader, uint32_t first,
                                 uint32_t n, const char *path,
                                 vly_error *error);
vly_status vly_export_spikes_sonata(vly_stream_reader *reader,
                                    const vly_export_counts *counts,
                                    const char *path, vly_error *error);
vly_status vly_export_report_sonata(vly_stream_reader *reader,
                                    const vly_export_counts *counts,
                                    uint32_t first, uint32_t n,
                                    const char *path, vly_error *error);

#endif

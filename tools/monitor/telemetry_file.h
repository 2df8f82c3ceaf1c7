/* SPDX-License-Identifier: Apache-2.0
 * A file of --telemetry back into records and tokens, as the monitor reads a
 * running net. Lines that are no samples are passed over; a last line that was
 * cut (the run was killed) ends the file.
 */
#ifndef VOLLEY_TOOLS_TELEMETRY_FILE_H
#define VOLLEY_TOOLS_TELEMETRY_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/plugin.h>

#include "monitor/tokens.h"

typedef struct telemetry_file telemetry_file;

/* One record and its tokens; arrays belong to the file and are valid until the
 * next record. */
typedef struct telemetry_entry {
    char time[32]; /* ISO 8601, at its end */
    char backend[64];
    double seconds;
    bool moved; /* the net was moved between the previous record and this one */
    vly_record record;
    vly_record_note note;
    uint8_t text[VLY_TOKENS_PER_RECORD];
    const uint64_t *area_spikes; /* [n_areas] */
} telemetry_entry;

/* Reads the head line. Errors  E_IO; E_PARSE "path:line: ..."; E_NOMEM */
vly_status telemetry_file_open(const char *path, telemetry_file **file,
                               vly_error *error);
void telemetry_file_close(telemetry_file *file); /* NULL is legal */
uint32_t telemetry_file_areas(const telemetry_file *file);
/* [n_areas], borrowed */
const char *const *telemetry_file_names(const telemetry_file *file);
const uint32_t *telemetry_file_neurons(const telemetry_file *file);
double telemetry_file_dt_ms(const telemetry_file *file);
/* Start time of its run, as in the manifest; "": missing. */
const char *telemetry_file_start(const telemetry_file *file);
/* After the last record: the last line was incomplete and left out. */
bool telemetry_file_cut(const telemetry_file *file);

/* *more false: no further record. Records too short to be judged are joined
 * with the next one, and a record in which the net was moved is left out, as in
 * the monitor.
 * Errors  as for open. */
vly_status telemetry_file_next(telemetry_file *file, bool *more,
                               telemetry_entry *entry, vly_error *error);
/* vly_tokens_hold for later records; the judge decides when. */
void telemetry_file_hold(telemetry_file *file, bool held);

#endif

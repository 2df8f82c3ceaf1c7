/* SPDX-License-Identifier: Apache-2.0
 * Tables as comma-separated text: a header of names, then lines of as many
 * fields. Lines that begin with # are comments; lines may end in CRLF; a field
 * may be in double quotes, but may not contain a comma. In SONATA's variant,
 * blanks separate the fields and may occur in quotes. A place is
 * "file:line:column: ", the column counted in bytes from 1.
 */
#ifndef VOLLEY_GENOME_CSV_READER_H
#define VOLLEY_GENOME_CSV_READER_H

#include <locale.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

#define VLY_CSV_LINE_MAX 65535u
#define VLY_CSV_FIELDS_MAX 256u

typedef struct vly_csv {
    const char *name; /* in messages; borrowed */
    FILE *file;       /* borrowed */
    vly_error *error;
    locale_t numbers; /* numbers are read in the C locale, whatever the
                         caller's is */
    char *buffer;
    size_t begin; /* of input that is not yet a line */
    size_t end;
    bool at_end;
    uint64_t bytes; /* read so far, of a pipe at most limit */
    uint64_t limit;
    char *header; /* the header's text; its names point into it */
    char **names;
    char **fields; /* of the current line, zero-terminated, without blanks */
    uint32_t *columns;
    bool blanks;       /* blanks separate the fields, not commas */
    uint32_t n_fields; /* as in the header */
    uint64_t line;
    uint64_t empty_line; /* an empty line, refused if more lines follow */
    /* the reader sets it once the header has the expected columns: then
     * messages may show fields. A genome may name any file: for a file without
     * these columns a message gives the place and the kind of text, not the
     * text */
    bool is_ours;
} vly_csv;

/* Reads the header.
 * Errors  E_PARSE with a place; E_IO; E_NOMEM. deinit is legal after a failure.
 */
vly_status vly_csv_init(vly_csv *csv, FILE *file, const char *name,
                        vly_error *error);
/* The same, with fields separated by blanks. */
vly_status vly_csv_init_blanks(vly_csv *csv, FILE *file, const char *name,
                               vly_error *error);
void vly_csv_deinit(vly_csv *csv);
/* Index of a column of the header; n_fields if there is none. */
uint32_t vly_csv_column(const vly_csv *csv, const char *name);
/* The next line; *more false at the end. */
vly_status vly_csv_next(vly_csv *csv, bool *more);

/* E_PARSE at a field of the current line (of the header, before the first
 * vly_csv_next). */
vly_status vly_csv_fail(vly_csv *csv, uint32_t field, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A finite number. */
vly_status vly_csv_number(vly_csv *csv, uint32_t field, double *out);
/* A whole number below limit. */
vly_status vly_csv_index(vly_csv *csv, uint32_t field, uint32_t limit,
                         uint32_t *out);

#endif

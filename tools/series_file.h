/* SPDX-License-Identifier: Apache-2.0
 * A column of numbers of a CSV file: a first line of names or none, fields
 * between commas, no quotes.
 */
#ifndef VOLLEY_TOOLS_SERIES_FILE_H
#define VOLLEY_TOOLS_SERIES_FILE_H

#include <stddef.h>

#include <volley/volley.h>

#define SERIES_NUMBERS_MAX 16777216u /* of a file */

typedef struct series_file {
    double *values; /* [n] finite */
    size_t n;
} series_file;

/* column is a name of the first line, NULL the last one: if that has a number
 * in the first line, the file has no names.
 * least   numbers that there must be
 * Errors  E_IO; E_PARSE the line, what it has and what was wanted; E_NOMEM */
vly_status series_file_read(const char *path, const char *column, size_t least,
                            series_file *file, vly_error *error);
void series_file_deinit(series_file *file);

#endif

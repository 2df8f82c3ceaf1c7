/* SPDX-License-Identifier: Apache-2.0
 * Reading a column of a CSV file.
 */
#include "series_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/reading.h"

/* A file that is read. */
typedef struct reader {
    const char *path;
    vly_lines lines;
    char *line;      /* of lines */
    uint64_t number; /* of the line, from 1 */
    uint64_t empty;  /* number of the first empty one before it; 0: none */
    size_t column;   /* from 0 */
} reader;

/* Field k of a line, *length without what ends it; NULL if it has fewer. */
static const char *field(const char *line, size_t k, size_t *length)
{
    const char *at = line;
    for (; k > 0; k--) {
        at = strchr(at, ',');
        if (!at)
            return NULL;
        at++;
    }
    *length = strcspn(at, ",\r\n");
    return at;
}

/* The next line that is not empty; *more false at the end. */
static vly_status next_line(reader *by, bool *more, vly_error *error)
{
    vly_status status = VLY_OK;
    by->empty = 0;
    *more = true;
    while ((status = vly_lines_next(&by->lines, error)) == VLY_OK &&
           by->lines.n > 0) {
        by->line = by->lines.line;
        by->number = by->lines.number;
        /* a mark of UTF-8, as spreadsheets write it */
        if (by->number == 1 && strncmp(by->line, "\xef\xbb\xbf", 3) == 0)
            memmove(by->line, by->line + 3, strlen(by->line + 3) + 1);
        if (by->line[strspn(by->line, " \t\r\n")] != '\0')
            return VLY_OK;
        if (by->empty == 0)
            by->empty = by->number;
    }
    *more = false;
    return status;
}

/* A number that is the whole field. */
static bool number_of(const char *text, size_t length, double *value)
{
    char *end = NULL;
    if (!text || length == 0)
        return false;
    *value = strtod(text, &end);
    return end == text + length && isfinite(*value);
}

/* first_row: the first line has numbers already, and is read again. */
static vly_status find_column(reader *by, const char *name, bool *first_row,
                              vly_error *error)
{
    double value = 0;
    bool more = false;
    const vly_status status = next_line(by, &more, error);
    if (status != VLY_OK)
        return status;
    if (!more)
        return vly_fail(error, VLY_E_PARSE,
                        "%s: no line, wanted one of names and then numbers",
                        by->path);
    const char *one = by->line;
    size_t length = 0;
    for (by->column = 0;; by->column++, one += length + 1) {
        length = strcspn(one, ",\r\n");
        if (name && strlen(name) == length && strncmp(one, name, length) == 0)
            return VLY_OK;
        if (one[length] != ',')
            break;
    }
    if (!name) { /* the last one */
        *first_row = number_of(one, length, &value);
        return VLY_OK;
    }
    length = strcspn(by->line, "\r\n");
    return vly_fail(error, VLY_E_PARSE,
                    "%s:%" PRIu64 ": no column \"%s\", found %.*s", by->path,
                    by->number, name, (int)(length < 200 ? length : 200),
                    by->line);
}

/* has_line: the line that was read last is the first row. */
static vly_status read_values(reader *by, bool has_line, series_file *file,
                              vly_error *error)
{
    size_t most = 0;
    vly_status status = VLY_OK;
    bool more = true;
    for (;; has_line = false) {
        size_t length = 0;
        double value = 0;
        if (!has_line)
            status = next_line(by, &more, error);
        if (status != VLY_OK || !more)
            return status;
        const char *text = field(by->line, by->column, &length);
        /* of one column that is a row without its number */
        if (by->empty > 0 && !has_line && !strchr(by->line, ','))
            return vly_fail(error, VLY_E_PARSE,
                            "%s:%" PRIu64
                            ": an empty line between rows, wanted a "
                            "number",
                            by->path, by->empty);
        if (!number_of(text, length, &value))
            return vly_fail(error, VLY_E_PARSE,
                            "%s:%" PRIu64
                            ": column %zu is \"%.*s\", wanted a number",
                            by->path, by->number, by->column + 1,
                            (int)(length < 60 ? length : 60), text ? text : "");
        if (file->n == SERIES_NUMBERS_MAX)
            return vly_fail(error, VLY_E_PARSE,
                            "%s:%" PRIu64 ": more than %u numbers, wanted at "
                            "most so many",
                            by->path, by->number, SERIES_NUMBERS_MAX);
        if (file->n == most) {
            most = most > 0 ? 2 * most : 1024;
            double *grown =
                vly_realloc(file->values, most, sizeof *file->values);
            if (!grown)
                return vly_fail_nomem(error, (uint64_t)most * sizeof *grown,
                                      "numbers of a series");
            file->values = grown;
        }
        file->values[file->n++] = value;
    }
}

vly_status series_file_read(const char *path, const char *column, size_t least,
                            series_file *file, vly_error *error)
{
    reader by = {.path = path, .lines = {.path = path}};
    series_file made = {NULL, 0};
    bool first_row = false;
    vly_status status =
        vly_reading_open(path, VLY_READ_STREAM, &by.lines.file, error);
    if (status != VLY_OK)
        return status;
    status = find_column(&by, column, &first_row, error);
    if (status == VLY_OK)
        status = read_values(&by, first_row, &made, error);
    if (status == VLY_OK && made.n < least)
        status = vly_fail(error, VLY_E_PARSE,
                          "%s: %zu numbers, wanted %zu or more: the first %zu "
                          "are not judged",
                          path, made.n, least, least - 1);
    (void)fclose(by.lines.file);
    vly_lines_deinit(&by.lines);
    if (status == VLY_OK)
        *file = made;
    else
        series_file_deinit(&made);
    return status;
}

void series_file_deinit(series_file *file)
{
    vly_free(file->values);
    *file = (series_file){NULL, 0};
}

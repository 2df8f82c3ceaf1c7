/* SPDX-License-Identifier: Apache-2.0
 * Reading a column of a CSV file.
 */
#include "series_file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

/* A file that is read. */
typedef struct reader {
    const char *path;
    FILE *stream;
    char *line; /* of getline */
    size_t capacity;
    size_t number; /* of the line, from 1 */
    size_t column; /* from 0 */
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

/* The next line that is not empty. */
static bool next_line(reader *by)
{
    while (getline(&by->line, &by->capacity, by->stream) > 0) {
        by->number++;
        if (by->line[strspn(by->line, " \t\r\n")] != '\0')
            return true;
    }
    return false;
}

static vly_status find_column(reader *by, const char *name, vly_error *error)
{
    if (!next_line(by))
        return vly_fail(error, VLY_E_PARSE,
                        "%s: no line, wanted one of names and then numbers",
                        by->path);
    const char *one = NULL;
    size_t length = 0;
    size_t k = 0;
    for (; (one = field(by->line, k, &length)); k++) {
        by->column = k;
        if (name && strlen(name) == length && strncmp(one, name, length) == 0)
            return VLY_OK;
    }
    if (!name)
        return VLY_OK; /* the last one */
    length = strcspn(by->line, "\r\n");
    return vly_fail(error, VLY_E_PARSE, "%s:%zu: no column \"%s\", found %.*s",
                    by->path, by->number, name,
                    (int)(length < 200 ? length : 200), by->line);
}

static vly_status read_values(reader *by, series_file *file, vly_error *error)
{
    size_t most = 0;
    while (next_line(by)) {
        size_t length = 0;
        const char *text = field(by->line, by->column, &length);
        char *end = NULL;
        const double value = text ? strtod(text, &end) : NAN;
        if (!text || length == 0 || end != text + length || !isfinite(value))
            return vly_fail(error, VLY_E_PARSE,
                            "%s:%zu: column %zu is \"%.*s\", wanted a number",
                            by->path, by->number, by->column + 1,
                            (int)(length < 60 ? length : 60), text ? text : "");
        if (file->n == most) {
            most = most > 0 ? 2 * most : 1024;
            double *more =
                vly_realloc(file->values, most, sizeof *file->values);
            if (!more)
                return vly_fail_nomem(error, (uint64_t)most * sizeof *more,
                                      "numbers of a series");
            file->values = more;
        }
        file->values[file->n++] = value;
    }
    if (ferror(by->stream))
        return vly_fail(error, VLY_E_IO, "%s: %s", by->path, strerror(errno));
    return VLY_OK;
}

vly_status series_file_read(const char *path, const char *column,
                            series_file *file, vly_error *error)
{
    reader by = {.path = path, .stream = fopen(path, "r")};
    series_file made = {NULL, 0};
    if (!by.stream)
        return vly_fail(error, VLY_E_IO, "%s: %s", path, strerror(errno));
    vly_status status = find_column(&by, column, error);
    if (status == VLY_OK)
        status = read_values(&by, &made, error);
    if (status == VLY_OK && made.n < 2)
        status = vly_fail(error, VLY_E_PARSE, "%s: %zu numbers, wanted 2", path,
                          made.n);
    free(by.line); /* of getline */
    (void)fclose(by.stream);
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

/* SPDX-License-Identifier: Apache-2.0
 * Comma-separated text: see csv_reader.h.
 */
#include "genome/csv_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/reading.h"
#include "genome/toml_tree.h"

#define SHOWN 40 /* bytes of a field that a message shows */

/* ---- messages ----------------------------------------------------------- */

static vly_status fail_at(vly_csv *csv, uint64_t line, uint32_t column,
                          const char *sentence)
{
    return vly_fail(csv->error, VLY_E_PARSE, "%s:%" PRIu64 ":%u: %s", csv->name,
                    line, column, sentence);
}

vly_status vly_csv_fail(vly_csv *csv, uint32_t field, const char *format, ...)
{
    char sentence[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    return fail_at(csv, csv->line,
                   field < csv->n_fields ? csv->columns[field] : 1, sentence);
}

/* ---- lines -------------------------------------------------------------- */

static vly_status fill(vly_csv *csv)
{
    memmove(csv->buffer, csv->buffer + csv->begin, csv->end - csv->begin);
    csv->end -= csv->begin;
    csv->begin = 0;
    size_t room = VLY_CSV_LINE_MAX + 1 - csv->end;
    size_t n = fread(csv->buffer + csv->end, 1, room, csv->file);
    csv->end += n;
    csv->bytes += n;
    csv->at_end = n < room;
    if (n < room && ferror(csv->file))
        return vly_fail(csv->error, VLY_E_IO, "%s: %s", csv->name,
                        strerror(errno));
    if (csv->bytes > csv->limit)
        return vly_fail(csv->error, VLY_E_PARSE,
                        "%s:%" PRIu64 ": a pipe of more than %" PRIu64
                        " bytes, wanted a file",
                        csv->name, csv->line + 1, csv->limit);
    return VLY_OK;
}

/* *text: the next line, zero-terminated, without its line end; NULL: none.
 * Valid until the next call. */
static vly_status take_line(vly_csv *csv, char **text)
{
    vly_status status = VLY_OK;
    char *from = csv->buffer + csv->begin;
    char *end = memchr(from, '\n', csv->end - csv->begin);
    if (!end && !csv->at_end) {
        VLY_TRY(fill(csv));
        from = csv->buffer;
        end = memchr(from, '\n', csv->end);
    }
    *text = NULL;
    if (!end && csv->begin == csv->end)
        return VLY_OK;
    csv->line++;
    if (!end && csv->end - csv->begin > VLY_CSV_LINE_MAX)
        return fail_at(csv, csv->line, 1,
                       "a line of more than 65535 bytes, wanted shorter ones");
    size_t n = (size_t)((end ? end : csv->buffer + csv->end) - from);
    csv->begin += n + (end ? 1 : 0);
    if (n > 0 && from[n - 1] == '\r')
        n--;
    from[n] = 0;
    *text = from;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)from[i] < ' ' && from[i] != '\t') {
            char sentence[80];
            snprintf(sentence, sizeof(sentence),
                     "a byte %u, wanted printable characters",
                     (unsigned char)from[i]);
            return fail_at(csv, csv->line, (uint32_t)i + 1, sentence);
        }
out:
    return status;
}

static bool blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_empty(const char *text)
{
    while (blank(*text))
        text++;
    return *text == 0;
}

/* The next line that is not a comment. */
static vly_status take_data(vly_csv *csv, char **text)
{
    for (;;) {
        vly_status status = take_line(csv, text);
        if (status != VLY_OK || !*text)
            return status;
        if (**text == '#')
            continue;
        if (is_empty(*text)) {
            csv->empty_line = csv->empty_line ? csv->empty_line : csv->line;
            continue;
        }
        if (csv->empty_line)
            return fail_at(csv, csv->empty_line, 1,
                           "an empty line, wanted data in every line");
        return VLY_OK;
    }
}

static void keep_field(vly_csv *csv, uint32_t room, uint32_t n, char *text,
                       char *at)
{
    if (n >= room)
        return;
    csv->fields[n] = at;
    csv->columns[n] = (uint32_t)(at - text) + 1;
}

/* Fields separated by blanks; a quoted field may contain blanks. */
static void split_blanks(vly_csv *csv, char *text, uint32_t room, uint32_t *n)
{
    char *at = text;
    bool last = false;
    *n = 0;
    while (!last) {
        while (blank(*at))
            at++;
        if (!*at)
            return;
        char *closed = *at == '"' ? strchr(at + 1, '"') : NULL;
        if (closed)
            at++;
        char *end = closed ? closed : at + strcspn(at, " \t");
        last = *end == 0;
        *end = 0;
        keep_field(csv, room, *n, text, at);
        (*n)++;
        at = end + 1;
    }
}

/* Cuts the line; *n: its fields, of which at most `room` are kept. */
static void split(vly_csv *csv, char *text, uint32_t room, uint32_t *n)
{
    char *at = text;
    if (csv->blanks) {
        split_blanks(csv, text, room, n);
        return;
    }
    for (*n = 0;; (*n)++) {
        char *end = at + strcspn(at, ",");
        bool last = *end == 0;
        char *next = end + 1;
        while (blank(*at) && at < end)
            at++;
        while (end > at && blank(end[-1]))
            end--;
        if (end - at >= 2 && *at == '"' && end[-1] == '"') {
            at++;
            end--;
        }
        *end = 0;
        keep_field(csv, room, *n, text, at);
        if (last)
            break;
        at = next;
    }
    (*n)++;
}

/* ---- header ------------------------------------------------------------- */

static vly_status check_names(vly_csv *csv)
{
    for (uint32_t i = 0; i < csv->n_fields; i++) {
        double number = 0;
        if (!csv->names[i][0])
            return vly_csv_fail(csv, i, "a column without a name, wanted one");
        if (vly_toml_scan_number(csv->names[i], &number) ==
            strlen(csv->names[i]))
            return vly_csv_fail(csv, i,
                                "a column called by a number, wanted names in "
                                "the first line");
        for (uint32_t j = 0; j < i; j++)
            if (strcmp(csv->names[i], csv->names[j]) == 0)
                return vly_csv_fail(csv, i,
                                    "column %u is called as column %u is, "
                                    "wanted each name once",
                                    i + 1, j + 1);
    }
    return VLY_OK;
}

static vly_status read_header(vly_csv *csv)
{
    static const char mark[] = "\xEF\xBB\xBF"; /* of UTF-8, as some tools do */
    char *text = NULL;
    uint32_t n = 0;
    vly_status status = VLY_OK;
    VLY_TRY(take_data(csv, &text));
    if (!text)
        return vly_fail(csv->error, VLY_E_PARSE,
                        "%s: an empty file, wanted a header of names and a "
                        "line for each entry",
                        csv->name);
    csv->header = vly_strdup(strncmp(text, mark, 3) == 0 ? text + 3 : text);
    if (!csv->header)
        return vly_fail_nomem(csv->error, strlen(text) + 1, "a header");
    split(csv, csv->header, VLY_CSV_FIELDS_MAX, &n);
    if (n > VLY_CSV_FIELDS_MAX)
        return vly_csv_fail(csv, 0, "%u columns, wanted at most %u", n,
                            VLY_CSV_FIELDS_MAX);
    csv->n_fields = n;
    memcpy(csv->names, csv->fields, n * sizeof(*csv->names));
    status = check_names(csv);
out:
    return status;
}

static vly_status init(vly_csv *csv, FILE *file, const char *name, bool blanks,
                       vly_error *error)
{
    *csv = (vly_csv){.name = name,
                     .file = file,
                     .blanks = blanks,
                     .error = error,
                     .limit = vly_reading_most(file)};
    csv->buffer = vly_malloc(VLY_CSV_LINE_MAX + 2, 1);
    csv->names = vly_calloc(VLY_CSV_FIELDS_MAX, sizeof(*csv->names));
    csv->fields = vly_calloc(VLY_CSV_FIELDS_MAX, sizeof(*csv->fields));
    csv->columns = vly_calloc(VLY_CSV_FIELDS_MAX, sizeof(*csv->columns));
    csv->numbers = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (!csv->buffer || !csv->names || !csv->fields || !csv->columns ||
        !csv->numbers)
        return vly_fail_nomem(error, VLY_CSV_LINE_MAX, "a table's text");
    return read_header(csv);
}

vly_status vly_csv_init(vly_csv *csv, FILE *file, const char *name,
                        vly_error *error)
{
    return init(csv, file, name, false, error);
}

vly_status vly_csv_init_blanks(vly_csv *csv, FILE *file, const char *name,
                               vly_error *error)
{
    return init(csv, file, name, true, error);
}

void vly_csv_deinit(vly_csv *csv)
{
    vly_free(csv->buffer);
    vly_free(csv->header);
    vly_free(csv->names);
    vly_free(csv->fields);
    vly_free(csv->columns);
    if (csv->numbers)
        freelocale(csv->numbers);
}

uint32_t vly_csv_column(const vly_csv *csv, const char *name)
{
    uint32_t i = 0;
    while (i < csv->n_fields && strcmp(csv->names[i], name) != 0)
        i++;
    return i;
}

/* ---- data --------------------------------------------------------------- */

vly_status vly_csv_next(vly_csv *csv, bool *more)
{
    char *text = NULL;
    uint32_t n = 0;
    vly_status status = take_data(csv, &text);
    *more = text != NULL;
    if (status != VLY_OK || !text)
        return status;
    split(csv, text, csv->n_fields, &n);
    if (n != csv->n_fields)
        return vly_csv_fail(csv, csv->n_fields,
                            "%u fields, wanted %u as in the header", n,
                            csv->n_fields);
    return VLY_OK;
}

static vly_status wrong(vly_csv *csv, uint32_t field, const char *wanted)
{
    const size_t n = strlen(csv->fields[field]);
    if (csv->is_ours)
        return vly_csv_fail(csv, field, "%.*s is \"%.*s\", wanted %s", SHOWN,
                            csv->names[field], SHOWN, csv->fields[field],
                            wanted);
    return vly_csv_fail(csv, field, "column %u is %s of %zu bytes, wanted %s",
                        field + 1, n > 0 ? "text" : "a field", n, wanted);
}

vly_status vly_csv_number(vly_csv *csv, uint32_t field, double *out)
{
    const char *text = csv->fields[field];
    char *end = NULL;
    /* strtod would take hexadecimal, inf and nan as well */
    if (!*text || text[strspn(text, "+-.0123456789eE")])
        return wrong(csv, field, "a number");
    locale_t before = uselocale(csv->numbers);
    double number = strtod(text, &end);
    uselocale(before);
    if (*end)
        return wrong(csv, field, "a number");
    if (!isfinite(number))
        return wrong(csv, field, "a finite number");
    *out = number + 0.0; /* -0 becomes 0 */
    return VLY_OK;
}

vly_status vly_csv_index(vly_csv *csv, uint32_t field, uint32_t limit,
                         uint32_t *out)
{
    const char *text = csv->fields[field];
    uint64_t number = 0;
    char wanted[64];
    bool good = *text != 0;
    for (const char *c = text; good && *c; c++) {
        good = *c >= '0' && *c <= '9';
        number = number * 10 + (uint64_t)(*c - '0');
        good = good && number < limit;
    }
    if (!good) {
        snprintf(wanted, sizeof(wanted), "a whole number from 0 to %u",
                 limit - 1);
        return wrong(csv, field, wanted);
    }
    *out = (uint32_t)number;
    return VLY_OK;
}

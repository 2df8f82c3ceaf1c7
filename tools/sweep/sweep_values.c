/* SPDX-License-Identifier: Apache-2.0
 * The values of one axis: lists and ranges. Ranges are made in decimals, with
 * as many digits after the point as first value and step have, so that the
 * seventh of 0:1:0.1 is 0.7 and whole numbers stay whole.
 */
#include "tools/sweep/sweep.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "tools/cli/tool.h"

/* Length of the part of text up to mark or the end; marks in quotes and
 * brackets are skipped. */
static size_t part_length(const char *text, size_t n, char mark)
{
    char quote = 0;
    int depth = 0;
    size_t at = 0;
    for (; at < n; at++) {
        char c = text[at];
        if (quote != 0)
            quote = c == quote ? 0 : quote;
        else if (c == '"' || c == '\'')
            quote = c;
        else if (c == '[' || c == '{' || c == '(')
            depth++;
        else if (c == ']' || c == '}' || c == ')')
            depth--;
        else if (c == mark && depth <= 0)
            break;
    }
    return at;
}

static vly_status add_value(sweep_axis *axis, char *value, vly_error *error)
{
    char **grown = NULL;
    if (value)
        grown = vly_realloc(axis->values, (size_t)axis->n + 1, sizeof *grown);
    if (!grown) {
        vly_free(value);
        return vly_fail_nomem(error, axis->n, "the values of a sweep");
    }
    axis->values = grown;
    grown[axis->n++] = value;
    return VLY_OK;
}

/* ---- ranges ----------------------------------------------------------- */

typedef struct sweep_range {
    double numbers[3]; /* first, last, step */
    int decimals;      /* of first and step; -1: an exponent is used */
} sweep_range;

static int decimals_of(const char *text)
{
    const char *point = strchr(text, '.');
    if (strpbrk(text, "eEpPxX"))
        return -1;
    return point ? (int)strlen(point + 1) : 0;
}

static vly_status read_range(const char *what, const char *text, size_t n,
                             sweep_range *range, vly_error *error)
{
    char part[64];
    uint32_t n_parts = 0;
    range->numbers[2] = 1.0;
    range->decimals = 0;
    for (size_t at = 0; at <= n; n_parts++) {
        size_t length = part_length(text + at, n - at, ':');
        bool good = n_parts < 3 && length < sizeof part;
        if (good) {
            memcpy(part, text + at, length);
            part[length] = '\0';
            good = tool_read_number(part, &range->numbers[n_parts]);
        }
        if (!good)
            return vly_fail(error, VLY_E_INVALID,
                            "%s: \"%.*s\" is not a range, wanted FIRST:LAST "
                            "or FIRST:LAST:STEP in numbers, as in 3:6:0.5 "
                            "(quotes around a text with a colon)",
                            what, (int)n, text);
        int decimals = decimals_of(part);
        if (n_parts != 1 && range->decimals >= 0)
            range->decimals = decimals < 0 || decimals > range->decimals
                                  ? decimals
                                  : range->decimals;
        at += length + 1;
    }
    return VLY_OK;
}

static char *range_value(const sweep_range *range, double value)
{
    char text[400];
    if (range->decimals < 0)
        return vly_format("%.15g", value);
    int n = snprintf(text, sizeof text, "%.*f", range->decimals, value);
    if (n < 0 || (size_t)n >= sizeof text)
        return vly_format("%.15g", value);
    while (range->decimals > 0 && text[n - 1] == '0')
        text[--n] = '\0';
    if (text[n - 1] == '.') /* 3 for 3.0: the same point as in a list */
        text[--n] = '\0';
    return vly_strdup(strcmp(text, "-0") == 0 ? "0" : text);
}

static vly_status add_range(const char *what, const char *text, size_t n,
                            sweep_axis *axis, vly_error *error)
{
    sweep_range range;
    vly_status status = VLY_OK;
    VLY_TRY(read_range(what, text, n, &range, error));
    double first = range.numbers[0];
    double last = range.numbers[1];
    double step = range.numbers[2];
    if (!(step < 0.0) && !(step > 0.0))
        return vly_fail(error, VLY_E_INVALID,
                        "%s: the step of %.*s is 0, wanted another", what,
                        (int)n, text);
    if ((last - first) * step < 0.0)
        return vly_fail(error, VLY_E_INVALID,
                        "%s: a step of %g does not lead from %g to %g, wanted "
                        "one %s 0",
                        what, step, first, last,
                        step < 0.0 ? "above" : "below");
    /* slightly more, so that 0:1:0.1 includes its last value */
    double count = floor((last - first) / step * (1.0 + 1e-12) + 1e-9) + 1.0;
    if (!(count + axis->n <= SWEEP_POINTS_MAX))
        return vly_fail(error, VLY_E_INVALID,
                        "%s: %.*s gives %.0f values, wanted at most %d", what,
                        (int)n, text, count, SWEEP_POINTS_MAX);
    for (uint32_t k = 0; status == VLY_OK && k < (uint32_t)count; k++)
        status = add_value(axis, range_value(&range, first + k * step), error);
out:
    return status;
}

/* ---- lists ------------------------------------------------------------ */

static vly_status add_item(const char *what, const char *text, size_t n,
                           sweep_axis *axis, vly_error *error)
{
    while (n > 0 && text[0] == ' ') {
        text++;
        n--;
    }
    while (n > 0 && text[n - 1] == ' ')
        n--;
    if (n == 0)
        return vly_fail(error, VLY_E_INVALID,
                        "%s: a value is missing, wanted VALUE,VALUE,... or "
                        "FIRST:LAST:STEP",
                        what);
    if (part_length(text, n, ':') < n)
        return add_range(what, text, n, axis, error);
    if (axis->n >= SWEEP_POINTS_MAX)
        return vly_fail(error, VLY_E_INVALID,
                        "%s: more than %d values, wanted fewer", what,
                        SWEEP_POINTS_MAX);
    return add_value(axis, vly_format("%.*s", (int)n, text), error);
}

static vly_status check_repeats(const char *what, const sweep_axis *axis,
                                vly_error *error)
{
    /* ranges have no repeats: this loop is long only for typed lists */
    for (uint32_t i = 0; i < axis->n && axis->n <= 4096; i++)
        for (uint32_t j = 0; j < i; j++)
            if (strcmp(axis->values[i], axis->values[j]) == 0)
                return vly_fail(error, VLY_E_INVALID,
                                "%s: the value %s comes twice, wanted each "
                                "once",
                                what, axis->values[i]);
    return VLY_OK;
}

vly_status sweep_values_read(const char *what, const char *text,
                             sweep_axis *axis, vly_error *error)
{
    vly_status status = VLY_OK;
    size_t n = strlen(text);
    for (size_t at = 0; at <= n;) {
        size_t length = part_length(text + at, n - at, ',');
        VLY_TRY(add_item(what, text + at, length, axis, error));
        at += length + 1;
    }
    return check_repeats(what, axis, error);
out:
    return status;
}

void sweep_axis_deinit(sweep_axis *axis)
{
    for (uint32_t i = 0; i < axis->n; i++)
        vly_free(axis->values[i]);
    vly_free(axis->values);
    vly_free(axis->path);
    *axis = (sweep_axis){0};
}

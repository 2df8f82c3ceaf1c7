/* SPDX-License-Identifier: Apache-2.0
 * JSON of other programs: what was found, in words.
 */
#include "tools/feagi/feagi_json.h"

#include <stdio.h>
#include <string.h>

vly_status feagi_json_parse(const char *text, size_t n, const char *name,
                            feagi_value *value, vly_error *error)
{
    *value = (feagi_value){0};
    vly_status status = json_parse_bytes(text, n, name, value, error);
    if (status != VLY_OK)
        feagi_json_plain(error);
    return status;
}

void feagi_json_free(feagi_value *value)
{
    json_free(value);
}

const feagi_value *feagi_json_get(const feagi_value *value, const char *key)
{
    return json_find(value, key);
}

void feagi_json_plain(vly_error *error)
{
    for (char *c = error ? error->message : NULL; c && *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = '?';
}

/* At most so many bytes, and no character cut in two. */
static size_t text_fits(const char *text, size_t most)
{
    size_t n = strlen(text);
    if (n <= most)
        return n;
    for (n = most; n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80;)
        n--;
    return n;
}

const char *feagi_json_found(const feagi_value *value,
                             char text[FEAGI_FOUND_SIZE])
{
    size_t n;
    if (!value)
        return "missing";
    switch (value->kind) {
    case FEAGI_NULL:
        return "null";
    case FEAGI_BOOL:
        return value->number > 0 ? "true" : "false";
    case FEAGI_NUMBER:
        snprintf(text, FEAGI_FOUND_SIZE, "%.15g", value->number);
        return text;
    case FEAGI_TEXT:
        n = text_fits(value->text, 40);
        snprintf(text, FEAGI_FOUND_SIZE, "\"%.*s\"%s", (int)n, value->text,
                 value->text[n] ? "..." : "");
        return text;
    case FEAGI_ARRAY:
        snprintf(text, FEAGI_FOUND_SIZE, "an array of %u", value->n_items);
        return text;
    default:
        snprintf(text, FEAGI_FOUND_SIZE, "an object of %u", value->n_items);
        return text;
    }
}

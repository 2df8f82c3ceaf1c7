/* SPDX-License-Identifier: Apache-2.0
 * JSON into memory, to be written out at once. A failed allocation is kept and
 * found by json_take, so that calls need no checks of their own.
 */
#ifndef VOLLEY_TOOLS_JSON_WRITER_H
#define VOLLEY_TOOLS_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct json_writer {
    char *text;
    size_t n_text;
    size_t capacity;
    uint32_t depth;
    bool lines; /* indented, one member a line; false: all on one line */
    bool empty; /* nothing yet in the innermost object or array */
    bool failed;
} json_writer;

void json_init(json_writer *json, bool lines);
void json_deinit(json_writer *json);

/* key is NULL in an array and at the top. */
void json_object(json_writer *json, const char *key);
void json_object_end(json_writer *json);
void json_array(json_writer *json, const char *key);
void json_array_end(json_writer *json);
/* value NULL gives null; bytes that are not UTF-8 become U+FFFD */
void json_text(json_writer *json, const char *key, const char *value);
void json_u64(json_writer *json, const char *key, uint64_t value);
void json_i64(json_writer *json, const char *key, int64_t value);
/* the shortest text that gives the same double; null if it is not finite */
void json_number(json_writer *json, const char *key, double value);
void json_bool(json_writer *json, const char *key, bool value);
/* "0123456789abcdef": numbers above 2^53 do not survive most JSON readers */
void json_hex(json_writer *json, const char *key, uint64_t value);
/* value is JSON text and is written unchanged */
void json_raw(json_writer *json, const char *key, const char *value);

/* Ends the text with a line break; NULL if memory ran out. Owned by json. */
const char *json_finish(json_writer *json, size_t *n_text);

#endif

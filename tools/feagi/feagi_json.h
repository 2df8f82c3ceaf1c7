/* SPDX-License-Identifier: Apache-2.0
 * JSON of other programs as a tree, read by json_reader.
 */
#ifndef VOLLEY_TOOLS_FEAGI_JSON_H
#define VOLLEY_TOOLS_FEAGI_JSON_H

#include "tools/cli/json_reader.h"

typedef json_kind feagi_kind;
typedef json_value feagi_value;
#define FEAGI_NULL JSON_NULL
#define FEAGI_BOOL JSON_BOOL
#define FEAGI_NUMBER JSON_NUMBER
#define FEAGI_TEXT JSON_TEXT
#define FEAGI_ARRAY JSON_ARRAY
#define FEAGI_OBJECT JSON_OBJECT

/* name stands in messages. feagi_json_free frees.
 * Errors  of json_parse_bytes; value is empty then */
vly_status feagi_json_parse(const char *text, size_t n, const char *name,
                            feagi_value *value, vly_error *error);
void feagi_json_free(feagi_value *value);

/* A message with names of the file, which may contain any bytes, as one line
 * without control sequences of terminals. error NULL is legal. */
void feagi_json_plain(vly_error *error);

/* Member of an object; NULL if value is NULL, not an object, or has no such
 * member. */
const feagi_value *feagi_json_get(const feagi_value *value, const char *key);
/* "\"abc\"", "12", "an array of 3", "missing": what was found, for messages. */
#define FEAGI_FOUND_SIZE 64
const char *feagi_json_found(const feagi_value *value,
                             char text[FEAGI_FOUND_SIZE]);

#endif

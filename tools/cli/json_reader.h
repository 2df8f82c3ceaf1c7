/* SPDX-License-Identifier: Apache-2.0
 * JSON as a tree: what the command writes (manifests, telemetry, bench
 * results) and genomes of FEAGI's. jansson reads it (json_reader.c is the only
 * file that knows it): strictly, with line and column of what is wrong, keys in
 * the order of the file, none twice, at most 2048 levels deep.
 */
#ifndef VOLLEY_TOOLS_JSON_READER_H
#define VOLLEY_TOOLS_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <volley/plugin.h>

/* Limits: of a file or text, and of jansson's tree while it is read. */
#define JSON_FILE_BYTES_MAX (16u << 20)
#define JSON_TREE_BYTES_MAX (256u << 20)

typedef enum json_kind {
    JSON_NULL,
    JSON_BOOL,
    JSON_NUMBER,
    JSON_TEXT,
    JSON_ARRAY,
    JSON_OBJECT
} json_kind;

typedef struct json_value {
    json_kind kind;
    double number; /* 1 for true */
    char *text;
    char *key; /* as a member of an object */
    struct json_value *items;
    uint32_t n_items;
} json_value;

/* json_free frees. value is untouched on failure.
 * Errors  E_IO; E_PARSE "path:line:column: found, wanted", or too large;
 *         E_NOMEM    Thread [any-thread] one reads at a time */
vly_status json_load(const char *path, json_value *value, vly_error *error);
vly_status json_parse(const char *text, const char *name, json_value *value,
                      vly_error *error);
vly_status json_parse_bytes(const char *text, size_t n, const char *name,
                            json_value *value, vly_error *error);
void json_free(json_value *value);

/* Member of an object by name; NULL if value is NULL or has none. */
const json_value *json_find(const json_value *value, const char *key);
/* NULL / fallback if there is no member of that name and kind */
const char *json_find_text(const json_value *value, const char *key);
double json_find_number(const json_value *value, const char *key,
                        double fallback);

#endif

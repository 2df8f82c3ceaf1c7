/* SPDX-License-Identifier: Apache-2.0
 * JSON of other programs as a tree. jansson reads it (feagi_json.c is the only
 * file that knows it): strictly, with line and column of what is wrong, keys in
 * the order of the file.
 */
#ifndef VOLLEY_TOOLS_FEAGI_JSON_H
#define VOLLEY_TOOLS_FEAGI_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <volley/plugin.h>

/* Genomes have a tenth of a megabyte; in memory a file is ten times as large.
 */
#define FEAGI_FILE_BYTES_MAX (64u << 20)

typedef enum feagi_kind {
    FEAGI_NULL,
    FEAGI_BOOL,
    FEAGI_NUMBER,
    FEAGI_TEXT,
    FEAGI_ARRAY,
    FEAGI_OBJECT
} feagi_kind;

typedef struct feagi_value {
    feagi_kind kind;
    double number; /* 1 for true */
    char *text;
    char *key; /* as a member of an object */
    struct feagi_value *items;
    uint32_t n_items;
} feagi_value;

/* Whether this build has jansson; without it nothing can be read. */
bool feagi_json_built(void);
/* name stands in messages. feagi_json_free frees.
 * Errors  E_PARSE "name:line:column: ..."; E_NOMEM; E_UNSUPPORTED without
 *         jansson; value is empty then */
vly_status feagi_json_parse(const char *text, size_t n, const char *name,
                            feagi_value *value, vly_error *error);
void feagi_json_free(feagi_value *value);

/* A message with names of the file, which may hold anything, as one line
 * without what a terminal obeys. error NULL is legal. */
void feagi_json_plain(vly_error *error);

/* Member of an object; NULL if value is NULL, no object, or has none. */
const feagi_value *feagi_json_get(const feagi_value *value, const char *key);
/* "\"abc\"", "12", "an array of 3", "missing": what was found, for messages. */
#define FEAGI_FOUND_SIZE 64
const char *feagi_json_found(const feagi_value *value,
                             char text[FEAGI_FOUND_SIZE]);

#endif

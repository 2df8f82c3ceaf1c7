/* SPDX-License-Identifier: Apache-2.0
 * The lines of a vocabulary file, "ID LITERAL LEN", as bytes.
 */
#ifndef VOLLEY_MONITOR_VOCABULARY_FILE_H
#define VOLLEY_MONITOR_VOCABULARY_FILE_H

#include <stddef.h>
#include <stdint.h>

#include <volley/plugin.h>

typedef struct vocabulary_token {
    const uint8_t *bytes;
    uint32_t n_bytes; /* 1 to VLY_TOKEN_BYTES_MAX */
    uint32_t id;
    uint32_t line; /* in the file, from 1 */
} vocabulary_token;

typedef struct vocabulary_file {
    vocabulary_token *tokens; /* in the order of the file */
    uint32_t n_tokens;
    uint8_t *bytes; /* of all of them */
    size_t n_bytes;
} vocabulary_file;

/* Errors  E_PARSE "name:line:column: found ..., wanted ..."; E_NOMEM. On
 * failure nothing is left. Duplicate ids or bytes are not checked. */
vly_status vocabulary_file_parse(const char *text, size_t n, const char *name,
                                 uint32_t vocabulary, vocabulary_file *file,
                                 vly_error *error);
void vocabulary_file_deinit(vocabulary_file *file);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * JSON (RFC 8259), strictly, token by token: the one reader of it. It makes no
 * tree and allocates nothing; texts are decoded in place, since decoding never
 * makes them longer. tools/cli/json_reader.h builds a tree from the tokens, and
 * monitor/safetensors_header.c reads its one form directly.
 */
#ifndef VOLLEY_BASE_JSON_H
#define VOLLEY_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct vly_json {
    char *text; /* [n]; text[n] is 0. Bytes before `at` may have changed */
    size_t n;
    size_t at; /* the next byte; after a failure the byte that is wrong */
} vly_json;

enum { VLY_JSON_FOUND = 16 };

/* Each of these skips spaces first. vly_json_take passes the character if it is
 * the next one. The others return NULL or, as a piece of a message, the token
 * that is wanted at json->at; their results are unchanged then.
 * Thread  [any-thread] */
bool vly_json_take(vly_json *json, char c);
void vly_json_space(vly_json *json);
/* A string: UTF-8, without U+0000. *text points into json->text. */
const char *vly_json_text(vly_json *json, char **text);
/* A number without sign, point and exponent, up to 2^64 - 1. */
const char *vly_json_whole(vly_json *json, uint64_t *value);
/* Any number that is finite as a double, which is the nearest one. */
const char *vly_json_number(vly_json *json, double *value);
/* true: passes "true", "false" or "null", whichever `word` is. */
bool vly_json_word(vly_json *json, const char *word);
/* Up to 12 bytes from json->at on in quotes, printable, for a message, or "the
 * end of it". */
const char *vly_json_found(const vly_json *json, char found[VLY_JSON_FOUND]);

#endif

/* SPDX-License-Identifier: Apache-2.0
 * Bytes that come in pieces, on standard output: on a terminal with what it
 * obeys escaped (base/plain.h), elsewhere as they came.
 */
#ifndef VOLLEY_TOOLS_PLAIN_STREAM_H
#define VOLLEY_TOOLS_PLAIN_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All 0: no bytes are waiting, not a terminal. */
typedef struct plain_stream {
    bool is_terminal;
    char waiting[8]; /* the first bytes of a character */
    size_t n_waiting;
} plain_stream;

/* false: the text could not be written; the end of the command reports it. */
bool plain_stream_put(plain_stream *stream, const uint8_t *bytes, size_t n);
/* Writes the bytes that are still waiting, as invalid characters. */
bool plain_stream_end(plain_stream *stream);

#endif

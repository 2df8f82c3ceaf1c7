/* SPDX-License-Identifier: Apache-2.0
 * Bytes that come in pieces, on standard output: on a terminal with what it
 * obeys escaped (base/plain.h), elsewhere as they came.
 */
#ifndef VOLLEY_TOOLS_PLAIN_STREAM_H
#define VOLLEY_TOOLS_PLAIN_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All 0: nothing waits, not a terminal. */
typedef struct plain_stream {
    bool is_terminal;
    char waiting[8]; /* the first bytes of a character */
    size_t n_waiting;
} plain_stream;

/* false: it could not be written, which is found at the end of the command. */
bool plain_stream_put(plain_stream *stream, const uint8_t *bytes, size_t n);
/* What waits still, as bytes that are no character. */
bool plain_stream_end(plain_stream *stream);

#endif

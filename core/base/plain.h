/* SPDX-License-Identifier: Apache-2.0
 * Escapes text of files and clients for display: names, titles and messages may
 * hold terminal control sequences. All text for a terminal or a log passes
 * through here once, when it is written.
 *
 * Shown as \xNN: control characters of ASCII but tabs (and line breaks where
 * they are kept), DEL, and bytes that are not UTF-8. Shown as \u{NNNN}: U+0080
 * to U+009F, which terminals interpret like ESC and a letter, and U+202A to
 * U+202E and U+2066 to U+2069, which change the direction of the text that
 * follows (Unicode Standard Annex 9). All other characters stay as they are,
 * backslashes too.
 */
#ifndef VOLLEY_BASE_PLAIN_H
#define VOLLEY_BASE_PLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One character of a text. */
typedef struct vly_plain_char {
    uint32_t length; /* its bytes; 1 if it is not UTF-8 */
    uint32_t code;   /* code point, or the byte that is not UTF-8 */
    bool is_utf8;
    bool is_plain; /* to be shown as it is; false for tabs and line breaks */
} vly_plain_char;

/* The first character of text[0, n), n > 0. [any-thread] */
vly_plain_char vly_plain_char_at(const char *text, size_t n);

/* Like snprintf: writes what fits, without cutting a character or an escape in
 * two, and a final 0; returns the length that it would have. out may be NULL if
 * capacity is 0. The length of a text that needs no escapes is its own.
 * [any-thread] */
size_t vly_plain(const char *text, bool keep_lines, char *out, size_t capacity);

#endif

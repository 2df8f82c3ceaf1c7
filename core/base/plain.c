/* SPDX-License-Identifier: Apache-2.0
 * Escapes text of files and clients for display.
 */
#include "base/plain.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

static bool is_obeyed(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) ||
           (code >= 0x202a && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069);
}

vly_plain_char vly_plain_char_at(const char *text, size_t n)
{
    static const unsigned char first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    const unsigned char *c = (const unsigned char *)text;
    const size_t length = vly_utf8_length(text, n);
    if (length == 0)
        return (vly_plain_char){.length = 1, .code = c[0]};
    uint32_t code = c[0] & first_bits[length];
    for (size_t i = 1; i < length; i++)
        code = code << 6 | (c[i] & 0x3fu);
    return (vly_plain_char){.length = (uint32_t)length,
                            .code = code,
                            .is_utf8 = true,
                            .is_plain = !is_obeyed(code)};
}

size_t vly_plain(const char *text, bool keep_lines, char *out, size_t capacity)
{
    size_t left = strlen(text);
    size_t length = 0;
    bool fits = true;
    size_t n_out = 0;
    while (left > 0) {
        char escape[16];
        const vly_plain_char c = vly_plain_char_at(text, left);
        const char *shown = text;
        size_t n = c.length;
        if (!c.is_plain && c.code != '\t' && !(keep_lines && c.code == '\n')) {
            const bool is_byte = !c.is_utf8 || c.code < 0x80;
            n = (size_t)snprintf(escape, sizeof(escape),
                                 is_byte ? "\\x%02x" : "\\u{%04x}",
                                 (unsigned)c.code);
            shown = escape;
        }
        fits = fits && length + n < capacity;
        if (fits) {
            memcpy(out + length, shown, n);
            n_out = length + n;
        }
        length += n;
        text += c.length;
        left -= c.length;
    }
    if (capacity > 0)
        out[n_out] = 0;
    return length;
}

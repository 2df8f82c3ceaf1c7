/* SPDX-License-Identifier: Apache-2.0
 * Characters of UTF-8 (RFC 3629).
 */
#ifndef VOLLEY_BASE_UTF8_H
#define VOLLEY_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the character at text[0, n), 1 to 4; 0 if there is no valid
 * character. */
static inline size_t vly_utf8_length(const char *text, size_t n)
{
    const unsigned char *c = (const unsigned char *)text;
    if (n == 0 || (c[0] >= 0x80 && c[0] < 0xc2) || c[0] > 0xf4)
        return 0;
    const size_t length = c[0] < 0x80   ? 1
                          : c[0] < 0xe0 ? 2
                          : c[0] < 0xf0 ? 3
                                        : 4;
    for (size_t i = 1; i < length; i++)
        if (i == n || (c[i] & 0xc0) != 0x80)
            return 0;
    if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) ||
        (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f))
        return 0;
    return length;
}

/* Characters of text[0, n), which is valid. */
static inline size_t vly_utf8_count(const char *text, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

/* Writes a code point below 0x110000; its bytes. */
static inline size_t vly_utf8_put(uint32_t code, char *out)
{
    const size_t length = code < 0x80      ? 1
                          : code < 0x800   ? 2
                          : code < 0x10000 ? 3
                                           : 4;
    static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = length; i-- > 1; code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)(first[length] | code);
    return length;
}

#endif

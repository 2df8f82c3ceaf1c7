/* SPDX-License-Identifier: Apache-2.0
 * Names of any script in the columns of a table. libc's wcwidth needs a locale
 * of UTF-8, which is not sure to be there; these are the blocks of Unicode
 * Standard Annex 11 (wide) and those of combining marks.
 */
#include "tools/cli/columns.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/plain.h"

typedef struct code_range {
    uint32_t first;
    uint32_t last;
} code_range;

static const code_range wide[] = {
    {0x1100, 0x115f},   /* Hangul, initial letters */
    {0x2e80, 0x303e},   /* radicals, punctuation of Chinese and Japanese */
    {0x3041, 0xa4cf},   /* kana, bopomofo, Chinese characters, Yi */
    {0xa960, 0xa97f},   /* Hangul */
    {0xac00, 0xd7a3},   /* Hangul, syllables */
    {0xf900, 0xfaff},   /* Chinese characters */
    {0xfe30, 0xfe6f},   /* punctuation */
    {0xff01, 0xff60},   /* wide Latin */
    {0xffe0, 0xffe6},   /* wide signs */
    {0x1f300, 0x1f64f}, /* pictures */
    {0x1f680, 0x1f6ff}, /* pictures */
    {0x1f900, 0x1f9ff}, /* pictures */
    {0x20000, 0x3fffd}, /* Chinese characters */
};

static const code_range joined[] = {
    {0x0300, 0x036f},                                     /* accents */
    {0x0483, 0x0489},                                     /* of Cyrillic */
    {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200f}, /* and no width */
    {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},
};

static bool is_in(uint32_t code, const code_range *ranges, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (code >= ranges[i].first && code <= ranges[i].last)
            return true;
    return false;
}

static int columns_of(const char *text, const vly_plain_char *c)
{
    char one[5] = "";
    if (c->code == '\t' && c->is_utf8)
        return 1;
    if (!c->is_plain) {
        memcpy(one, text, c->length);
        return (int)vly_plain(one, true, NULL, 0);
    }
    if (is_in(c->code, joined, sizeof joined / sizeof joined[0]))
        return 0;
    return is_in(c->code, wide, sizeof wide / sizeof wide[0]) ? 2 : 1;
}

/* Columns of the longest beginning that has at most `most` of them; *bytes of
 * it. */
static int measure(const char *text, int most, int *bytes)
{
    size_t left = strlen(text);
    int columns = 0;
    *bytes = 0;
    while (left > 0) {
        const vly_plain_char c = vly_plain_char_at(text, left);
        const int next = columns_of(text, &c);
        if (next > most - columns)
            break;
        columns += next;
        *bytes += (int)c.length;
        text += c.length;
        left -= c.length;
    }
    return columns;
}

int tool_columns(const char *text)
{
    int bytes = 0;
    return measure(text, INT32_MAX, &bytes);
}

int tool_field(const char *text, int n)
{
    int bytes = 0;
    const int columns = measure(text, INT32_MAX, &bytes);
    return bytes + (n > columns ? n - columns : 0);
}

int tool_fit(const char *text, int n)
{
    int bytes = 0;
    (void)measure(text, n, &bytes);
    return bytes;
}

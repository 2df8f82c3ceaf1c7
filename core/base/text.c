/* SPDX-License-Identifier: Apache-2.0
 * Growing text.
 */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/plain.h"

static bool grow(vly_text *text, size_t more)
{
    size_t wanted = 0;
    if (text->failed)
        return false;
    if (!vly_size_add(text->n, more, &wanted) ||
        !vly_size_add(wanted, 1, &wanted)) {
        text->failed = true;
        return false;
    }
    if (wanted <= text->capacity)
        return true;
    size_t capacity = text->capacity ? text->capacity : 1024;
    while (capacity < wanted)
        capacity *= 2;
    char *grown = vly_realloc(text->data, capacity, 1);
    if (!grown) {
        text->failed = true;
        return false;
    }
    text->data = grown;
    text->capacity = capacity;
    return true;
}

void vly_text_bytes(vly_text *text, const void *bytes, size_t n)
{
    if (!grow(text, n))
        return;
    memcpy(text->data + text->n, bytes, n);
    text->n += n;
    text->data[text->n] = 0;
}

void vly_text_put(vly_text *text, const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    if (n >= 0 && n < (int)sizeof(line)) {
        vly_text_bytes(text, line, (size_t)n);
        return;
    }
    if (n < 0 || !grow(text, (size_t)n)) {
        text->failed = true;
        return;
    }
    va_start(arguments, format); /* the name of a pool may be long */
    (void)vsnprintf(text->data + text->n, (size_t)n + 1, format, arguments);
    va_end(arguments);
    text->n += (size_t)n;
}

void vly_text_string(vly_text *text, const char *string)
{
    size_t left = strlen(string);
    vly_text_put(text, "\"");
    while (left > 0) {
        const vly_plain_char c = vly_plain_char_at(string, left);
        if (c.code == '"' || c.code == '\\')
            vly_text_put(text, "\\%c", (char)c.code);
        else if (c.is_utf8 && !c.is_plain)
            vly_text_put(text, "\\u%04x", (unsigned)c.code);
        else
            vly_text_bytes(text, string, c.length);
        string += c.length;
        left -= c.length;
    }
    vly_text_put(text, "\"");
}

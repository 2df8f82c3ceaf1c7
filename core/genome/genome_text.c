/* SPDX-License-Identifier: Apache-2.0
 * Growing text, and values as TOML.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/plain.h"
#include "genome/genome_resolve.h"

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

static void put_number(vly_text *text, double number)
{
    char buffer[VLY_NUMBER_SIZE];
    vly_text_put(text, "%s", vly_toml_print_number(number, buffer));
}

static void put_pair(vly_text *text, const char *name, double a, double b)
{
    vly_text_put(text, "%s = [", name);
    put_number(text, a);
    vly_text_put(text, ", ");
    put_number(text, b);
    vly_text_put(text, "]");
}

static void put_array(vly_text *text, const vly_value *value)
{
    vly_text_put(text, "[");
    for (uint32_t i = 0; i < value->n_array; i++) {
        if (i > 0)
            vly_text_put(text, i % 10 ? ", " : ",\n    ");
        put_number(text, value->array[i]);
    }
    vly_text_put(text, "]");
}

static void put_draw(vly_text *text, const vly_value *value)
{
    vly_text_put(text, "{ base = ");
    put_number(text, value->base);
    vly_text_put(text, ", scale = ");
    put_number(text, value->scale);
    vly_text_put(text, ", power = ");
    put_number(text, value->power);
    vly_text_put(text, ", draw = \"%s\" }", value->draw);
}

/* A choice too: it is a mixture of numbers. */
static void put_mixture(vly_text *text, const vly_value *value)
{
    vly_text_put(text, "{ mixture = [");
    for (uint32_t i = 0; i < value->n_parts; i++) {
        vly_text_put(text, i ? ", " : "");
        vly_text_value(text, &value->parts[i]);
    }
    vly_text_put(text, "], p = [");
    for (uint32_t i = 0; i < value->n_parts; i++) {
        vly_text_put(text, i ? ", " : "");
        put_number(text, value->shares[i]);
    }
    vly_text_put(text, "] }");
}

void vly_text_value(vly_text *text, const vly_value *value)
{
    static const char *const names[] = {"", "uniform", "normal", "lognormal",
                                        "exponential"};
    if (value->kind == VLY_VALUE_NUMBER) {
        put_number(text, value->a);
        return;
    }
    if (value->kind == VLY_VALUE_ARRAY) {
        put_array(text, value);
        return;
    }
    if (value->kind == VLY_VALUE_DRAW) {
        put_draw(text, value);
        return;
    }
    if (value->kind == VLY_VALUE_MIXTURE) {
        put_mixture(text, value);
        return;
    }
    vly_text_put(text, "{ ");
    if (value->kind == VLY_VALUE_EXPONENTIAL) {
        vly_text_put(text, "exponential = ");
        put_number(text, value->a);
    } else {
        put_pair(text, names[value->kind], value->a, value->b);
    }
    if (value->clipped) {
        vly_text_put(text, ", ");
        put_pair(text, "clip", value->clip_lo, value->clip_hi);
    }
    vly_text_put(text, " }");
}

void vly_text_origin(vly_text *text, const vly_origin *origin,
                     const char *model)
{
    if (origin->file && text->files)
        vly_text_put(text, "  # %s", text->files[origin->file - 1]);
    if (origin->file && text->files)
        vly_text_put(text, " line %u\n", origin->line);
    else if (origin->kind == VLY_ORIGIN_DEFAULT)
        vly_text_put(text, "  # default\n");
    else if (origin->kind == VLY_ORIGIN_SET)
        vly_text_put(text, "  # --set\n");
    else if (origin->kind == VLY_ORIGIN_MODEL && model)
        vly_text_put(text, "  # model %s, line %u\n", model, origin->line);
    else
        vly_text_put(text, "  # line %u\n", origin->line);
}

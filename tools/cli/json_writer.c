/* SPDX-License-Identifier: Apache-2.0
 * JSON (RFC 8259) into memory.
 */
#include "tools/cli/json_writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/plain.h"
#include "tools/cli/tool.h"

void json_init(json_writer *json, bool lines)
{
    *json = (json_writer){.lines = lines, .empty = true};
}

void json_deinit(json_writer *json)
{
    vly_free(json->text);
    json->text = NULL;
}

static void put(json_writer *json, const char *text, size_t n)
{
    if (json->failed)
        return;
    if (n >= json->capacity - json->n_text) {
        size_t capacity = 2 * (json->capacity + n) + 256;
        char *grown = vly_realloc(json->text, capacity, 1);
        if (!grown) {
            json->failed = true;
            return;
        }
        json->text = grown;
        json->capacity = capacity;
    }
    memcpy(json->text + json->n_text, text, n);
    json->n_text += n;
    json->text[json->n_text] = '\0';
}

static void put_text(json_writer *json, const char *text)
{
    put(json, text, strlen(text));
}

static void break_line(json_writer *json)
{
    if (!json->lines)
        return;
    put_text(json, "\n");
    for (uint32_t i = 0; i < json->depth; i++)
        put_text(json, "  ");
}

/* Escapes what JSON requires, and control sequences of terminals
 * (base/plain.h). */
static void put_quoted(json_writer *json, const char *text)
{
    size_t left = strlen(text);
    put_text(json, "\"");
    while (left > 0) {
        const vly_plain_char c = vly_plain_char_at(text, left);
        char escape[8];
        if (!c.is_utf8) {
            put_text(json, "\\ufffd");
        } else if (c.code == '"' || c.code == '\\') {
            snprintf(escape, sizeof escape, "\\%c", text[0]);
            put_text(json, escape);
        } else if (c.code == '\n') {
            put_text(json, "\\n");
        } else if (!c.is_plain) {
            snprintf(escape, sizeof escape, "\\u%04x", (unsigned)c.code);
            put_text(json, escape);
        } else {
            put(json, text, c.length);
        }
        text += c.length;
        left -= c.length;
    }
    put_text(json, "\"");
}

static void begin_member(json_writer *json, const char *key)
{
    if (!json->empty)
        put_text(json, json->lines ? "," : ", ");
    if (json->depth > 0)
        break_line(json);
    json->empty = false;
    if (!key)
        return;
    put_quoted(json, key);
    put_text(json, ": ");
}

static void begin_group(json_writer *json, const char *key, const char *mark)
{
    begin_member(json, key);
    put_text(json, mark);
    json->depth++;
    json->empty = true;
}

static void end_group(json_writer *json, const char *mark)
{
    json->depth--;
    if (!json->empty)
        break_line(json);
    put_text(json, mark);
    json->empty = false;
}

void json_object(json_writer *json, const char *key)
{
    begin_group(json, key, "{");
}

void json_object_end(json_writer *json)
{
    end_group(json, "}");
}

void json_array(json_writer *json, const char *key)
{
    begin_group(json, key, "[");
}

void json_array_end(json_writer *json)
{
    end_group(json, "]");
}

void json_text(json_writer *json, const char *key, const char *value)
{
    begin_member(json, key);
    if (!value)
        put_text(json, "null");
    else
        put_quoted(json, value);
}

void json_u64(json_writer *json, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    begin_member(json, key);
    put_text(json, text);
}

void json_i64(json_writer *json, const char *key, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    begin_member(json, key);
    put_text(json, text);
}

void json_number(json_writer *json, const char *key, double value)
{
    begin_member(json, key);
    bool finite = value - value <= 0.0;
    put_text(json, finite ? tool_number_text(value) : "null");
}

void json_bool(json_writer *json, const char *key, bool value)
{
    begin_member(json, key);
    put_text(json, value ? "true" : "false");
}

void json_hex(json_writer *json, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%016" PRIx64, value);
    json_text(json, key, text);
}

void json_raw(json_writer *json, const char *key, const char *value)
{
    begin_member(json, key);
    put_text(json, value);
}

const char *json_finish(json_writer *json, size_t *n_text)
{
    put_text(json, "\n");
    if (json->failed)
        return NULL;
    *n_text = json->n_text;
    return json->text;
}

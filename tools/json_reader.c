/* SPDX-License-Identifier: Apache-2.0
 * A JSON reader (RFC 8259) for files of a few kilobytes.
 */
#include "json_reader.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

enum { DEPTH_MAX = 64, FILE_BYTES_MAX = 64 << 20, FOUND_MAX = 12 };

typedef struct parser {
    const char *name;
    const char *at;
    uint32_t line;
    uint32_t depth;
    vly_error *error;
} parser;

static vly_status parse_value(parser *p, json_value *value);

static vly_status wanted(const parser *p, const char *what)
{
    size_t n = strcspn(p->at, "\r\n"); /* a message is one line */
    return vly_fail(p->error, VLY_E_PARSE, "%s:%u: found \"%.*s\", wanted %s",
                    p->name, p->line, n < FOUND_MAX ? (int)n : FOUND_MAX, p->at,
                    what);
}

static void skip_space(parser *p)
{
    for (; *p->at != '\0' && strchr(" \t\r\n", *p->at) != NULL; p->at++)
        p->line += *p->at == '\n';
}

static bool take(parser *p, const char *word)
{
    size_t n = strlen(word);
    if (strncmp(p->at, word, n) != 0)
        return false;
    p->at += n;
    return true;
}

static size_t put_code(uint32_t code, char *out)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xC0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3F));
        return 2;
    }
    out[0] = (char)(0xE0 | code >> 12);
    out[1] = (char)(0x80 | (code >> 6 & 0x3F));
    out[2] = (char)(0x80 | (code & 0x3F));
    return 3;
}

/* After a backslash. Surrogate pairs are not joined: the command writes
 * none. */
static bool parse_escape(parser *p, char *out, size_t *n)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    char c = *p->at++;
    const char *found = c != '\0' ? strchr(from, c) : NULL;
    if (found != NULL) {
        out[(*n)++] = to[found - from];
        return true;
    }
    uint32_t code = 0;
    for (int i = 0; c == 'u' && i < 4; i++, p->at++) {
        if (!isxdigit((unsigned char)*p->at))
            return false;
        int digit = isdigit((unsigned char)*p->at)
                        ? *p->at - '0'
                        : tolower((unsigned char)*p->at) - 'a' + 10;
        code = code << 4 | (uint32_t)digit;
    }
    *n += put_code(code, out + *n);
    return c == 'u';
}

static vly_status parse_text(parser *p, char **text)
{
    if (*p->at != '"')
        return wanted(p, "a string");
    p->at++;
    char *out = vly_malloc(strcspn(p->at, "\n") + 8, 1);
    size_t n = 0;
    if (out == NULL)
        return vly_fail_nomem(p->error, 64, "a string");
    while (*p->at != '"') {
        bool good = (unsigned char)*p->at >= 0x20;
        if (good && *p->at == '\\') {
            p->at++;
            good = parse_escape(p, out, &n);
        } else if (good) {
            out[n++] = *p->at++;
        }
        if (!good) {
            vly_free(out);
            return wanted(p, "a character of a string");
        }
    }
    p->at++;
    out[n] = '\0';
    *text = out;
    return VLY_OK;
}

static vly_status add_item(parser *p, json_value *group, json_value **item)
{
    uint32_t n = group->n_items;
    if ((n & (n - 1)) == 0) { /* full at every power of two */
        size_t room = n == 0 ? 1 : 2 * (size_t)n;
        json_value *grown =
            vly_realloc(group->items, room, sizeof *group->items);
        if (grown == NULL)
            return vly_fail_nomem(p->error, room * sizeof *grown, "JSON");
        group->items = grown;
    }
    *item = &group->items[group->n_items++];
    memset(*item, 0, sizeof **item);
    return VLY_OK;
}

static vly_status parse_member(parser *p, json_value *group)
{
    json_value *item = NULL;
    vly_status status = add_item(p, group, &item);
    if (status != VLY_OK || group->kind == JSON_ARRAY)
        return status != VLY_OK ? status : parse_value(p, item);
    skip_space(p);
    status = parse_text(p, &item->key);
    if (status != VLY_OK)
        return status;
    skip_space(p);
    if (!take(p, ":"))
        return wanted(p, "a colon");
    return parse_value(p, item);
}

static vly_status parse_group(parser *p, json_value *group, const char *end)
{
    if (++p->depth > DEPTH_MAX)
        return wanted(p, "fewer levels");
    p->at++;
    skip_space(p);
    if (!take(p, end)) {
        do {
            vly_status status = parse_member(p, group);
            if (status != VLY_OK)
                return status;
            skip_space(p);
        } while (take(p, ","));
        if (!take(p, end))
            return wanted(p, "a comma or the end of the list");
    }
    p->depth--;
    return VLY_OK;
}

static vly_status parse_number(parser *p, json_value *value)
{
    char *end = NULL;
    if (*p->at != '-' && !isdigit((unsigned char)*p->at))
        return wanted(p, "a value");
    value->kind = JSON_NUMBER;
    value->number = strtod(p->at, &end);
    if (end == p->at)
        return wanted(p, "a number");
    p->at = end;
    return VLY_OK;
}

static vly_status parse_value(parser *p, json_value *value)
{
    skip_space(p);
    if (*p->at == '{') {
        value->kind = JSON_OBJECT;
        return parse_group(p, value, "}");
    }
    if (*p->at == '[') {
        value->kind = JSON_ARRAY;
        return parse_group(p, value, "]");
    }
    if (*p->at == '"') {
        value->kind = JSON_TEXT;
        return parse_text(p, &value->text);
    }
    if (take(p, "null"))
        return VLY_OK;
    if (take(p, "true") || take(p, "false")) {
        value->kind = JSON_BOOL;
        value->number = p->at[-2] == 'u';
        return VLY_OK;
    }
    return parse_number(p, value);
}

vly_status json_parse(const char *text, const char *name, json_value *value,
                      vly_error *error)
{
    json_value read = {0};
    parser p = {.name = name, .at = text, .line = 1, .error = error};
    vly_status status = parse_value(&p, &read);
    if (status == VLY_OK) {
        skip_space(&p);
        if (*p.at != '\0')
            status = wanted(&p, "the end of the file");
    }
    if (status != VLY_OK) {
        json_free(&read);
        return status;
    }
    *value = read;
    return VLY_OK;
}

static vly_status read_text(FILE *file, const char *path, char **text,
                            vly_error *error)
{
    size_t n = 0;
    size_t room = 1 << 16;
    char *out = NULL;
    do {
        room *= 2;
        char *grown = room > FILE_BYTES_MAX ? NULL : vly_realloc(out, room, 1);
        if (grown == NULL) {
            vly_free(out);
            return vly_fail_nomem(error, room, path);
        }
        out = grown;
        n += fread(out + n, 1, room - 1 - n, file);
    } while (n == room - 1);
    out[n] = '\0';
    if (ferror(file)) {
        vly_free(out);
        return vly_fail(error, VLY_E_IO, "%s: cannot be read: %s", path,
                        strerror(errno));
    }
    *text = out;
    return VLY_OK;
}

vly_status json_load(const char *path, json_value *value, vly_error *error)
{
    char *text = NULL;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return vly_fail(error, VLY_E_IO, "%s: cannot be read: %s", path,
                        strerror(errno));
    vly_status status = read_text(file, path, &text, error);
    fclose(file);
    if (status == VLY_OK)
        status = json_parse(text, path, value, error);
    vly_free(text);
    return status;
}

void json_free(json_value *value)
{
    for (uint32_t i = 0; i < value->n_items; i++)
        json_free(&value->items[i]);
    vly_free(value->items);
    vly_free(value->text);
    vly_free(value->key);
    memset(value, 0, sizeof *value);
}

const json_value *json_find(const json_value *value, const char *key)
{
    if (value == NULL || value->kind != JSON_OBJECT)
        return NULL;
    for (uint32_t i = 0; i < value->n_items; i++) {
        if (strcmp(value->items[i].key, key) == 0)
            return &value->items[i];
    }
    return NULL;
}

const char *json_find_text(const json_value *value, const char *key)
{
    const json_value *found = json_find(value, key);
    return found != NULL && found->kind == JSON_TEXT ? found->text : NULL;
}

double json_find_number(const json_value *value, const char *key,
                        double fallback)
{
    const json_value *found = json_find(value, key);
    return found != NULL && found->kind == JSON_NUMBER ? found->number
                                                       : fallback;
}

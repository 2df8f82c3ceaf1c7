/* SPDX-License-Identifier: Apache-2.0
 * A tree of JSON: see json_reader.h. Tokens are read from a copy of the text,
 * in which strings are decoded (base/json.h); lines and columns are counted in
 * the text as it was given.
 */
#include "tools/cli/json_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/reading.h"

enum { DEPTH_MAX = 2048, FEW_KEYS = 8 };

typedef struct tree_reader {
    vly_json json;
    const char *text; /* as given */
    const char *name;
    size_t taken; /* bytes of lists of items */
    uint32_t depth;
    vly_error *error;
} tree_reader;

/* ---- errors ------------------------------------------------------------- */

/* Line and column of the next byte, from 1; columns are characters. */
static vly_status fail_at(const tree_reader *r, size_t at, const char *text)
{
    uint32_t line = 1;
    uint32_t column = 1;
    for (size_t i = 0; i < at; i++) {
        const char c = r->text[i];
        column = c == '\n' ? 1 : column + ((c & 0xc0) != 0x80);
        line += c == '\n';
    }
    return vly_fail(r->error, VLY_E_PARSE, "%.300s:%u:%u: %s", r->name, line,
                    column, text);
}

static vly_status wanted(const tree_reader *r, const char *what)
{
    char found[VLY_JSON_FOUND];
    char text[160];
    snprintf(text, sizeof text, "found %s, wanted %s",
             vly_json_found(&r->json, found), what);
    return fail_at(r, r->json.at, text);
}

/* ---- items -------------------------------------------------------------- */

/* Room for one more item; full at every power of two. */
static vly_status grow(tree_reader *r, json_value *list)
{
    const size_t n = list->n_items;
    if ((n & (n - 1)) != 0)
        return VLY_OK;
    const size_t room = n == 0 ? 1 : 2 * n;
    const size_t more = (room - n) * sizeof *list->items;
    if (more > JSON_TREE_BYTES_MAX - r->taken)
        return vly_fail(r->error, VLY_E_PARSE,
                        "%.300s: more values than fit into %zu bytes of "
                        "memory, wanted a smaller file",
                        r->name, (size_t)JSON_TREE_BYTES_MAX);
    json_value *grown = vly_realloc(list->items, room, sizeof *list->items);
    if (!grown)
        return vly_fail_nomem(r->error, more, "a file of JSON");
    list->items = grown;
    r->taken += more;
    return VLY_OK;
}

static vly_status copy_text(const tree_reader *r, const char *text, char **out)
{
    *out = vly_strdup(text);
    return *out ? VLY_OK
                : vly_fail_nomem(r->error, strlen(text), "a file of JSON");
}

static int by_key(const void *a, const void *b)
{
    const json_value *x = *(const json_value *const *)a;
    const json_value *y = *(const json_value *const *)b;
    const int order = strcmp(x->key, y->key);
    return order != 0 ? order : (x->at > y->at) - (x->at < y->at);
}

/* The first key of an object that comes a second time; NULL: none. */
static const json_value *find_twice(const json_value *object,
                                    const json_value **sorted)
{
    const uint32_t n = object->n_items;
    const json_value *found = NULL;
    for (uint32_t i = 0; i < n; i++)
        sorted[i] = &object->items[i];
    qsort(sorted, n, sizeof(*sorted), by_key);
    for (uint32_t i = 1; i < n; i++)
        if (strcmp(sorted[i - 1]->key, sorted[i]->key) == 0 &&
            (!found || sorted[i]->at < found->at))
            found = sorted[i];
    return found;
}

static vly_status check_keys(const tree_reader *r, const json_value *object)
{
    const json_value *few[FEW_KEYS];
    const json_value **sorted = few;
    if (object->n_items < 2)
        return VLY_OK;
    if (object->n_items > FEW_KEYS)
        sorted = vly_malloc(object->n_items, sizeof(*sorted));
    if (!sorted)
        return vly_fail_nomem(r->error, object->n_items * sizeof(*sorted),
                              "a file of JSON");
    const json_value *twice = find_twice(object, sorted);
    const size_t at = twice ? twice->at : 0;
    if (sorted != few)
        vly_free(sorted);
    return twice ? fail_at(r, at,
                           "the object has this key already, wanted it once")
                 : VLY_OK;
}

/* ---- values ------------------------------------------------------------- */

static vly_status read_value(tree_reader *r, json_value *value);

static vly_status read_item(tree_reader *r, json_value *list)
{
    vly_status status = VLY_OK;
    char *key = NULL;
    VLY_TRY(grow(r, list));
    json_value *item = &list->items[list->n_items++];
    *item = (json_value){0};
    vly_json_space(&r->json);
    item->at = (uint32_t)r->json.at;
    if (list->kind == JSON_OBJECT) {
        const char *what = vly_json_text(&r->json, &key);
        if (what)
            VLY_TRY(wanted(r, what));
        VLY_TRY(copy_text(r, key, &item->key));
        if (!vly_json_take(&r->json, ':'))
            VLY_TRY(wanted(r, "a colon"));
    }
    status = read_value(r, item);
out:
    return status;
}

static vly_status read_items(tree_reader *r, json_value *list, char end,
                             const char *what)
{
    vly_status status = VLY_OK;
    if (r->depth == DEPTH_MAX) {
        r->json.at--; /* the bracket itself */
        VLY_TRY(fail_at(r, r->json.at, "more than 2048 levels, wanted fewer"));
    }
    r->depth++;
    if (!vly_json_take(&r->json, end)) {
        do {
            VLY_TRY(read_item(r, list));
        } while (vly_json_take(&r->json, ','));
        if (!vly_json_take(&r->json, end))
            VLY_TRY(wanted(r, what));
    }
    r->depth--;
    if (list->kind == JSON_OBJECT)
        status = check_keys(r, list);
out:
    return status;
}

/* Recursion is at most DEPTH_MAX deep. */
static vly_status read_value(tree_reader *r, json_value *value)
{
    vly_status status = VLY_OK;
    char *text = NULL;
    const char *what = NULL;
    if (vly_json_take(&r->json, '{')) {
        value->kind = JSON_OBJECT;
        status = read_items(r, value, '}', "a comma or }");
    } else if (vly_json_take(&r->json, '[')) {
        value->kind = JSON_ARRAY;
        status = read_items(r, value, ']', "a comma or ]");
    } else if (r->json.text[r->json.at] == '"') {
        value->kind = JSON_TEXT;
        what = vly_json_text(&r->json, &text);
        status = what ? wanted(r, what) : copy_text(r, text, &value->text);
    } else if (vly_json_word(&r->json, "null")) {
        value->kind = JSON_NULL;
    } else if (vly_json_word(&r->json, "true")) {
        value->kind = JSON_BOOL;
        value->number = 1;
    } else if (vly_json_word(&r->json, "false")) {
        value->kind = JSON_BOOL;
    } else if (r->json.text[r->json.at] != '\0' &&
               strchr("-0123456789", r->json.text[r->json.at])) {
        value->kind = JSON_NUMBER;
        what = vly_json_number(&r->json, &value->number);
        status = what ? wanted(r, what) : VLY_OK;
    } else {
        status = wanted(r, "a value");
    }
    return status;
}

static vly_status read_tree(tree_reader *r, json_value *value)
{
    vly_status status = VLY_OK;
    vly_json_space(&r->json);
    const char first = r->json.text[r->json.at];
    if (first != '{' && first != '[')
        return wanted(r, "{ or [ of JSON");
    VLY_TRY(read_value(r, value));
    vly_json_space(&r->json);
    if (r->json.at != r->json.n)
        status = wanted(r, "the end of the file");
out:
    return status;
}

/* ---- reading ------------------------------------------------------------ */

vly_status json_parse_bytes(const char *text, size_t n, const char *name,
                            json_value *value, vly_error *error)
{
    json_value read = {0};
    if (n > JSON_FILE_BYTES_MAX)
        return vly_fail(error, VLY_E_PARSE,
                        "%.300s: %zu bytes, wanted at most %zu of JSON", name,
                        n, (size_t)JSON_FILE_BYTES_MAX);
    /* a byte order mark, which some editors write; allowed in TOML too */
    if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
        n -= 3;
    }
    char *copy = vly_malloc(n + 1, 1);
    if (!copy)
        return vly_fail_nomem(error, n + 1, "a file of JSON");
    memcpy(copy, text, n);
    copy[n] = '\0';
    tree_reader r = {.json = {.text = copy, .n = n},
                     .text = text,
                     .name = name,
                     .error = error};
    vly_status status = read_tree(&r, &read);
    vly_free(copy);
    if (status == VLY_OK)
        *value = read;
    else
        json_free(&read);
    return status;
}

vly_status json_parse(const char *text, const char *name, json_value *value,
                      vly_error *error)
{
    return json_parse_bytes(text, strlen(text), name, value, error);
}

vly_status json_load(const char *path, json_value *value, vly_error *error)
{
    char *text = NULL;
    size_t n = 0;
    FILE *file = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_reading_open(path, VLY_READ_STREAM, &file, error));
    status = vly_reading_whole(file, path, "a file of JSON",
                               JSON_FILE_BYTES_MAX, &text, &n, error);
    fclose(file);
    if (status == VLY_OK)
        status = json_parse_bytes(text, n, path, value, error);
    vly_free(text);
out:
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
    if (!value || value->kind != JSON_OBJECT)
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
    return found && found->kind == JSON_TEXT ? found->text : NULL;
}

double json_find_number(const json_value *value, const char *key,
                        double fallback)
{
    const json_value *found = json_find(value, key);
    return found && found->kind == JSON_NUMBER ? found->number : fallback;
}

/* SPDX-License-Identifier: Apache-2.0
 * JSON by jansson: see feagi_json.h. Its tree is copied into ours at once, so
 * that no other file depends on it, nor on a build that has it.
 *
 * libjansson has functions that are called what some of json_writer.c are
 * (json_object, json_array). They do not meet: the command's are hidden
 * (CMAKE_C_VISIBILITY_PRESET), and this file calls none of those names.
 */
#include "feagi_json.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

void feagi_json_free(feagi_value *value)
{
    for (uint32_t i = 0; i < value->n_items; i++)
        feagi_json_free(&value->items[i]);
    vly_free(value->items);
    vly_free(value->text);
    vly_free(value->key);
    *value = (feagi_value){0};
}

const feagi_value *feagi_json_get(const feagi_value *value, const char *key)
{
    for (uint32_t i = 0;
         value && value->kind == FEAGI_OBJECT && i < value->n_items; i++)
        if (strcmp(value->items[i].key, key) == 0)
            return &value->items[i];
    return NULL;
}

void feagi_json_plain(vly_error *error)
{
    for (char *c = error ? error->message : NULL; c && *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = '?';
}

/* At most so many bytes, and no character cut in two. */
static size_t text_fits(const char *text, size_t most)
{
    size_t n = strlen(text);
    if (n <= most)
        return n;
    for (n = most; n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80;)
        n--;
    return n;
}

const char *feagi_json_found(const feagi_value *value,
                             char text[FEAGI_FOUND_SIZE])
{
    size_t n;
    if (!value)
        return "missing";
    switch (value->kind) {
    case FEAGI_NULL:
        return "null";
    case FEAGI_BOOL:
        return value->number > 0 ? "true" : "false";
    case FEAGI_NUMBER:
        snprintf(text, FEAGI_FOUND_SIZE, "%.15g", value->number);
        return text;
    case FEAGI_TEXT:
        n = text_fits(value->text, 40);
        snprintf(text, FEAGI_FOUND_SIZE, "\"%.*s\"%s", (int)n, value->text,
                 value->text[n] ? "..." : "");
        return text;
    case FEAGI_ARRAY:
        snprintf(text, FEAGI_FOUND_SIZE, "an array of %u", value->n_items);
        return text;
    default:
        snprintf(text, FEAGI_FOUND_SIZE, "an object of %u", value->n_items);
        return text;
    }
}

#ifdef VLY_HAVE_JANSSON

#include <setjmp.h>

#include <jansson.h>

bool feagi_json_built(void)
{
    return true;
}

/* ---- memory ------------------------------------------------------------- */

/* jansson 2.14 writes beyond a block when memory runs short while it reads a
 * string (the growth of its buffer is not checked). So it gets blocks of an
 * arena, which fails for it by a jump out of json_loadb: that holds nothing but
 * memory, and the arena goes as a whole. Its hooks have no argument, hence the
 * static; one thread reads. */
enum { CHUNK_BYTES = 1 << 16 };

typedef struct chunk {
    struct chunk *next;
    max_align_t bytes[];
} chunk;

static struct {
    chunk *chunks;
    char *at;
    size_t left;
    jmp_buf failed;
} arena;

static void *take(size_t bytes)
{
    size_t unit = sizeof(max_align_t);
    size_t wanted = (bytes / unit + 1) * unit;
    if (wanted > arena.left) {
        size_t size = wanted > CHUNK_BYTES ? wanted : CHUNK_BYTES;
        chunk *made = vly_malloc(sizeof(chunk) + size, 1);
        if (!made)
            longjmp(arena.failed, 1);
        made->next = arena.chunks;
        arena.chunks = made;
        arena.at = (char *)made->bytes;
        arena.left = size;
    }
    void *memory = arena.at;
    arena.at += wanted;
    arena.left -= wanted;
    return memory;
}

static void keep(void *memory)
{
    (void)memory;
}

static void free_arena(void)
{
    while (arena.chunks) {
        chunk *next = arena.chunks->next;
        vly_free(arena.chunks);
        arena.chunks = next;
    }
    arena.left = 0;
}

static vly_status no_memory(vly_error *error)
{
    return vly_fail_nomem(error, 0, "a file of JSON");
}

/* ---- a copy of the tree ------------------------------------------------- */

static bool copy_text(const char *text, char **out)
{
    *out = vly_strdup(text);
    return *out != NULL;
}

static bool copy(json_t *from, feagi_value *to);

static bool copy_items(json_t *from, feagi_value *to)
{
    size_t n =
        json_is_array(from) ? json_array_size(from) : json_object_size(from);
    to->items = vly_calloc(n, sizeof(*to->items));
    if (!to->items)
        return false;
    if (json_is_array(from)) {
        for (size_t i = 0; i < n; i++) {
            to->n_items++;
            if (!copy(json_array_get(from, i), &to->items[i]))
                return false;
        }
        return true;
    }
    for (void *at = json_object_iter(from); at;
         at = json_object_iter_next(from, at)) {
        feagi_value *item = &to->items[to->n_items++];
        if (!copy_text(json_object_iter_key(at), &item->key) ||
            !copy(json_object_iter_value(at), item))
            return false;
    }
    return true;
}

/* As deep as jansson reads: 2048. Less than 2^32 items: the file is small. */
static bool copy(json_t *from, feagi_value *to)
{
    switch (json_typeof(from)) {
    case JSON_OBJECT:
    case JSON_ARRAY:
        to->kind = json_is_array(from) ? FEAGI_ARRAY : FEAGI_OBJECT;
        return copy_items(from, to);
    case JSON_STRING:
        to->kind = FEAGI_TEXT;
        return copy_text(json_string_value(from), &to->text);
    case JSON_INTEGER:
    case JSON_REAL:
        to->kind = FEAGI_NUMBER;
        to->number = json_number_value(from);
        return true;
    case JSON_NULL:
        to->kind = FEAGI_NULL;
        return true;
    default:
        to->kind = FEAGI_BOOL;
        to->number = json_is_true(from) ? 1 : 0;
        return true;
    }
}

/* ---- reading ------------------------------------------------------------ */

/* *short_of: memory was short. No variable here changes after setjmp. */
static json_t *load(const char *text, size_t n, json_error_t *why,
                    bool *short_of)
{
    *short_of = true;
    if (setjmp(arena.failed) != 0)
        return NULL;
    json_t *tree = json_loadb(text, n, JSON_REJECT_DUPLICATES, why);
    *short_of = false;
    return tree;
}

vly_status feagi_json_parse(const char *text, size_t n, const char *name,
                            feagi_value *value, vly_error *error)
{
    json_error_t why = {0};
    json_malloc_t malloc_before;
    json_free_t free_before;
    bool short_of = false;
    vly_status status = VLY_OK;
    *value = (feagi_value){0};
    /* as some editors begin a file; a genome in TOML may have it too */
    if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
        n -= 3;
    }
    json_get_alloc_funcs(&malloc_before, &free_before);
    json_set_alloc_funcs(take, keep);
    json_t *tree = load(text, n, &why, &short_of);
    if (!tree && !short_of) {
        status = vly_fail(error, VLY_E_PARSE, "%.300s:%d:%d: %s, wanted JSON",
                          name, why.line, why.column, why.text);
        feagi_json_plain(error);
    } else if (short_of || !copy(tree, value)) {
        feagi_json_free(value);
        status = no_memory(error);
    }
    json_set_alloc_funcs(malloc_before, free_before);
    free_arena(); /* and the tree with it */
    return status;
}

#else

bool feagi_json_built(void)
{
    return false;
}

vly_status feagi_json_parse(const char *text, size_t n, const char *name,
                            feagi_value *value, vly_error *error)
{
    (void)text;
    (void)n;
    *value = (feagi_value){0};
    return vly_fail(error, VLY_E_UNSUPPORTED,
                    "%.300s: import is left out of this build, wanted one "
                    "where CMake finds jansson (libjansson-dev)",
                    name);
}

#endif

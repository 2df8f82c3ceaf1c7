/* SPDX-License-Identifier: Apache-2.0
 * JSON by jansson: see json_reader.h. Its tree is copied into ours at once, so
 * that no other file depends on it.
 *
 * libjansson has functions that are called what some of json_writer.c are
 * (json_object, json_array). They do not meet: the command's are hidden
 * (CMAKE_C_VISIBILITY_PRESET), and this file calls none of those names. Kinds
 * have one name in both headers, hence the other names here; macros of jansson
 * that compare kinds (json_is_object) are not used.
 */
#define JSON_OBJECT JANSSON_OBJECT
#define JSON_ARRAY JANSSON_ARRAY
#define JSON_NULL JANSSON_NULL
#include <jansson.h>
#undef JSON_OBJECT
#undef JSON_ARRAY
#undef JSON_NULL

#include "tools/cli/json_reader.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/reading.h"

/* ---- memory ------------------------------------------------------------- */

/* jansson 2.14 writes beyond a block when memory runs short while it reads a
 * string (the growth of its buffer is not checked). So jansson allocates from
 * an arena. If the arena is full, it jumps out of json_loadb: jansson holds
 * only memory then, and the arena is freed as a whole. jansson's hooks have no
 * argument, so the arena is static and has a lock. */
enum { CHUNK_BYTES = 1 << 16 };

typedef struct chunk {
    struct chunk *next;
    max_align_t bytes[];
} chunk;

typedef enum failure { FAILED_NOMEM = 1, FAILED_SIZE } failure;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct {
    chunk *chunks;
    char *at;
    size_t left;
    size_t taken;
    jmp_buf failed;
} arena; /* under lock */

static void *take(size_t bytes)
{
    size_t unit = sizeof(max_align_t);
    size_t wanted = (bytes / unit + 1) * unit;
    if (wanted > JSON_TREE_BYTES_MAX - arena.taken)
        longjmp(arena.failed, FAILED_SIZE);
    if (wanted > arena.left) {
        size_t size = wanted > CHUNK_BYTES ? wanted : CHUNK_BYTES;
        chunk *made = vly_malloc(sizeof(chunk) + size, 1);
        if (!made)
            longjmp(arena.failed, FAILED_NOMEM);
        made->next = arena.chunks;
        arena.chunks = made;
        arena.at = (char *)made->bytes;
        arena.left = size;
    }
    void *memory = arena.at;
    arena.at += wanted;
    arena.left -= wanted;
    arena.taken += wanted;
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
    arena.taken = 0;
}

/* ---- a copy of the tree ------------------------------------------------- */

static bool copy_text(const char *text, char **out)
{
    *out = vly_strdup(text);
    return *out != NULL;
}

static bool copy(json_t *from, json_value *to);

static bool copy_items(json_t *from, json_value *to)
{
    const bool is_array = to->kind == JSON_ARRAY;
    size_t n = is_array ? json_array_size(from) : json_object_size(from);
    to->items = n > 0 ? vly_calloc(n, sizeof(*to->items)) : NULL;
    if (n > 0 && !to->items)
        return false;
    for (size_t i = 0; is_array && i < n; i++) {
        to->n_items++;
        if (!copy(json_array_get(from, i), &to->items[i]))
            return false;
    }
    for (void *at = is_array ? NULL : json_object_iter(from); at;
         at = json_object_iter_next(from, at)) {
        json_value *item = &to->items[to->n_items++];
        if (!copy_text(json_object_iter_key(at), &item->key) ||
            !copy(json_object_iter_value(at), item))
            return false;
    }
    return true;
}

/* Recursion is at most as deep as jansson reads: 2048. Less than 2^32 items:
 * the file is small. */
static bool copy(json_t *from, json_value *to)
{
    switch (json_typeof(from)) {
    case JANSSON_OBJECT:
        to->kind = JSON_OBJECT;
        return copy_items(from, to);
    case JANSSON_ARRAY:
        to->kind = JSON_ARRAY;
        return copy_items(from, to);
    case JSON_STRING:
        to->kind = JSON_TEXT;
        return copy_text(json_string_value(from), &to->text);
    case JSON_INTEGER:
    case JSON_REAL:
        to->kind = JSON_NUMBER;
        to->number = json_real_value(from);
        return true;
    case JANSSON_NULL:
        to->kind = JSON_NULL;
        return true;
    default:
        to->kind = JSON_BOOL;
        to->number = json_typeof(from) == JSON_TRUE ? 1 : 0;
        return true;
    }
}

/* ---- reading ------------------------------------------------------------ */

/* *failed: why reading stopped early. No variable here changes after setjmp.
 * Every number is a double, as in json_value, so a count above 2^63 is not an
 * error. */
static json_t *load(const char *text, size_t n, json_error_t *why, int *failed)
{
    *failed = setjmp(arena.failed);
    if (*failed != 0)
        return NULL;
    return json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL,
                      why);
}

static vly_status read_tree(const char *text, size_t n, const char *name,
                            json_value *value, vly_error *error)
{
    json_error_t why = {0};
    int failed = 0;
    json_value read = {0};
    json_t *tree = load(text, n, &why, &failed);
    if (failed == FAILED_SIZE)
        return vly_fail(error, VLY_E_PARSE,
                        "%.300s: more values than fit into %zu bytes of "
                        "memory, wanted a smaller file",
                        name, (size_t)JSON_TREE_BYTES_MAX);
    if (!tree && failed == 0)
        return vly_fail(error, VLY_E_PARSE, "%.300s:%d:%d: %s, wanted JSON",
                        name, why.line, why.column, why.text);
    if (failed == FAILED_NOMEM || !copy(tree, &read)) {
        json_free(&read);
        return vly_fail_nomem(error, 0, "a file of JSON");
    }
    *value = read;
    return VLY_OK;
}

vly_status json_parse_bytes(const char *text, size_t n, const char *name,
                            json_value *value, vly_error *error)
{
    json_malloc_t malloc_before;
    json_free_t free_before;
    if (n > JSON_FILE_BYTES_MAX)
        return vly_fail(error, VLY_E_PARSE,
                        "%.300s: %zu bytes, wanted at most %zu of JSON", name,
                        n, (size_t)JSON_FILE_BYTES_MAX);
    /* a byte order mark, which some editors write; allowed in TOML too */
    if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
        n -= 3;
    }
    pthread_mutex_lock(&lock);
    json_get_alloc_funcs(&malloc_before, &free_before);
    json_set_alloc_funcs(take, keep);
    vly_status status = read_tree(text, n, name, value, error);
    json_set_alloc_funcs(malloc_before, free_before);
    free_arena(); /* and jansson's tree with it */
    pthread_mutex_unlock(&lock);
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
    vly_status status = vly_reading_open(path, VLY_READ_STREAM, &file, error);
    if (status != VLY_OK)
        return status;
    status = vly_reading_whole(file, path, "a file of JSON",
                               JSON_FILE_BYTES_MAX, &text, &n, error);
    fclose(file);
    if (status == VLY_OK)
        status = json_parse_bytes(text, n, path, value, error);
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

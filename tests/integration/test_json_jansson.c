/* SPDX-License-Identifier: Apache-2.0
 * The reader of JSON against jansson, another reader: the same texts are JSON
 * for both, and make the same tree. Texts: the corpora of the fuzz targets and
 * FEAGI genomes, whole, cut, and with bytes changed.
 */
#define JSON_OBJECT JANSSON_OBJECT
#define JSON_ARRAY JANSSON_ARRAY
#define JSON_NULL JANSSON_NULL
#include <jansson.h>
#undef JSON_OBJECT
#undef JSON_ARRAY
#undef JSON_NULL

#include "tools/cli/json_reader.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "volley_test.h"

static bool is_same(json_t *a, const json_value *b)
{
    switch (json_typeof(a)) {
    case JANSSON_OBJECT:
        if (b->kind != JSON_OBJECT || json_object_size(a) != b->n_items)
            return false;
        for (uint32_t i = 0; i < b->n_items; i++)
            if (json_object_get(a, b->items[i].key) == NULL ||
                !is_same(json_object_get(a, b->items[i].key), &b->items[i]))
                return false;
        return true;
    case JANSSON_ARRAY:
        if (b->kind != JSON_ARRAY || json_array_size(a) != b->n_items)
            return false;
        for (uint32_t i = 0; i < b->n_items; i++)
            if (!is_same(json_array_get(a, i), &b->items[i]))
                return false;
        return true;
    case JSON_STRING:
        return b->kind == JSON_TEXT &&
               strcmp(json_string_value(a), b->text) == 0;
    case JSON_INTEGER:
    case JSON_REAL:
        return b->kind == JSON_NUMBER && json_number_value(a) == b->number;
    case JANSSON_NULL:
        return b->kind == JSON_NULL;
    default:
        return b->kind == JSON_BOOL &&
               (json_typeof(a) == JSON_TRUE) == (b->number == 1);
    }
}

static uint64_t n_good, n_bad;

static void compare(const char *text, size_t n, const char *name)
{
    json_value value = {0};
    vly_error error = VLY_ERROR_INIT;
    json_error_t why;
    json_t *tree = json_loadb(
        text, n, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &why);
    vly_status status = json_parse_bytes(text, n, name, &value, &error);
    if ((status == VLY_OK) != (tree != NULL))
        fail_msg("%s, %zu bytes: jansson: %s, here: %s", name, n,
                 tree ? "good" : why.text,
                 status == VLY_OK ? "good" : error.message);
    if (tree != NULL && !is_same(tree, &value))
        fail_msg("%s, %zu bytes: another tree", name, n);
    *(tree != NULL ? &n_good : &n_bad) += 1;
    json_free(&value);
    json_decref(tree);
}

/* Whole, cut, and with one byte replaced by each character of the grammar. */
static void compare_all(const char *text, size_t n, const char *name)
{
    static const char grammar[] = "{}[]:,\"\\0-.eEtfn+u/ \t\n\x01\x80\xff";
    char *changed = malloc(n + 1);
    const size_t step = n / 40 + 1;
    assert_non_null(changed);
    compare(text, n, name);
    for (size_t at = 0; at < n; at += step) {
        compare(text, at, name);
        memcpy(changed, text, n);
        for (size_t k = 0; k < sizeof grammar - 1; k++) {
            changed[at] = grammar[k];
            compare(changed, n, name);
        }
    }
    free(changed);
}

static void compare_folder(const char *folder)
{
    enum { MOST = 1 << 16 };
    char path[600];
    char *text = malloc(MOST);
    DIR *list = opendir(folder);
    assert_non_null(list);
    assert_non_null(text);
    for (struct dirent *at; (at = readdir(list)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", folder, at->d_name);
        FILE *file = at->d_name[0] == '.' ? NULL : fopen(path, "rb");
        if (file == NULL)
            continue;
        size_t n = fread(text, 1, MOST, file);
        fclose(file);
        const bool marked = n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0;
        if (!marked) /* jansson has no byte order marks */
            compare_all(text, n, path);
    }
    closedir(list);
    free(text);
}

static void corpora(void **state)
{
    (void)state;
    compare_folder(VLY_TEST_SOURCE_DIR "/tests/fuzz/corpus/json");
    compare_folder(VLY_TEST_SOURCE_DIR "/tests/fuzz/corpus/feagi");
    compare_folder(VLY_TEST_SOURCE_DIR "/tests/golden/feagi");
    print_message("%llu good, %llu bad texts\n", (unsigned long long)n_good,
                  (unsigned long long)n_bad);
    assert_true(n_good > 100 && n_bad > 1000);
}

static void written(void **state)
{
    static const char *const texts[] = {
        "[0, -0, 0.5, 1e5, 1E-5, 123456789012345678901234567890, 1e308]",
        "{\"\": \"\", \"\\u00e4\": {\"\xc3\xa4\": \"\\ud83d\\ude00\\/\\b\"}}",
        "[true, false, null, [], {}, [[[]]], \"\\\"\\\\\"]",
        "[\"\\ud800\"]",
        "[\"\\udc00\\ud800\"]",
        "[\"\\u0000\"]",
        "[\"\x7f\"]",
        "[\"\xc0\x80\"]",
        "[\"\xed\xa0\x80\"]",
        "[\"\xf4\x90\x80\x80\"]",
        "[1e400]",
        "[-1e-400]",
        "{\"a\": 1, \"a\": 1}",
        "[1] 2",
        "[tru]",
        "[truee]",
        "[1,,2]",
        "[/* no */]",
        "[0x1]",
        "[1_000]",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        compare_all(texts[i], strlen(texts[i]), texts[i]);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(corpora),
    cmocka_unit_test(written),
};

VLY_TEST_MAIN(tests)

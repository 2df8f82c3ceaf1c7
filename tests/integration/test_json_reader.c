/* SPDX-License-Identifier: Apache-2.0
 * The one reader of JSON: what it takes, what it refuses, and that neither the
 * form of a text nor its size makes it read or take more than it may.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "tools/cli/json_reader.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "volley_test.h"

/* The text ends where the memory of the process ends. */
static vly_status parse_at_edge(const char *text, size_t n, json_value *value,
                                vly_error *error)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED && n <= page);
    assert_int_equal(mprotect(memory + page, page, PROT_NONE), 0);
    memcpy(memory + page - n, text, n);
    vly_status status =
        json_parse_bytes(memory + page - n, n, "t", value, error);
    munmap(memory, 2 * page);
    return status;
}

static void kinds(void **state)
{
    static const char text[] =
        "\xef\xbb\xbf{\"a\": \"x\\u0041\\n\", \"b\": [1, -2.5, true, false, "
        "null],\n \"c\": {}, \"d\": 18446744073709551615, \"e\": []}";
    json_value value = {0};
    vly_error error = VLY_ERROR_INIT;
    const uint64_t live = vly_memory_live();
    (void)state;
    assert_ok(parse_at_edge(text, sizeof text - 1, &value, &error), error);
    assert_int_equal(value.n_items, 5);
    assert_string_equal(value.items[3].key, "d");
    assert_string_equal(json_find_text(&value, "a"), "xA\n");
    const json_value *b = json_find(&value, "b");
    assert_int_equal(b->kind, JSON_ARRAY);
    assert_int_equal(b->n_items, 5);
    assert_true(b->items[0].number == 1 && b->items[1].number == -2.5);
    assert_true(b->items[2].kind == JSON_BOOL && b->items[2].number == 1);
    assert_true(b->items[3].kind == JSON_BOOL && b->items[3].number == 0);
    assert_int_equal(b->items[4].kind, JSON_NULL);
    assert_int_equal(json_find(&value, "c")->kind, JSON_OBJECT);
    /* a count of 64 bits that no int64 holds */
    assert_true(json_find_number(&value, "d", 0) == 0x1p64);
    assert_null(json_find_text(&value, "d"));
    assert_null(json_find(&value, "none"));
    json_free(&value);
    assert_int_equal(vly_memory_live(), live);
}

/* Cut at each byte and with a backslash there: never reads after the end. */
static void ends_anywhere(void **state)
{
    static const char text[] =
        "{\"a\": \"x\\u00e4\\\"\", \"b\": [1e3, true, null, \"\\\\\"]}";
    (void)state;
    for (size_t n = 0; n < sizeof text - 1; n++) {
        char cut[sizeof text + 1];
        json_value value = {0};
        vly_error error = VLY_ERROR_INIT;
        const uint64_t live = vly_memory_live();
        memcpy(cut, text, n);
        cut[n] = '\\';
        assert_int_equal(parse_at_edge(cut, n, &value, &error), VLY_E_PARSE);
        assert_memory_equal(error.message, "t:1:", 4);
        assert_int_equal(parse_at_edge(cut, n + 1, &value, &error),
                         VLY_E_PARSE);
        assert_int_equal(value.kind, JSON_NULL);
        assert_int_equal(vly_memory_live(), live);
        /* as a string, whose last character is the backslash */
        cut[n + 1] = '\0';
        assert_int_equal(json_parse(cut, "t", &value, NULL), VLY_E_PARSE);
    }
}

static void refused(void **state)
{
    static const struct {
        const char *text;
        const char *begin;
    } cases[] = {
        {"", "t:1:0: "},
        {"1", "t:1:1: "},
        {"{\"a\": 1, \"a\": 2}", "t:1:12: "},
        {"{\"a\": \"\\u0000\"}", "t:1:"},
        {"{\"a\": \"\xff\"}", "t:1:"},
        {"{\"a\": nan}", "t:1:"},
        {"{} {}", "t:1:4: "},
        {"{\n\"a\": 1,\n}", "t:3:1: "},
        {"{\"a\": 1e999}", "t:1:"},
        {"{\"a\": \"\x1b[2J\"}", "t:1:"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_value value = {0};
        vly_error error = VLY_ERROR_INIT;
        const uint64_t live = vly_memory_live();
        assert_int_equal(json_parse(cases[i].text, "t", &value, &error),
                         VLY_E_PARSE);
        if (strncmp(error.message, cases[i].begin, strlen(cases[i].begin)) != 0)
            fail_msg("%s: %s", cases[i].text, error.message);
        assert_int_equal(value.kind, JSON_NULL);
        assert_int_equal(vly_memory_live(), live);
    }
}

/* begin, then n times the unit, then end */
static char *repeated(const char *begin, const char *unit, size_t n,
                      const char *end, size_t *length)
{
    const size_t first = strlen(begin);
    const size_t each = strlen(unit);
    char *text = malloc(first + n * each + strlen(end) + 1);
    assert_non_null(text);
    memcpy(text, begin, first);
    for (size_t i = 0; i < n; i++)
        memcpy(text + first + i * each, unit, each);
    strcpy(text + first + n * each, end);
    *length = strlen(text);
    return text;
}

/* Each string of a line of 2 MB took memory for the whole line. */
static void one_line(void **state)
{
    enum { N = 200000 };
    json_value value = {0};
    vly_error error = VLY_ERROR_INIT;
    size_t n;
    (void)state;
    char *text = repeated("[", "\"abcdefg\", ", N, "\"\"]", &n);
    assert_ok(json_parse_bytes(text, n, "t", &value, &error), error);
    assert_int_equal(value.n_items, N + 1);
    assert_string_equal(value.items[N - 1].text, "abcdefg");
    json_free(&value);
    free(text);
}

static void bounds(void **state)
{
    enum { DEEP = 100000 };
    json_value value = {0};
    vly_error error = VLY_ERROR_INIT;
    size_t n;
    const uint64_t live = vly_memory_live();
    (void)state;
    char *text = repeated("", "[", DEEP, "", &n);
    assert_int_equal(json_parse_bytes(text, n, "t", &value, &error),
                     VLY_E_PARSE);
    assert_memory_equal(error.message, "t:1:2049: ", 10);
    free(text);
    /* small values in a file of a size that is allowed */
    text = repeated("[", "[],", JSON_FILE_BYTES_MAX / 3 - 10, "[]]", &n);
    assert_int_equal(json_parse_bytes(text, n, "t", &value, &error),
                     VLY_E_PARSE);
    assert_string_equal(error.message,
                        "t: more values than fit into 268435456 bytes of "
                        "memory, wanted a smaller file");
    free(text);
    text = repeated("[", " ", JSON_FILE_BYTES_MAX, "]", &n);
    assert_int_equal(json_parse_bytes(text, n, "t", &value, &error),
                     VLY_E_PARSE);
    assert_non_null(strstr(error.message, "wanted at most 16777216 of JSON"));
    FILE *file = fopen(VLY_TEST_BINARY_DIR "/json_reader.tmp", "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(
        json_load(VLY_TEST_BINARY_DIR "/json_reader.tmp", &value, &error),
        VLY_E_PARSE);
    remove(VLY_TEST_BINARY_DIR "/json_reader.tmp");
    free(text);
    assert_int_equal(json_load("/dev/zero", &value, &error), VLY_E_INVALID);
    assert_int_equal(json_load("/nowhere", &value, &error), VLY_E_IO);
    assert_int_equal(vly_memory_live(), live);
    /* what was refused leaves nothing that the next one meets */
    assert_ok(json_parse("{}", "t", &value, &error), error);
    json_free(&value);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(kinds),   cmocka_unit_test(ends_anywhere),
    cmocka_unit_test(refused), cmocka_unit_test(one_line),
    cmocka_unit_test(bounds),
};

VLY_TEST_MAIN(tests)

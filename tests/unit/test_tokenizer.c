/* SPDX-License-Identifier: Apache-2.0
 * Vocabularies: every form of a line, every wrong one with its place; the
 * longest token wins; bytes. A large one is held against Python by
 * tests/support/tokenizer_check.py.
 */
#include "monitor/tokenizer.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "volley_test.h"

#define FILE_NAME VLY_TEST_BINARY_DIR "/test_tokenizer.tmp"

static vly_tokenizer *parse(const char *text)
{
    vly_error error = VLY_ERROR_INIT;
    vly_tokenizer *tokenizer = NULL;
    assert_ok(
        vly_tokenizer_parse(text, strlen(text), "v", 1000, &tokenizer, &error),
        error);
    return tokenizer;
}

static void decodes(const vly_tokenizer *tokenizer, uint32_t id,
                    const char *wanted, size_t n_wanted)
{
    vly_error error = VLY_ERROR_INIT;
    const uint8_t *bytes = NULL;
    size_t n = 0;
    assert_ok(vly_tokenizer_decode(tokenizer, id, &bytes, &n, &error), error);
    assert_int_equal(n, n_wanted);
    assert_memory_equal(bytes, wanted, n);
}

static void test_forms(void **state)
{
    (void)state;
    static const char text[] = "1 'a' 1\n"
                               "2 \"it's\" 4\r\n"
                               "3 '\"' 1\n"
                               "4 '\\'\"' 2\n"
                               "5 '\\n\\t\\r\\\\' 4\n"
                               "6 '\\x00' 1\n"
                               "7 '\\xe9' 2\n"
                               "8 b'\\xe9' 1\n"
                               "9 '\\u20aC' 3\n"
                               "10 '\\U0001f600' 4\n"
                               "11 '\xf0\x9f\x98\x81' 4\n"
                               "12 '  ' 2\n"
                               "13 b\"'\\xff\\n\" 3\n"
                               "14 b'\"\\'' 2\n"
                               "15 ' 16 \\'b\\' 1' 9\n"
                               "999 'z' 1";
    static const struct {
        uint32_t id;
        uint32_t n;
        const char *bytes;
    } wanted[] = {{1, 1, "a"},
                  {2, 4, "it's"},
                  {3, 1, "\""},
                  {4, 2, "'\""},
                  {5, 4, "\n\t\r\\"},
                  {6, 1, ""},
                  {7, 2, "\xc3\xa9"},
                  {8, 1, "\xe9"},
                  {9, 3, "\xe2\x82\xac"},
                  {10, 4, "\xf0\x9f\x98\x80"},
                  {11, 4, "\xf0\x9f\x98\x81"},
                  {12, 2, "  "},
                  {13, 3, "'\xff\n"},
                  {14, 2, "\"'"},
                  {15, 9, " 16 'b' 1"},
                  {999, 1, "z"},
                  {VLY_TOKEN_END, 0, ""}};
    vly_error error = VLY_ERROR_INIT;
    const uint8_t *bytes = NULL;
    size_t n = 0;
    vly_tokenizer *tokenizer = parse(text);
    assert_int_equal(vly_tokenizer_vocabulary(tokenizer), 1000);
    assert_int_equal(vly_tokenizer_count(tokenizer), 16);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        decodes(tokenizer, wanted[i].id, wanted[i].bytes, wanted[i].n);
    assert_int_equal(vly_tokenizer_decode(tokenizer, 16, &bytes, &n, &error),
                     VLY_E_INVALID);
    assert_string_equal(error.message, "no token of the vocabulary has id 16");
    assert_int_equal(
        vly_tokenizer_decode(tokenizer, UINT32_MAX, &bytes, &n, &error),
        VLY_E_INVALID);
    vly_tokenizer_close(tokenizer);
    vly_tokenizer_close(NULL);
}

static const struct {
    const char *text;
    const char *message;
} bad[] = {
    {"", "v: is empty, wanted a vocabulary"},
    {"1 'a' 1\n\n2 'b' 1\n", "v:2:1: found the end of the line, wanted an id"},
    {"1 'a' 1\n'b' 2 1",
     "v:2:1: found \"'b' 2 1\", wanted an id from 1 to 999"},
    {"0 'a' 1", "v:1:1: found \"0 'a' 1\", wanted an id from 1 to 999"},
    {"1000 'a' 1", "v:1:1: found \"1000 'a' 1\", wanted an id from 1 to 999"},
    {"99999999999999999999 'a' 1", "v:1:1: found \"999999999999\", wanted an"},
    {"01 'a' 1", "v:1:1: found \"01 'a' 1\", wanted an id"},
    {"-1 'a' 1", "v:1:1: found \"-1 'a' 1\", wanted an id"},
    {"1\t'a' 1", "v:1:2: found \"?'a' 1\", wanted one blank"},
    {"1  'a' 1", "v:1:3: found \" 'a' 1\", wanted a string or bytes in quotes"},
    {"1 a 1", "v:1:3: found \"a 1\", wanted a string or bytes"},
    {"1 b 1", "v:1:3: found \"b 1\", wanted a string or bytes"},
    {"1 u'a' 1", "v:1:3: found \"u'a' 1\", wanted a string or bytes"},
    {"1 '' 0", "v:1:3: found \"'' 0\", wanted a token of 1 to 1024 bytes"},
    {"1 'a 1\n2 'b' 1", "v:1:7: found the end of the line, wanted UTF-8 and"},
    {"1 'a", "v:1:5: found the end of the file, wanted UTF-8 and the quote"},
    {"1 '\\", "v:1:4: found \"\\\", wanted \\n, \\t, \\r"},
    {"1 '\\q' 1", "v:1:4: found \"\\q' 1\", wanted \\n, \\t, \\r, \\\\, \\', "},
    {"1 '\\x4' 1", "v:1:4: found \"\\x4' 1\", wanted"},
    {"1 '\\u20a' 1", "v:1:4: found \"\\u20a' 1\", wanted"},
    {"1 '\\ud800' 3", "v:1:4: found \"\\ud800' 3\", wanted"},
    {"1 '\\U00110000' 4", "v:1:4: found \"\\U00110000' \", wanted"},
    {"1 b'\\u0041' 1",
     "v:1:5: found \"\\u0041' 1\", wanted \\n, \\t, \\r, \\\\"},
    {"1 b'\xc3\xa9' 2", "v:1:5: found \"?\?' 2\", wanted ASCII and the quote"},
    {"1 '\xe9' 1", "v:1:4: found \"?' 1\", wanted UTF-8"},
    {"1 'a\tb' 3", "v:1:5: found \"?b' 3\", wanted UTF-8"},
    {"1 'a'  1", "v:1:7: found \" 1\", wanted a length from 1 to 1024"},
    {"1 'a'", "v:1:6: found the end of the file, wanted one blank"},
    {"1 'a' ", "v:1:7: found the end of the file, wanted a length"},
    {"1 'a' 2", "v:1:7: found \"2\", wanted 1, the bytes of the token"},
    {"1 '\\xe9' 1", "v:1:10: found \"1\", wanted 2, the bytes of the token"},
    {"1 'a' 1 ", "v:1:8: found \" \", wanted the end of the line"},
    {"1 'a' 1\r", "v:1:8: found \"?\", wanted the end of the line"},
    {"1 'a' 1\n1 'b' 1", "v:2:1: id 1 is there a second time"},
    {"1 'a' 1\n3 'b' 1\n2 b'a' 1", "v:3:1: the token of line 1 is there a sec"},
    {"\xef\xbb\xbf"
     "1 'a' 1",
     "v:1:1: found \"???1 'a' 1\", wanted an id"},
};

static void test_bad(void **state)
{
    (void)state;
    const uint64_t live = vly_memory_live();
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        vly_error error = VLY_ERROR_INIT;
        vly_tokenizer *tokenizer = NULL;
        /* exactly as long: a sanitizer sees what is read behind it */
        const size_t n = strlen(bad[i].text);
        char *text = malloc(n + !n);
        assert_non_null(text);
        memcpy(text, bad[i].text, n);
        assert_int_equal(
            vly_tokenizer_parse(text, n, "v", 1000, &tokenizer, &error),
            VLY_E_PARSE);
        free(text);
        assert_null(tokenizer);
        if (strncmp(error.message, bad[i].message, strlen(bad[i].message)) != 0)
            fail_msg("the message is \"%s\", wanted \"%s\"", error.message,
                     bad[i].message);
        assert_int_equal(vly_memory_live(), live);
    }
}

static void test_long_tokens(void **state)
{
    (void)state;
    char text[1100];
    vly_error error = VLY_ERROR_INIT;
    vly_tokenizer *tokenizer = NULL;
    uint32_t id = 0;
    size_t n_ids = 0;
    for (int n = 1024; n <= 1025; n++) {
        snprintf(text, sizeof text, "5 '%0*d' %d", n, 0, n);
        vly_status status =
            vly_tokenizer_parse(text, strlen(text), "v", 6, &tokenizer, &error);
        assert_int_equal(status, n == 1024 ? VLY_OK : VLY_E_PARSE);
    }
    assert_non_null(strstr(error.message, "wanted a token of 1 to 1024 bytes"));
    snprintf(text, sizeof text, "%01024d", 0);
    assert_ok(
        vly_tokenizer_encode(tokenizer, text, 1024, &id, 1, &n_ids, &error),
        error);
    assert_int_equal(id, 5);
    vly_tokenizer_close(tokenizer);
    assert_int_equal(
        vly_tokenizer_parse("1 'a' 1", 7, "v", 1, &tokenizer, &error),
        VLY_E_INVALID);
}

static void encodes(const vly_tokenizer *tokenizer, const char *text,
                    const uint32_t *wanted, size_t n_wanted)
{
    vly_error error = VLY_ERROR_INIT;
    uint32_t ids[64];
    size_t n = 0;
    assert_ok(vly_tokenizer_encode(tokenizer, text, strlen(text), ids, 64, &n,
                                   &error),
              error);
    assert_int_equal(n, n_wanted);
    assert_memory_equal(ids, wanted, n * sizeof *ids);
}

static void test_greedy(void **state)
{
    (void)state;
    vly_tokenizer *tokenizer =
        parse("7 'a' 1\n1 'ab' 2\n2 'abcd' 4\n3 'c' 1\n4 'b' 1\n5 'bcde' 4\n");
    vly_error error = VLY_ERROR_INIT;
    uint32_t ids[4] = {9, 9, 9, 9};
    size_t n = 77;
    encodes(tokenizer, "", NULL, 0);
    encodes(tokenizer, "abcd", (const uint32_t[]){2}, 1);
    /* back from abc, which is not a token, to ab */
    encodes(tokenizer, "abc", (const uint32_t[]){1, 3}, 2);
    encodes(tokenizer, "abca", (const uint32_t[]){1, 3, 7}, 3);
    /* greedy, though a, bcde would be all of it */
    encodes(tokenizer, "abcdab", (const uint32_t[]){2, 1}, 2);
    encodes(tokenizer, "bcdeb", (const uint32_t[]){5, 4}, 2);
    assert_int_equal(
        vly_tokenizer_encode(tokenizer, "abcde", 5, ids, 4, &n, &error),
        VLY_E_INVALID);
    assert_string_equal(error.message, "at byte 4 of the text, 0x65, no token "
                                       "of the vocabulary fits");
    assert_int_equal(
        vly_tokenizer_encode(tokenizer, "ccccc", 5, ids, 4, &n, &error),
        VLY_E_INVALID);
    assert_non_null(strstr(error.message, "more than 4 tokens"));
    assert_int_equal(n, 77);
    assert_ok(vly_tokenizer_encode(tokenizer, "cccc", 4, ids, 4, &n, &error),
              error);
    assert_int_equal(n, 4);
    vly_tokenizer_close(tokenizer);
}

static void test_bytes(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    vly_tokenizer *tokenizer = NULL;
    unsigned char text[256];
    uint32_t ids[256];
    size_t n = 0;
    assert_ok(vly_tokenizer_bytes(&tokenizer, &error), error);
    assert_int_equal(vly_tokenizer_vocabulary(tokenizer), 256);
    assert_int_equal(vly_tokenizer_count(tokenizer), 256);
    for (uint32_t i = 0; i < 256; i++)
        text[i] = (unsigned char)(255 - i);
    assert_ok(vly_tokenizer_encode(tokenizer, text, 256, ids, 256, &n, &error),
              error);
    assert_int_equal(n, 256);
    for (uint32_t i = 0; i < 256; i++) {
        const char byte = (char)i;
        assert_int_equal(ids[i], 255 - i);
        decodes(tokenizer, i, &byte, 1);
    }
    const uint8_t *bytes = NULL;
    assert_int_equal(vly_tokenizer_decode(tokenizer, 256, &bytes, &n, &error),
                     VLY_E_INVALID);
    vly_tokenizer_close(tokenizer);
}

/* Some thousand tokens of two letters' making against a search through all. */
static void test_against_search(void **state)
{
    (void)state;
    enum { TOKENS = 600, LONGEST = 12, TEXT = 4000 };
    static char tokens[TOKENS][LONGEST + 1];
    static char text[TOKENS * 40];
    static char sample[TEXT + 1];
    static uint32_t ids[TEXT];
    vly_error error = VLY_ERROR_INIT;
    size_t at = 0;
    size_t n_ids = 0;
    uint32_t n_tokens = 2;
    uint64_t draw = 0;
    strcpy(tokens[0], "a");
    strcpy(tokens[1], "b");
    while (n_tokens < TOKENS) {
        const uint32_t word = vly_philox_word(3, draw++, 0, 0);
        const uint32_t n = 2 + word % (LONGEST - 1);
        bool new = true;
        for (uint32_t i = 0; i < n; i++)
            tokens[n_tokens][i] = word >> (8 + i) & 1 ? 'a' : 'b';
        tokens[n_tokens][n] = '\0';
        for (uint32_t i = 0; i < n_tokens; i++)
            new = new &&strcmp(tokens[i], tokens[n_tokens]) != 0;
        n_tokens += new;
    }
    for (uint32_t i = 0; i < TOKENS; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%u '%s' %u\n",
                               i + 1, tokens[i], (uint32_t)strlen(tokens[i]));
    for (uint32_t i = 0; i < TEXT; i++)
        sample[i] = vly_philox_word(4, i, 0, 0) & 1 ? 'a' : 'b';
    vly_tokenizer *tokenizer = parse(text);
    assert_ok(vly_tokenizer_encode(tokenizer, sample, TEXT, ids, TEXT, &n_ids,
                                   &error),
              error);
    at = 0;
    for (size_t k = 0; k < n_ids; k++) {
        size_t best = 0;
        uint32_t id = 0;
        for (uint32_t i = 0; i < TOKENS; i++) {
            const size_t n = strlen(tokens[i]);
            if (n > best && strncmp(sample + at, tokens[i], n) == 0) {
                best = n;
                id = i + 1;
            }
        }
        assert_int_equal(ids[k], id);
        at += best;
    }
    assert_int_equal(at, TEXT);
    vly_tokenizer_close(tokenizer);
}

static void test_files(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    vly_tokenizer *tokenizer = NULL;
    unlink(FILE_NAME);
    assert_int_equal(vly_tokenizer_open(FILE_NAME, 9, &tokenizer, &error),
                     VLY_E_IO);
    assert_non_null(strstr(error.message, ": No such file"));
    assert_int_equal(
        vly_tokenizer_open(VLY_TEST_BINARY_DIR, 9, &tokenizer, &error),
        VLY_E_IO);
    FILE *file = fopen(FILE_NAME, "wb");
    assert_non_null(file);
    fputs("1 'a' 1\n2 'b' 1\n3 x", file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(vly_tokenizer_open(FILE_NAME, 9, &tokenizer, &error),
                     VLY_E_PARSE);
    assert_string_equal(error.message,
                        FILE_NAME ":3:3: found \"x\", wanted a string or bytes "
                                  "in quotes");
    assert_int_equal(truncate(FILE_NAME, 16), 0);
    assert_ok(vly_tokenizer_open(FILE_NAME, 3, &tokenizer, &error), error);
    vly_tokenizer_close(tokenizer);
    /* a hole is quick to write: one byte more than is taken */
    assert_int_equal(truncate(FILE_NAME, VLY_TOKENIZER_FILE_MAX + 1), 0);
    assert_int_equal(vly_tokenizer_open(FILE_NAME, 9, &tokenizer, &error),
                     VLY_E_PARSE);
    assert_non_null(strstr(error.message, "wanted a vocabulary of at most"));
    unlink(FILE_NAME);
}

static void test_memory(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        const uint64_t live = vly_memory_live();
        uint64_t n = 0;
        vly_status status = VLY_E_NOMEM;
        while (status != VLY_OK) {
            vly_error error = VLY_ERROR_INIT;
            vly_tokenizer *tokenizer = NULL;
            vly_memory_fail_at(++n);
            status = kind == 0 ? vly_tokenizer_parse("1 'a' 1\n2 'ab' 2", 16,
                                                     "v", 9, &tokenizer, &error)
                               : vly_tokenizer_bytes(&tokenizer, &error);
            /* what only makes memory smaller may fail unseen */
            const bool failed = vly_memory_fail_at(0) == 0;
            assert_true(status == VLY_OK || (failed && status == VLY_E_NOMEM));
            vly_tokenizer_close(tokenizer);
            assert_int_equal(vly_memory_live(), live);
        }
        assert_true(n > 5);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_forms),       cmocka_unit_test(test_bad),
    cmocka_unit_test(test_long_tokens), cmocka_unit_test(test_greedy),
    cmocka_unit_test(test_bytes),       cmocka_unit_test(test_against_search),
    cmocka_unit_test(test_files),       cmocka_unit_test(test_memory),
};

VLY_TEST_MAIN(tests)

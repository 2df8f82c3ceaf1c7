/* SPDX-License-Identifier: Apache-2.0
 * Tokens of JSON: numbers to the last bit of 64, texts in place, the byte of an
 * error.
 */
#include "base/json.h"

#include <locale.h>
#include <stdlib.h>

#include "volley_test.h"

static vly_json scan_of(char *room, const char *text)
{
    strcpy(room, text);
    return (vly_json){.text = room, .n = strlen(text)};
}

static void wholes(void **state)
{
    static const struct {
        const char *text;
        uint64_t value;
        const char *wanted; /* NULL: none */
        size_t at;
    } cases[] = {
        {"0", 0, NULL, 1},
        {" 7,", 7, NULL, 2},
        {"9007199254740993", UINT64_C(9007199254740993), NULL, 16},
        {"9223372036854775808", UINT64_C(9223372036854775808), NULL, 19},
        {"18446744073709551615", UINT64_MAX, NULL, 20},
        {"18446744073709551616", 0, "a whole number below 2^64", 0},
        {" 99999999999999999999", 0, "a whole number below 2^64", 1},
        {"1.0", 0, "a whole number", 0},
        {"1e3", 0, "a whole number", 0},
        {"-1", 0, "a whole number", 0},
        {"007", 0, "a whole number", 0},
        {"", 0, "a whole number", 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char room[64];
        uint64_t value = 12345;
        vly_json json = scan_of(room, cases[i].text);
        const char *wanted = vly_json_whole(&json, &value);
        if (cases[i].wanted)
            assert_string_equal(wanted, cases[i].wanted);
        else
            assert_null(wanted);
        assert_true(value == (cases[i].wanted ? 12345 : cases[i].value));
        assert_int_equal(json.at, cases[i].at);
    }
}

static void numbers(void **state)
{
    static const char *const good[] = {"0",
                                       "-0",
                                       "-0.0",
                                       "1",
                                       "0.1",
                                       "1e5",
                                       "1E+5",
                                       "1e-400",
                                       "4.9e-324",
                                       "-2.5e-3",
                                       "1.7976931348623157e308",
                                       "9007199254740993",
                                       "18446744073709551616",
                                       "123456789012345678901234"};
    static const char *const bad[] = {"-",      "1.",  ".5",  "+1",
                                      "1e",     "1e+", "e1",  "1e309",
                                      "-1e309", "nan", "inf", "x"};
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        char room[64];
        double value = 5;
        const double exact = strtod(good[i], NULL);
        vly_json json = scan_of(room, good[i]);
        assert_null(vly_json_number(&json, &value));
        assert_memory_equal(&value, &exact, sizeof value);
        assert_int_equal(json.at, json.n);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char room[64];
        double value = 5;
        vly_json json = scan_of(room, bad[i]);
        assert_non_null(vly_json_number(&json, &value));
        assert_true(value == 5);
    }
}

/* A decimal comma of the process changes no number. */
static void locales(void **state)
{
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8",
                                        "de_DE.utf8", "C"};
    char room[64];
    double value = 0;
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (setlocale(LC_NUMERIC, names[i]) != NULL)
            break;
    vly_json json = scan_of(room, "2.75");
    assert_null(vly_json_number(&json, &value));
    setlocale(LC_NUMERIC, "C");
    assert_true(value == 2.75);
}

static void texts(void **state)
{
    char room[64];
    char found[VLY_JSON_FOUND];
    char *text = NULL;
    vly_json json = scan_of(room, " \"a\\u00e4\\ud83d\\ude00\\n\"x\x01");
    (void)state;
    assert_null(vly_json_text(&json, &text));
    assert_string_equal(text, "a\xc3\xa4\xf0\x9f\x98\x80\n");
    assert_string_equal(vly_json_found(&json, found), "\"x?\"");
    assert_false(vly_json_take(&json, 'y'));
    assert_true(vly_json_take(&json, 'x'));
    assert_string_equal(vly_json_text(&json, &text), "a text in quotes");
    json = scan_of(room, "\"a\\u0000\"");
    assert_non_null(vly_json_text(&json, &text));
    json = scan_of(room, "\"abc");
    assert_string_equal(vly_json_text(&json, &text), "a character of a text");
    assert_int_equal(json.at, 4);
    assert_string_equal(vly_json_found(&json, found), "the end of it");
    json = scan_of(room, " null");
    assert_false(vly_json_word(&json, "true"));
    assert_true(vly_json_word(&json, "null"));
    assert_int_equal(json.at, json.n);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(wholes),
    cmocka_unit_test(numbers),
    cmocka_unit_test(locales),
    cmocka_unit_test(texts),
};

VLY_TEST_MAIN(tests)

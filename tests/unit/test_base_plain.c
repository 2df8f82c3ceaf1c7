/* SPDX-License-Identifier: Apache-2.0
 * What a terminal obeys is escaped, all else stays, and nothing is cut in two.
 */
#include "base/plain.h"

#include <stdlib.h>

#include "volley_test.h"

static const struct {
    const char *text;
    const char *line;  /* as one line; NULL: the text itself */
    const char *lines; /* with line breaks kept; NULL: as above */
} cases[] = {
    {"", NULL, NULL},
    {"plain, \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80 \\x1b", NULL, NULL},
    {"a\tb", NULL, NULL},
    {"a\nb\r", "a\\x0ab\\x0d", "a\nb\\x0d"},
    {"\x1b]0;title\a", "\\x1b]0;title\\x07", NULL},
    {"\x01\x1f\x7f", "\\x01\\x1f\\x7f", NULL},
    /* C1 as UTF-8, and as a byte of an 8-bit terminal */
    {"\xc2\x9b"
     "31m",
     "\\u{009b}31m", NULL},
    {"\xc2\x80\xc2\x9f\xc2\xa0", "\\u{0080}\\u{009f}\xc2\xa0", NULL},
    {"\x9b"
     "31m\xff",
     "\\x9b31m\\xff", NULL},
    /* order of text */
    {"\xe2\x80\xaa\xe2\x80\xae", "\\u{202a}\\u{202e}", NULL},
    {"\xe2\x81\xa6\xe2\x81\xa9", "\\u{2066}\\u{2069}", NULL},
    {"\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa", NULL, NULL},
    /* overlong ESC, a surrogate, cut characters */
    {"\xc0\x9b", "\\xc0\\x9b", NULL},
    {"\xed\xa0\x80", "\\xed\\xa0\\x80", NULL},
    {"\xe2\x80", "\\xe2\\x80", NULL},
    {"\xc2", "\\xc2", NULL},
};

static void check(const char *text, bool keep_lines, const char *wanted)
{
    char out[256];
    const size_t n = strlen(wanted);
    assert_int_equal(vly_plain(text, keep_lines, NULL, 0), n);
    assert_int_equal(vly_plain(text, keep_lines, out, sizeof out), n);
    assert_string_equal(out, wanted);
    /* again it stays */
    char again[256];
    vly_plain(out, keep_lines, again, sizeof again);
    assert_string_equal(again, wanted);
    for (size_t capacity = 1; capacity <= n; capacity++) {
        memset(out, 'z', sizeof out);
        assert_int_equal(vly_plain(text, keep_lines, out, capacity), n);
        const size_t cut = strlen(out);
        assert_true(cut < capacity && out[capacity] == 'z');
        assert_memory_equal(out, wanted, cut);
        /* neither in a character nor in an escape, but of what did fit */
        const unsigned char next = (unsigned char)wanted[cut];
        assert_true((next & 0xc0) != 0x80);
    }
}

static void escapes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *line = cases[i].line ? cases[i].line : cases[i].text;
        check(cases[i].text, false, line);
        check(cases[i].text, true, cases[i].lines ? cases[i].lines : line);
    }
}

/* For any bytes the result is printable. */
static void any_bytes(void **state)
{
    uint32_t seed = 1;
    (void)state;
    for (int round = 0; round < 20000; round++) {
        char text[24];
        char out[256];
        const size_t n = (size_t)round % (sizeof text - 1);
        for (size_t i = 0; i < n; i++) {
            seed = seed * 1664525u + 1013904223u;
            static const unsigned char often[] = {0xc2, 0x9b, 0xe2, 0x80,
                                                  0xae, 0x81, 0xa6, 0x1b};
            text[i] = (char)(seed >> 31 ? often[seed >> 24 & 7] : seed >> 16);
            if (text[i] == 0)
                text[i] = 1;
        }
        text[n] = 0;
        const size_t length = vly_plain(text, false, out, sizeof out);
        assert_int_equal(length, strlen(out));
        for (size_t at = 0; at < length;) {
            const vly_plain_char c = vly_plain_char_at(out + at, length - at);
            assert_true(c.is_utf8 && (c.is_plain || c.code == '\t'));
            at += c.length;
        }
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(escapes),
    cmocka_unit_test(any_bytes),
};

VLY_TEST_MAIN(tests)

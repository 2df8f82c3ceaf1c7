/* SPDX-License-Identifier: Apache-2.0
 * Tokens of JSON: see json.h.
 */
#define _XOPEN_SOURCE 700
#include "base/json.h"

#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define EXACT_MOST (UINT64_C(1) << 53) /* whole numbers that a double holds */

const char *vly_json_found(const vly_json *json, char found[VLY_JSON_FOUND])
{
    enum { SHOWN = 12 };
    size_t n = json->n - json->at;
    if (n == 0)
        return "the end of it";
    n = n < SHOWN ? n : SHOWN;
    for (size_t i = 0; i < n; i++) {
        const char c = json->text[json->at + i];
        found[i + 1] = (char)(c >= 0x20 && c < 0x7f ? c : '?');
    }
    found[0] = '"';
    found[n + 1] = '"';
    found[n + 2] = '\0';
    return found;
}

/* text[n] is 0, which is not a character of any token: no need to compare n. */
void vly_json_space(vly_json *json)
{
    while (json->text[json->at] != '\0' &&
           strchr(" \t\r\n", json->text[json->at]))
        json->at++;
}

bool vly_json_take(vly_json *json, char c)
{
    vly_json_space(json);
    if (json->text[json->at] != c)
        return false;
    json->at++;
    return true;
}

bool vly_json_word(vly_json *json, const char *word)
{
    const size_t n = strlen(word);
    vly_json_space(json);
    if (strncmp(json->text + json->at, word, n) != 0)
        return false;
    json->at += n;
    return true;
}

/* ---- strings ------------------------------------------------------------ */

/* Four hexadecimal digits. */
static bool take_code(vly_json *json, uint32_t *code)
{
    *code = 0;
    for (int i = 0; i < 4; i++, json->at++) {
        const char c = json->text[json->at];
        uint32_t digit = 0;
        if (c >= '0' && c <= '9')
            digit = (uint32_t)(c - '0');
        else if ((c | 32) >= 'a' && (c | 32) <= 'f')
            digit = (uint32_t)((c | 32) - 'a') + 10;
        else
            return false;
        *code = *code << 4 | digit;
    }
    return true;
}

/* After a backslash. */
static bool take_escape(vly_json *json, char *out, size_t *n)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    const char c = json->text[json->at];
    const char *found = c != '\0' ? strchr(from, c) : NULL;
    if (found) {
        json->at++;
        out[(*n)++] = to[found - from];
        return true;
    }
    uint32_t code = 0;
    uint32_t low = 0;
    if (c != 'u')
        return false;
    json->at++;
    if (!take_code(json, &code) || code == 0 ||
        (code >= 0xdc00 && code < 0xe000))
        return false;
    if (code >= 0xd800 && code < 0xdc00) {
        if (json->text[json->at] != '\\' || json->text[json->at + 1] != 'u')
            return false;
        json->at += 2;
        if (!take_code(json, &low) || low < 0xdc00 || low >= 0xe000)
            return false;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    *n += vly_utf8_put(code, out + *n);
    return true;
}

const char *vly_json_text(vly_json *json, char **text)
{
    if (!vly_json_take(json, '"'))
        return "a text in quotes";
    char *out = json->text + json->at;
    size_t n = 0;
    while (json->text[json->at] != '"') {
        const char c = json->text[json->at];
        if (c == '\\') {
            json->at++;
            if (!take_escape(json, out, &n))
                return "the escape of a character but \\u0000";
        } else if ((unsigned char)c >= 0x80) {
            const size_t length =
                vly_utf8_length(json->text + json->at, json->n - json->at);
            if (length == 0)
                return "UTF-8";
            memmove(out + n, json->text + json->at, length);
            n += length;
            json->at += length;
        } else if (c < 0x20) {
            return "a character of a text";
        } else {
            out[n++] = c;
            json->at++;
        }
    }
    json->at++;
    out[n] = '\0'; /* at the closing quote at the latest */
    *text = out;
    return NULL;
}

/* ---- numbers ------------------------------------------------------------ */

const char *vly_json_whole(vly_json *json, uint64_t *value)
{
    vly_json_space(json);
    const size_t first = json->at;
    const char *digits = json->text + first;
    uint64_t read = 0;
    for (; json->text[json->at] >= '0' && json->text[json->at] <= '9';
         json->at++) {
        const uint64_t digit = (uint64_t)(json->text[json->at] - '0');
        if (read > (UINT64_MAX - digit) / 10) {
            json->at = first;
            return "a whole number below 2^64";
        }
        read = read * 10 + digit;
    }
    const bool zeros = digits[0] == '0' && json->at > first + 1;
    if (json->at == first || zeros ||
        (json->text[json->at] != '\0' && strchr(".eE", json->text[json->at]))) {
        json->at = first;
        return "a whole number";
    }
    *value = read;
    return NULL;
}

static bool take_digits(vly_json *json)
{
    const size_t first = json->at;
    while (json->text[json->at] >= '0' && json->text[json->at] <= '9')
        json->at++;
    return json->at > first;
}

/* The grammar of a number. */
static bool take_number(vly_json *json)
{
    json->at += json->text[json->at] == '-';
    if (json->text[json->at] == '0')
        json->at++;
    else if (!take_digits(json))
        return false;
    if (json->text[json->at] == '.') {
        json->at++;
        if (!take_digits(json))
            return false;
    }
    if ((json->text[json->at] | 32) == 'e') {
        json->at++;
        if (json->text[json->at] == '+' || json->text[json->at] == '-')
            json->at++;
        if (!take_digits(json))
            return false;
    }
    return true;
}

static locale_t numbers; /* of "C"; 0 without memory for it */

static void make_locale(void)
{
    numbers = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
}

/* strtod by its point, whatever the locale of the process is. */
static double decimal(const char *text)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_locale);
    locale_t before = numbers != (locale_t)0 ? uselocale(numbers) : (locale_t)0;
    const double value = strtod(text, NULL);
    if (before != (locale_t)0)
        uselocale(before);
    return value;
}

const char *vly_json_number(vly_json *json, double *value)
{
    vly_json_space(json);
    vly_json whole = *json;
    uint64_t small = 0;
    if (!vly_json_whole(&whole, &small) && small <= EXACT_MOST) {
        json->at = whole.at;
        *value = (double)small;
        return NULL;
    }
    const size_t first = json->at;
    if (!take_number(json))
        return json->at == first ? "a number" : "a digit";
    const double read = decimal(json->text + first);
    if (read - read != 0.0) {
        json->at = first;
        return "a number that a double holds";
    }
    *value = read;
    return NULL;
}

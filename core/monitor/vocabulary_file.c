/* SPDX-License-Identifier: Apache-2.0
 * The lines of a vocabulary file, "ID LITERAL LEN". A literal is what Python's
 * repr() makes of a str or bytes, so its escapes are those that repr() uses; in
 * a str \xHH is a code point, in bytes a byte.
 */
#include "monitor/vocabulary_file.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "monitor/tokenizer.h"

typedef struct reader {
    const char *name;
    const char *text;
    size_t n;
    size_t at;
    size_t line_start;
    uint32_t line;
    vly_error *error;
} reader;

static vly_status wanted(const reader *r, const char *what)
{
    char found[16];
    size_t n = 0;
    while (n < 12 && r->at + n < r->n && r->text[r->at + n] != '\n') {
        const char c = r->text[r->at + n];
        found[n++ + 1] = (char)(c >= 0x20 && c < 0x7f ? c : '?');
    }
    found[0] = '"';
    found[n + 1] = '"';
    found[n + 2] = '\0';
    const char *shown = n > 0          ? found
                        : r->at < r->n ? "the end of the line"
                                       : "the end of the file";
    return vly_fail(r->error, VLY_E_PARSE, "%.300s:%u:%zu: found %s, wanted %s",
                    r->name, r->line, r->at - r->line_start + 1, shown, what);
}

/* The character at a place; 0 after the end and for a 0 in the text, which no
 * line has outside a literal. */
static char peek(const reader *r, size_t ahead)
{
    return ahead < r->n - r->at ? r->text[r->at + ahead] : '\0';
}

static vly_status take_number(reader *r, uint32_t least, uint32_t most,
                              const char *what, uint32_t *value)
{
    const size_t first = r->at;
    uint64_t read = 0;
    while (peek(r, 0) >= '0' && peek(r, 0) <= '9' && read <= most) {
        read = read * 10 + (uint64_t)(r->text[r->at] - '0');
        r->at++;
    }
    const bool zeros = r->at > first + 1 && r->text[first] == '0';
    if (r->at == first || zeros || read < least || read > most) {
        char text[80];
        r->at = first;
        snprintf(text, sizeof text, "%s from %u to %u", what, least, most);
        return wanted(r, text);
    }
    *value = (uint32_t)read;
    return VLY_OK;
}

static vly_status take_space(reader *r)
{
    if (peek(r, 0) != ' ')
        return wanted(r, "one blank");
    r->at++;
    return VLY_OK;
}

/* n hexadecimal digits */
static bool take_hex(reader *r, int n, uint32_t *code)
{
    *code = 0;
    for (int i = 0; i < n; i++, r->at++) {
        const char c = peek(r, 0);
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

/* At a backslash. */
static vly_status take_escape(reader *r, bool is_bytes, char *out, size_t *n)
{
    static const char from[] = "ntr\\'\"";
    static const char to[] = "\n\t\r\\'\"";
    const size_t first = r->at;
    const char c = peek(r, 1);
    const char *found = c != '\0' ? strchr(from, c) : NULL;
    uint32_t code = 0;
    const int digits = c == 'x'   ? 2
                       : is_bytes ? 0
                       : c == 'u' ? 4
                       : c == 'U' ? 8
                                  : 0;
    r->at += 2;
    if (found) {
        out[(*n)++] = to[found - from];
        return VLY_OK;
    }
    if (digits == 0 || !take_hex(r, digits, &code) || code > 0x10ffff ||
        (code >= 0xd800 && code < 0xe000)) {
        r->at = first;
        return wanted(r, is_bytes
                             ? "\\n, \\t, \\r, \\\\, \\', \\\" or \\xHH"
                             : "\\n, \\t, \\r, \\\\, \\', \\\", \\xHH, \\uHHHH "
                               "or \\UHHHHHHHH of a character");
    }
    if (is_bytes)
        out[(*n)++] = (char)code;
    else
        *n += vly_utf8_put(code, out + *n);
    return VLY_OK;
}

static vly_status take_character(reader *r, bool is_bytes, char *out, size_t *n)
{
    const size_t length = vly_utf8_length(r->text + r->at, r->n - r->at);
    const unsigned char c = (unsigned char)peek(r, 0);
    if (c == '\\')
        return take_escape(r, is_bytes, out, n);
    if (length == 0 || c < 0x20 || c == 0x7f || (is_bytes && length > 1))
        return wanted(r, is_bytes ? "ASCII and the quote that ends it"
                                  : "UTF-8 and the quote that ends it");
    memcpy(out + *n, r->text + r->at, length);
    *n += length;
    r->at += length;
    return VLY_OK;
}

/* out has room for what the rest of the text can decode to: a character is
 * never longer than what stands for it (\xHH: two of four). */
static vly_status take_literal(reader *r, uint8_t *out, uint32_t *n_bytes)
{
    const size_t first = r->at;
    const bool is_bytes = peek(r, 0) == 'b';
    vly_status status = VLY_OK;
    size_t n = 0;
    r->at += is_bytes;
    const char quote = peek(r, 0);
    if (quote != '\'' && quote != '"') {
        r->at = first;
        return wanted(r, "a string or bytes in quotes");
    }
    r->at++;
    while (peek(r, 0) != quote)
        VLY_TRY(take_character(r, is_bytes, (char *)out, &n));
    r->at++;
    if (n == 0 || n > VLY_TOKEN_BYTES_MAX) {
        r->at = first;
        return wanted(r, "a token of 1 to 1024 bytes");
    }
    *n_bytes = (uint32_t)n;
out:
    return status;
}

static vly_status take_line(reader *r, uint32_t vocabulary,
                            vocabulary_file *file)
{
    vocabulary_token *token = &file->tokens[file->n_tokens];
    vly_status status = VLY_OK;
    uint32_t length = 0;
    uint8_t *out = file->bytes + file->n_bytes;
    VLY_TRY(take_number(r, 1, vocabulary - 1, "an id", &token->id));
    VLY_TRY(take_space(r));
    VLY_TRY(take_literal(r, out, &token->n_bytes));
    VLY_TRY(take_space(r));
    const size_t first = r->at;
    VLY_TRY(take_number(r, 1, VLY_TOKEN_BYTES_MAX, "a length", &length));
    if (length != token->n_bytes) {
        char text[64];
        r->at = first;
        snprintf(text, sizeof text, "%u, the bytes of the token",
                 token->n_bytes);
        return wanted(r, text);
    }
    if (peek(r, 0) == '\r' && peek(r, 1) == '\n')
        r->at++;
    if (r->at < r->n && peek(r, 0) != '\n')
        return wanted(r, "the end of the line");
    r->at += r->at < r->n;
    token->bytes = out;
    token->line = r->line;
    file->n_bytes += length;
    file->n_tokens++;
out:
    return status;
}

static uint32_t count_lines(const char *text, size_t n)
{
    uint32_t lines = 1;
    for (const char *at = text;
         (at = memchr(at, '\n', (size_t)(text + n - at))); at++)
        lines++;
    return lines;
}

vly_status vocabulary_file_parse(const char *text, size_t n, const char *name,
                                 uint32_t vocabulary, vocabulary_file *file,
                                 vly_error *error)
{
    reader r = {.name = name, .text = text, .n = n, .line = 1, .error = error};
    vocabulary_file read = {0};
    vly_status status = VLY_OK;
    if (n > VLY_TOKENIZER_FILE_MAX)
        return vly_fail(error, VLY_E_PARSE,
                        "%.300s: has %zu bytes, wanted a vocabulary of at most "
                        "%d",
                        name, n, VLY_TOKENIZER_FILE_MAX);
    if (vocabulary < 2)
        return vly_fail(error, VLY_E_INVALID,
                        "%.300s: a vocabulary of %u ids has no room for a "
                        "token beside the end of a text",
                        name, vocabulary);
    const uint32_t lines = count_lines(text, n);
    read.tokens = vly_malloc(lines, sizeof *read.tokens);
    read.bytes = vly_malloc(n, 1);
    if (!read.tokens || !read.bytes) {
        status = vly_fail_nomem(error, lines * sizeof *read.tokens + n,
                                "a vocabulary");
        goto out;
    }
    for (; r.at < n; r.line++, r.line_start = r.at)
        VLY_TRY(take_line(&r, vocabulary, &read));
    if (read.n_tokens == 0)
        VLY_TRY(vly_fail(error, VLY_E_PARSE,
                         "%.300s: is empty, wanted a vocabulary, lines of ID "
                         "LITERAL LEN",
                         name));
    *file = read;
out:
    if (status != VLY_OK)
        vocabulary_file_deinit(&read);
    return status;
}

void vocabulary_file_deinit(vocabulary_file *file)
{
    vly_free(file->tokens);
    vly_free(file->bytes);
    memset(file, 0, sizeof *file);
}

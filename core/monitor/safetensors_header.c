/* SPDX-License-Identifier: Apache-2.0
 * The header of a .safetensors file. Its JSON has one form: an object of
 * objects with dtype, shape and data_offsets, and one of texts. So no tree and
 * no recursion are needed; texts are decoded in place, since decoding never
 * makes them longer.
 */
#include "monitor/safetensors_header.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"

enum { NAME_MAX_BYTES = 200 }; /* whole in every message */

typedef struct parser {
    const char *path;
    char *text;
    size_t n;
    size_t at;
    vly_error *error;
} parser;

/* ---- errors ---------------------------------------------------------------
 */

static vly_status wanted(const parser *p, const char *what)
{
    char found[16] = "the end of it";
    size_t n = p->n - p->at;
    if (n > 0) {
        n = n < 12 ? n : 12;
        for (size_t i = 0; i < n; i++) {
            const char c = p->text[p->at + i];
            found[i + 1] = (char)(c >= 0x20 && c < 0x7f ? c : '?');
        }
        found[0] = '"';
        found[n + 1] = '"';
        found[n + 2] = '\0';
    }
    return vly_fail(p->error, VLY_E_PARSE,
                    "%.300s: byte %zu of the header: found %s, wanted %s",
                    p->path, p->at, found, what);
}

/* Escapes a text for a message, which is one line. */
static const char *plain(char *text)
{
    for (char *c = text; *c != '\0'; c++)
        if (*c < 0x20 || *c >= 0x7f)
            *c = '?';
    return text;
}

/* ---- tokens ---------------------------------------------------------------
 */

/* text[n] is 0, which is no character of any token: no need to look at n. */
static void skip_space(parser *p)
{
    while (p->text[p->at] != '\0' && strchr(" \t\r\n", p->text[p->at]))
        p->at++;
}

static bool take(parser *p, char c)
{
    skip_space(p);
    if (p->text[p->at] != c)
        return false;
    p->at++;
    return true;
}

/* Four hexadecimal digits. */
static bool take_code(parser *p, uint32_t *code)
{
    *code = 0;
    for (int i = 0; i < 4; i++, p->at++) {
        const char c = p->text[p->at];
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
static bool take_escape(parser *p, char *out, size_t *n)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    const char c = p->text[p->at];
    const char *found = c != '\0' ? strchr(from, c) : NULL;
    if (found) {
        p->at++;
        out[(*n)++] = to[found - from];
        return true;
    }
    uint32_t code = 0;
    uint32_t low = 0;
    if (c != 'u')
        return false;
    p->at++;
    if (!take_code(p, &code) || code == 0 || (code >= 0xdc00 && code < 0xe000))
        return false;
    if (code >= 0xd800 && code < 0xdc00) {
        if (p->text[p->at] != '\\' || p->text[p->at + 1] != 'u')
            return false;
        p->at += 2;
        if (!take_code(p, &low) || low < 0xdc00 || low >= 0xe000)
            return false;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    *n += vly_utf8_put(code, out + *n);
    return true;
}

static vly_status take_text(parser *p, const char *what, char **text)
{
    if (!take(p, '"'))
        return wanted(p, what);
    char *out = p->text + p->at;
    size_t n = 0;
    while (p->text[p->at] != '"') {
        const char c = p->text[p->at];
        if (c == '\\') {
            p->at++;
            if (!take_escape(p, out, &n))
                return wanted(p, "the escape of a character but \\u0000");
        } else if ((unsigned char)c >= 0x80) {
            const size_t length =
                vly_utf8_length(p->text + p->at, p->n - p->at);
            if (length == 0)
                return wanted(p, "UTF-8");
            memmove(out + n, p->text + p->at, length);
            n += length;
            p->at += length;
        } else if (c < 0x20) {
            return wanted(p, "a character of a text");
        } else {
            out[n++] = c;
            p->at++;
        }
    }
    p->at++;
    out[n] = '\0'; /* at the closing quote at the latest */
    *text = out;
    return VLY_OK;
}

static vly_status take_whole(parser *p, uint64_t *value)
{
    skip_space(p);
    const size_t first = p->at;
    const char *digits = p->text + first;
    uint64_t read = 0;
    for (; p->text[p->at] >= '0' && p->text[p->at] <= '9'; p->at++) {
        const uint64_t digit = (uint64_t)(p->text[p->at] - '0');
        if (read > (UINT64_MAX - digit) / 10) {
            p->at = first;
            return wanted(p, "a whole number below 2^64");
        }
        read = read * 10 + digit;
    }
    const bool zeros = digits[0] == '0' && p->at > first + 1;
    if (p->at == first || zeros ||
        (p->text[p->at] != '\0' && strchr(".eE", p->text[p->at]))) {
        p->at = first;
        return wanted(p, "a whole number");
    }
    *value = read;
    return VLY_OK;
}

/* [1, 2, 3], at most `most` numbers */
static vly_status take_list(parser *p, uint64_t *values, uint32_t most,
                            const char *what, uint32_t *n)
{
    vly_status status = VLY_OK;
    *n = 0;
    if (!take(p, '['))
        return wanted(p, what);
    if (take(p, ']'))
        return VLY_OK;
    do {
        if (*n == most)
            return wanted(p, what);
        VLY_TRY(take_whole(p, &values[*n]));
        ++*n;
    } while (take(p, ','));
    if (!take(p, ']'))
        return wanted(p, what);
out:
    return status;
}

/* ---- one tensor -----------------------------------------------------------
 */

static bool find_type(const char *text, uint32_t *type)
{
#define FIND_TYPE(name, value, bits)                                           \
    if (strcmp(text, #name) == 0) {                                            \
        *type = (value);                                                       \
        return true;                                                           \
    }
    VLY_SAFETENSOR_TYPES(FIND_TYPE)
#undef FIND_TYPE
    return false;
}

/* Elements and bytes by the shape; false where they do not fit 64 bits. */
static bool measure(vly_safetensor *tensor)
{
    const uint64_t n_bytes = vly_safetensor_type_bits(tensor->type) / 8;
    uint64_t n = 1;
    bool fits = true;
    bool empty = false; /* [0, 2^63, 2^63] is no overflow */
    for (uint32_t d = 0; d < tensor->n_dims; d++)
        empty = empty || tensor->dims[d] == 0;
    for (uint32_t d = 0; d < tensor->n_dims && !empty && fits; d++) {
        fits = tensor->dims[d] <= UINT64_MAX / n;
        n = fits ? n * tensor->dims[d] : n;
    }
    tensor->n_elements = empty ? 0 : n;
    tensor->n_bytes = tensor->n_elements * n_bytes;
    return fits && tensor->n_elements <= UINT64_MAX / n_bytes;
}

enum { HAS_TYPE = 1, HAS_SHAPE = 2, HAS_OFFSETS = 4, HAS_ALL = 7 };

/* "dtype": "F32" and the like; *has gets the bit of what it was. */
static vly_status take_member(parser *p, vly_safetensor *tensor,
                              uint64_t offsets[2], uint32_t *has)
{
    static const char *const keys[] = {"dtype", "shape", "data_offsets"};
    vly_status status = VLY_OK;
    char *text = NULL;
    uint32_t n = 0;
    uint32_t k = 0;
    skip_space(p);
    const size_t first = p->at;
    VLY_TRY(take_text(p, "\"dtype\", \"shape\" or \"data_offsets\"", &text));
    while (k < 3 && strcmp(text, keys[k]) != 0)
        k++;
    if (k == 3 || *has & 1u << k)
        return vly_fail(p->error, VLY_E_PARSE,
                        "%.300s: tensor %.200s has %s\"%.40s\" (byte %zu of "
                        "the header), wanted \"dtype\", \"shape\" and "
                        "\"data_offsets\", each once",
                        p->path, tensor->name, k < 3 ? "a second " : "",
                        plain(text), first);
    *has |= 1u << k;
    if (!take(p, ':'))
        return wanted(p, "a colon");
    if (k == 1)
        return take_list(p, tensor->dims, VLY_SAFETENSOR_DIMS,
                         "a list of at most 8 sizes", &tensor->n_dims);
    if (k == 2) {
        VLY_TRY(take_list(p, offsets, 2, "a list of two offsets", &n));
        return n == 2 ? VLY_OK : wanted(p, "a second offset before it");
    }
    VLY_TRY(take_text(p, "the name of a type", &text));
    if (!find_type(text, &tensor->type))
        return vly_fail(p->error, VLY_E_PARSE,
                        "%.300s: tensor %.200s has dtype \"%.40s\", wanted one "
                        "of BOOL, U8 to U64, I8 to I64, F8_E5M2, F8_E4M3, F16, "
                        "BF16, F32, F64",
                        p->path, tensor->name, plain(text));
out:
    return status;
}

static vly_status check_tensor(const parser *p, vly_safetensor *tensor,
                               const uint64_t offsets[2])
{
    if (!measure(tensor))
        return vly_fail(p->error, VLY_E_PARSE,
                        "%.300s: tensor %.200s has a shape of more than 2^64 "
                        "bytes",
                        p->path, tensor->name);
    if (offsets[1] < offsets[0])
        return vly_fail(p->error, VLY_E_PARSE,
                        "%.300s: tensor %.200s ends at offset %" PRIu64
                        ", before it begins, at %" PRIu64,
                        p->path, tensor->name, offsets[1], offsets[0]);
    if (offsets[1] - offsets[0] != tensor->n_bytes)
        return vly_fail(p->error, VLY_E_PARSE,
                        "%.300s: tensor %.200s has %" PRIu64
                        " bytes by its offsets, wanted the %" PRIu64
                        " of %" PRIu64 " %s of its shape",
                        p->path, tensor->name, offsets[1] - offsets[0],
                        tensor->n_bytes, tensor->n_elements,
                        vly_safetensor_type_name(tensor->type));
    tensor->begin = offsets[0];
    return VLY_OK;
}

static vly_status take_tensor(parser *p, vly_safetensor *tensor)
{
    vly_status status = VLY_OK;
    uint64_t offsets[2] = {0, 0};
    uint32_t has = 0;
    if (!take(p, '{'))
        return wanted(p, "an object of a tensor");
    do {
        VLY_TRY(take_member(p, tensor, offsets, &has));
    } while (take(p, ','));
    if (!take(p, '}'))
        return wanted(p, "a comma or the end of the object");
    if (has != HAS_ALL)
        return vly_fail(p->error, VLY_E_PARSE,
                        "%.300s: tensor %.200s has no \"%s\"", p->path,
                        tensor->name,
                        !(has & HAS_TYPE)    ? "dtype"
                        : !(has & HAS_SHAPE) ? "shape"
                                             : "data_offsets");
    status = check_tensor(p, tensor, offsets);
out:
    return status;
}

/* ---- the whole ------------------------------------------------------------
 */

/* Room for one more of size bytes; full at every power of two. */
static vly_status grow(parser *p, void **list, uint32_t n, size_t size)
{
    if ((n & (n - 1)) != 0)
        return VLY_OK;
    const size_t room = n == 0 ? 1 : 2 * (size_t)n;
    void *grown = vly_realloc(*list, room, size);
    if (!grown)
        return vly_fail_nomem(p->error, room * size, "a header of tensors");
    *list = grown;
    return VLY_OK;
}

static vly_status take_notes(parser *p, safetensors_header *header)
{
    vly_status status = VLY_OK;
    char *key = NULL;
    char *value = NULL;
    if (!take(p, '{'))
        return wanted(p, "an object of texts");
    if (take(p, '}'))
        return VLY_OK;
    do {
        void *list = header->notes;
        VLY_TRY(grow(p, &list, header->n_notes, sizeof *header->notes));
        header->notes = list;
        VLY_TRY(take_text(p, "a key of __metadata__", &key));
        if (!take(p, ':'))
            return wanted(p, "a colon");
        VLY_TRY(take_text(p, "a text", &value));
        header->notes[header->n_notes++] = (safetensors_note){key, value};
    } while (take(p, ','));
    if (!take(p, '}'))
        return wanted(p, "a comma or the end of __metadata__");
out:
    return status;
}

/* Names are used in messages, which are one line. */
static vly_status check_name(const parser *p, const char *name, size_t first)
{
    const size_t n = strlen(name);
    bool good = n > 0 && n <= NAME_MAX_BYTES;
    for (size_t i = 0; i < n && good; i++)
        good = (unsigned char)name[i] >= 0x20 && name[i] != 0x7f;
    return good ? VLY_OK
                : vly_fail(p->error, VLY_E_PARSE,
                           "%.300s: byte %zu of the header: the name of a "
                           "tensor is empty, longer than %d bytes or has a "
                           "control character",
                           p->path, first, NAME_MAX_BYTES);
}

static vly_status take_entry(parser *p, safetensors_header *header,
                             bool *has_notes)
{
    vly_status status = VLY_OK;
    char *name = NULL;
    skip_space(p);
    const size_t first = p->at;
    VLY_TRY(take_text(p, "the name of a tensor", &name));
    if (!take(p, ':'))
        return wanted(p, "a colon");
    if (strcmp(name, "__metadata__") == 0) {
        if (*has_notes)
            return vly_fail(p->error, VLY_E_PARSE,
                            "%.300s: byte %zu of the header: a second "
                            "__metadata__",
                            p->path, first);
        *has_notes = true;
        return take_notes(p, header);
    }
    VLY_TRY(check_name(p, name, first));
    void *list = header->tensors;
    VLY_TRY(grow(p, &list, header->n_tensors, sizeof *header->tensors));
    header->tensors = list;
    vly_safetensor *tensor = &header->tensors[header->n_tensors];
    *tensor = (vly_safetensor){.name = name};
    VLY_TRY(take_tensor(p, tensor));
    header->n_tensors++;
out:
    return status;
}

static vly_status take_header(parser *p, safetensors_header *header)
{
    vly_status status = VLY_OK;
    bool has_notes = false;
    if (p->text[0] != '{')
        return wanted(p, "{ as its first byte");
    p->at++;
    if (!take(p, '}')) {
        do {
            VLY_TRY(take_entry(p, header, &has_notes));
        } while (take(p, ','));
        if (!take(p, '}'))
            return wanted(p, "a comma or the end of the header");
    }
    skip_space(p);
    if (p->at != p->n)
        return wanted(p, "spaces to its end");
out:
    return status;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const vly_safetensor *)a)->name,
                  ((const vly_safetensor *)b)->name);
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const safetensors_note *)a)->key,
                  ((const safetensors_note *)b)->key);
}

/* Sorts, and finds duplicates. */
static vly_status sort_header(const parser *p, safetensors_header *header)
{
    if (header->n_tensors > 0)
        qsort(header->tensors, header->n_tensors, sizeof *header->tensors,
              by_name);
    if (header->n_notes > 0)
        qsort(header->notes, header->n_notes, sizeof *header->notes, by_key);
    for (uint32_t i = 1; i < header->n_tensors; i++)
        if (by_name(&header->tensors[i - 1], &header->tensors[i]) == 0)
            return vly_fail(p->error, VLY_E_PARSE,
                            "%.300s: tensor %.200s is there twice", p->path,
                            header->tensors[i].name);
    for (uint32_t i = 1; i < header->n_notes; i++)
        if (by_key(&header->notes[i - 1], &header->notes[i]) == 0)
            return vly_fail(p->error, VLY_E_PARSE,
                            "%.300s: a key of __metadata__ is there twice, "
                            "the %" PRIu32 "th of %" PRIu32 " by name",
                            p->path, i, header->n_notes);
    return VLY_OK;
}

vly_status safetensors_header_parse(const char *path, char *text, size_t n,
                                    safetensors_header *header,
                                    vly_error *error)
{
    parser p = {.path = path, .text = text, .n = n, .error = error};
    safetensors_header read = {0};
    vly_status status = take_header(&p, &read);
    if (status == VLY_OK)
        status = sort_header(&p, &read);
    if (status != VLY_OK) {
        safetensors_header_deinit(&read);
        return status;
    }
    *header = read;
    return VLY_OK;
}

void safetensors_header_deinit(safetensors_header *header)
{
    vly_free(header->tensors);
    vly_free(header->notes);
    memset(header, 0, sizeof *header);
}

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
#include "base/json.h"
#include "base/memory.h"

enum { NAME_MAX_BYTES = 200 }; /* whole in every message */

typedef struct parser {
    const char *path;
    vly_json json;
    vly_error *error;
} parser;

/* ---- errors ---------------------------------------------------------------
 */

static vly_status wanted(const parser *p, const char *what)
{
    char found[VLY_JSON_FOUND];
    return vly_fail(p->error, VLY_E_PARSE,
                    "%.300s: byte %zu of the header: found %s, wanted %s",
                    p->path, p->json.at, vly_json_found(&p->json, found), what);
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

static bool take(parser *p, char c)
{
    return vly_json_take(&p->json, c);
}

static vly_status take_text(parser *p, const char *what, char **text)
{
    vly_json_space(&p->json);
    if (p->json.text[p->json.at] != '"')
        return wanted(p, what);
    what = vly_json_text(&p->json, text);
    return what ? wanted(p, what) : VLY_OK;
}

static vly_status take_whole(parser *p, uint64_t *value)
{
    const char *what = vly_json_whole(&p->json, value);
    return what ? wanted(p, what) : VLY_OK;
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
    vly_json_space(&p->json);
    const size_t first = p->json.at;
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
    vly_json_space(&p->json);
    const size_t first = p->json.at;
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
    if (p->json.text[0] != '{')
        return wanted(p, "{ as its first byte");
    p->json.at++;
    if (!take(p, '}')) {
        do {
            VLY_TRY(take_entry(p, header, &has_notes));
        } while (take(p, ','));
        if (!take(p, '}'))
            return wanted(p, "a comma or the end of the header");
    }
    vly_json_space(&p->json);
    if (p->json.at != p->json.n)
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
    parser p = {.path = path, .json = {.text = text, .n = n}, .error = error};
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

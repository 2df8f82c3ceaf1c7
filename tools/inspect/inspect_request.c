/* SPDX-License-Identifier: Apache-2.0
 * "attention:bf16:1x64/8x16384x128:causal,backward" as a description.
 */
#include "tools/inspect/inspect_request.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tools/bench/bench_attention.h"
#include "tools/bench/bench_product.h"
#include "tools/cli/device_limits.h"

enum { PARTS = 4, PART_BYTES = 128, SIZE_MOST = 1 << 24 };

/* Parts of a request: kind, type, size, words. */
typedef struct text {
    const char *whole;
    char part[PARTS][PART_BYTES];
} text;

static vly_status wrong(const text *t, vly_error *error, const char *format,
                        ...) __attribute__((format(printf, 3, 4)));
static vly_status wrong(const text *t, vly_error *error, const char *format,
                        ...)
{
    char why[400];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    return vly_fail(error, VLY_E_INVALID, "--product \"%.120s\": %s", t->whole,
                    why);
}

static vly_status split(const char *product, text *t, vly_error *error)
{
    const char *at = product;
    *t = (text){.whole = product};
    for (uint32_t i = 0; i < PARTS; i++) {
        const size_t n = i + 1 < PARTS ? strcspn(at, ":") : strlen(at);
        if (n >= PART_BYTES)
            return wrong(t, error,
                         "a part of %zu characters, wanted fewer "
                         "than %d",
                         n, PART_BYTES);
        memcpy(t->part[i], at, n);
        at += n;
        if (*at == '\0')
            break;
        if (*++at == '\0')
            return wrong(t, error,
                         "nothing after the last colon, wanted a word");
    }
    if (t->part[2][0] == '\0')
        return wrong(t, error,
                     "wanted KIND:TYPE:SIZE, as gemm:bf16:16x4096x1024");
    return VLY_OK;
}

/* ---- sizes ------------------------------------------------------------ */

static bool read_number(const char **at, uint64_t least, uint64_t most,
                        uint64_t *number)
{
    char *end = NULL;
    if (**at < '0' || **at > '9')
        return false;
    *number = strtoull(*at, &end, 10);
    *at = end;
    return *number >= least && *number <= most;
}

/* "2x64/8x128": n numbers with x between them. Number `over` (0: none) follows
 * a slash; without it, it equals the number before. */
static bool read_sizes(const char *at, uint32_t n, uint32_t over,
                       uint64_t *sizes)
{
    for (uint32_t i = 0; i < n; i++) {
        if (over > 0 && i == over && *at != '/') {
            sizes[i] = sizes[i - 1];
            continue;
        }
        if (i > 0 && *at++ != (over > 0 && i == over ? '/' : 'x'))
            return false;
        if (!read_number(&at, 1, SIZE_MOST, &sizes[i]))
            return false;
    }
    return *at == '\0';
}

static vly_status wrong_size(const text *t, const char *wanted,
                             vly_error *error)
{
    return wrong(t, error, "size \"%s\", wanted %s, numbers from 1 to %d",
                 t->part[2], wanted, SIZE_MOST);
}

/* ---- words ------------------------------------------------------------ */

enum { BATCH, WORKSPACE, WINDOW, BEHIND, KEYS, PAGE, NUMBERS };

#define OUT_FP8 (1u << 31) /* not a flag of an interface */

typedef struct word {
    const char *name; /* "keys=": with a number */
    uint32_t flags;   /* set */
    uint32_t cleared;
    uint32_t activation;
    uint32_t number; /* which */
} word;

static const word gemm_words[] = {
    {"bias", VLY_GEMM_BIAS, 0, 0, 0},
    {"relu", 0, 0, VLY_GEMM_RELU, 0},
    {"relu2", 0, 0, VLY_GEMM_RELU2, 0},
    {"gelu", 0, 0, VLY_GEMM_GELU, 0},
    {"batch=", 0, 0, 0, BATCH},
    {"workspace=", 0, 0, 0, WORKSPACE},
    {NULL, 0, 0, 0, 0},
};
enum { DECODE_WORDS = 7 }; /* from here on also words of decode */
static const word attention_words[] = {
    {"causal", VLY_ATTENTION_CAUSAL, 0, 0, 0},
    {"backward", VLY_ATTENTION_BACKWARD,
     VLY_ATTENTION_LSE | VLY_ATTENTION_SAME_SCALES, 0, 0},
    {"deterministic", VLY_ATTENTION_DETERMINISTIC, 0, 0, 0},
    {"nolse", 0, VLY_ATTENTION_LSE, 0, 0},
    {"packed", VLY_ATTENTION_PACKED, 0, 0, 0},
    {"fp8out", OUT_FP8, 0, 0, 0},
    {"keys=", 0, 0, 0, KEYS},
    {"causal_end", VLY_ATTENTION_CAUSAL_END, 0, 0, 0},
    {"window=", 0, 0, 0, WINDOW},
    {"behind=", 0, 0, 0, BEHIND},
    {"lengths", VLY_ATTENTION_LENGTHS, 0, 0, 0},
    {"page=", 0, 0, 0, PAGE},
    {"workspace=", 0, 0, 0, WORKSPACE},
    {NULL, 0, 0, 0, 0},
};
static const word wkv_words[] = {
    {"lengths", VLY_WKV_LENGTHS, 0, 0, 0},
    {"workspace=", 0, 0, 0, WORKSPACE},
    {NULL, 0, 0, 0, 0},
};

/* All words of a product together. */
typedef struct sentence {
    uint32_t flags;
    uint32_t cleared;
    uint32_t activation;
    int64_t number[NUMBERS]; /* -1: not given */
} sentence;

static vly_status twice(const text *t, const word *w, vly_error *error)
{
    return wrong(t, error, "\"%s\" twice, wanted it once", w->name);
}

static bool is_number(const word *w)
{
    return w->name[strlen(w->name) - 1] == '=';
}

/* Are the n characters this word? If so, its number is stored. */
static bool take_word(const word *w, const char *at, size_t n, sentence *said)
{
    const size_t length = strlen(w->name);
    const char *behind = at + length;
    uint64_t number = 0;
    if (n < length || memcmp(at, w->name, length) != 0 ||
        (!is_number(w) && n != length))
        return false;
    if (is_number(w)) {
        char bytes[PART_BYTES];
        if (w->number == WORKSPACE) {
            (void)snprintf(bytes, sizeof bytes, "%.*s", (int)(n - length),
                           behind);
            if (strcmp(bytes, "0") != 0 && !device_limits_bytes(bytes, &number))
                return false;
        } else if (!read_number(&behind, 0, SIZE_MOST, &number) ||
                   behind != at + n) {
            return false;
        }
        said->number[w->number] = (int64_t)number;
    }
    said->flags |= w->flags;
    said->cleared |= w->cleared;
    said->activation |= w->activation;
    return true;
}

static vly_status wrong_word(const text *t, const word *words, const char *at,
                             size_t n, vly_error *error)
{
    char names[300] = "";
    for (; words->name; words++) {
        const size_t used = strlen(names);
        (void)snprintf(names + used, sizeof names - used, "%s%s%s",
                       used == 0 ? "" : ", ", words->name,
                       !is_number(words)            ? ""
                       : words->number == WORKSPACE ? "BYTES"
                                                    : "N");
    }
    return wrong(t, error,
                 "\"%.*s\", wanted some of %s, N up to %d, BYTES as 65536 or "
                 "1GiB",
                 (int)n, at, names, SIZE_MOST);
}

static vly_status read_words(const text *t, const word *words, sentence *said,
                             vly_error *error)
{
    const char *at = t->part[3];
    const word *activation = NULL;
    uint32_t seen = 0; /* one bit a word */
    *said = (sentence){.flags = 0};
    for (uint32_t i = 0; i < NUMBERS; i++)
        said->number[i] = -1;
    while (*at != '\0') {
        const size_t n = strcspn(at, ",");
        const word *w = words;
        while (w->name && !take_word(w, at, n, said))
            w++;
        if (!w->name)
            return wrong_word(t, words, at, n, error);
        if ((seen >> (w - words) & 1u) != 0)
            return twice(t, w, error);
        seen |= 1u << (w - words);
        if (w->activation != 0 && activation)
            return wrong(t, error, "\"%s\" and \"%s\", wanted one of them",
                         activation->name, w->name);
        activation = w->activation != 0 ? w : activation;
        at += n;
        if (*at == ',' && *++at == '\0')
            return wrong(t, error,
                         "nothing after the last comma, wanted a word");
    }
    return VLY_OK;
}

/* ---- products --------------------------------------------------------- */

static vly_status read_gemm(const text *t, bool is_gemv, vly_gemm_desc *d,
                            vly_error *error)
{
    const bench_options options = {.types = t->part[1]};
    const bench_gemm_type *types[BENCH_TYPES_MAX];
    vly_error why = VLY_ERROR_INIT;
    uint32_t n = 0;
    uint64_t size[3] = {1, 0, 0};
    sentence said;
    if (bench_gemm_types(&options, is_gemv, true, types, &n, &why) != VLY_OK ||
        n != 1)
        return wrong(t, error,
                     "type \"%s\", wanted fp32, tf32, fp16, bf16, fp8, "
                     "fp8fast, fp8row, fp8block, int8, w8a16 or w4a16",
                     t->part[1]);
    if (read_sizes(t->part[2], 1, 0, &size[1])) { /* a cube, a square */
        size[2] = size[1];
        size[0] = is_gemv ? 1 : size[1];
    } else if (!read_sizes(t->part[2], is_gemv ? 2 : 3, 0, size + is_gemv)) {
        return wrong_size(t, is_gemv ? "NxK or N" : "MxNxK or N", error);
    }
    *d = bench_gemm_desc(types[0], (bench_shape){size[0], size[1], size[2]});
    vly_status status = VLY_OK;
    VLY_TRY(read_words(t, gemm_words, &said, error));
    d->flags |= said.flags;
    d->activation = said.activation;
    if (said.number[WORKSPACE] >= 0)
        d->workspace_most = (uint64_t)said.number[WORKSPACE];
    if (said.number[BATCH] >= 0) {
        d->batch = (uint64_t)said.number[BATCH];
        d->stride_a = d->m * d->k;
        d->stride_b = d->n * d->k;
        d->stride_c = d->stride_d = d->m * d->n;
    }
out:
    return status;
}

static vly_status read_type(const text *t, const char *wanted, uint32_t *type,
                            vly_error *error)
{
#define NAME(name, value, bits, text) {text, value},
    static const struct {
        const char *name;
        uint32_t type;
    } known[] = {VLY_ELEMENT_TABLE(NAME)};
#undef NAME
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(t->part[1], known[i].name) == 0) {
            *type = known[i].type;
            return VLY_OK;
        }
    return wrong(t, error, "type \"%s\", wanted %s", t->part[1], wanted);
}

static void apply_words(const sentence *said, vly_attention_desc *d)
{
    d->flags = (d->flags | (said->flags & ~OUT_FP8)) & ~said->cleared;
    if (said->flags & OUT_FP8)
        d->type_o = VLY_ELEMENT_E4M3;
    if (said->number[WINDOW] >= 0)
        d->window_left = (int32_t)said->number[WINDOW];
    if (said->number[BEHIND] >= 0)
        d->window_right = (int32_t)said->number[BEHIND];
    if (said->number[WORKSPACE] >= 0)
        d->workspace_most = (uint64_t)said->number[WORKSPACE];
}

static vly_status read_attention(const text *t, bool is_decode,
                                 vly_attention_desc *d, vly_error *error)
{
    uint64_t size[5]; /* batch, query heads, key heads, positions, dim */
    uint32_t type = 0;
    sentence said;
    const word *words = attention_words + (is_decode ? DECODE_WORDS : 0);
    vly_status status = read_type(t, "fp32, fp16, bf16 or fp8", &type, error);
    if (status == VLY_OK && !read_sizes(t->part[2], 5, 2, size))
        status = wrong_size(t,
                            is_decode ? "BATCHxHEADSxCACHExDIM, HEADS as 64 or "
                                        "64/8"
                                      : "BATCHxHEADSxSEQxDIM, HEADS as 64 or "
                                        "64/8",
                            error);
    if (status == VLY_OK)
        status = read_words(t, words, &said, error);
    if (status != VLY_OK)
        return status;
    if (said.number[KEYS] == 0)
        return wrong(t, error, "keys=0, wanted 1 to %d", SIZE_MOST);
    if (said.number[PAGE] == 0)
        return wrong(t, error, "page=0, wanted 16 or 64");
    const uint32_t seq = (uint32_t)size[3];
    const uint32_t keys =
        said.number[KEYS] > 0 ? (uint32_t)said.number[KEYS] : seq;
    *d = bench_attention_desc(type, (uint32_t)size[0], (uint32_t)size[1],
                              (uint32_t)size[2], is_decode ? 1 : seq, keys,
                              (uint32_t)size[4]);
    if (type == VLY_ELEMENT_E4M3 && !is_decode)
        d->flags |= VLY_ATTENTION_SAME_SCALES;
    if (said.number[PAGE] > 0)
        bench_attention_pages(d, (uint32_t)said.number[PAGE]);
    apply_words(&said, d);
    return VLY_OK;
}

static vly_status read_wkv(const text *t, vly_wkv_desc *d, vly_error *error)
{
    uint64_t size[3];
    uint32_t type = 0;
    sentence said;
    vly_status status = read_type(t, "fp32, fp16 or bf16", &type, error);
    if (status == VLY_OK && !read_sizes(t->part[2], 3, 0, size))
        status = wrong_size(t, "BATCHxHEADSxSEQ", error);
    if (status == VLY_OK)
        status = read_words(t, wkv_words, &said, error);
    if (status != VLY_OK)
        return status;
    *d = (vly_wkv_desc){.struct_size = sizeof *d,
                        .flags = said.flags,
                        .type = type,
                        .batch = (uint32_t)size[0],
                        .seq = (uint32_t)size[2],
                        .heads = (uint32_t)size[1],
                        .dim = 64,
                        .workspace_most = UINT64_C(2) << 30};
    if (said.number[WORKSPACE] >= 0)
        d->workspace_most = (uint64_t)said.number[WORKSPACE];
    return VLY_OK;
}

vly_status inspect_request_read(const char *product, inspect_request *request,
                                vly_error *error)
{
    text t;
    inspect_request made = {.kind = INSPECT_GEMM,
                            .interface_id = VLY_GEMM_INTERFACE};
    vly_status status = split(product, &t, error);
    const char *kind = t.part[0];
    if (status != VLY_OK)
        return status;
    if (strcmp(kind, "gemm") == 0 || strcmp(kind, "gemv") == 0) {
        status = read_gemm(&t, kind[3] == 'v', &made.gemm, error);
    } else if (strcmp(kind, "attention") == 0 || strcmp(kind, "decode") == 0) {
        made.kind = INSPECT_ATTENTION;
        made.interface_id = VLY_ATTENTION_INTERFACE;
        status = read_attention(&t, kind[0] == 'd', &made.attention, error);
    } else if (strcmp(kind, "wkv") == 0) {
        made.kind = INSPECT_WKV;
        made.interface_id = VLY_WKV_INTERFACE;
        status = read_wkv(&t, &made.wkv, error);
    } else {
        return wrong(&t, error,
                     "kind \"%s\", wanted gemm, gemv, attention, decode or wkv",
                     kind);
    }
    if (status == VLY_OK)
        *request = made;
    return status;
}

/* SPDX-License-Identifier: Apache-2.0
 * Sizes, formats and random weights of suite rwkv. Sizes and ranks: Peng et al.
 * 2025, arXiv:2503.14456
 */
#include "tools/bench/bench_rwkv.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "tools/bench/bench_tensor.h"
#include "tools/cli/tool.h"

/* random numbers, used from changing places */
enum { TABLE = 1 << 18 };

#define SIZE(text, l, d, rw, ra, rv, rg)                                       \
    {                                                                          \
        text,                                                                  \
        {                                                                      \
            .layers = l, .width = d, .heads = d / 64, .hidden = 4 * d,         \
            .vocabulary = 65536, .rank_w = rw, .rank_a = ra, .rank_v = rv,     \
            .rank_g = rg                                                       \
        }                                                                      \
    }

static const bench_rwkv_size published[] = {
    SIZE("0.1B", 12, 768, 64, 64, 32, 128),
    SIZE("0.4B", 24, 1024, 64, 64, 32, 128),
    SIZE("1.5B", 24, 2048, 96, 96, 64, 256),
    SIZE("2.9B", 32, 2560, 96, 96, 64, 320),
};
enum { N_PUBLISHED = sizeof published / sizeof published[0] };

/* ---- lists ----------------------------------------------------------------
 */

/* "0.1B" or LAYERSxWIDTHxVOCABULARY */
static vly_status read_size(const char *text, bench_rwkv_size *size,
                            vly_error *error)
{
    unsigned layers = 0;
    unsigned width = 0;
    unsigned vocabulary = 0;
    int end = 0;
    for (uint32_t i = 0; i < N_PUBLISHED; i++)
        if (strcmp(text, published[i].name) == 0) {
            *size = published[i];
            return VLY_OK;
        }
    if (strlen(text) >= BENCH_RWKV_NAME_BYTES ||
        sscanf(text, "%4ux%5ux%8u%n", &layers, &width, &vocabulary, &end) !=
            3 ||
        text[end] != '\0' || layers == 0 || layers > VLY_RWKV_LAYERS_MAX ||
        width == 0 || width % 64 != 0 || width > VLY_RWKV_WIDTH_MAX ||
        vocabulary == 0 || vocabulary > VLY_RWKV_VOCABULARY_MAX)
        return vly_fail(error, VLY_E_INVALID,
                        "--sizes: \"%.100s\", wanted 0.1B, 0.4B, 1.5B, 2.9B or "
                        "LAYERSxWIDTHxVOCABULARY, the width a multiple of 64",
                        text);
    const bench_rwkv_size own = SIZE("", layers, width, 64, 64, 32, 128);
    *size = own;
    size->sizes.vocabulary = vocabulary;
    snprintf(size->name, sizeof size->name, "%s", text);
    return VLY_OK;
}

/* Calls `take` for each part of "a,b". */
static vly_status
each(const char *text, const char *option, bench_rwkv_lists *lists,
     vly_status (*take)(const char *part, bench_rwkv_lists *lists,
                        vly_error *error),
     vly_error *error)
{
    char part[64];
    vly_status status = VLY_OK;
    for (uint32_t n = 0; status == VLY_OK; n++) {
        const size_t length = strcspn(text, ",");
        if (n == BENCH_RWKV_LIST || length == 0 || length >= sizeof part)
            return vly_fail(error, VLY_E_INVALID,
                            "%s: \"%.100s\", wanted up to %d parts", option,
                            text, BENCH_RWKV_LIST);
        memcpy(part, text, length);
        part[length] = '\0';
        status = take(part, lists, error);
        if (text[length] == '\0')
            break;
        text += length + 1;
    }
    return status;
}

static vly_status take_size(const char *part, bench_rwkv_lists *lists,
                            vly_error *error)
{
    return read_size(part, &lists->sizes[lists->n_sizes++], error);
}

/* Names of suite gemv are similar: the message gives the name here. */
static vly_status take_format(const char *part, bench_rwkv_lists *lists,
                              vly_error *error)
{
    vly_rwkv_format *format = &lists->formats[lists->n_formats];
    const bool of_gemv =
        strcmp(part, "w8a16") == 0 || strcmp(part, "w4a16") == 0;
    if (vly_rwkv_format_parse(part, format, NULL) == VLY_OK &&
        *format != VLY_RWKV_FORMAT_AUTO) {
        lists->n_formats++;
        return VLY_OK;
    }
    return vly_fail(error, VLY_E_INVALID,
                    "--types: \"%.60s\", wanted some of fp32, fp16, bf16, w8, "
                    "w4%s%.2s%s",
                    part, of_gemv ? ": a model of such weights is " : "",
                    of_gemv ? part : "", of_gemv ? " here" : "");
}

vly_status bench_rwkv_read(const bench_options *options, bool is_host,
                           bench_rwkv_lists *lists, vly_error *error)
{
    const char *sizes = options->quick ? "0.1B"
                        : is_host      ? "0.1B,0.4B"
                                       : "0.1B,0.4B,1.5B,2.9B";
    const char *formats = is_host ? "fp16,w8" : "fp16,w8,w4";
    vly_status status = VLY_OK;
    memset(lists, 0, sizeof *lists);
    VLY_TRY(each(options->sizes ? options->sizes : sizes, "--sizes", lists,
                 take_size, error));
    VLY_TRY(each(options->types ? options->types : formats, "--types", lists,
                 take_format, error));
    status = bench_numbers(options->seq ? options->seq
                           : is_host    ? "64"
                                        : "1024",
                           "--seq", 1, 1u << 16, lists->seq, BENCH_RWKV_LIST,
                           &lists->n_seq, error);
out:
    return status;
}

vly_status bench_rwkv_check(const bench_options *options, vly_error *error)
{
    bench_rwkv_lists lists;
    return bench_rwkv_read(options, true, &lists, error);
}

/* ---- random models --------------------------------------------------------
 */

typedef struct random_model {
    const vly_rwkv_sizes *sizes;
    float *table; /* [TABLE] in [-1, 1) */
    uint64_t drawn;
} random_model;

static vly_status make_table(random_model *r, vly_error *error)
{
    r->table = vly_malloc(TABLE, sizeof *r->table);
    if (!r->table)
        return vly_fail_nomem(error, TABLE * sizeof *r->table,
                              "random weights");
    for (uint32_t i = 0; i < TABLE; i++)
        r->table[i] = (float)((double)(vly_mix64(i + 1) >> 11) * 0x1p-52 - 1.0);
    return VLY_OK;
}

/* Middle and half width that keep activations near 1. */
static void range_of(vly_rwkv_tensor id, uint64_t columns, float *middle,
                     float *half)
{
    const bool is_norm =
        id == VLY_RWKV_LN0_WEIGHT || id == VLY_RWKV_LN1_WEIGHT ||
        id == VLY_RWKV_LN2_WEIGHT || id == VLY_RWKV_LN_X_WEIGHT ||
        id == VLY_RWKV_LN_OUT_WEIGHT;
    const bool is_mix =
        (id >= VLY_RWKV_X_R && id <= VLY_RWKV_X_G) || id == VLY_RWKV_FFN_X_K;
    *middle = is_norm ? 1.0f : is_mix ? 0.5f : id == VLY_RWKV_W0 ? -3.0f : 0.0f;
    *half = is_norm || is_mix ? 0.3f : (float)(1.7 / sqrt((double)columns));
}

static vly_status read_random(void *context, vly_rwkv_tensor id, uint32_t layer,
                              uint64_t first, uint64_t n_rows, float *out,
                              vly_error *error)
{
    random_model *r = context;
    uint64_t columns = r->sizes->width;
    float middle = 0.0f;
    float half = 0.0f;
    (void)layer;
    (void)first;
    (void)error;
    if (id == VLY_RWKV_FFN_VALUE)
        columns = r->sizes->hidden;
    if (id == VLY_RWKV_W2 || id == VLY_RWKV_A2 || id == VLY_RWKV_V2 ||
        id == VLY_RWKV_G2)
        columns = id == VLY_RWKV_W2   ? r->sizes->rank_w
                  : id == VLY_RWKV_A2 ? r->sizes->rank_a
                  : id == VLY_RWKV_V2 ? r->sizes->rank_v
                                      : r->sizes->rank_g;
    range_of(id, columns, &middle, &half);
    /* in pieces without a wrap, for speed: up to 2.9 G weights */
    const uint64_t n = n_rows * columns;
    uint64_t at = vly_mix64(r->drawn++) % TABLE;
    for (uint64_t done = 0; done < n; at = 0) {
        const uint64_t piece = n - done < TABLE - at ? n - done : TABLE - at;
        for (uint64_t i = 0; i < piece; i++)
            out[done + i] = middle + half * r->table[at + i];
        done += piece;
    }
    return tool_signals_stopped()
               ? vly_fail(error, VLY_E_STOPPED, "stopped by a signal")
               : VLY_OK;
}

vly_status bench_rwkv_model(const bench_options *options,
                            const bench_rwkv_size *size, vly_rwkv_format format,
                            vly_rwkv_model **model, vly_error *error)
{
    random_model random = {.sizes = &size->sizes};
    const vly_rwkv_source source = {.name = size->name,
                                    .sizes = size->sizes,
                                    .type = VLY_ELEMENT_F32,
                                    .context = &random,
                                    .read = read_random};
    const vly_rwkv_options how = {.format = format,
                                  .n_threads = options->n_threads};
    vly_status status = make_table(&random, error);
    if (status == VLY_OK)
        status = vly_rwkv_model_create(options->registry, &source,
                                       options->backend, &how, model, error);
    vly_free(random.table);
    return status;
}

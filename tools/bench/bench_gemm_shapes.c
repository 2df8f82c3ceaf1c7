/* SPDX-License-Identifier: Apache-2.0
 * Which products the suites gemm and gemv measure. README.md says why these.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tools/bench/bench_product.h"

#define E(name) VLY_ELEMENT_##name
#define S(name) VLY_SCALE_##name

static const bench_gemm_type types_known[] = {
    {"fp32", E(F32), E(F32), E(F32), 0, 0, 0},
    {"tf32", E(F32), E(F32), E(F32), 0, 0, VLY_GEMM_TF32},
    {"fp16", E(F16), E(F16), E(F16), 0, 0, 0},
    {"bf16", E(BF16), E(BF16), E(BF16), 0, 0, 0},
    {"fp8", E(E4M3), E(E4M3), E(BF16), S(SCALAR), S(SCALAR), 0},
    {"fp8fast", E(E4M3), E(E4M3), E(BF16), S(SCALAR), S(SCALAR), VLY_GEMM_FAST},
    {"fp8row", E(E4M3), E(E4M3), E(BF16), S(ROW), S(ROW), 0},
    {"fp8block", E(E4M3), E(E4M3), E(BF16), S(BLOCK), S(BLOCK), 0},
    {"int8", E(I8), E(I8), E(I32), 0, 0, 0},
    {"w8a16", E(BF16), E(I8), E(BF16), 0, S(ROW), 0},
    {"w4a16", E(BF16), E(I4), E(BF16), 0, S(GROUP), 0},
};
#define N_KNOWN (sizeof types_known / sizeof types_known[0])

/* RWKV-7 0.4B, 1.5B, 2.9B and 7.2B (width 1024, 2048, 2560, 4096; channel mix
 * 4 times as wide; low-rank 64 to 512; vocabulary 65,536) and a transformer of
 * 8 and 70 billion (4096 and 8192; 14,336 and 28,672; 8 key heads of 128):
 * decoding 1 to 64, a prompt of 128 to 8192 tokens. */
static const bench_shape shapes40[40] = {
    {1, 1024, 1024},     {1, 4096, 1024},     {1, 2048, 2048},
    {1, 10240, 2560},    {1, 2560, 10240},    {1, 4096, 4096},
    {1, 65536, 4096},    {8, 1024, 1024},     {8, 2560, 2560},
    {8, 10240, 2560},    {8, 4096, 16384},    {8, 14336, 4096},
    {16, 2048, 8192},    {16, 4096, 4096},    {16, 1024, 8192},
    {16, 6144, 4096},    {64, 2560, 2560},    {64, 16384, 4096},
    {64, 4096, 14336},   {64, 65536, 2560},   {128, 1024, 4096},
    {128, 2560, 10240},  {128, 4096, 4096},   {128, 10240, 8192},
    {512, 256, 4096},    {512, 4096, 256},    {512, 2048, 2048},
    {512, 8192, 8192},   {512, 28672, 8192},  {2048, 96, 2560},
    {2048, 2560, 96},    {2048, 2560, 2560},  {2048, 10240, 2560},
    {2048, 4096, 16384}, {2048, 1024, 8192},  {8192, 1024, 1024},
    {8192, 512, 4096},   {8192, 2560, 10240}, {8192, 4096, 4096},
    {8192, 14336, 4096},
};

static const bench_shape gemm_device[] = {{4096, 4096, 4096},
                                          {8192, 8192, 8192}};
static const bench_shape gemm_quick[] = {{2048, 2048, 2048},
                                         {4096, 4096, 4096}};
static const bench_shape gemm_host[] = {
    {64, 1024, 1024}, {256, 256, 256}, {512, 512, 512}, {1024, 1024, 1024}};
static const bench_shape gemv_device[] = {
    {1, 4096, 4096}, {1, 16384, 4096}, {1, 16384, 16384}, {1, 65536, 16384}};
static const bench_shape gemv_host[] = {{1, 1024, 1024}, {1, 4096, 4096}};

static uint32_t take(const bench_shape *from, size_t n, bench_shape *to)
{
    memcpy(to, from, n * sizeof *to);
    return (uint32_t)n;
}
#define TAKE(list) take(list, sizeof(list) / sizeof((list)[0]), shapes)

/* "4096" is a cube (gemv: a square), "MxNxK" (gemv: "NxK") a product. */
static bool read_shape(const char *text, size_t n, bool is_gemv,
                       bench_shape *shape)
{
    uint64_t numbers[3] = {0, 0, 0};
    uint32_t count = 0;
    const char *at = text;
    const char *end = text + n;
    while (at < end && count < 3) {
        char *after = NULL;
        if (*at < '0' || *at > '9')
            return false;
        numbers[count] = strtoull(at, &after, 10);
        if (numbers[count] < 1 || numbers[count] > UINT64_C(1) << 24)
            return false;
        count++;
        at = after;
        if (at < end && *at++ != 'x')
            return false;
    }
    if (at < end || end[-1] == 'x' || count == 0)
        return false;
    if (is_gemv && count < 3)
        *shape =
            (bench_shape){1, numbers[0], count == 2 ? numbers[1] : numbers[0]};
    else if (is_gemv || count == 2)
        return false;
    else
        *shape = (bench_shape){numbers[0], count == 3 ? numbers[1] : numbers[0],
                               count == 3 ? numbers[2] : numbers[0]};
    return true;
}

vly_status bench_gemm_shapes(const bench_options *options, bool is_gemv,
                             bool is_host, bench_shape *shapes, uint32_t *n,
                             vly_error *error)
{
    const char *at = options->sizes;
    *n = 0;
    if (options->set && (is_gemv || strcmp(options->set, "shapes40")))
        return vly_fail(error, VLY_E_INVALID,
                        "--set %s: wanted shapes40, in suite gemm",
                        options->set);
    if (options->set && at)
        return vly_fail(error, VLY_E_INVALID,
                        "--set and --sizes: wanted one of them");
    if (options->set)
        *n = TAKE(shapes40);
    else if (!at && is_gemv)
        *n = is_host ? TAKE(gemv_host) : TAKE(gemv_device);
    else if (!at)
        *n = is_host          ? TAKE(gemm_host)
             : options->quick ? TAKE(gemm_quick)
                              : TAKE(gemm_device);
    if (!at && options->quick && *n > 2 && !options->set)
        *n = 2;
    if (at && *at == '\0')
        return vly_fail(error, VLY_E_INVALID, "--sizes: nothing in it");
    while (at && *at != 0) {
        const size_t length = strcspn(at, ",");
        if (*n == BENCH_SHAPES_MAX)
            return vly_fail(error, VLY_E_INVALID, "--sizes: more than %d",
                            BENCH_SHAPES_MAX);
        if (length == 0 || !read_shape(at, length, is_gemv, &shapes[*n]))
            return vly_fail(error, VLY_E_INVALID,
                            "--sizes: \"%.*s\", wanted %s",
                            (int)(length < 64 ? length : 64), at,
                            is_gemv ? "N or NxK, as in 4096x16384"
                                    : "N or MxNxK, as in 16x4096x1024");
        *n += 1;
        at += length;
        at += *at == ',' && at[1] != 0;
        if (*at == ',')
            return vly_fail(error, VLY_E_INVALID,
                            "--sizes: a comma at the end");
    }
    return VLY_OK;
}

static const bench_gemm_type *find_type(const char *name, size_t n)
{
    for (size_t i = 0; i < N_KNOWN; i++)
        if (strlen(types_known[i].name) == n &&
            strncmp(types_known[i].name, name, n) == 0)
            return &types_known[i];
    return NULL;
}

vly_status bench_gemm_types(const bench_options *options, bool is_gemv,
                            bool is_host, const bench_gemm_type **types,
                            uint32_t *n, vly_error *error)
{
    const char *at = options->types;
    if (!at)
        at = options->set ? "bf16"
             : is_gemv    ? "bf16,w8a16,w4a16"
             : is_host    ? "fp32,fp16,bf16,int8"
                          : "fp16,bf16,fp8,tf32,int8";
    *n = 0;
    do {
        const size_t length = strcspn(at, ",");
        const bench_gemm_type *type = find_type(at, length);
        if (!type)
            return vly_fail(error, VLY_E_INVALID,
                            "--types: \"%.*s\", wanted some of fp32, tf32, "
                            "fp16, bf16, fp8, fp8fast, fp8row, fp8block, int8, "
                            "w8a16, w4a16",
                            (int)(length < 64 ? length : 64), at);
        if (*n == BENCH_TYPES_MAX)
            return vly_fail(error, VLY_E_INVALID, "--types: more than %d",
                            BENCH_TYPES_MAX);
        for (uint32_t i = 0; i < *n; i++)
            if (types[i] == type)
                return vly_fail(error, VLY_E_INVALID,
                                "--types: %s twice, wanted it once",
                                type->name);
        types[(*n)++] = type;
        at += length;
    } while (*at++ == ',');
    return VLY_OK;
}

vly_gemm_desc bench_gemm_desc(const bench_gemm_type *type, bench_shape shape)
{
    return (vly_gemm_desc){.struct_size = sizeof(vly_gemm_desc),
                           .flags = type->flags | VLY_GEMM_TRANS_B,
                           .type_a = type->a,
                           .type_b = type->b,
                           .type_d = type->d,
                           .scale_a = type->scale_a,
                           .scale_b = type->scale_b,
                           .m = shape.m,
                           .n = shape.n,
                           .k = shape.k,
                           .lda = shape.k,
                           .ldb = shape.k,
                           .ldc = shape.n,
                           .ldd = shape.n,
                           .batch = 1,
                           .workspace_most = UINT64_C(64) << 20};
}

vly_status bench_gemm_check(const bench_options *options, bool is_gemv,
                            vly_error *error)
{
    bench_shape shapes[BENCH_SHAPES_MAX];
    const bench_gemm_type *types[BENCH_TYPES_MAX];
    uint32_t n = 0;
    vly_status status =
        bench_gemm_shapes(options, is_gemv, true, shapes, &n, error);
    return status == VLY_OK
               ? bench_gemm_types(options, is_gemv, true, types, &n, error)
               : status;
}

bench_shape bench_gemm_large(bool is_host, bool quick)
{
    const uint64_t n = (is_host ? 1024u : 8192u) / (quick ? 2u : 1u);
    return (bench_shape){n, n, n};
}

bool bench_gemm_has(const bench_shape *shapes, uint32_t n, bench_shape large)
{
    for (uint32_t i = 0; i < n; i++)
        if (shapes[i].m >= large.m && shapes[i].n >= large.n &&
            shapes[i].k >= large.k)
            return true;
    return false;
}

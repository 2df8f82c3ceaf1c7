/* SPDX-License-Identifier: Apache-2.0
 * gemm_cuda where there is no device: its host side and its kernels, compiled
 * for the host (cuda_emulation.h), with a runtime and a cuBLASLt that are none
 * (fake_runtime.c, fake_cublaslt.c). So which element is multiplied with which
 * is tested here, in every way a product can be computed; rounding, speed and
 * what the real library does are not.
 */
#include "volley_test.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>

#include <volley/gemm.h>

#include "conformance_element.h"
#include "fake_cublaslt.h"

#define LIBRARY "library=" TEST_LIBRARY

/* ---- the plugin ------------------------------------------------------------
 */

static const vly_gemm *gemm;
static fake_cublaslt_state *library;
static int64_t n_blocks, fail_at;
static bool has_failed;

static void *host_alloc(void *context, uint64_t bytes, uint64_t align)
{
    (void)context;
    if (fail_at > 0 && --fail_at == 0) {
        has_failed = true;
        return NULL;
    }
    n_blocks++;
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void host_free(void *context, void *memory)
{
    (void)context;
    n_blocks -= memory != NULL;
    free(memory);
}

static uint32_t n_warnings;

static void host_log(void *context, int32_t level, const char *message)
{
    (void)context;
    (void)message;
    n_warnings += level >= VLY_LOG_WARN;
}

static const vly_host host = {.struct_size = sizeof host,
                              .alloc = host_alloc,
                              .free = host_free,
                              .log = host_log};

static int open_plugin(void **state)
{
    (void)state;
    vly_error error = {.struct_size = sizeof error};
    void *plugin = dlopen(TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    void *fake = dlopen(TEST_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL || fake == NULL) {
        print_error("%s\n", dlerror());
        return 1;
    }
    const vly_plugin *entry = dlsym(plugin, VLY_PLUGIN_SYMBOL);
    library = dlsym(fake, "fake_cublaslt");
    if (entry == NULL || library == NULL ||
        entry->init(&host, &error) != VLY_OK)
        return 1;
    gemm = entry->get_interface(VLY_GEMM_INTERFACE);
    return gemm == NULL;
}

static void behave(fake_cublaslt_state as)
{
    *library = as;
    n_warnings = 0;
}

/* ---- products ---------------------------------------------------------------
 */

typedef struct product {
    vly_gemm_desc desc;
    vly_gemm_run run;
    uint64_t n_d; /* elements of D with what is between its rows */
    uint64_t guard;
} product;

static uint64_t seed;

static double uniform(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 11) * 0x1p-52 - 1.0;
}

enum { GUARD = 256 };

/* n random elements; integers in their whole range, scales near 1/50. */
static void *array(uint32_t type, uint64_t n, bool is_scale)
{
    const uint64_t bytes = (n * conformance_element_bits(type) + 7) / 8 + GUARD;
    void *made = aligned_alloc(256, (bytes + 255) / 256 * 256);
    assert_non_null(made);
    memset(made, 0xff, bytes);
    const double most = type == VLY_ELEMENT_I8    ? 128.0
                        : type == VLY_ELEMENT_I4  ? 8.0
                        : type == VLY_ELEMENT_I32 ? 1e6
                                                  : 1.0;
    for (uint64_t i = 0; i < n; i++)
        conformance_element_set(type, made, i,
                                is_scale ? 0.02 + 0.005 * uniform()
                                         : uniform() * most);
    return made;
}

static uint64_t blocks_of(uint64_t n)
{
    return (n + 127) / 128;
}

static uint64_t n_scales(uint32_t mode, uint64_t rows, uint64_t k, bool is_b)
{
    return mode == VLY_SCALE_SCALAR  ? 1
           : mode == VLY_SCALE_ROW   ? rows
           : mode == VLY_SCALE_GROUP ? rows * (k / 128)
           : mode == VLY_SCALE_BLOCK
               ? (is_b ? blocks_of(rows) : rows) * blocks_of(k)
               : 0;
}

static uint32_t scale_type(const vly_gemm_desc *d)
{
    return d->type_a == VLY_ELEMENT_F16 || d->type_a == VLY_ELEMENT_BF16
               ? d->type_a
               : VLY_ELEMENT_F32;
}

/* What is not in c is filled in: pitches `pad` longer than rows, products one
 * behind the other. */
static void make(product *p, vly_gemm_desc d, uint64_t pad)
{
    const bool trans_a = (d.flags & VLY_GEMM_TRANS_A) != 0;
    const bool trans_b = (d.flags & VLY_GEMM_TRANS_B) != 0;
    const uint64_t rows_a = trans_a ? d.k : d.m, rows_b = trans_b ? d.n : d.k;
    d.struct_size = sizeof d;
    d.workspace_most = 64u << 20;
    d.batch = d.batch > 0 ? d.batch : 1;
    d.lda = (trans_a ? d.m : d.k) + pad;
    d.ldb = (trans_b ? d.k : d.n) + (d.type_b == VLY_ELEMENT_I4 ? 32 : pad);
    d.ldc = d.n + pad / 2;
    d.ldd = d.n + pad;
    d.stride_a = rows_a * d.lda;
    d.stride_b = rows_b * d.ldb;
    d.stride_c = d.m * d.ldc;
    d.stride_d = d.m * d.ldd;
    d.stride_bias = d.n;
    d.stride_scale_a = n_scales(d.scale_a, d.m, d.k, false);
    d.stride_scale_b = n_scales(d.scale_b, d.n, d.k, true);
    const uint32_t scales = scale_type(&d);
    *p = (product){.desc = d, .n_d = d.stride_d * d.batch};
    p->run = (vly_gemm_run){
        .struct_size = sizeof p->run,
        .alpha = d.type_d == VLY_ELEMENT_I32 ? 1.0f : 0.75f,
        .a = array(d.type_a, d.stride_a * d.batch, false),
        .b = array(d.type_b, d.stride_b * d.batch, false),
        .c = array(d.type_d, d.stride_c * d.batch, false),
        .d = array(d.type_d, 0 * d.n + d.stride_d * d.batch, false),
        .bias = array(d.type_d, d.n * d.batch, false),
        .scale_a = array(scales, d.stride_scale_a * d.batch, true),
        .scale_b = array(scales, d.stride_scale_b * d.batch, true)};
}

static void give(const void *memory)
{
    free((void *)(uintptr_t)memory);
}

static void unmake(product *p)
{
    give(p->run.a);
    give(p->run.b);
    give(p->run.c);
    give(p->run.d);
    give(p->run.bias);
    give(p->run.scale_a);
    give(p->run.scale_b);
}

/* ---- what it should be
 * --------------------------------------------------------- */

static double scale_of(const product *p, uint64_t z, uint64_t i, uint64_t j,
                       uint64_t k)
{
    const vly_gemm_desc *d = &p->desc;
    const uint32_t type = scale_type(d);
    double scale = 1.0;
    const uint64_t block = k / 128, n = blocks_of(d->k);
    if (d->scale_a != VLY_SCALE_NONE)
        scale *= conformance_element_get(type, p->run.scale_a,
                                         z * d->stride_scale_a +
                                             (d->scale_a == VLY_SCALE_SCALAR ? 0
                                              : d->scale_a == VLY_SCALE_ROW
                                                  ? i
                                                  : i * n + block));
    if (d->scale_b != VLY_SCALE_NONE)
        scale *= conformance_element_get(type, p->run.scale_b,
                                         z * d->stride_scale_b +
                                             (d->scale_b == VLY_SCALE_SCALAR ? 0
                                              : d->scale_b == VLY_SCALE_ROW  ? j
                                              : d->scale_b == VLY_SCALE_GROUP
                                                  ? j * n + block
                                                  : j / 128 * n + block));
    return scale;
}

/* Element (i, j) of product z in double, and what it may be off: the rounding
 * of D, one of fp32 for every product of the sum and its scales, both through
 * an activation whose slope is at most 1.13 (gelu), or 2 |x| (relu squared). */
static double wanted(const product *p, uint64_t z, uint64_t i, uint64_t j,
                     double *off)
{
    const vly_gemm_desc *d = &p->desc;
    const bool trans_a = (d->flags & VLY_GEMM_TRANS_A) != 0;
    const bool trans_b = (d->flags & VLY_GEMM_TRANS_B) != 0;
    double sum = 0.0, size = 0.0;
    for (uint64_t k = 0; k < d->k && p->run.alpha != 0.0f; k++) {
        const double one =
            conformance_element_get(
                d->type_a, p->run.a,
                z * d->stride_a + (trans_a ? k * d->lda + i : i * d->lda + k)) *
            conformance_element_get(
                d->type_b, p->run.b,
                z * d->stride_b + (trans_b ? j * d->ldb + k : k * d->ldb + j)) *
            scale_of(p, z, i, j, k);
        sum += one;
        size += fabs(one);
    }
    double x = (double)p->run.alpha * sum;
    if (p->run.beta != 0.0f) {
        const double c = conformance_element_get(
            d->type_d, p->run.c, z * d->stride_c + i * d->ldc + j);
        x += (double)p->run.beta * c;
        size += fabs((double)p->run.beta * c);
    }
    if ((d->flags & VLY_GEMM_BIAS) != 0)
        x += conformance_element_get(d->type_d, p->run.bias,
                                     z * d->stride_bias + j);
    size += fabs(x);
    *off = ((double)d->k + 8.0) * 0x1p-24 * size;
    if (d->activation == VLY_GEMM_GELU) {
        x = 0.5 * x *
            (1.0 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
        *off *= 1.13;
    } else if (d->activation != VLY_GEMM_IDENTITY) {
        x = x < 0.0 ? 0.0 : x;
        *off *= d->activation == VLY_GEMM_RELU2 ? 2.0 * x + 1.0 : 1.0;
        x = d->activation == VLY_GEMM_RELU2 ? x * x : x;
    }
    *off += conformance_element_roundoff(d->type_d) * 1.01 * (fabs(x) + *off) +
            conformance_element_least(d->type_d);
    if (d->type_d == VLY_ELEMENT_I32)
        *off = 0.0;
    return x;
}

static uint32_t case_now; /* for messages */

static void look(const product *p, const char *how)
{
    const vly_gemm_desc *d = &p->desc;
    const uint32_t bits = conformance_element_bits(d->type_d);
    for (uint64_t e = 0; e < p->n_d; e++) {
        const uint64_t z = e / d->stride_d, i = e % d->stride_d / d->ldd;
        const uint64_t j = e % d->ldd;
        uint64_t word = 0;
        memcpy(&word, (const char *)p->run.d + e * bits / 8, bits / 8);
        if (j >= d->n) { /* between rows nothing is written */
            assert_int_equal(word, bits == 32 ? 0xffffffffu : 0xffffu);
            continue;
        }
        double off = 0.0;
        const double x = conformance_decode(d->type_d, word);
        const double y = wanted(p, z, i, j, &off);
        if (!(fabs(x - y) <= off))
            fail_msg("%s: case %u, product %u, element (%u, %u) is %.9g, "
                     "wanted %.9g +- %.3g",
                     how, case_now, (unsigned)z, (unsigned)i, (unsigned)j, x, y,
                     off);
    }
    const unsigned char *behind = (unsigned char *)p->run.d + p->n_d * bits / 8;
    for (int i = 0; i < GUARD; i++)
        assert_int_equal(behind[i], 0xff);
}

/* ---- one product in one way
 * ------------------------------------------------------ */

/* Makes the plan and runs it; false if it is not offered. info may be NULL. */
static bool compute(product *p, const char *options, vly_plan_info *info)
{
    const vly_device_spec device = {
        .struct_size = sizeof device, .n_threads = 1, .options = options};
    vly_error error = {.struct_size = sizeof error};
    vly_plan_info said = {.struct_size = sizeof said};
    vly_gemm_plan *plan = NULL;
    const int64_t live = n_blocks;
    vly_status status = gemm->plan_create(&device, &p->desc, &plan, &error);
    if (status == VLY_E_UNSUPPORTED && strstr(options, "choose=") != NULL) {
        assert_non_null(strstr(error.message, "own"));
        assert_int_equal(n_blocks, live);
        return false;
    }
    if (status != VLY_OK)
        fail_msg("%s: case %u: %s", options, case_now, error.message);
    assert_int_equal(gemm->plan_info(plan, &said, &error), VLY_OK);
    p->run.workspace_bytes = said.workspace_bytes;
    p->run.workspace = said.workspace_bytes > 0
                           ? aligned_alloc(256, said.workspace_bytes + 256)
                           : NULL;
    if (said.workspace_bytes > 0) { /* what is behind it stays */
        memset(p->run.workspace, 0xff, said.workspace_bytes + 256);
    }
    memset(p->run.d, 0xff,
           p->n_d * conformance_element_bits(p->desc.type_d) / 8 + GUARD);
    assert_ok(gemm->run(plan, &p->run, &error), error);
    for (uint64_t i = 0; said.workspace_bytes > 0 && i < 256; i++)
        assert_int_equal(
            ((unsigned char *)p->run.workspace)[said.workspace_bytes + i],
            0xff);
    look(p, options);
    free(p->run.workspace);
    gemm->plan_destroy(plan);
    assert_int_equal(n_blocks, live);
    if (info != NULL)
        *info = said;
    return true;
}

enum {
    F32 = VLY_ELEMENT_F32,
    F16 = VLY_ELEMENT_F16,
    BF16 = VLY_ELEMENT_BF16,
    E4M3 = VLY_ELEMENT_E4M3,
    I8 = VLY_ELEMENT_I8,
    I4 = VLY_ELEMENT_I4,
    I32 = VLY_ELEMENT_I32,
    TA = VLY_GEMM_TRANS_A,
    TB = VLY_GEMM_TRANS_B,
    BIAS = VLY_GEMM_BIAS,
};

typedef struct product_case {
    uint32_t a, b, d, scale_a, scale_b, flags, activation;
    uint64_t m, n, k, batch, pad;
    float beta;
} product_case;

static const product_case cases[] = {
    /* every layout, odd sizes */
    {F32, F32, F32, 0, 0, 0, 0, 17, 63, 65, 1, 0, 0.0f},
    {F32, F32, F32, 0, 0, TA, 0, 17, 63, 65, 2, 3, 0.5f},
    {F32, F32, F32, 0, 0, TB | BIAS, VLY_GEMM_RELU, 5, 17, 33, 2, 4, 0.0f},
    {F32, F32, F32, 0, 0, TA | TB, VLY_GEMM_GELU, 3, 65, 9, 1, 1, -1.0f},
    {F16, F16, F16, 0, 0, TA | TB | BIAS, VLY_GEMM_RELU2, 9, 65, 17, 2, 8,
     1.0f},
    {F16, F16, F32, 0, 0, BIAS, VLY_GEMM_RELU2, 66, 70, 20, 1, 0, 0.0f},
    {BF16, BF16, BF16, 0, 0, TB | BIAS, VLY_GEMM_GELU, 6, 33, 40, 3, 8, 0.5f},
    {BF16, BF16, F32, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0.0f},
    /* few rows: one tile and more, k in parts, ends of k and n */
    {F32, F32, F32, 0, 0, TB, 0, 1, 9, 516, 1, 0, 0.0f},
    {F32, F32, F32, 0, 0, TB | BIAS, VLY_GEMM_RELU, 8, 6, 132, 2, 4, 1.0f},
    {F32, F32, F32, 0, 0, TB, 0, 1, 2, 8192, 1, 0, 0.0f},
    {F16, F16, F16, 0, 0, TB, 0, 1, 40, 4096, 1, 0, 0.0f},
    {F16, F16, F32, 0, 0, TB, 0, 8, 17, 1032, 2, 8, 0.5f},
    {BF16, BF16, BF16, 0, 0, TB | BIAS, VLY_GEMM_RELU2, 5, 31, 72, 1, 16, 0.0f},
    {BF16, BF16, F32, 0, 0, TB, 0, 2, 16, 8, 1, 0, 0.0f},
    {F16, I8, F16, 0, VLY_SCALE_ROW, TB, 0, 1, 33, 4112, 1, 0, 0.0f},
    {BF16, I8, BF16, 0, VLY_SCALE_ROW, TB | BIAS, VLY_GEMM_GELU, 7, 18, 160, 2,
     16, 0.5f},
    {F16, I8, F16, 0, VLY_SCALE_ROW, TB | BIAS, VLY_GEMM_RELU, 19, 34, 144, 2,
     16, 0.0f},
    {F16, I8, F16, 0, VLY_SCALE_ROW, TB, 0, 3, 5, 13, 1, 0, 0.0f},
    {F16, I4, F16, 0, VLY_SCALE_GROUP, TB, 0, 1, 33, 1152, 1, 0, 0.0f},
    {BF16, I4, BF16, 0, VLY_SCALE_GROUP, TB | BIAS, VLY_GEMM_GELU, 1, 35, 4352,
     2, 8, 0.5f},
    /* one piece a row, one for each warp, and two for some */
    {F16, I4, F16, 0, VLY_SCALE_GROUP, TB | BIAS, VLY_GEMM_RELU, 1, 1000, 512,
     2, 32, 0.5f},
    {BF16, I4, BF16, 0, VLY_SCALE_GROUP, TB, 0, 1, 600, 8192, 1, 0, 0.0f},
    {BF16, I8, BF16, 0, VLY_SCALE_ROW, TB | BIAS, VLY_GEMM_GELU, 1, 90, 1280, 2,
     16, 0.5f},
    /* more tiles than blocks stay on the device, three chunks of a row a warp
     */
    {F16, I4, F16, 0, VLY_SCALE_GROUP, TB, 0, 1, 470, 256, 1, 0, 0.0f},
    {BF16, I4, BF16, 0, VLY_SCALE_GROUP, TB, 0, 1, 150, 5120, 1, 0, 0.0f},
    {BF16, I4, BF16, 0, VLY_SCALE_GROUP, TB, 0, 1, 70, 12288, 1, 0, 0.0f},
    {BF16, I4, BF16, 0, VLY_SCALE_GROUP, TB | BIAS, VLY_GEMM_RELU, 8, 17, 256,
     2, 8, 1.0f},
    {F16, I4, F16, 0, VLY_SCALE_GROUP, TB, 0, 21, 20, 128, 1, 0, 0.0f},
    {F16, F16, F16, 0, 0, TB, 0, 30, 33, 136, 1, 8, 0.5f},
    {BF16, BF16, F32, 0, 0, TB | BIAS, VLY_GEMM_GELU, 12, 20, 520, 2, 0, 0.0f},
    /* fp8, every kind of scale */
    {E4M3, E4M3, F16, VLY_SCALE_SCALAR, VLY_SCALE_SCALAR, TB | BIAS,
     VLY_GEMM_RELU, 32, 48, 64, 2, 16, 0.0f},
    {E4M3, E4M3, BF16, VLY_SCALE_ROW, VLY_SCALE_ROW, TB, 0, 16, 32, 80, 2, 0,
     0.5f},
    {E4M3, E4M3, F32, VLY_SCALE_ROW, VLY_SCALE_ROW, TB | BIAS, VLY_GEMM_GELU,
     16, 32, 48, 2, 0, 0.0f},
    {E4M3, E4M3, F32, VLY_SCALE_BLOCK, VLY_SCALE_BLOCK, TB, 0, 32, 144, 272, 2,
     0, 0.0f},
    {E4M3, E4M3, BF16, VLY_SCALE_BLOCK, VLY_SCALE_BLOCK, TB, VLY_GEMM_RELU2, 16,
     272, 640, 1, 16, 0.0f},
    {E4M3, E4M3, F32, VLY_SCALE_BLOCK, VLY_SCALE_BLOCK, TB, 0, 7, 131, 135, 1,
     0, 0.0f},
    /* int8, exact and scaled */
    {I8, I8, I32, 0, 0, TB, 0, 12, 20, 24, 2, 4, 1.0f},
    {I8, I8, I32, 0, 0, TA, 0, 5, 7, 9, 1, 0, 0.0f},
    {I8, I8, F16, VLY_SCALE_ROW, VLY_SCALE_ROW, TB | BIAS, VLY_GEMM_RELU, 8, 12,
     64, 2, 4, 0.5f},
    {I8, I8, F32, VLY_SCALE_ROW, VLY_SCALE_ROW, 0, 0, 3, 5, 7, 1, 0, 0.0f},
    /* more blocks than a square of scales has; scales of B as they are */
    {E4M3, E4M3, F32, VLY_SCALE_BLOCK, VLY_SCALE_BLOCK, TB, 0, 48, 16, 4352, 1,
     0, 0.0f},
    {E4M3, E4M3, F32, VLY_SCALE_BLOCK, VLY_SCALE_BLOCK, TB, 0, 16, 144, 512, 2,
     0, 0.0f},
};

static void make_case(product *p, const product_case *c)
{
    make(p,
         (vly_gemm_desc){.flags = c->flags,
                         .type_a = c->a,
                         .type_b = c->b,
                         .type_d = c->d,
                         .scale_a = c->scale_a,
                         .scale_b = c->scale_b,
                         .activation = c->activation,
                         .m = c->m,
                         .n = c->n,
                         .k = c->k,
                         .batch = c->batch},
         c->pad);
    p->run.beta = c->beta;
}

enum { N_CASES = sizeof cases / sizeof cases[0] };

/* Every case in every way; how many were offered in the way. */
static uint32_t all_cases(const char *options)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < N_CASES; i++) {
        product p;
        seed = i;
        make_case(&p, &cases[i]);
        case_now = i;
        n += compute(&p, options, NULL);
        unmake(&p);
        assert_int_equal(library->n_live, 0);
    }
    print_message("%s: %u of %u cases\n", options, n, (unsigned)N_CASES);
    return n;
}

static void own_kernel_computes_everything(void **state)
{
    (void)state;
    assert_int_equal(all_cases("cache=off,choose=own," LIBRARY), N_CASES);
}

static void kernels_for_few_rows(void **state)
{
    (void)state;
    const char *const all[] = {"cache=off,tune=0,choose=gemv_8x4," LIBRARY,
                               "cache=off,tune=0,choose=gemv_4x8," LIBRARY,
                               "cache=off,tune=0,choose=gemv_16x2," LIBRARY,
                               "cache=off,tune=0,choose=flow," LIBRARY,
                               "cache=off,tune=0,choose=lines," LIBRARY};
    /* gemv_flow.cu: not fp32, not more than 8 rows */
    for (int i = 0; i < 4; i++)
        assert_int_equal(all_cases(all[i]), i < 3 ? 23 : 16);
    assert_int_equal(all_cases(all[4]), 6);
    /* with k in parts too */
    behave((fake_cublaslt_state){.n_algorithms = 0});
    assert_int_equal(all_cases("cache=off,choose=gemv," LIBRARY), 23);
    assert_int_equal(n_warnings, 0);
}

static void library_computes_what_it_offers(void **state)
{
    (void)state;
    behave((fake_cublaslt_state){.n_algorithms = 3});
    assert_int_equal(all_cases("cache=off,choose=default," LIBRARY), 31);
    assert_int_equal(all_cases("cache=off,choose=cublaslt," LIBRARY), 31);
    assert_int_equal(all_cases("cache=off," LIBRARY), N_CASES);
    assert_int_equal(n_warnings, 0);
}

static void without_a_library_the_plan_says_so(void **state)
{
    (void)state;
    product p;
    vly_plan_info info;
    make_case(&p, &cases[0]);
    assert_true(compute(&p, "cache=off,library=/no/such.so", &info));
    assert_non_null(strstr(info.choice, "own; cuBLASLt cannot be opened"));
    assert_false(
        compute(&p, "cache=off,choose=default,library=/no/such.so", NULL));
    unmake(&p);
}

/* alpha 0 or k 0: A and B are not read; beta 0: C is not. */
static void what_is_not_wanted_is_not_read(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < N_CASES; i += 3) {
        product p;
        make_case(&p, &cases[i]);
        if (p.desc.type_d == I32)
            p.run.beta = 1.0f;
        else
            p.run.alpha = 0.0f;
        const void *a = p.run.a, *b = p.run.b;
        if (p.run.alpha == 0.0f)
            p.run.a = p.run.b = NULL;
        assert_true(compute(&p, "cache=off,tune=0," LIBRARY, NULL));
        p.run.a = a;
        p.run.b = b;
        unmake(&p);
        make_case(&p, &cases[i]);
        p.desc.k = 0;
        assert_true(compute(&p, "cache=off,tune=0," LIBRARY, NULL));
        p.desc.m = 0;
        p.n_d = 0;
        assert_true(compute(&p, "cache=off," LIBRARY, NULL));
        unmake(&p);
    }
}

/* ---- the choice
 * -------------------------------------------------------------------- */

static vly_plan_info choice_of(uint32_t i, const char *options)
{
    product p;
    vly_plan_info info = {.struct_size = 0};
    make_case(&p, &cases[i]);
    assert_true(compute(&p, options, &info));
    unmake(&p);
    assert_int_equal(library->n_live, 0);
    return info;
}

static void wrong_algorithms_are_struck_out(void **state)
{
    (void)state;
    const fake_cublaslt_state bad = {.n_algorithms = 6,
                                     .garbage = 1,
                                     .not_written = 2,
                                     .refused = 4,
                                     .slow = 8 | 32};
    behave(bad);
    vly_plan_info info = choice_of(0, "cache=off," LIBRARY);
    assert_non_null(strstr(info.choice, "algo 4 "));
    assert_int_equal(info.n_candidates, 6);
    assert_int_equal(info.cached, 0);
    assert_true(info.measured_s > 0.0);
    assert_int_equal(info.workspace_bytes, 4096);
    assert_int_equal(n_warnings, 2); /* refused is no news */
    /* none is right: ours; by name: refused */
    behave((fake_cublaslt_state){.n_algorithms = 2, .garbage = 3});
    info = choice_of(0, "cache=off," LIBRARY);
    assert_string_equal(info.choice, "own");
    product p;
    make_case(&p, &cases[0]);
    const vly_device_spec device = {.struct_size = sizeof device,
                                    .options =
                                        "cache=off,choose=cublaslt," LIBRARY};
    vly_error error = {.struct_size = sizeof error};
    vly_gemm_plan *plan = NULL;
    assert_int_equal(gemm->plan_create(&device, &p.desc, &plan, &error),
                     VLY_E_UNSUPPORTED);
    assert_non_null(strstr(error.message, "none gave the right result"));
    assert_null(plan);
    unmake(&p);
}

/* What a plan tells of the ways that it looked at. */
static uint32_t ways_of(uint32_t i, const char *options, vly_plan_candidate *c)
{
    product p;
    vly_gemm_plan *plan = NULL;
    vly_error error = {.struct_size = sizeof error};
    const vly_device_spec device = {
        .struct_size = sizeof device, .n_threads = 1, .options = options};
    uint32_t n = 1;
    make_case(&p, &cases[i]);
    assert_ok(gemm->plan_create(&device, &p.desc, &plan, &error), error);
    for (uint32_t k = 0; k < n; k++) {
        assert_true(k < 64);
        c[k] = (vly_plan_candidate){.struct_size = sizeof *c};
        assert_ok(gemm->plan_candidate(plan, k, &c[k], &n, &error), error);
    }
    vly_plan_candidate none = {.struct_size = 8};
    assert_int_equal(gemm->plan_candidate(plan, 0, &none, &n, &error),
                     VLY_E_INVALID);
    none.struct_size = sizeof none;
    assert_ok(gemm->plan_candidate(plan, n, &none, &n, &error), error);
    assert_int_equal(none.name[0], 0); /* left as it was */
    gemm->plan_destroy(plan);
    unmake(&p);
    return n;
}

static uint32_t count_state(const vly_plan_candidate *c, uint32_t n,
                            uint32_t state)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < n; i++)
        found += c[i].state == state;
    return found;
}

static void ways_are_told(void **state)
{
    (void)state;
    vly_plan_candidate c[64];
    behave((fake_cublaslt_state){.n_algorithms = 6,
                                 .garbage = 1,
                                 .not_written = 2,
                                 .refused = 4,
                                 .slow = 8 | 32});
    uint32_t n = ways_of(0, "cache=off," LIBRARY, c);
    assert_int_equal(count_state(c, n, VLY_CANDIDATE_CHOSEN), 1);
    assert_int_equal(count_state(c, n, VLY_CANDIDATE_WRONG), 3);
    assert_int_equal(count_state(c, n, VLY_CANDIDATE_READY), 2);
    double chosen_s = 0.0;
    for (uint32_t i = 0; i < n; i++) {
        if (c[i].state == VLY_CANDIDATE_CHOSEN) {
            assert_non_null(strstr(c[i].name, "algo 4 "));
            assert_int_equal(c[i].workspace_bytes, 4096);
            chosen_s = c[i].measured_s;
        }
        assert_int_equal(c[i].note[0] != '\0',
                         c[i].state >= VLY_CANDIDATE_REFUSED);
    }
    assert_true(chosen_s > 0.0);
    for (uint32_t i = 0; i < n; i++)
        if (c[i].state == VLY_CANDIDATE_READY)
            assert_true(c[i].measured_s > chosen_s);
    /* none is right */
    behave((fake_cublaslt_state){.n_algorithms = 2, .garbage = 3});
    n = ways_of(0, "cache=off," LIBRARY, c);
    assert_string_equal(c[n - 1].name, "own");
    assert_int_equal(c[n - 1].state, VLY_CANDIDATE_CHOSEN);
    assert_int_equal(count_state(c, n, VLY_CANDIDATE_CHOSEN), 1);
    assert_int_equal(count_state(c, n, VLY_CANDIDATE_WRONG), 2);
    /* no library: why */
    n = ways_of(0, "cache=off,library=/nowhere/lib.so", c);
    assert_string_equal(c[0].name, "cublaslt");
    assert_int_equal(c[0].state, VLY_CANDIDATE_REFUSED);
    assert_non_null(strstr(c[0].note, "/nowhere/lib.so"));
}

/* The case of a type with a bias or an activation that the library has. */
static uint32_t case_with_epilogue(uint32_t type)
{
    for (uint32_t i = 0; i < N_CASES; i++)
        if (cases[i].a == type && cases[i].b == type && cases[i].d == type &&
            cases[i].activation == VLY_GEMM_GELU)
            return i;
    fail_msg("no such case");
    return 0;
}

static void what_rounds_twice_is_struck_out(void **state)
{
    (void)state;
    const uint32_t i = case_with_epilogue(VLY_ELEMENT_BF16);
    const char *const all[] = {"cache=off,choose=cublaslt," LIBRARY,
                               "cache=off,choose=default," LIBRARY,
                               "cache=off,tune=0," LIBRARY};
    for (int way = 0; way < 3; way++) {
        behave((fake_cublaslt_state){
            .n_algorithms = 3, .twice = 1, .twice_with_c = 2});
        const vly_plan_info info = choice_of(i, all[way]);
        /* the third, or one with sums in the workspace */
        assert_true(strstr(info.choice, "algo 2 ") != NULL ||
                    strstr(info.choice, ", staged") != NULL);
        assert_int_equal(n_warnings, 0);
    }
    /* all of them: those with sums in the workspace are right */
    behave((fake_cublaslt_state){.n_algorithms = 3, .twice = 7});
    const vly_plan_info info = choice_of(i, all[2]);
    assert_non_null(strstr(info.choice, ", staged"));
}

/* Rounded before gelu: shows in half a unit of nothing, but in most elements
 * where it makes a difference. */
static void what_rounds_before_gelu_is_struck_out(void **state)
{
    static const product_case of[] = {
        {F16, F16, F16, 0, 0, TB, VLY_GEMM_GELU, 6, 33, 40, 2, 8, 0.0f},
        {F16, F16, F16, 0, 0, TB, VLY_GEMM_GELU, 2, 3, 17, 1, 0, 0.5f},
        {F16, F16, F16, 0, 0, TA, VLY_GEMM_GELU, 5, 16, 900, 1, 0, 0.0f},
        {BF16, BF16, BF16, 0, 0, TB, VLY_GEMM_GELU, 4, 9, 64, 1, 0, 0.5f},
    };
    const char *const all[] = {"cache=off,choose=cublaslt," LIBRARY,
                               "cache=off,tune=0," LIBRARY};
    (void)state;
    for (uint32_t i = 0; i < 2 * sizeof of / sizeof of[0]; i++) {
        product p;
        vly_plan_info info;
        case_now = i / 2;
        make_case(&p, &of[i / 2]);
        behave((fake_cublaslt_state){
            .n_algorithms = 3, .twice = 1, .twice_with_c = 2});
        assert_true(compute(&p, all[i % 2], &info));
        assert_true(strstr(info.choice, "algo 2 ") != NULL ||
                    strstr(info.choice, ", staged") != NULL);
        assert_int_equal(n_warnings, 0);
        /* one that rounds once stays */
        behave((fake_cublaslt_state){.n_algorithms = 3});
        assert_true(compute(&p, all[1], &info));
        assert_non_null(strstr(info.choice, "algo 0 "));
        assert_null(strstr(info.choice, ", staged"));
        unmake(&p);
    }
}

/* The same factors from a byte further on. */
static void move_by_a_byte(const void **factor, uint64_t bytes)
{
    char *from = (char *)(uintptr_t)*factor;
    memmove(from + 1, from, bytes);
    *factor = from + 1;
}

/* Products of whole bytes whose pointers are aligned to one: `compute` would
 * fail if a plan took what does not run. */
static void pointers_are_tried_as_they_are(void **state)
{
    static const product_case of = {
        I8, I8, F16, VLY_SCALE_ROW, VLY_SCALE_ROW, TB, 0, 8, 12,
        64, 1,  0,   0.5f};
    const char *const all[] = {"cache=off," LIBRARY,
                               "cache=off,tune=0," LIBRARY,
                               "cache=off,choose=default," LIBRARY};
    char folder[300], options[900], command[400];
    vly_plan_info info;
    product p;
    (void)state;
    make_case(&p, &of);
    p.desc.align = 1;
    move_by_a_byte(&p.run.a, p.desc.stride_a);
    move_by_a_byte(&p.run.b, p.desc.stride_b);
    for (int i = 0; i < 3; i++) {
        behave((fake_cublaslt_state){.n_algorithms = 3, .aligned = 3});
        assert_true(compute(&p, all[i], &info));
        assert_non_null(strstr(info.choice, "algo 2 "));
        behave((fake_cublaslt_state){.n_algorithms = 3, .aligned = 7});
        if (i == 2) /* by name: refused */
            assert_false(compute(&p, all[i], &info));
        else
            assert_true(compute(&p, all[i], &info));
        assert_true(i == 2 || strcmp(info.choice, "own") == 0);
        assert_int_equal(n_warnings, 0);
    }
    /* one that ran when it was kept, and does not any more */
    snprintf(folder, sizeof folder, "%s/gemm_align_XXXXXX",
             VLY_TEST_BINARY_DIR);
    assert_non_null(mkdtemp(folder));
    snprintf(options, sizeof options, "cache=%s," LIBRARY, folder);
    behave((fake_cublaslt_state){.n_algorithms = 1});
    assert_true(compute(&p, options, &info));
    assert_true(compute(&p, options, &info));
    assert_int_equal(info.cached, 1);
    behave((fake_cublaslt_state){.n_algorithms = 1, .aligned = 1});
    assert_true(compute(&p, options, &info));
    assert_string_equal(info.choice, "own");
    assert_int_equal(info.cached, 0);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    assert_int_equal(system(command), 0);
    p.run.a = (const char *)p.run.a - 1;
    p.run.b = (const char *)p.run.b - 1;
    unmake(&p);
}

static void first_is_taken_unmeasured(void **state)
{
    (void)state;
    behave((fake_cublaslt_state){.n_algorithms = 4, .slow = 1});
    vly_plan_info info = choice_of(0, "cache=off,tune=0," LIBRARY);
    assert_non_null(strstr(info.choice, "cublaslt 13.1.0 algo 0 "));
    assert_int_equal(info.n_candidates, 1);
    assert_true(info.measured_s == 0.0);
    assert_int_equal(library->n_runs, 2); /* one to try, that of the test */
    info = choice_of(0, "cache=off," LIBRARY);
    assert_null(strstr(info.choice, "algo 0 "));
}

static void choices_are_kept(void **state)
{
    (void)state;
    char folder[300], options[900];
    snprintf(folder, sizeof folder, "%s/gemm_cache_XXXXXX",
             VLY_TEST_BINARY_DIR);
    assert_non_null(mkdtemp(folder));
    snprintf(options, sizeof options, "cache=%s," LIBRARY, folder);
    behave((fake_cublaslt_state){.n_algorithms = 4, .slow = 1 | 2 | 8});
    vly_plan_info info = choice_of(0, options);
    assert_non_null(strstr(info.choice, "algo 2 "));
    assert_int_equal(info.cached, 0);
    const uint32_t asked = library->n_heuristics;
    vly_plan_candidate kept[64];
    assert_int_equal(ways_of(0, options, kept), 1);
    assert_int_equal(kept[0].state, VLY_CANDIDATE_CHOSEN);
    assert_non_null(strstr(kept[0].name, "algo 2 "));
    assert_true(kept[0].measured_s > 0.0);
    info = choice_of(0, options);
    assert_non_null(strstr(info.choice, "algo 2 "));
    assert_int_equal(info.cached, 1);
    assert_int_equal(info.n_candidates, 4); /* that it was the fastest of */
    assert_int_equal(info.workspace_bytes, 2048);
    assert_int_equal(library->n_heuristics, asked);
    assert_int_equal(choice_of(1, options).cached, 0); /* another product */
    library->retired = 4; /* the library runs it no more: measured again */
    library->slow = 2 | 4 | 8;
    info = choice_of(0, options);
    assert_int_equal(info.cached, 0);
    assert_non_null(strstr(info.choice, "algo 0 "));
    char command[400];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    assert_int_equal(system(command), 0);
}

/* A plan may not ask for more workspace than the caller has. */
static void workspace_is_limited(void **state)
{
    (void)state;
    behave((fake_cublaslt_state){.n_algorithms = 4});
    for (uint32_t i = 0; i < N_CASES; i += 3) {
        product p;
        vly_plan_info info;
        make_case(&p, &cases[i]);
        p.desc.workspace_most = 1100;
        assert_true(compute(&p, "cache=off," LIBRARY, &info));
        assert_true(info.workspace_bytes <= 1100);
        unmake(&p);
    }
}

/* The same again with C in the place of D. */
static void compute_in_place(product *p, const char *options)
{
    const vly_device_spec device = {
        .struct_size = sizeof device, .n_threads = 1, .options = options};
    vly_error error = {.struct_size = sizeof error};
    vly_gemm_plan *plan = NULL;
    vly_plan_info info = {.struct_size = sizeof info};
    vly_gemm_run run = p->run;
    assert_int_equal(p->desc.ldc, p->desc.ldd);
    assert_ok(gemm->plan_create(&device, &p->desc, &plan, &error), error);
    assert_ok(gemm->plan_info(plan, &info, &error), error);
    run.workspace_bytes = info.workspace_bytes;
    run.workspace = aligned_alloc(256, info.workspace_bytes + 256);
    memcpy(run.d, run.c, p->n_d * conformance_element_bits(p->desc.type_d) / 8);
    run.c = run.d;
    assert_ok(gemm->run(plan, &run, &error), error);
    look(p, "in place");
    free(run.workspace);
    gemm->plan_destroy(plan);
}

/* Sums of 32 bits for some rows after the other, where all of them have no
 * room; the last piece begins in the one before it. */
static void rows_in_pieces(void **state)
{
    static const struct {
        product_case of;
        uint64_t most;
        const char *says;
    } pieces[] = {
        {{F16, F16, F16, 0, 0, TB | BIAS, VLY_GEMM_RELU2, 200, 24, 40, 2, 8,
          0.5f},
         26000,
         "staged in 4 pieces"},
        {{F32, F32, F32, 0, 0, TA, VLY_GEMM_RELU2, 257, 20, 9, 1, 3, 0.0f},
         14000,
         "staged in 5 pieces"},
        {{I8, I8, F16, VLY_SCALE_ROW, VLY_SCALE_ROW, TB | BIAS, VLY_GEMM_RELU,
          150, 24, 32, 2, 0, 0.5f},
         26000,
         "staged in 3 pieces"},
        {{F16, I8, F16, 0, VLY_SCALE_ROW, TB, 0, 192, 34, 48, 1, 0, 1.0f},
         23000,
         "staged in 3 pieces"},
    };
    (void)state;
    behave((fake_cublaslt_state){.n_algorithms = 4});
    for (uint32_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        const char *const options = "cache=off,choose=cublaslt," LIBRARY;
        product p;
        vly_plan_info info;
        case_now = i;
        seed = i;
        make_case(&p, &pieces[i].of);
        p.desc.workspace_most = pieces[i].most;
        assert_true(compute(&p, options, &info));
        assert_true(info.workspace_bytes <= pieces[i].most);
        if (strstr(info.choice, pieces[i].says) == NULL)
            fail_msg("case %u: %s, wanted: %s", i, info.choice, pieces[i].says);
        if (p.desc.ldc == p.desc.ldd)
            compute_in_place(&p, options);
        unmake(&p);
        assert_int_equal(library->n_live, 0);
    }
}

/* ---- memory that is missing
 * --------------------------------------------------------- */

static void every_block_may_be_missing(void **state)
{
    (void)state;
    const vly_device_spec device = {.struct_size = sizeof device,
                                    .options = "cache=off," LIBRARY};
    for (uint32_t i = 0; i < N_CASES; i += 11) {
        product p;
        make_case(&p, &cases[i]);
        uint32_t n_failed = 0;
        for (int32_t n = 1; n < 200; n++) {
            /* the n-th block of the host, then the n-th of the library */
            const bool is_library = n >= 100;
            vly_error error = {.struct_size = sizeof error};
            vly_gemm_plan *plan = NULL;
            const int64_t live = n_blocks;
            behave((fake_cublaslt_state){.n_algorithms = 2,
                                         .fail_at = is_library ? n - 99 : 0});
            has_failed = false;
            fail_at = is_library ? 0 : n;
            vly_status status =
                gemm->plan_create(&device, &p.desc, &plan, &error);
            fail_at = 0;
            const bool came = is_library ? library->fail_at == 0 : has_failed;
            if (status != VLY_OK) {
                n_failed++;
                assert_null(plan);
                assert_true(strlen(error.message) > 10);
                assert_int_equal(status,
                                 is_library ? VLY_E_DEVICE : VLY_E_NOMEM);
            }
            gemm->plan_destroy(plan);
            assert_int_equal(n_blocks, live);
            assert_int_equal(library->n_live, 0);
            if (!came) /* it was not asked for so many */
                n = is_library ? 200 : 99;
        }
        assert_true(n_failed > 1);
        unmake(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_kernel_computes_everything),
        cmocka_unit_test(kernels_for_few_rows),
        cmocka_unit_test(library_computes_what_it_offers),
        cmocka_unit_test(without_a_library_the_plan_says_so),
        cmocka_unit_test(what_is_not_wanted_is_not_read),
        cmocka_unit_test(wrong_algorithms_are_struck_out),
        cmocka_unit_test(ways_are_told),
        cmocka_unit_test(what_rounds_twice_is_struck_out),
        cmocka_unit_test(what_rounds_before_gelu_is_struck_out),
        cmocka_unit_test(pointers_are_tried_as_they_are),
        cmocka_unit_test(first_is_taken_unmeasured),
        cmocka_unit_test(choices_are_kept),
        cmocka_unit_test(workspace_is_limited),
        cmocka_unit_test(rows_in_pieces),
        cmocka_unit_test(every_block_may_be_missing),
    };
    return cmocka_run_group_tests(tests, open_plugin, NULL) ? 1 : 0;
}

/* SPDX-License-Identifier: Apache-2.0
 * The plugin, products, what they should be, and one product in one way.
 */
#include "gemm_host_fixture.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>

/* ---- the plugin ------------------------------------------------------------
 */

const vly_gemm *gemm;
fake_cublaslt_state *library;
int64_t n_blocks, fail_at;
bool has_failed;
uint32_t n_warnings;

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

int open_plugin(void **state)
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

void behave(fake_cublaslt_state as)
{
    *library = as;
    n_warnings = 0;
}

/* ---- products ---------------------------------------------------------------
 */

uint64_t seed;
uint32_t case_now;

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

/* Fills members missing in c: pitches `pad` longer than rows, products one
 * after the other. */
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
        .d = array(d.type_d, d.stride_d * d.batch, false),
        .bias = array(d.type_d, d.n * d.batch, false),
        .scale_a = array(scales, d.stride_scale_a * d.batch, true),
        .scale_b = array(scales, d.stride_scale_b * d.batch, true)};
}

static void give(const void *memory)
{
    free((void *)(uintptr_t)memory);
}

void unmake(product *p)
{
    give(p->run.a);
    give(p->run.b);
    give(p->run.c);
    give(p->run.d);
    give(p->run.bias);
    give(p->run.scale_a);
    give(p->run.scale_b);
}

/* ---- expected results ---------------------------------------------------- */

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

/* Element (i, j) of product z in double, and its allowed error: the rounding of
 * D, one of fp32 for every product of the sum and its scales, both through an
 * activation whose slope is at most 1.13 (gelu), or 2 |x| (relu squared). */
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

void look(const product *p, const char *how)
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

/* ---- one product in one way ------------------------------------------------
 */

bool compute(product *p, const char *options, vly_plan_info *info)
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
    if (said.workspace_bytes > 0) { /* memory after it is unchanged */
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

void make_case(product *p, const product_case *c)
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

uint32_t all_cases(const char *options, uint64_t most)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_cases; i++) {
        const product_case *c = &cases[i];
        product p;
        if (c->m * c->n * c->k * c->batch > most)
            continue;
        seed = i;
        make_case(&p, c);
        case_now = i;
        n += compute(&p, options, NULL);
        unmake(&p);
        assert_int_equal(library->n_live, 0);
    }
    print_message("%s: %u of %u cases\n", options, n, n_cases);
    return n;
}

vly_plan_info choice_of(uint32_t i, const char *options)
{
    product p;
    vly_plan_info info = {.struct_size = 0};
    make_case(&p, &cases[i]);
    assert_true(compute(&p, options, &info));
    unmake(&p);
    assert_int_equal(library->n_live, 0);
    return info;
}

/* SPDX-License-Identifier: Apache-2.0
 * Suites gemm and gemv: products on an accelerator, on random buffers used in
 * turn, each compared with float64 before it is timed.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "conformance/conformance_element.h"
#include "conformance/conformance_gemm.h"
#include "tools/bench/bench_product.h"
#include "tools/cli/tool.h"

enum {
    SETS_MOST = 64,
    SAMPLED_ROWS = 4,
    SAMPLED_COLS = 32,
    RACE_SAMPLES = 31, /* of each of two */
    POOL = 1 << 18,    /* random elements, from which tensors are made */
};

/* One product with its buffers. */
typedef struct product {
    const vly_accelerator *accelerator;
    vly_gemm_desc desc;
    vly_gemm_plan *plan;
    vly_plan_info info;
    uint32_t sets;
    void *tensors[SETS_MOST][GEMM_N_TENSORS]; /* on the device */
    void *host[GEMM_N_TENSORS];               /* of set 0 */
    void *workspace;
} product;

static void product_deinit(product *p)
{
    const vly_memory *m = &p->accelerator->memory;
    const uint32_t device = p->accelerator->device.index;
    for (uint32_t i = 0; i < GEMM_N_TENSORS; i++) {
        for (uint32_t s = 0; s < p->sets; s++)
            m->free(device, p->tensors[s][i]);
        vly_free(p->host[i]);
    }
    m->free(device, p->workspace);
    p->accelerator->gemm.plan_destroy(p->plan);
}

/* ---- buffers ---------------------------------------------------------- */

/* Random elements, copied in pieces from random places of a pool: generating a
 * billion elements would take minutes. Rows are compact. */
static vly_status fill(const vly_gemm_desc *desc, uint32_t which, uint64_t seed,
                       void *memory, uint64_t bytes, vly_error *error)
{
    vly_gemm_desc line = *desc; /* one row of POOL elements of this tensor */
    const gemm_tensor t = conformance_gemm_tensor(desc, which);
    const uint64_t pool = (uint64_t)POOL * conformance_element_bits(t.type) / 8;
    uint8_t *elements = NULL;
    uint8_t *to = memory;
    if (bytes <= pool) {
        conformance_gemm_fill(desc, which, seed, memory);
        return VLY_OK;
    }
    elements = vly_malloc(pool, 1);
    if (!elements)
        return vly_fail_nomem(error, pool, "random elements");
    line.flags = 0;
    line.m = which == GEMM_B ? 1 : POOL;
    line.n = which == GEMM_B ? POOL : 1;
    line.k = 1;
    line.lda = 1;
    line.ldb = POOL;
    line.ldc = 1;
    if (which == GEMM_SCALE_B) {
        line.m = 1;
        line.n = desc->scale_b == VLY_SCALE_BLOCK ? POOL * 128 : POOL;
    }
    conformance_gemm_fill(&line, which, seed, elements);
    uint64_t n = 0;
    for (uint64_t at = 0; at < bytes; at += n) {
        const uint64_t from =
            vly_mix64(seed + at) % (pool / 2) / 16 * 16; /* whole elements */
        n = bytes - at < pool / 2 ? bytes - at : pool / 2;
        memcpy(to + at, elements + from, (size_t)n);
    }
    vly_free(elements);
    return VLY_OK;
}

static uint64_t set_bytes(const vly_gemm_desc *desc)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < GEMM_N_TENSORS; i++)
        if (i != GEMM_C) /* beta is 0 */
            bytes += conformance_gemm_tensor(desc, i).bytes;
    return bytes;
}

static vly_status make_tensor(product *p, uint32_t set, uint32_t which,
                              vly_error *error)
{
    const vly_memory *m = &p->accelerator->memory;
    const uint32_t device = p->accelerator->device.index;
    const uint64_t bytes = conformance_gemm_tensor(&p->desc, which).bytes;
    vly_status status = VLY_OK;
    if (bytes == 0 || which == GEMM_C)
        return VLY_OK;
    if (!p->host[which])
        p->host[which] = vly_malloc(bytes, 1);
    if (!p->host[which])
        return vly_fail_nomem(error, bytes, "a matrix on the host");
    if (which == GEMM_D) {
        VLY_TRY(
            m->fill(device, p->tensors[set][which], 0xff, bytes, NULL, error));
    } else {
        VLY_TRY(fill(&p->desc, which, bench_product_seed(1000u * set + which),
                     p->host[which], bytes, error));
        VLY_TRY(m->copy(device, p->tensors[set][which], p->host[which], bytes,
                        VLY_COPY_TO_DEVICE, NULL, error));
    }
    VLY_TRY(m->stream_wait(device, NULL, error));
out:
    return status;
}

/* Memory of a set: all of it or nothing. */
static vly_status take_set(product *p, uint32_t set, vly_error *error)
{
    const vly_memory *m = &p->accelerator->memory;
    const uint32_t device = p->accelerator->device.index;
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < GEMM_N_TENSORS && status == VLY_OK; i++) {
        const uint64_t bytes = conformance_gemm_tensor(&p->desc, i).bytes;
        if (bytes > 0 && i != GEMM_C)
            status = m->alloc(device, bytes, &p->tensors[set][i], error);
    }
    for (uint32_t i = 0; i < GEMM_N_TENSORS && status != VLY_OK; i++) {
        m->free(device, p->tensors[set][i]);
        p->tensors[set][i] = NULL;
    }
    return status;
}

/* So many sets that they exceed a cache, or as many as fit into memory. */
static vly_status take_sets(product *p, vly_error *error)
{
    const uint32_t wanted =
        bench_product_sets(p->accelerator, set_bytes(&p->desc));
    vly_error why = VLY_ERROR_INIT;
    vly_status status = VLY_OK;
    for (p->sets = 0; p->sets < wanted && status == VLY_OK;) {
        status = take_set(p, p->sets, &why);
        p->sets += status == VLY_OK;
    }
    if (status != VLY_OK && (status != VLY_E_NOMEM || p->sets == 0))
        return vly_fail(error, status, "%s", why.message);
    if (status != VLY_OK)
        tool_message("%u sets of buffers, not %u: a cache may hold them: %s",
                     p->sets, wanted, why.message);
    return VLY_OK;
}

/* Set 0 is made last, so that the host's copies are of set 0. */
static vly_status make_sets(product *p, vly_error *error)
{
    const vly_memory *m = &p->accelerator->memory;
    vly_status status = VLY_OK;
    if (p->info.workspace_bytes > 0)
        VLY_TRY(m->alloc(p->accelerator->device.index, p->info.workspace_bytes,
                         &p->workspace, error));
    VLY_TRY(take_sets(p, error));
    for (uint32_t s = p->sets; s-- > 0;)
        for (uint32_t i = 0; i < GEMM_N_TENSORS; i++)
            VLY_TRY(make_tensor(p, s, i, error));
out:
    return status;
}

/* ---- runs ------------------------------------------------------------- */

static vly_status run_set(void *arg, uint32_t set, void *stream,
                          vly_error *error)
{
    const product *p = arg;
    void *const *tensors = p->tensors[set];
    const vly_gemm_run run = {.struct_size = sizeof run,
                              .alpha = 1.0f,
                              .a = tensors[GEMM_A],
                              .b = tensors[GEMM_B],
                              .d = tensors[GEMM_D],
                              .scale_a = tensors[GEMM_SCALE_A],
                              .scale_b = tensors[GEMM_SCALE_B],
                              .workspace = p->workspace,
                              .workspace_bytes = p->info.workspace_bytes,
                              .stream = stream};
    return p->accelerator->gemm.run(p->plan, &run, error);
}

/* sqrt(sum (x - v)^2 / sum v^2); where one is out of its bound: E_DEVICE */
static vly_status compare(const product *p, const uint64_t *rows,
                          uint64_t n_rows, const uint64_t *cols,
                          uint64_t n_cols, const double *values,
                          const double *bounds, double *relative,
                          vly_error *error)
{
    double difference = 0;
    double size = 0;
    for (uint64_t i = 0; i < n_rows; i++)
        for (uint64_t j = 0; j < n_cols; j++) {
            const double v = values[i * n_cols + j];
            const double x =
                conformance_element_get(p->desc.type_d, p->host[GEMM_D],
                                        rows[i] * p->desc.ldd + cols[j]);
            if (!(fabs(x - v) <= bounds[i * n_cols + j]))
                return vly_fail(error, VLY_E_DEVICE,
                                "d[%" PRIu64 "][%" PRIu64 "] is %.9g, wanted "
                                "%.9g +- %.3g (%.200s)",
                                rows[i], cols[j], x, v, bounds[i * n_cols + j],
                                p->info.choice);
            difference += (x - v) * (x - v);
            size += v * v;
        }
    *relative = size > 0 ? sqrt(difference / size) : 0;
    return VLY_OK;
}

/* First and last, and random places between. */
static uint64_t pick(uint64_t n, uint64_t most, uint64_t *picked)
{
    const uint64_t count = n < most ? n : most;
    for (uint64_t i = 0; i < count; i++)
        picked[i] = n <= most        ? i
                    : i == 0         ? 0
                    : i == count - 1 ? n - 1
                                     : vly_mix64(n + i) % n;
    return count;
}

static vly_status check(product *p, double *relative, vly_error *error)
{
    const vly_memory *m = &p->accelerator->memory;
    const uint32_t device = p->accelerator->device.index;
    const gemm_tensor d = conformance_gemm_tensor(&p->desc, GEMM_D);
    gemm_host host = {.desc = &p->desc,
                      .alpha = 1.0f,
                      .is_device = (m->flags & VLY_MEMORY_HOST) == 0};
    uint64_t rows[SAMPLED_ROWS];
    uint64_t cols[SAMPLED_COLS];
    double values[SAMPLED_ROWS * SAMPLED_COLS];
    double bounds[SAMPLED_ROWS * SAMPLED_COLS];
    const uint64_t n_rows = pick(p->desc.m, SAMPLED_ROWS, rows);
    const uint64_t n_cols = pick(p->desc.n, SAMPLED_COLS, cols);
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < GEMM_N_TENSORS; i++)
        host.tensors[i] = p->host[i];
    VLY_TRY(run_set(p, 0, NULL, error));
    VLY_TRY(m->copy(device, p->host[GEMM_D], p->tensors[0][GEMM_D], d.bytes,
                    VLY_COPY_FROM_DEVICE, NULL, error));
    VLY_TRY(m->stream_wait(device, NULL, error));
    VLY_TRY(conformance_gemm_reference(&host, 0, rows, n_rows, cols, n_cols,
                                       values, bounds, error));
    VLY_TRY(compare(p, rows, n_rows, cols, n_cols, values, bounds, relative,
                    error));
out:
    return status;
}

/* ---- one row ---------------------------------------------------------- */

static vly_status make_plan(product *p, const char *options, vly_error *error)
{
    vly_device_spec device = p->accelerator->device;
    vly_status status = VLY_OK;
    device.options = options ? options : device.options;
    p->info = (vly_plan_info){.struct_size = sizeof p->info};
    VLY_TRY(
        p->accelerator->gemm.plan_create(&device, &p->desc, &p->plan, error));
    VLY_TRY(p->accelerator->gemm.plan_info(p->plan, &p->info, error));
out:
    return status;
}

/* Not offered, or not enough memory: the row has the reason. */
static bool is_skip(vly_status status)
{
    return status == VLY_E_UNSUPPORTED || status == VLY_E_NOMEM;
}

static vly_status measure(product *p, bench_product *row, vly_error *error)
{
    const bench_subject subject = {.accelerator = p->accelerator,
                                   .run = run_set,
                                   .arg = p,
                                   .sets = p->sets};
    vly_status status = check(p, &row->error, error);
    if (status == VLY_OK)
        status = bench_product_time(&subject, row, error);
    row->plan = p->info;
    return status;
}

/* Both are run in turn: one that runs first, on a cooler device, would seem
 * faster. */
static vly_status race(product *p, product *q, bench_product *row,
                       vly_error *error)
{
    double of_p[RACE_SAMPLES], of_q[RACE_SAMPLES];
    const bench_subject ours = {.accelerator = p->accelerator,
                                .run = run_set,
                                .arg = p,
                                .sets = p->sets};
    bench_subject theirs = ours;
    theirs.arg = q;
    vly_status status = VLY_OK;
    VLY_TRY(
        bench_product_race(&ours, &theirs, RACE_SAMPLES, of_p, of_q, error));
    row->seconds = bench_spread_of(of_p, RACE_SAMPLES); /* sorts */
    row->min = of_p[0];
    row->max = of_p[RACE_SAMPLES - 1];
    row->default_s = bench_spread_of(of_q, RACE_SAMPLES).median;
out:
    return status;
}

/* The first candidate on the same buffers: for --set, and for large products on
 * a device, where it is the default of the library. */
static vly_status measure_default(product *p, bench_product *row,
                                  vly_error *error)
{
    product q = *p; /* p keeps its buffers */
    double relative = 0.0;
    const vly_memory *m = &p->accelerator->memory;
    const uint32_t device = p->accelerator->device.index;
    q.plan = NULL;
    q.workspace = NULL;
    vly_status status = make_plan(&q, "choose=default", error);
    if (status == VLY_E_UNSUPPORTED) /* the plugin has no default of a
                                      * library */
        status = make_plan(&q, "tune=0", error);
    if (status == VLY_OK && q.info.workspace_bytes > 0)
        status = m->alloc(device, q.info.workspace_bytes, &q.workspace, error);
    if (status == VLY_OK)
        status = check(&q, &relative, error);
    if (status == VLY_OK)
        status = race(p, &q, row, error);
    m->free(device, q.workspace);
    p->accelerator->gemm.plan_destroy(q.plan);
    return is_skip(status) ? VLY_OK : status;
}

/* Parts that lists gave; a product that is measured only as the ceiling of
 * others was not requested. */
static void put_parts(const bench_options *options, bench_product *row,
                      const bench_gemm_type *type, bench_shape shape,
                      bool is_ceiling)
{
    char size[64];
    snprintf(size, sizeof size, "%" PRIu64 "x%" PRIu64 "x%" PRIu64, shape.m,
             shape.n, shape.k);
    bench_product_part(row, "--types", type->name,
                       (options->types || options->set) && !is_ceiling);
    bench_product_part(row, options->set ? "--set" : "--sizes", size,
                       (options->sizes || options->set) && !is_ceiling);
}

static vly_status one(const bench_options *options,
                      const vly_accelerator *accelerator,
                      const bench_gemm_type *type, bench_shape shape,
                      bool is_gemv, bool is_ceiling, bench_products *products,
                      vly_error *error)
{
    static product p; /* large; one at a time */
    char id[BENCH_PRODUCT_ID_BYTES];
    vly_status status = VLY_OK;
    snprintf(id, sizeof id, "%s %s %" PRIu64 "x%" PRIu64 "x%" PRIu64,
             is_gemv ? "gemv" : "gemm", type->name, shape.m, shape.n, shape.k);
    bench_product *row = bench_product_add(products, id, type->name);
    if (!row)
        return vly_fail(error, VLY_E_INVALID, "more than %d products",
                        BENCH_PRODUCTS_MAX);
    put_parts(options, row, type, shape, is_ceiling);
    memset(&p, 0, sizeof p);
    p.accelerator = accelerator;
    p.desc = bench_gemm_desc(type, shape);
    VLY_TRY(bench_product_begin(id, error));
    VLY_TRY(make_plan(&p, NULL, error));
    VLY_TRY(make_sets(&p, error));
    row->flops = 2.0 * (double)shape.m * (double)shape.n * (double)shape.k;
    row->bytes = (double)set_bytes(&p.desc);
    row->bandwidth = shape.m == 1;
    VLY_TRY(measure(&p, row, error));
    if (options->set || (!is_gemv && !is_ceiling &&
                         (accelerator->memory.flags & VLY_MEMORY_HOST) == 0))
        VLY_TRY(measure_default(&p, row, error));
out:
    product_deinit(&p);
    if (is_skip(status)) {
        snprintf(row->reason, sizeof row->reason, "%s", error->message);
        return VLY_OK;
    }
    if (status != VLY_OK) {
        char why[1000];
        snprintf(why, sizeof why, "%s", error->message);
        products->n_rows--; /* the whole row is invalid */
        return vly_fail(error, status, "%s: %.900s", id, why);
    }
    return status;
}

vly_status bench_gemm(const bench_options *options, bool is_gemv,
                      bench_results *results, vly_error *error)
{
    static vly_accelerator accelerator; /* its device points into it */
    bench_shape shapes[BENCH_SHAPES_MAX];
    const bench_gemm_type *types[BENCH_TYPES_MAX];
    uint32_t n_shapes = 0;
    uint32_t n_types = 0;
    vly_status status = VLY_OK;
    VLY_TRY(bench_products_open(options, VLY_GEMM_INTERFACE, &accelerator,
                                results, error));
    const bool is_host = results->products->is_host;
    const bench_shape large = bench_gemm_large(is_host, options->quick);
    VLY_TRY(
        bench_gemm_shapes(options, is_gemv, is_host, shapes, &n_shapes, error));
    VLY_TRY(
        bench_gemm_types(options, is_gemv, is_host, types, &n_types, error));
    for (uint32_t t = 0; t < n_types; t++) {
        if (!is_gemv && !bench_gemm_has(shapes, n_shapes, large))
            VLY_TRY(one(options, &accelerator, types[t], large, false, true,
                        results->products, error));
        for (uint32_t s = 0; s < n_shapes; s++)
            VLY_TRY(one(options, &accelerator, types[t], shapes[s], is_gemv,
                        false, results->products, error));
    }
out:
    return status;
}

/* ---- for other suites ------------------------------------------------- */

static vly_status find_gemm(const bench_options *options,
                            vly_accelerator *accelerator, vly_error *error)
{
    char device[64];
    /* options of the backend are for the plugin of the suite, so they are
     * dropped */
    snprintf(device, sizeof device, "%.*s", (int)strcspn(options->backend, ","),
             options->backend);
    return vly_accelerator_find(options->registry, VLY_GEMM_INTERFACE, device,
                                options->n_threads, accelerator, error);
}

/* Is there a row of this type that uses the product? */
static bool has_parts(const bench_products *products, const char *type)
{
    for (uint32_t i = 0; i < products->n_rows; i++)
        if (strcmp(products->rows[i].group, type) == 0 &&
            products->rows[i].seconds.n > 0 && !products->rows[i].bandwidth)
            return true;
    return false;
}

vly_status bench_gemm_ceiling(const bench_options *options, const char *type,
                              bench_products *products, vly_error *error)
{
    static vly_accelerator accelerator; /* its device points into it */
    const bench_gemm_type *types[BENCH_TYPES_MAX];
    const bench_options wanted = {.types = type};
    uint32_t n = 0;
    if (!has_parts(products, type))
        return VLY_OK;
    vly_status status = VLY_OK;
    VLY_TRY(
        bench_gemm_types(&wanted, false, products->is_host, types, &n, error));
    status = find_gemm(options, &accelerator, error);
    if (is_skip(status)) {
        bench_product *row = bench_product_add(products, "gemm", type);
        if (!row)
            return VLY_OK;
        row->own = true;
        snprintf(row->reason, sizeof row->reason, "%s", error->message);
        return VLY_OK;
    }
    if (status != VLY_OK)
        goto out;
    return one(&wanted, &accelerator, types[0],
               bench_gemm_large(products->is_host, true), false, true, products,
               error);
out:
    return status;
}

/* SPDX-License-Identifier: Apache-2.0
 * Suite attention: forward, backward, decoding with a cache in one piece and in
 * pages. Each product is compared with float64 on sampled rows before it is
 * timed (bench_attention_check.c).
 *
 * Operations by the usual count: 4 b h sq skv d forward, half of it causal, 2.5
 * times as many backward. Bytes of decoding: those of K and V.
 */
#include "tools/bench/bench_attention.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "conformance/conformance_element.h"
#include "tools/cli/tool.h"

enum { LIST = 8, PAGE_LIST = 3 };

#define TYPES                                                                  \
    (1u << VLY_ELEMENT_F32 | 1u << VLY_ELEMENT_F16 | 1u << VLY_ELEMENT_BF16 |  \
     1u << VLY_ELEMENT_E4M3)

/* The rows to measure: lists from the command line, or those of the suite. */
typedef struct lists {
    uint32_t seq[LIST];
    uint32_t n_seq;
    uint32_t types[LIST];
    uint32_t n_types;
    uint32_t dims[LIST];
    uint32_t n_dims;
    uint32_t tokens; /* of a batch */
    uint32_t width;  /* heads * dim */
    uint32_t cache;  /* positions of decoding */
    uint32_t batches[2];
    uint32_t n_batches;
} lists;

static vly_status read_lists(const bench_options *options, bool is_host,
                             lists *p, vly_error *error)
{
    const bool quick = options->quick;
    const char *seq = is_host ? quick ? "512" : "512,2048"
                      : quick ? "2048,8192"
                              : "2048,8192,16384";
    const char *types = is_host ? "fp32,bf16" : quick ? "bf16" : "fp16,bf16";
    const char *dims = quick ? "128" : "64,128,256";
    vly_status status = VLY_OK;
    *p = (lists){.tokens = is_host ? 2048 : 16384,
                 .width = is_host ? 512 : 2048,
                 .cache = is_host ? 8192 : 32768,
                 .batches = {1, 16},
                 .n_batches = is_host ? 1 : 2};
    VLY_TRY(bench_numbers(options->seq != NULL ? options->seq : seq, "--seq", 1,
                          1u << 20, p->seq, LIST, &p->n_seq, error));
    VLY_TRY(bench_types(options->types != NULL ? options->types : types, TYPES,
                        p->types, LIST, &p->n_types, error));
    VLY_TRY(bench_numbers(options->dims != NULL ? options->dims : dims,
                          "--dims", 8, 256, p->dims, LIST, &p->n_dims, error));
    for (uint32_t i = 0; i < p->n_dims; i++)
        if (p->dims[i] % 8 != 0)
            return vly_fail(error, VLY_E_INVALID,
                            "--dims %s: %u, wanted multiples of 8",
                            options->dims, p->dims[i]);
out:
    return status;
}

vly_status bench_attention_check(const bench_options *options, vly_error *error)
{
    lists p;
    return read_lists(options, true, &p, error);
}

/* ---- descriptions ---------------------------------------------------------
 */

vly_attention_desc bench_attention_desc(uint32_t type, uint32_t batch,
                                        uint32_t heads_q, uint32_t heads_kv,
                                        uint32_t seq_q, uint32_t seq_kv,
                                        uint32_t dim)
{
    const vly_attention_layout q = {(uint64_t)seq_q * heads_q * dim,
                                    (uint64_t)heads_q * dim, dim};
    const vly_attention_layout kv = {(uint64_t)seq_kv * heads_kv * dim,
                                     (uint64_t)heads_kv * dim, dim};
    return (vly_attention_desc){
        .struct_size = sizeof(vly_attention_desc),
        .flags = VLY_ATTENTION_LSE,
        .type = type,
        .type_o = type == VLY_ELEMENT_E4M3 ? VLY_ELEMENT_BF16 : type,
        .batch = batch,
        .heads_q = heads_q,
        .heads_kv = heads_kv,
        .seq_q = seq_q,
        .seq_kv = seq_kv,
        .dim = dim,
        .dim_v = dim,
        .window_left = VLY_ATTENTION_NO_WINDOW,
        .window_right = VLY_ATTENTION_NO_WINDOW,
        .q = q,
        .k = kv,
        .v = kv,
        .o = q,
        .workspace_most = UINT64_C(2) << 30};
}

void bench_attention_pages(vly_attention_desc *desc, uint32_t page_size)
{
    desc->flags |= VLY_ATTENTION_PAGED;
    desc->page_size = page_size;
    desc->pages_most = (desc->seq_kv - 1) / page_size + 1;
    desc->pages = desc->batch * desc->pages_most;
    desc->k.batch = desc->v.batch = (uint64_t)page_size * desc->k.seq;
}

/* ---- tensors --------------------------------------------------------------
 */

static uint64_t count_of(const vly_attention_desc *desc, uint32_t which)
{
    const uint64_t rows = (uint64_t)desc->batch * desc->heads_q * desc->seq_q;
    const uint64_t keys =
        desc->flags & VLY_ATTENTION_PAGED
            ? (uint64_t)desc->batch * desc->pages_most * desc->page_size
            : (uint64_t)desc->batch * desc->seq_kv;
    switch (which) {
    case BENCH_LSE:
        return rows;
    case BENCH_PAGES:
        return (uint64_t)desc->batch * desc->pages_most;
    case BENCH_SCALES:
        return (uint64_t)desc->batch * desc->heads_kv;
    case BENCH_K:
    case BENCH_V:
    case BENCH_GRAD_K:
    case BENCH_GRAD_V:
        return keys * desc->heads_kv * desc->dim;
    default:
        return rows * desc->dim;
    }
}

static bool has_tensor(const vly_attention_desc *desc, bool backward,
                       uint32_t which)
{
    if (which == BENCH_PAGES)
        return desc->flags & VLY_ATTENTION_PAGED;
    if (which == BENCH_SCALES)
        return desc->type == VLY_ELEMENT_E4M3;
    return which <= BENCH_LSE || backward;
}

/* A permutation in which no page follows its predecessor. */
static vly_status make_pages(bench_attention_work *w, uint32_t sets,
                             vly_error *error)
{
    const uint64_t n = count_of(&w->desc, BENCH_PAGES);
    int32_t *pages = vly_malloc(n, sizeof *pages);
    if (pages == NULL)
        return vly_fail_nomem(error, n * sizeof *pages, "a page table");
    for (uint64_t i = 0; i < n; i++)
        pages[i] = (int32_t)i;
    for (uint64_t i = n; i > 1; i--) {
        const uint64_t j = vly_mix64(i) % i;
        const int32_t other = pages[j];
        pages[j] = pages[i - 1];
        pages[i - 1] = other;
    }
    const bench_tensor_spec spec = {.type = VLY_ELEMENT_I32,
                                    .what = BENCH_TENSOR_GIVEN,
                                    .count = n,
                                    .given = pages};
    vly_status status = bench_tensor_make(
        &w->tensors[BENCH_PAGES], w->accelerator, &spec, sets, 0, error);
    vly_free(pages);
    return status;
}

static vly_status make_tensor(bench_attention_work *w, uint32_t which,
                              uint32_t sets, vly_error *error)
{
    const bool input = which <= BENCH_V || which == BENCH_GRAD_O;
    bench_tensor_spec spec = {.type = which <= BENCH_V     ? w->desc.type
                                      : which >= BENCH_LSE ? VLY_ELEMENT_F32
                                                           : w->desc.type_o,
                              .what = input ? BENCH_TENSOR_RANDOM
                                            : BENCH_TENSOR_POISON,
                              .count = count_of(&w->desc, which),
                              .scale = 1.7320508}; /* deviation 1 */
    if (which == BENCH_PAGES)
        return make_pages(w, sets, error);
    if (which >= BENCH_GRAD_O && which <= BENCH_GRAD_V)
        spec.type = w->desc.type_o;
    if (which == BENCH_SCALES) { /* all are 1 */
        spec.what = BENCH_TENSOR_RANDOM;
        spec.scale = 0.0;
        spec.offset = 1.0;
    }
    return bench_tensor_make(&w->tensors[which], w->accelerator, &spec, sets,
                             100u + which, error);
}

vly_status bench_attention_tensors(bench_attention_work *w, bool backward,
                                   vly_error *error)
{
    uint64_t bytes = 0;
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < BENCH_N_TENSORS; i++)
        if (has_tensor(&w->desc, backward, i))
            bytes += count_of(&w->desc, i) *
                     conformance_element_bits(w->desc.type) / 8;
    w->sets = bench_product_sets(w->accelerator, bytes);
    for (uint32_t i = 0; i < BENCH_N_TENSORS && status == VLY_OK; i++)
        if (has_tensor(&w->desc, backward, i))
            status = make_tensor(w, i, w->sets, error);
    return status;
}

/* ---- plans and runs -------------------------------------------------------
 */

vly_status bench_attention_run(const bench_attention_work *w,
                               const bench_attention_plan *plan, uint32_t set,
                               void *stream, vly_error *error)
{
    const bench_tensor *t = w->tensors;
    const vly_attention_run run = {.struct_size = sizeof run,
                                   .q = t[BENCH_Q].device[set],
                                   .k = t[BENCH_K].device[set],
                                   .v = t[BENCH_V].device[set],
                                   .o = t[BENCH_O].device[set],
                                   .lse = t[BENCH_LSE].device[set],
                                   .grad_o = t[BENCH_GRAD_O].device[set],
                                   .grad_q = t[BENCH_GRAD_Q].device[set],
                                   .grad_k = t[BENCH_GRAD_K].device[set],
                                   .grad_v = t[BENCH_GRAD_V].device[set],
                                   .page_table = t[BENCH_PAGES].device[set],
                                   .scale_q = t[BENCH_SCALES].device[set],
                                   .scale_k = t[BENCH_SCALES].device[set],
                                   .scale_v = t[BENCH_SCALES].device[set],
                                   .scale_o = w->desc.type_o == VLY_ELEMENT_E4M3
                                                  ? t[BENCH_SCALES].device[set]
                                                  : NULL,
                                   .workspace = plan->workspace,
                                   .workspace_bytes =
                                       plan->info.workspace_bytes,
                                   .stream = stream};
    return w->accelerator->attention.run(plan->plan, &run, error);
}

vly_status bench_attention_run_timed(void *arg, uint32_t set, void *stream,
                                     vly_error *error)
{
    const bench_attention_work *w = arg;
    return bench_attention_run(w, w->timed, set, stream, error);
}

vly_status bench_attention_plan_make(const bench_attention_work *w,
                                     uint32_t flags, bench_attention_plan *made,
                                     vly_error *error)
{
    vly_attention_desc desc = w->desc;
    const vly_attention *attention = &w->accelerator->attention;
    vly_status status = VLY_OK;
    desc.flags |= flags;
    if (flags & VLY_ATTENTION_BACKWARD)
        desc.flags &= ~(uint32_t)VLY_ATTENTION_LSE;
    made->info = (vly_plan_info){.struct_size = sizeof made->info};
    VLY_TRY(attention->plan_create(&w->accelerator->device, &desc, &made->plan,
                                   error));
    VLY_TRY(attention->plan_info(made->plan, &made->info, error));
    if (made->info.workspace_bytes > 0)
        VLY_TRY(w->accelerator->memory.alloc(w->accelerator->device.index,
                                             made->info.workspace_bytes,
                                             &made->workspace, error));
out:
    return status;
}

void bench_attention_plan_free(const bench_attention_work *w,
                               bench_attention_plan *plan)
{
    w->accelerator->memory.free(w->accelerator->device.index, plan->workspace);
    w->accelerator->attention.plan_destroy(plan->plan);
    *plan = (bench_attention_plan){.plan = NULL};
}

void bench_attention_work_deinit(bench_attention_work *w)
{
    for (uint32_t i = 0; i < BENCH_N_TENSORS; i++)
        bench_tensor_free(&w->tensors[i], w->accelerator);
    for (uint32_t i = 0; i < 2; i++)
        bench_attention_plan_free(w, &w->plans[i]);
}

/* ---- one row --------------------------------------------------------------
 */

/* O and lse of every set are filled when the gradients are timed. */
static vly_status prepare(bench_attention_work *w, bool backward,
                          vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(bench_attention_plan_make(w, 0, &w->plans[0], error));
    if (backward)
        VLY_TRY(bench_attention_plan_make(w, VLY_ATTENTION_BACKWARD,
                                          &w->plans[1], error));
    VLY_TRY(bench_attention_tensors(w, backward, error));
    for (uint32_t set = 0; set < (backward ? w->sets : 1); set++)
        VLY_TRY(bench_attention_run(w, &w->plans[0], set, NULL, error));
    if (backward)
        VLY_TRY(bench_attention_run(w, &w->plans[1], 0, NULL, error));
    w->timed = &w->plans[backward];
out:
    return status;
}

static vly_status measure(bench_attention_work *w, bool backward,
                          bench_product *row, vly_error *error)
{
    const bench_subject subject = {.accelerator = w->accelerator,
                                   .run = bench_attention_run_timed,
                                   .arg = w};
    bench_subject timed = subject;
    vly_status status = VLY_OK;
    VLY_TRY(bench_product_begin(row->id, error));
    VLY_TRY(prepare(w, backward, error));
    row->plan = w->timed->info;
    VLY_TRY(bench_attention_compare(w, backward, &row->error, error));
    timed.sets = w->sets;
    VLY_TRY(bench_product_time(&timed, row, error));
out:
    bench_attention_work_deinit(w);
    return status;
}

static double n_operations(const vly_attention_desc *desc, bool backward)
{
    const double all = 4.0 * desc->batch * desc->heads_q * desc->seq_q *
                       (double)desc->seq_kv * desc->dim;
    const double seen = desc->flags & VLY_ATTENTION_CAUSAL ? all / 2 : all;
    return backward ? 2.5 * seen : seen;
}

/* Parts that lists gave; the cache of decoding is chosen by the suite. */
static void put_parts(const bench_options *options, bench_product *row,
                      const vly_attention_desc *desc)
{
    char seq[16];
    char dim[16];
    (void)snprintf(seq, sizeof seq, "%u", desc->seq_q);
    (void)snprintf(dim, sizeof dim, "%u", desc->dim);
    bench_product_part(row, "--types", conformance_element_name(desc->type),
                       options->types != NULL);
    bench_product_part(row, "--dims", dim, options->dims != NULL);
    bench_product_part(row, "--seq", seq,
                       options->seq != NULL && desc->seq_q == desc->seq_kv);
}

static vly_status one(const bench_options *options,
                      const vly_accelerator *accelerator,
                      const vly_attention_desc *desc, bool backward,
                      const char *id, bench_products *products,
                      vly_error *error)
{
    static bench_attention_work w; /* large; one at a time */
    const char *type = conformance_element_name(desc->type);
    if (options->pattern != NULL && strstr(id, options->pattern) == NULL)
        return VLY_OK;
    if (options->sweep != NULL) {
        tool_message("%s", id);
        return bench_attention_sweep(options, accelerator, desc, backward, id,
                                     error);
    }
    bench_product *row = bench_product_add(products, id, type);
    if (row == NULL)
        return vly_fail(error, VLY_E_INVALID, "more than %d products",
                        BENCH_PRODUCTS_MAX);
    put_parts(options, row, desc);
    w = (bench_attention_work){.accelerator = accelerator, .desc = *desc};
    row->flops = n_operations(desc, backward);
    row->bandwidth = desc->seq_q == 1;
    for (uint32_t i = 0; i < BENCH_LSE; i++)
        row->bytes += (double)(count_of(desc, i) *
                               conformance_element_bits(desc->type) / 8);
    vly_status status = measure(&w, backward, row, error);
    if (status == VLY_E_UNSUPPORTED || status == VLY_E_NOMEM) {
        (void)snprintf(row->reason, sizeof row->reason, "%s", error->message);
        return VLY_OK;
    }
    if (status != VLY_OK) {
        char why[1000];
        (void)snprintf(why, sizeof why, "%s", error->message);
        products->n_rows--; /* the whole row is invalid */
        return vly_fail(error, status, "%s: %.900s", id, why);
    }
    return status;
}

/* ---- the suite ------------------------------------------------------------
 */

static vly_status training(const bench_options *options, const lists *p,
                           uint32_t type, uint32_t dim, uint32_t seq,
                           const vly_accelerator *accelerator,
                           bench_products *products, vly_error *error)
{
    const uint32_t heads = p->width > dim ? p->width / dim : 1;
    const uint32_t batch = p->tokens > seq ? p->tokens / seq : 1;
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < 4; i++) {
        const bool fp8 = type == VLY_ELEMENT_E4M3; /* forward only */
        const bool backward = i >= 2 && !fp8;
        const bool causal = i % 2 != 0;
        char id[BENCH_PRODUCT_ID_BYTES];
        vly_attention_desc desc =
            bench_attention_desc(type, batch, heads, heads, seq, seq, dim);
        if (causal)
            desc.flags |= VLY_ATTENTION_CAUSAL;
        if (fp8)
            desc.flags |= VLY_ATTENTION_SAME_SCALES;
        if (fp8 && i >= 2)
            desc.type_o = type;
        (void)snprintf(id, sizeof id, "%s %s d%u %u b%u h%u %s%s",
                       backward ? "backward" : "forward",
                       conformance_element_name(type), dim, seq, batch, heads,
                       causal ? "causal" : "full",
                       fp8 && i >= 2 ? " to fp8" : "");
        VLY_TRY(
            one(options, accelerator, &desc, backward, id, products, error));
    }
out:
    return status;
}

/* One query, 64 query heads for 8 key heads (on the host 32 for 8). */
static vly_status decoding(const bench_options *options, const lists *p,
                           uint32_t type, uint32_t dim,
                           const vly_accelerator *accelerator,
                           bench_products *products, vly_error *error)
{
    static const uint32_t pages[PAGE_LIST] = {0, 16, 64};
    const uint32_t heads = products->is_host ? 32 : 64;
    vly_status status = VLY_OK;
    for (uint32_t b = 0; b < p->n_batches; b++)
        for (uint32_t i = 0; i < PAGE_LIST; i++) {
            char id[BENCH_PRODUCT_ID_BYTES];
            char what[16] = "decode";
            vly_attention_desc desc = bench_attention_desc(
                type, p->batches[b], heads, 8, 1, p->cache, dim);
            if (pages[i] != 0) {
                bench_attention_pages(&desc, pages[i]);
                (void)snprintf(what, sizeof what, "paged%u", pages[i]);
            }
            (void)snprintf(id, sizeof id, "%s %s d%u %u b%u h%u/8", what,
                           conformance_element_name(type), dim, p->cache,
                           p->batches[b], heads);
            VLY_TRY(
                one(options, accelerator, &desc, false, id, products, error));
        }
out:
    return status;
}

vly_status bench_attention(const bench_options *options, bench_results *results,
                           vly_error *error)
{
    static vly_accelerator accelerator; /* its device points into it */
    lists p;
    vly_status status = VLY_OK;
    VLY_TRY(bench_products_open(options, VLY_ATTENTION_INTERFACE, &accelerator,
                                results, error));
    VLY_TRY(read_lists(options, results->products->is_host, &p, error));
    if (options->sweep != NULL)
        VLY_TRY(bench_attention_sweep_begin(options, results, error));
    for (uint32_t t = 0; t < p.n_types; t++) {
        for (uint32_t d = 0; d < p.n_dims; d++) {
            for (uint32_t s = 0; s < p.n_seq; s++)
                VLY_TRY(training(options, &p, p.types[t], p.dims[d], p.seq[s],
                                 &accelerator, results->products, error));
            VLY_TRY(decoding(options, &p, p.types[t], p.dims[d], &accelerator,
                             results->products, error));
        }
        VLY_TRY(bench_gemm_ceiling(options,
                                   conformance_element_name(p.types[t]),
                                   results->products, error));
    }
    if (options->sweep != NULL)
        return bench_attention_sweep_end(options, error);
    if (results->products->n_rows == 0)
        return vly_fail(error, VLY_E_INVALID,
                        "no product of the suite has \"%s\" in its name",
                        options->pattern);
out:
    return status;
}

/* SPDX-License-Identifier: Apache-2.0
 * Suite attention: forward, backward, decoding with a cache in one piece and in
 * pages. Each product is compared with float64 on sampled rows before it is
 * timed (bench_attention_check.c, bench_attention_row.c).
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
    VLY_TRY(bench_numbers(options->seq ? options->seq : seq, "--seq", 1,
                          1u << 20, p->seq, LIST, &p->n_seq, error));
    VLY_TRY(bench_types(options->types ? options->types : types, TYPES,
                        p->types, LIST, &p->n_types, error));
    VLY_TRY(bench_numbers(options->dims ? options->dims : dims, "--dims", 8,
                          256, p->dims, LIST, &p->n_dims, error));
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
    uint32_t devices[BENCH_DEVICES_MOST];
    uint32_t n = 0;
    vly_status status = read_lists(options, true, &p, error);
    if (status == VLY_OK && options->device_list)
        status = bench_attention_devices_read(options, devices, &n, error);
    return status;
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

void bench_attention_options(const vly_accelerator *from, const char *options,
                             char text[BENCH_ATTENTION_OPTIONS],
                             vly_accelerator *to)
{
    const char *old = from->device.options;
    const bool has = old && old[0] != '\0';
    (void)snprintf(text, BENCH_ATTENTION_OPTIONS, "%s%s%s", has ? old : "",
                   has ? "," : "", options);
    *to = *from;
    to->device.options = text;
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

uint64_t bench_attention_count(const vly_attention_desc *desc, uint32_t which)
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
    const uint64_t n = bench_attention_count(&w->desc, BENCH_PAGES);
    int32_t *pages = vly_malloc(n, sizeof *pages);
    if (!pages)
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
                              .count = bench_attention_count(&w->desc, which),
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
            bytes += bench_attention_count(&w->desc, i) *
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
        VLY_TRY(bench_attention_one(options, accelerator, &desc, backward, id,
                                    products, error));
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
            VLY_TRY(bench_attention_one(options, accelerator, &desc, false, id,
                                        products, error));
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
    if (options->sweep)
        VLY_TRY(bench_attention_sweep_begin(options, results, error));
    for (uint32_t t = 0; t < p.n_types; t++) {
        for (uint32_t d = 0; d < p.n_dims; d++) {
            for (uint32_t s = 0; s < p.n_seq; s++)
                VLY_TRY(training(options, &p, p.types[t], p.dims[d], p.seq[s],
                                 &accelerator, results->products, error));
            VLY_TRY(decoding(options, &p, p.types[t], p.dims[d], &accelerator,
                             results->products, error));
        }
        if (options->device_list) /* that of one device says little */
            continue;
        VLY_TRY(bench_gemm_ceiling(options,
                                   conformance_element_name(p.types[t]),
                                   results->products, error));
    }
    if (options->sweep)
        return bench_attention_sweep_end(options, error);
    if (results->products->n_rows == 0)
        return vly_fail(error, VLY_E_INVALID,
                        "no product of the suite has \"%s\" in its name",
                        options->pattern);
out:
    return status;
}

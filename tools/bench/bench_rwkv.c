/* SPDX-License-Identifier: Apache-2.0
 * Suite rwkv: RWKV-7 models with random weights of the published sizes, on any
 * device. Decoding is one token of one sequence, from the host's token to the
 * host's logits, by the clock of the host: bytes are all weights but the
 * embedding and the state read and written, the ceiling is that of copies.
 * Prefill is a prompt at once: two operations a weight and token, beside the
 * rate that volley.gemm/1 reaches on the same device for the same tokens with
 * the largest matrix of a layer ("gemm").
 *
 * Before it is timed, the logits after eight tokens at once are compared with
 * those of single steps: of its first layers' shape, where roundings explain
 * little, within a bound; of all layers as `error`.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/thread.h"
#include "conformance/conformance_element.h"
#include "tools/bench/bench_rwkv.h"
#include "tools/bench/bench_tensor.h"
#include "tools/cli/tool.h"

enum {
    SAMPLES = 31,
    FEW_SAMPLES = 5,
    CHECK_TOKENS = 8,
    CHECK_LAYERS = 4,
    CHECK_VOCABULARY = 1000
};

/* Number of samples of slow rows. */
#define LONG_S 20.0

/* ---- the check ------------------------------------------------------------
 */

typedef struct rwkv_work {
    vly_rwkv_model *model;
    vly_rwkv_context *context;
    uint32_t n_tokens;
    uint32_t *tokens;
    float *logits;
} rwkv_work;

/* Largest allowed difference, in roundings, between two ways to compute a model
 * of CHECK_LAYERS layers. Measured on the processor between activations in fp16
 * and in fp32, for 24 such models (widths 256, 512, 1024, eight seeds each): up
 * to 5.1 roundings, median 1.6 to 2.5, and in proportion to the layers. Two
 * ways differ by sqrt(2) of that; four times as much is allowed. Deep random
 * models multiply a difference (3.8 to 207 roundings after 12 to 32 layers, by
 * width and seed), so a bound for them would be meaningless. */
#define CHECK_ROUNDINGS 32.0

/* Sums are in fp32, of up to `hidden` products. */
static double limit_of(const rwkv_work *w)
{
    const vly_rwkv_model_info *info = vly_rwkv_model_info_of(w->model);
    const uint32_t type =
        info->activation == VLY_RWKV_FORMAT_F16    ? VLY_ELEMENT_F16
        : info->activation == VLY_RWKV_FORMAT_BF16 ? VLY_ELEMENT_BF16
                                                   : VLY_ELEMENT_F32;
    return CHECK_ROUNDINGS * (conformance_element_roundoff(type) +
                              conformance_element_roundoff(VLY_ELEMENT_F32) *
                                  sqrt((double)info->sizes.hidden));
}

/* For independent logits it is sqrt(2). */
#define UNRELATED 1.0

static vly_status compare(rwkv_work *w, double limit, double *relative,
                          vly_error *error)
{
    const size_t n = vly_rwkv_model_info_of(w->model)->sizes.vocabulary;
    double difference = 0.0;
    double size = 0.0;
    vly_status status = VLY_OK;
    vly_rwkv_context *whole = NULL;
    float *one = NULL;
    float *logits = vly_malloc(n, sizeof *logits);
    if (!logits)
        return vly_fail_nomem(error, n * sizeof *logits, "logits");
    VLY_TRY(
        vly_rwkv_context_create(w->model, 1, CHECK_TOKENS, 0, &whole, error));
    VLY_TRY(vly_rwkv_context_feed(whole, w->tokens, NULL, CHECK_TOKENS, logits,
                                  error));
    for (uint32_t t = 0; t < CHECK_TOKENS; t++)
        VLY_TRY(vly_rwkv_context_step(w->context, w->tokens[t], &one, error));
    for (size_t i = 0; i < n; i++) {
        const double away = (double)logits[i] - (double)one[i];
        difference += away * away;
        size += (double)one[i] * (double)one[i];
    }
    *relative = sqrt(difference / size);
    if (!(*relative <= limit))
        status = vly_fail(error, VLY_E_DEVICE,
                          "eight tokens at once and one by one differ after %u "
                          "layers: relative error %.3g, wanted at most %.3g",
                          vly_rwkv_model_info_of(w->model)->sizes.layers,
                          *relative, limit);
out:
    vly_rwkv_context_destroy(whole);
    vly_free(logits);
    return status;
}

/* ---- time -----------------------------------------------------------------
 */

/* One token as in the loop of a user: its logits stay in the context.
 */
static vly_status feed(rwkv_work *w, uint32_t n_tokens, vly_error *error)
{
    float *logits = NULL;
    return n_tokens == 1
               ? vly_rwkv_context_step(w->context, w->tokens[0], &logits, error)
               : vly_rwkv_context_feed(w->context, w->tokens, NULL, n_tokens,
                                       w->logits, error);
}

static vly_status time_feed(rwkv_work *w, uint32_t n_tokens, bench_product *row,
                            vly_error *error)
{
    double samples[SAMPLES];
    double sum = 0.0;
    uint32_t n = 0;
    vly_status status = VLY_OK;
    for (int i = -3; i < SAMPLES; i++) {
        const uint64_t begin = vly_clock_ns();
        VLY_TRY(feed(w, n_tokens, error));
        const double seconds = (double)(vly_clock_ns() - begin) * 1e-9;
        sum += seconds;
        if (i >= 0)
            samples[n++] = seconds;
        if (tool_signals_stopped())
            return vly_fail(error, VLY_E_STOPPED, "stopped by a signal");
        if (n >= FEW_SAMPLES && sum > LONG_S)
            break;
    }
    row->seconds = bench_spread_of(samples, n); /* sorts */
    row->min = samples[0];
    row->max = samples[n - 1];
    row->sets = 1;
    row->runs = 1;
    tool_signals_defer(true); /* what is there took minutes */
    snprintf(row->plan.choice, sizeof row->plan.choice, "%s",
             vly_rwkv_context_how(w->context));
    tool_message("%s: %s tokens a second", row->id,
                 tool_rate_text((double)n_tokens / row->seconds.median));
out:
    return status;
}

static void put_parts(const bench_options *options, bench_product *row,
                      const bench_rwkv_size *size, vly_rwkv_format format)
{
    bench_product_part(row, "--sizes", size->name, options->sizes != NULL);
    bench_product_part(row, "--types", vly_rwkv_format_name(format),
                       options->types != NULL);
}

static bench_product *add_row(const bench_options *options,
                              bench_products *products, const char *what,
                              const bench_rwkv_size *size,
                              vly_rwkv_format format, uint32_t n,
                              const char *group)
{
    char id[BENCH_PRODUCT_ID_BYTES];
    char tokens[16] = "";
    if (n > 1)
        snprintf(tokens, sizeof tokens, " %u", n);
    snprintf(id, sizeof id, "%s %s %s%s", what, size->name,
             vly_rwkv_format_name(format), tokens);
    bench_product *row = bench_product_add(products, id, group);
    if (!row)
        return NULL;
    put_parts(options, row, size, format);
    snprintf(tokens, sizeof tokens, "%u", n);
    if (n > 1)
        bench_product_part(row, "--seq", tokens, options->seq != NULL);
    return row;
}

/* ---- the rate of products --------------------------------------------------
 */

typedef struct gemm_work {
    const vly_accelerator *accelerator;
    vly_gemm_plan *plan;
    vly_plan_info info;
    void *workspace;
    bench_tensor tensors[3];
} gemm_work;

static vly_status run_gemm(void *arg, uint32_t set, void *stream,
                           vly_error *error)
{
    const gemm_work *w = arg;
    const vly_gemm_run run = {.struct_size = sizeof run,
                              .alpha = 1.0f,
                              .a = w->tensors[0].device[set],
                              .b = w->tensors[1].device[set],
                              .d = w->tensors[2].device[set],
                              .workspace = w->workspace,
                              .workspace_bytes = w->info.workspace_bytes,
                              .stream = stream};
    return w->accelerator->gemm.run(w->plan, &run, error);
}

/* [m][k] by [n][k], of the type of the model's activations. */
static vly_status time_gemm(const bench_options *options, uint32_t type,
                            uint64_t m, uint64_t n, uint64_t k,
                            bench_product *row, vly_error *error)
{
    static vly_accelerator accelerator; /* its device points into it */
    static gemm_work w;
    const uint64_t count[3] = {m * k, n * k, m * n};
    const vly_gemm_desc desc = {.struct_size = sizeof desc,
                                .flags = VLY_GEMM_TRANS_B,
                                .type_a = type,
                                .type_b = type,
                                .type_d = type,
                                .m = m,
                                .n = n,
                                .k = k,
                                .lda = k,
                                .ldb = k,
                                .ldc = n,
                                .ldd = n,
                                .batch = 1,
                                .workspace_most = 64u << 20};
    bench_subject subject = {
        .accelerator = &accelerator, .run = run_gemm, .arg = &w};
    vly_status status = VLY_OK;
    memset(&w, 0, sizeof w);
    w.info.struct_size = sizeof w.info;
    VLY_TRY(vly_accelerator_find(options->registry, VLY_GEMM_INTERFACE,
                                 options->backend, options->n_threads,
                                 &accelerator, error));
    w.accelerator = &accelerator;
    VLY_TRY(accelerator.gemm.plan_create(&accelerator.device, &desc, &w.plan,
                                         error));
    VLY_TRY(accelerator.gemm.plan_info(w.plan, &w.info, error));
    if (w.info.workspace_bytes > 0)
        VLY_TRY(accelerator.memory.alloc(accelerator.device.index,
                                         w.info.workspace_bytes, &w.workspace,
                                         error));
    subject.sets = bench_product_sets(&accelerator,
                                      (count[0] + count[1] + count[2]) *
                                          conformance_element_bits(type) / 8);
    for (uint32_t i = 0; i < 3; i++) {
        const bench_tensor_spec spec = {.type = type,
                                        .what = i == 2 ? BENCH_TENSOR_POISON
                                                       : BENCH_TENSOR_RANDOM,
                                        .count = count[i],
                                        .scale = 1.0};
        VLY_TRY(bench_tensor_make(&w.tensors[i], &accelerator, &spec,
                                  subject.sets, 300 + i, error));
    }
    row->flops = 2.0 * (double)m * (double)n * (double)k;
    row->plan = w.info;
    status = bench_product_time(&subject, row, error);
out:
    for (uint32_t i = 0; i < 3; i++)
        if (w.accelerator)
            bench_tensor_free(&w.tensors[i], &accelerator);
    if (w.workspace)
        accelerator.memory.free(accelerator.device.index, w.workspace);
    if (w.plan)
        accelerator.gemm.plan_destroy(w.plan);
    return status;
}

/* ---- one model -------------------------------------------------------------
 */

static vly_status make_text(rwkv_work *w, uint32_t n, vly_error *error)
{
    const uint32_t vocabulary =
        vly_rwkv_model_info_of(w->model)->sizes.vocabulary;
    w->n_tokens = n > CHECK_TOKENS ? n : CHECK_TOKENS;
    w->tokens = vly_malloc(w->n_tokens, sizeof *w->tokens);
    w->logits = vly_malloc(vocabulary, sizeof *w->logits);
    if (!w->tokens || !w->logits)
        return vly_fail_nomem(error, 0, "a prompt");
    for (uint32_t i = 0; i < w->n_tokens; i++)
        w->tokens[i] = vly_below(vly_philox_word(1, i, 0, 0), vocabulary);
    return VLY_OK;
}

static vly_status decode(rwkv_work *w, bench_product *row, vly_error *error)
{
    const vly_rwkv_model_info *info = vly_rwkv_model_info_of(w->model);
    vly_status status = VLY_OK;
    VLY_TRY(vly_rwkv_context_create(w->model, 1, 1, 0, &w->context, error));
    VLY_TRY(compare(w, UNRELATED, &row->error, error));
    row->bytes = (double)info->token_bytes +
                 2.0 * (double)vly_rwkv_state_bytes(w->model);
    row->bandwidth = true;
    status = time_feed(w, 1, row, error);
out:
    vly_rwkv_context_destroy(w->context);
    w->context = NULL;
    return status;
}

/* A model of the same width, with few layers. */
static vly_status check_shallow(const bench_options *options,
                                const bench_rwkv_size *size,
                                vly_rwkv_format format, vly_error *error)
{
    bench_rwkv_size few = *size;
    rwkv_work w = {.n_tokens = 0};
    double relative = 0.0;
    vly_status status = VLY_OK;
    if (few.sizes.layers > CHECK_LAYERS)
        few.sizes.layers = CHECK_LAYERS;
    if (few.sizes.vocabulary > CHECK_VOCABULARY)
        few.sizes.vocabulary = CHECK_VOCABULARY;
    VLY_TRY(bench_rwkv_model(options, &few, format, &w.model, error));
    VLY_TRY(make_text(&w, CHECK_TOKENS, error));
    VLY_TRY(vly_rwkv_context_create(w.model, 1, 1, 0, &w.context, error));
    VLY_TRY(compare(&w, limit_of(&w), &relative, error));
    tool_message("%s %s: %.3g apart after %u layers, roundings explain %.3g",
                 size->name, vly_rwkv_format_name(format), relative,
                 few.sizes.layers, limit_of(&w));
out:
    vly_rwkv_context_destroy(w.context);
    vly_rwkv_model_destroy(w.model);
    vly_free(w.tokens);
    vly_free(w.logits);
    return status;
}

/* Weights of the products of a token: all matrices except the embedding. */
static double n_multiplied(const vly_rwkv_sizes *s)
{
    const double d = s->width;
    const double ranks = (double)s->rank_w + s->rank_a + s->rank_v + s->rank_g;
    return s->layers * (4.0 * d * d + 2.0 * d * s->hidden + 2.0 * d * ranks);
}

static vly_status prefill(const bench_options *options,
                          const bench_rwkv_size *size, rwkv_work *w, uint32_t n,
                          bench_product *row, bench_product *gemm,
                          vly_error *error)
{
    const vly_rwkv_model_info *info = vly_rwkv_model_info_of(w->model);
    const uint32_t type =
        info->activation == VLY_RWKV_FORMAT_F16    ? VLY_ELEMENT_F16
        : info->activation == VLY_RWKV_FORMAT_BF16 ? VLY_ELEMENT_BF16
                                                   : VLY_ELEMENT_F32;
    vly_status status = VLY_OK;
    VLY_TRY(vly_rwkv_context_create(w->model, 1, n, 0, &w->context, error));
    row->flops = 2.0 * n_multiplied(&size->sizes) * n;
    VLY_TRY(time_feed(w, n, row, error));
    status = time_gemm(options, type, n, size->sizes.hidden, size->sizes.width,
                       gemm, error);
out:
    vly_rwkv_context_destroy(w->context);
    w->context = NULL;
    return status;
}

/* Not offered, or not enough memory: the rows from `first` without a figure get
 * this reason. false: another failure. */
static bool skip_rows(bench_products *products, uint32_t first,
                      vly_status status, const vly_error *why)
{
    if (status != VLY_E_NOMEM && status != VLY_E_UNSUPPORTED)
        return false;
    for (uint32_t i = first; i < products->n_rows; i++)
        if (products->rows[i].seconds.n == 0)
            snprintf(products->rows[i].reason, sizeof products->rows[i].reason,
                     "%s", why->message);
    return true;
}

static vly_status prefill_rows(const bench_options *options,
                               const bench_rwkv_size *size,
                               vly_rwkv_format format, uint32_t n, rwkv_work *w,
                               bench_products *products, vly_error *error)
{
    char group[24];
    char id[BENCH_PRODUCT_ID_BYTES];
    const uint32_t first = products->n_rows;
    snprintf(group, sizeof group, "%.12s %s %u", size->name,
             vly_rwkv_format_name(format), n);
    bench_product *row =
        add_row(options, products, "prefill", size, format, n, group);
    snprintf(id, sizeof id, "gemm %s %ux%ux%u",
             vly_rwkv_format_name(vly_rwkv_model_info_of(w->model)->activation),
             n, size->sizes.hidden, size->sizes.width);
    bench_product *gemm = bench_product_add(products, id, group);
    if (!row || !gemm)
        return vly_fail(error, VLY_E_INVALID, "more than %d rows",
                        BENCH_PRODUCTS_MAX);
    vly_status status = prefill(options, size, w, n, row, gemm, error);
    return skip_rows(products, first, status, error) ? VLY_OK : status;
}

static vly_status all_rows(const bench_options *options,
                           const bench_rwkv_size *size, vly_rwkv_format format,
                           const bench_rwkv_lists *lists, rwkv_work *w,
                           bench_products *products, vly_error *error)
{
    const uint32_t first = products->n_rows;
    uint32_t longest = 1;
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < lists->n_seq; i++)
        longest = lists->seq[i] > longest ? lists->seq[i] : longest;
    VLY_TRY(make_text(w, longest, error));
    bench_product *row =
        add_row(options, products, "decode", size, format, 1, "decode");
    if (!row)
        return vly_fail(error, VLY_E_INVALID, "more than %d rows",
                        BENCH_PRODUCTS_MAX);
    status = decode(w, row, error);
    if (status != VLY_OK && !skip_rows(products, first, status, error))
        return status;
    for (uint32_t i = 0; i < lists->n_seq; i++)
        VLY_TRY(prefill_rows(options, size, format, lists->seq[i], w, products,
                             error));
out:
    return status;
}

/* A row that does not fit is skipped with its reason; measured rows stay. */
static vly_status one(const bench_options *options, const bench_rwkv_size *size,
                      vly_rwkv_format format, const bench_rwkv_lists *lists,
                      bench_products *products, vly_error *error)
{
    rwkv_work w = {.n_tokens = 0};
    char id[BENCH_PRODUCT_ID_BYTES];
    snprintf(id, sizeof id, "%s %s", size->name, vly_rwkv_format_name(format));
    if (options->pattern && !strstr(id, options->pattern))
        return VLY_OK;
    const uint64_t begin = vly_clock_ns();
    vly_status status = bench_product_begin(id, error);
    if (status == VLY_OK)
        status = check_shallow(options, size, format, error);
    if (status == VLY_OK)
        status = bench_rwkv_model(options, size, format, &w.model, error);
    if (status == VLY_OK)
        tool_message("%s: there after %.1f s", id,
                     (double)(vly_clock_ns() - begin) * 1e-9);
    if (status == VLY_OK)
        status = all_rows(options, size, format, lists, &w, products, error);
    vly_rwkv_model_destroy(w.model);
    vly_free(w.tokens);
    vly_free(w.logits);
    while (status != VLY_OK && products->n_rows > 0 &&
           products->rows[products->n_rows - 1].seconds.n == 0 &&
           products->rows[products->n_rows - 1].reason[0] == '\0')
        products->n_rows--;
    if (status == VLY_E_NOMEM || status == VLY_E_UNSUPPORTED) {
        bench_product *row = bench_product_add(products, id, "");
        if (!row)
            return vly_fail(error, VLY_E_INVALID, "more than %d rows",
                            BENCH_PRODUCTS_MAX);
        put_parts(options, row, size, format);
        snprintf(row->reason, sizeof row->reason, "%s", error->message);
        return VLY_OK;
    }
    return status;
}

vly_status bench_rwkv(const bench_options *options, bench_results *results,
                      vly_error *error)
{
    static vly_accelerator accelerator; /* its device points into it */
    static bench_rwkv_lists lists;
    vly_status status = VLY_OK;
    VLY_TRY(bench_products_open(options, VLY_RWKV_INTERFACE, &accelerator,
                                results, error));
    results->products->error_is =
        "of logits, eight tokens at once against one by one";
    VLY_TRY(
        bench_rwkv_read(options, results->products->is_host, &lists, error));
    for (uint32_t i = 0; i < lists.n_sizes; i++)
        for (uint32_t f = 0; f < lists.n_formats; f++)
            VLY_TRY(one(options, &lists.sizes[i], lists.formats[f], &lists,
                        results->products, error));
    if (results->products->n_rows == 0)
        return vly_fail(error, VLY_E_INVALID,
                        "no model of the suite has \"%s\" in its name",
                        options->pattern);
out:
    return status;
}

/* SPDX-License-Identifier: Apache-2.0
 * Suite wkv: the recurrence of RWKV-7 in single steps and over sequences. Sizes
 * of RWKV-7 2.9B: 40 heads of 64, 32 layers; "x32" is one step of all layers at
 * once, the state of the whole model. Each product is compared with the
 * recurrence in double, on the first and the last head, before it is timed.
 *
 * Bytes: the state read and written, r, w, k, v, a, b and y once. Operations:
 * 10 for an element of the state and a token.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "conformance/conformance_element.h"
#include "tools/bench/bench_tensor.h"
#include "tools/cli/tool.h"

enum { DIM = 64, SQUARE = DIM * DIM, LIST = 8, HEADS = 40, LAYERS = 32 };
enum { R, W, K, V, A, B, Y, STATE_IN, STATE_OUT, N_TENSORS };

#define TYPES                                                                  \
    (1u << VLY_ELEMENT_F32 | 1u << VLY_ELEMENT_F16 | 1u << VLY_ELEMENT_BF16)

typedef struct wkv_work {
    const vly_accelerator *accelerator;
    vly_wkv_desc desc;
    vly_wkv_plan *plan;
    vly_plan_info info;
    void *workspace;
    uint32_t sets;
    bench_tensor tensors[N_TENSORS];
} wkv_work;

typedef struct wkv_lists {
    uint32_t seq[LIST];
    uint32_t n_seq;
    uint32_t types[LIST];
    uint32_t n_types;
} wkv_lists;

static vly_status read_lists(const bench_options *options, bool is_host,
                             wkv_lists *lists, vly_error *error)
{
    const char *seq = is_host || options->quick ? "512" : "512,4096";
    const char *types = options->quick ? "bf16" : "fp32,bf16";
    vly_status status =
        bench_numbers(options->seq ? options->seq : seq, "--seq", 1, 1u << 20,
                      lists->seq, LIST, &lists->n_seq, error);
    if (status == VLY_OK)
        status = bench_types(options->types ? options->types : types, TYPES,
                             lists->types, LIST, &lists->n_types, error);
    return status;
}

vly_status bench_wkv_check(const bench_options *options, vly_error *error)
{
    wkv_lists lists;
    return read_lists(options, true, &lists, error);
}

/* ---- tensors --------------------------------------------------------------
 */

/* Small a and b, so that the state stays bounded: |a| |b| < 0.1. */
static vly_status make_tensor(wkv_work *w, uint32_t which, uint32_t sets,
                              vly_error *error)
{
    const uint64_t heads = (uint64_t)w->desc.batch * w->desc.heads;
    const bool state = which >= STATE_IN;
    const bench_tensor_spec spec = {
        .type = state ? VLY_ELEMENT_F32 : w->desc.type,
        .what = which == Y || which == STATE_OUT ? BENCH_TENSOR_POISON
                                                 : BENCH_TENSOR_RANDOM,
        .count = state ? heads * SQUARE : heads * w->desc.seq * DIM,
        .scale = which == W                 ? 3.0
                 : which == A || which == B ? 0.06
                                            : 1.0,
        .offset = which == W ? -4.0 : 0.0};
    return bench_tensor_make(&w->tensors[which], w->accelerator, &spec, sets,
                             200u + which, error);
}

static uint64_t n_bytes(const vly_wkv_desc *desc)
{
    const uint64_t heads = (uint64_t)desc->batch * desc->heads;
    return heads * SQUARE * 2 * sizeof(float) +
           heads * desc->seq * DIM * 7 * conformance_element_bits(desc->type) /
               8;
}

static vly_status run_set(void *arg, uint32_t set, void *stream,
                          vly_error *error)
{
    const wkv_work *w = arg;
    const vly_wkv_run run = {.struct_size = sizeof run,
                             .r = w->tensors[R].device[set],
                             .w = w->tensors[W].device[set],
                             .k = w->tensors[K].device[set],
                             .v = w->tensors[V].device[set],
                             .a = w->tensors[A].device[set],
                             .b = w->tensors[B].device[set],
                             .y = w->tensors[Y].device[set],
                             .state_in = w->tensors[STATE_IN].device[set],
                             .state_out = w->tensors[STATE_OUT].device[set],
                             .workspace = w->workspace,
                             .workspace_bytes = w->info.workspace_bytes,
                             .stream = stream};
    return w->accelerator->wkv.run(w->plan, &run, error);
}

/* ---- the check ------------------------------------------------------------
 */

typedef struct sums {
    double difference;
    double size;
} sums;

static void add(sums *s, double found, double wanted)
{
    s->difference += (found - wanted) * (found - wanted);
    s->size += wanted * wanted;
}

/* All tokens of head `unit` of the batch. */
static void check_head(const wkv_work *w, uint64_t unit, double *state, sums *s)
{
    const uint64_t batch = unit / w->desc.heads;
    double x[Y + 1][DIM];
    bench_tensor_read(&w->tensors[STATE_IN], unit * SQUARE, SQUARE, state);
    for (uint64_t t = 0; t < w->desc.seq; t++) {
        const uint64_t at =
            ((batch * w->desc.seq + t) * w->desc.heads + unit % w->desc.heads) *
            DIM;
        for (uint32_t i = 0; i <= Y; i++)
            bench_tensor_read(&w->tensors[i], at, DIM, x[i]);
        for (uint32_t j = 0; j < DIM; j++)
            x[W][j] = exp(-exp(x[W][j]));
        for (uint32_t i = 0; i < DIM; i++) {
            double *row = state + i * DIM;
            double along = 0.0;
            double y = 0.0;
            for (uint32_t j = 0; j < DIM; j++)
                along += row[j] * x[A][j];
            for (uint32_t j = 0; j < DIM; j++) {
                row[j] = row[j] * x[W][j] + along * x[B][j] + x[V][i] * x[K][j];
                y += row[j] * x[R][j];
            }
            add(s, x[Y][i], y);
        }
    }
    for (uint32_t i = 0; i < SQUARE; i++) {
        double found = 0.0;
        bench_tensor_read(&w->tensors[STATE_OUT], unit * SQUARE + i, 1, &found);
        add(s, found, state[i]);
    }
}

/* The state decays by a half in some tokens, so roundings do not add up over a
 * sequence: 1e-5 for sums of 64 in fp32, and that of y's type. */
static vly_status compare(wkv_work *w, double *relative, vly_error *error)
{
    const uint64_t units = (uint64_t)w->desc.batch * w->desc.heads;
    const double limit =
        2.0 * conformance_element_roundoff(w->desc.type) + 1e-5;
    double *state = vly_malloc(SQUARE, sizeof *state);
    sums s = {0};
    vly_status status = VLY_OK;
    if (!state)
        return vly_fail_nomem(error, SQUARE * sizeof *state, "a state");
    VLY_TRY(run_set(w, 0, NULL, error));
    VLY_TRY(bench_tensor_get(&w->tensors[Y], w->accelerator, error));
    VLY_TRY(bench_tensor_get(&w->tensors[STATE_OUT], w->accelerator, error));
    check_head(w, 0, state, &s);
    check_head(w, units - 1, state, &s);
    *relative = s.size > 0 ? sqrt(s.difference / s.size) : 0.0;
    if (!(*relative <= limit))
        status = vly_fail(error, VLY_E_DEVICE,
                          "the result is wrong: relative error %.3g, roundings "
                          "explain %.3g (%.200s)",
                          *relative, limit, w->info.choice);
out:
    vly_free(state);
    return status;
}

/* ---- one row --------------------------------------------------------------
 */

static vly_status measure(wkv_work *w, bench_product *row, vly_error *error)
{
    const vly_memory *m = &w->accelerator->memory;
    const uint32_t device = w->accelerator->device.index;
    bench_subject subject = {
        .accelerator = w->accelerator, .run = run_set, .arg = w};
    vly_status status = VLY_OK;
    w->info.struct_size = sizeof w->info;
    VLY_TRY(bench_product_begin(row->id, error));
    VLY_TRY(w->accelerator->wkv.plan_create(&w->accelerator->device, &w->desc,
                                            &w->plan, error));
    VLY_TRY(w->accelerator->wkv.plan_info(w->plan, &w->info, error));
    row->plan = w->info;
    if (w->info.workspace_bytes > 0)
        VLY_TRY(
            m->alloc(device, w->info.workspace_bytes, &w->workspace, error));
    w->sets = bench_product_sets(w->accelerator, n_bytes(&w->desc));
    for (uint32_t i = 0; i < N_TENSORS; i++)
        VLY_TRY(make_tensor(w, i, w->sets, error));
    VLY_TRY(compare(w, &row->error, error));
    subject.sets = w->sets;
    VLY_TRY(bench_product_time(&subject, row, error));
out:
    for (uint32_t i = 0; i < N_TENSORS; i++)
        bench_tensor_free(&w->tensors[i], w->accelerator);
    m->free(device, w->workspace);
    w->accelerator->wkv.plan_destroy(w->plan);
    return status;
}

static vly_status one(const bench_options *options,
                      const vly_accelerator *accelerator, uint32_t type,
                      uint32_t batch, uint32_t seq, bool is_listed,
                      bench_products *products, vly_error *error)
{
    static wkv_work w; /* large; one at a time */
    char id[BENCH_PRODUCT_ID_BYTES];
    char number[16];
    (void)snprintf(id, sizeof id, "%s %s h%u x%u %u",
                   seq == 1 ? "step" : "sequence",
                   conformance_element_name(type), HEADS, batch, seq);
    if (options->pattern && !strstr(id, options->pattern))
        return VLY_OK;
    bench_product *row =
        bench_product_add(products, id, conformance_element_name(type));
    if (!row)
        return vly_fail(error, VLY_E_INVALID, "more than %d products",
                        BENCH_PRODUCTS_MAX);
    (void)snprintf(number, sizeof number, "%u", seq);
    bench_product_part(row, "--types", conformance_element_name(type),
                       options->types != NULL);
    bench_product_part(row, "--seq", number, is_listed && options->seq);
    w = (wkv_work){.accelerator = accelerator,
                   .desc = {.struct_size = sizeof w.desc,
                            .type = type,
                            .batch = batch,
                            .seq = seq,
                            .heads = HEADS,
                            .dim = DIM,
                            .workspace_most = UINT64_C(2) << 30}};
    row->flops = 10.0 * SQUARE * HEADS * (double)batch * seq;
    row->bytes = (double)n_bytes(&w.desc);
    row->bandwidth = seq == 1;
    vly_status status = measure(&w, row, error);
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

vly_status bench_wkv(const bench_options *options, bench_results *results,
                     vly_error *error)
{
    static vly_accelerator accelerator; /* its device points into it */
    wkv_lists lists;
    vly_status status = VLY_OK;
    VLY_TRY(bench_products_open(options, VLY_WKV_INTERFACE, &accelerator,
                                results, error));
    VLY_TRY(read_lists(options, results->products->is_host, &lists, error));
    for (uint32_t t = 0; t < lists.n_types; t++) {
        const uint32_t type = lists.types[t];
        const uint32_t batches[2] = {1, LAYERS};
        for (uint32_t i = 0; i < 2; i++)
            VLY_TRY(one(options, &accelerator, type, batches[i], 1, false,
                        results->products, error));
        for (uint32_t s = 0; s < lists.n_seq; s++)
            VLY_TRY(one(options, &accelerator, type, 1, lists.seq[s], true,
                        results->products, error));
    }
    if (results->products->n_rows == 0)
        return vly_fail(error, VLY_E_INVALID,
                        "no product of the suite has \"%s\" in its name",
                        options->pattern);
out:
    return status;
}

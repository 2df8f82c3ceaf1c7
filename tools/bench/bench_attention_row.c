/* SPDX-License-Identifier: Apache-2.0
 * Rows of suite attention: what a product counts, its measurement on one
 * device, reasons of rows that are skipped.
 *
 * Operations by the usual count: 4 b h sq skv d forward, half of it causal, 2.5
 * times as many backward. Bytes of decoding: those of K and V.
 */
#include "tools/bench/bench_attention.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "conformance/conformance_element.h"
#include "tools/cli/tool.h"

/* O and lse of every set are filled when the gradients are timed. */
vly_status bench_attention_prepare(bench_attention_work *w, bool backward,
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
    bench_subject timed = {.accelerator = w->accelerator,
                           .run = bench_attention_run_timed,
                           .arg = w};
    vly_status status = VLY_OK;
    VLY_TRY(bench_product_begin(row->id, error));
    VLY_TRY(bench_attention_prepare(w, backward, error));
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
                       options->seq && desc->seq_q == desc->seq_kv);
}

vly_status bench_attention_row_add(const bench_options *options,
                                   const vly_attention_desc *desc,
                                   bool backward, const char *id,
                                   bench_products *products,
                                   bench_product **added, vly_error *error)
{
    bench_product *row =
        bench_product_add(products, id, conformance_element_name(desc->type));
    if (!row)
        return vly_fail(error, VLY_E_INVALID, "more than %d products",
                        BENCH_PRODUCTS_MAX);
    put_parts(options, row, desc);
    row->flops = n_operations(desc, backward);
    row->bandwidth = desc->seq_q == 1;
    for (uint32_t i = 0; i < BENCH_LSE; i++)
        row->bytes += (double)(bench_attention_count(desc, i) *
                               conformance_element_bits(desc->type) / 8);
    *added = row;
    return VLY_OK;
}

vly_status bench_attention_row_end(vly_status status, bench_product *row,
                                   bench_products *products, vly_error *error)
{
    if (status == VLY_E_UNSUPPORTED || status == VLY_E_NOMEM) {
        (void)snprintf(row->reason, sizeof row->reason, "%s", error->message);
        return VLY_OK;
    }
    if (status != VLY_OK) {
        char why[1000];
        (void)snprintf(why, sizeof why, "%s", error->message);
        products->n_rows--; /* the whole row is invalid */
        return vly_fail(error, status, "%s: %.900s", row->id, why);
    }
    return status;
}

vly_status bench_attention_one(const bench_options *options,
                               const vly_accelerator *accelerator,
                               const vly_attention_desc *desc, bool backward,
                               const char *id, bench_products *products,
                               vly_error *error)
{
    static bench_attention_work w; /* large; one at a time */
    bench_product *row = NULL;
    vly_status status = VLY_OK;
    if (options->pattern && !strstr(id, options->pattern))
        return VLY_OK;
    if (options->sweep) {
        tool_message("%s", id);
        return bench_attention_sweep(options, accelerator, desc, backward, id,
                                     error);
    }
    if (options->device_list)
        return bench_attention_devices(options, accelerator, desc, backward, id,
                                       products, error);
    VLY_TRY(bench_attention_row_add(options, desc, backward, id, products, &row,
                                    error));
    w = (bench_attention_work){.accelerator = accelerator, .desc = *desc};
    status = bench_attention_row_end(measure(&w, backward, row, error), row,
                                     products, error);
out:
    return status;
}

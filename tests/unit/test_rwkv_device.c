/* SPDX-License-Identifier: Apache-2.0
 * What a model runs on a device, by the plugins of the processor: products by
 * volley.gemm/1 and what stands beside them, and steps as graphs.
 */
#include "test_rwkv_fixture.h"

#include <math.h>

#include "monitor/rwkv_parts.h"

enum { N_TOKENS = 37, MOST = 1000 };

static const test_rwkv_trial fp32 = {0, VLY_RWKV_FORMAT_F32,
                                     VLY_RWKV_FORMAT_F32};

/* ---- what a device runs ----------------------------------------------------
 */

static const vly_rwkv *real;

static vly_status supports_little(const vly_rwkv_desc *desc, vly_error *error)
{
    if (desc->op == VLY_RWKV_PRODUCTS || desc->op == VLY_RWKV_STEP)
        return VLY_E_UNSUPPORTED;
    return real->supports(desc, error);
}

/* The plugins of the processor, taken for a device without STEP and PRODUCTS:
 * products by volley.gemm/1, then ACTIVATE, PREPARE with what gemm made of the
 * gates, the recurrence, FINISH and ADD. Sums have another order, so logits are
 * near, not the same; fp16 rounds what the other path keeps. */
static void check_device_path(vly_rwkv_format format,
                              vly_rwkv_format activation, double most)
{
    const test_rwkv_trial t = {1, format, activation};
    const vly_rwkv_sizes *sizes = &test_rwkv_sizes[t.size];
    uint32_t tokens[N_TOKENS + 2];
    float wanted[2][MOST];
    float logits[2][MOST];
    double largest = 0.0;
    test_rwkv_text(sizes->vocabulary, 8, N_TOKENS + 2, tokens);
    test_rwkv_one_by_one(&t, tokens, N_TOKENS, wanted[0]);
    test_rwkv_one_by_one(&t, tokens, N_TOKENS + 2, wanted[1]);
    vly_rwkv_model *model =
        test_rwkv_model(sizes, "cpu:1,tune=0", format, activation);
    vly_rwkv theirs = model->parts.rwkv;
    real = &theirs;
    model->parts.rwkv.supports = supports_little;
    model->parts.memory.flags = 0;
    vly_rwkv_context *context = test_rwkv_context(model, 1, 20, 0);
    assert_non_null(strstr(vly_rwkv_context_how(context), "gemm: "));
    test_rwkv_feed(context, tokens, N_TOKENS, logits[0]); /* 20 and 17 tokens */
    /* single steps: the gates by LORA, the recurrence and FINISH */
    test_rwkv_feed(context, tokens + N_TOKENS, 2, logits[1]);
    for (uint32_t i = 0; i < 2 * sizes->vocabulary; i++) {
        const uint32_t which = i / sizes->vocabulary;
        const uint32_t at = i % sizes->vocabulary;
        assert_close(logits[which][at], wanted[which][at], most);
        largest = fmax(largest, fabs((double)logits[which][at] -
                                     (double)wanted[which][at]));
    }
    vly_rwkv_context_destroy(context);
    print_message("weights %s: largest difference %.2g\n",
                  vly_rwkv_format_name(format), largest);
    vly_rwkv_model_destroy(model);
}

static void test_device_path(void **state)
{
    (void)state;
    check_device_path(VLY_RWKV_FORMAT_F32, VLY_RWKV_FORMAT_F32, 1e-5);
    check_device_path(VLY_RWKV_FORMAT_F16, VLY_RWKV_FORMAT_F16, 0.02);
    check_device_path(VLY_RWKV_FORMAT_W8, VLY_RWKV_FORMAT_F16, 0.02);
    check_device_path(VLY_RWKV_FORMAT_W4, VLY_RWKV_FORMAT_BF16, 0.15);
}

/* ---- graphs ----------------------------------------------------------------
 */

/* What a stream with a graph keeps: runs, to be done again and again. */
typedef struct kept_run {
    vly_rwkv_plan *rwkv_plan; /* or: */
    vly_wkv_plan *wkv_plan;
    vly_rwkv_run rwkv;
    vly_wkv_run wkv;
} kept_run;

enum { KEPT_MOST = 64 };

static struct {
    vly_rwkv rwkv; /* the plugin's own */
    vly_wkv wkv;
    kept_run list[KEPT_MOST];
    uint32_t n;
    bool is_open;
    uint32_t n_runs; /* of the graph */
    uint32_t n_destroyed;
    vly_status end; /* what graph_end says */
} kept;

static vly_status keep_rwkv(vly_rwkv_plan *plan, const vly_rwkv_run *run,
                            vly_error *error)
{
    if (!kept.is_open)
        return kept.rwkv.run(plan, run, error);
    kept.list[kept.n++] = (kept_run){.rwkv_plan = plan, .rwkv = *run};
    return VLY_OK;
}

static vly_status keep_wkv(vly_wkv_plan *plan, const vly_wkv_run *run,
                           vly_error *error)
{
    if (!kept.is_open)
        return kept.wkv.run(plan, run, error);
    kept.list[kept.n++] = (kept_run){.wkv_plan = plan, .wkv = *run};
    return VLY_OK;
}

static vly_status fake_begin(uint32_t device, void *stream, vly_error *error)
{
    (void)device;
    (void)stream;
    (void)error;
    kept.is_open = true;
    kept.n = 0;
    return VLY_OK;
}

static vly_status fake_end(uint32_t device, void *stream, vly_graph **graph,
                           vly_error *error)
{
    (void)device;
    (void)stream;
    kept.is_open = false;
    if (kept.end != VLY_OK) {
        if (error != NULL)
            snprintf(error->message, sizeof error->message, "no graph today");
        return kept.end;
    }
    void *list = kept.list;
    memcpy(graph, &list, sizeof list);
    return VLY_OK;
}

static vly_status fake_run(uint32_t device, vly_graph *graph, void *stream,
                           vly_error *error)
{
    (void)device;
    (void)graph;
    (void)stream;
    kept.n_runs++;
    for (uint32_t i = 0; i < kept.n; i++) {
        const kept_run *one = &kept.list[i];
        const vly_status status =
            one->rwkv_plan != NULL
                ? kept.rwkv.run(one->rwkv_plan, &one->rwkv, error)
                : kept.wkv.run(one->wkv_plan, &one->wkv, error);
        if (status != VLY_OK)
            return status;
    }
    return VLY_OK;
}

static void fake_destroy(uint32_t device, vly_graph *graph)
{
    (void)device;
    (void)graph;
    kept.n_destroyed++;
}

/* Memory whose graphs keep runs and do them again: from the second token on
 * only the graph runs, with the tokens and states of its time. */
static void test_graphs(void **state)
{
    const test_rwkv_trial *t = &fp32;
    uint32_t tokens[N_TOKENS];
    float wanted[MOST];
    float logits[MOST];
    (void)state;
    test_rwkv_text(256, 21, N_TOKENS, tokens);
    test_rwkv_one_by_one(t, tokens, N_TOKENS, wanted);
    vly_rwkv_model *model = test_rwkv_model(&test_rwkv_sizes[t->size], "cpu:1",
                                            t->format, t->activation);
    memset(&kept, 0, sizeof kept);
    kept.rwkv = model->parts.rwkv;
    kept.wkv = model->parts.wkv;
    model->parts.rwkv.run = keep_rwkv;
    model->parts.wkv.run = keep_wkv;
    model->parts.memory.graph_begin = fake_begin;
    model->parts.memory.graph_end = fake_end;
    model->parts.memory.graph_run = fake_run;
    model->parts.memory.graph_destroy = fake_destroy;
    vly_rwkv_context *context = test_rwkv_context(model, 1, 16, 0);
    test_rwkv_feed(context, tokens, 16, NULL); /* chunks are no graphs */
    assert_int_equal(kept.n_runs, 0);
    for (uint32_t i = 16; i < N_TOKENS; i++)
        test_rwkv_feed(context, tokens + i, 1, logits);
    assert_memory_equal(logits, wanted, 256 * sizeof *logits);
    assert_int_equal(kept.n_runs, N_TOKENS - 17);
    vly_rwkv_context_destroy(context);
    assert_int_equal(kept.n_destroyed, 1);
    /* one that cannot be made is an error, and leaves nothing open */
    kept.end = VLY_E_DEVICE;
    context = test_rwkv_context(model, 1, 1, 0);
    test_rwkv_feed(context, tokens, 1, logits);
    assert_int_equal(
        vly_rwkv_context_feed(context, tokens, NULL, 1, logits, &test_error),
        VLY_E_DEVICE);
    assert_string_equal(test_error.message, "no graph today");
    assert_false(kept.is_open);
    vly_rwkv_context_destroy(context);
    assert_int_equal(kept.n_destroyed, 1);
    vly_rwkv_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_device_path),
        cmocka_unit_test(test_graphs),
    };
    return cmocka_run_group_tests(tests, test_rwkv_open, test_rwkv_close) ? 1
                                                                          : 0;
}

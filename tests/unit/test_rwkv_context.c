/* SPDX-License-Identifier: Apache-2.0
 * Contexts of RWKV-7 models: the same bits alone, in a batch, in a prompt, on
 * any number of threads, after a state was saved, restored or forked; what is
 * refused; what a device runs, by the plugins of the processor.
 */
#include "test_rwkv_fixture.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "monitor/rwkv_parts.h"

enum { N_TOKENS = 37, MOST = 1000 };

typedef struct trial {
    uint32_t size;
    vly_rwkv_format format;
    vly_rwkv_format activation;
} trial;

static const trial trials[] = {
    {0, VLY_RWKV_FORMAT_F32, VLY_RWKV_FORMAT_F32},
    {2, VLY_RWKV_FORMAT_F16, VLY_RWKV_FORMAT_F16},
    {1, VLY_RWKV_FORMAT_BF16, VLY_RWKV_FORMAT_F32},
    {0, VLY_RWKV_FORMAT_W8, VLY_RWKV_FORMAT_F16},
    {1, VLY_RWKV_FORMAT_W4, VLY_RWKV_FORMAT_BF16},
};

/* Logits after n tokens, fed one by one, in one thread: what others must be. */
static void one_by_one(const trial *t, const uint32_t *tokens, uint32_t n,
                       float *logits)
{
    vly_rwkv_model *model = test_rwkv_model(&test_rwkv_sizes[t->size], "cpu:1",
                                            t->format, t->activation);
    vly_rwkv_context *context = test_rwkv_context(model, 1, 1, 0);
    for (uint32_t i = 0; i < n; i++)
        assert_ok(vly_rwkv_context_feed(context, tokens + i, NULL, 1, logits,
                                        &test_error),
                  test_error);
    vly_rwkv_context_destroy(context);
    vly_rwkv_model_destroy(model);
}

static void check_prompt(const trial *t, const char *device, uint32_t chunk,
                         const uint32_t *tokens, const float *wanted)
{
    const vly_rwkv_sizes *sizes = &test_rwkv_sizes[t->size];
    float logits[MOST];
    vly_rwkv_model *model =
        test_rwkv_model(sizes, device, t->format, t->activation);
    vly_rwkv_context *context = test_rwkv_context(model, 1, chunk, 0);
    assert_ok(vly_rwkv_context_feed(context, tokens, NULL, N_TOKENS, logits,
                                    &test_error),
              test_error);
    assert_memory_equal(logits, wanted, sizes->vocabulary * sizeof *logits);
    vly_rwkv_context_destroy(context);
    vly_rwkv_model_destroy(model);
}

static void test_prompts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++) {
        uint32_t tokens[N_TOKENS];
        float wanted[MOST];
        test_rwkv_text(256, (uint32_t)i, N_TOKENS, tokens);
        one_by_one(&trials[i], tokens, N_TOKENS, wanted);
        check_prompt(&trials[i], "cpu:1", 64, tokens, wanted);
        check_prompt(&trials[i], "cpu:3", 64, tokens, wanted);
        check_prompt(&trials[i], "cpu:2", 9, tokens, wanted);
    }
}

/* Three sequences of different lengths, one of which waits for a while. */
static void test_batch(void **state)
{
    static const uint32_t first[3] = {20, 5, 0};
    static const uint32_t second[3] = {1, 0, 17};
    (void)state;
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++) {
        const trial *t = &trials[i];
        const vly_rwkv_sizes *sizes = &test_rwkv_sizes[t->size];
        uint32_t tokens[3][N_TOKENS];
        float wanted[MOST];
        float *logits = calloc((size_t)3 * sizes->vocabulary, sizeof *logits);
        uint32_t fed[3 * 20] = {0};
        vly_rwkv_model *model =
            test_rwkv_model(sizes, "cpu:2", t->format, t->activation);
        vly_rwkv_context *context = test_rwkv_context(model, 3, 8, 0);
        for (uint32_t s = 0; s < 3; s++) {
            test_rwkv_text(256, 50 + s, N_TOKENS, tokens[s]);
            memcpy(fed + s * 20, tokens[s], first[s] * sizeof *fed);
        }
        assert_ok(
            vly_rwkv_context_feed(context, fed, first, 20, logits, &test_error),
            test_error);
        for (uint32_t s = 0; s < 3; s++)
            memcpy(fed + s * 20, tokens[s] + first[s], second[s] * sizeof *fed);
        assert_ok(vly_rwkv_context_feed(context, fed, second, 20, logits,
                                        &test_error),
                  test_error);
        for (uint32_t s = 0; s < 3; s++) {
            one_by_one(t, tokens[s], first[s] + second[s], wanted);
            assert_memory_equal(logits + (size_t)s * sizes->vocabulary, wanted,
                                sizes->vocabulary * sizeof *wanted);
        }
        vly_rwkv_context_destroy(context);
        vly_rwkv_model_destroy(model);
        free(logits);
    }
}

static void test_all_logits(void **state)
{
    const trial *t = &trials[0];
    const uint32_t vocabulary = test_rwkv_sizes[t->size].vocabulary;
    uint32_t tokens[N_TOKENS];
    float wanted[MOST];
    float *logits = calloc((size_t)N_TOKENS * vocabulary, sizeof *logits);
    (void)state;
    test_rwkv_text(vocabulary, 3, N_TOKENS, tokens);
    vly_rwkv_model *model = test_rwkv_model(&test_rwkv_sizes[t->size], "cpu:2",
                                            t->format, t->activation);
    vly_rwkv_context *context =
        test_rwkv_context(model, 1, 16, VLY_RWKV_ALL_LOGITS);
    assert_ok(vly_rwkv_context_feed(context, tokens, NULL, N_TOKENS, logits,
                                    &test_error),
              test_error);
    for (uint32_t n = 1; n <= N_TOKENS; n += 9) {
        one_by_one(t, tokens, n, wanted);
        assert_memory_equal(logits + (size_t)(n - 1) * vocabulary, wanted,
                            vocabulary * sizeof *wanted);
    }
    vly_rwkv_context_destroy(context);
    vly_rwkv_model_destroy(model);
    free(logits);
}

/* ---- states ----------------------------------------------------------------
 */

static void feed(vly_rwkv_context *context, const uint32_t *tokens, uint32_t n,
                 float *logits)
{
    assert_ok(
        vly_rwkv_context_feed(context, tokens, NULL, n, logits, &test_error),
        test_error);
}

static void test_states(void **state)
{
    const vly_rwkv_sizes *sizes = &test_rwkv_sizes[0];
    const size_t n_bytes = sizes->vocabulary * sizeof(float);
    uint32_t tokens[N_TOKENS];
    uint32_t pair[2];
    float wanted[MOST];
    float logits[2 * MOST];
    (void)state;
    test_rwkv_text(sizes->vocabulary, 11, N_TOKENS, tokens);
    vly_rwkv_model *model =
        test_rwkv_model(sizes, "cpu:1", VLY_RWKV_FORMAT_F16, 0);
    vly_rwkv_context *one = test_rwkv_context(model, 1, 16, 0);
    vly_rwkv_context *two = test_rwkv_context(model, 2, 4, 0);
    feed(one, tokens, 20, NULL);
    const size_t size = vly_rwkv_state_bytes(model);
    unsigned char *bytes = malloc(size);
    assert_ok(vly_rwkv_state_save(one, 0, bytes, size, &test_error),
              test_error);
    assert_ok(vly_rwkv_state_fork(one, 0, two, 1, &test_error), test_error);
    feed(one, tokens + 20, 10, wanted);
    /* both of two: restored and forked, then the same tokens */
    assert_ok(vly_rwkv_state_restore(two, 0, bytes, size, &test_error),
              test_error);
    for (uint32_t t = 20; t < 30; t++) {
        pair[0] = tokens[t];
        pair[1] = tokens[t];
        feed(two, pair, 1, logits);
    }
    assert_memory_equal(logits, wanted, n_bytes);
    assert_memory_equal(logits + sizes->vocabulary, wanted, n_bytes);
    /* and from the beginning */
    assert_ok(vly_rwkv_context_reset(one, 0, &test_error), test_error);
    feed(one, tokens, 30, logits);
    assert_memory_equal(logits, wanted, n_bytes);
    assert_ok(vly_rwkv_context_reset(two, UINT32_MAX, &test_error), test_error);
    assert_ok(vly_rwkv_state_save(two, 1, bytes, size, &test_error),
              test_error);
    for (size_t i = 64; i < size; i++)
        assert_int_equal(bytes[i], 0);
    free(bytes);
    vly_rwkv_context_destroy(one);
    vly_rwkv_context_destroy(two);
    vly_rwkv_model_destroy(model);
}

/* Restores what was saved, changed at one byte or cut; the state stays. */
static void test_states_refused(void **state)
{
    static const struct {
        size_t at;
        const char *message;
    } changes[] = {{0, "no state of a model"}, {8, "of version"},
                   {12, "of another model"},   {30, "of another model"},
                   {50, "damaged state"},      {64, "damaged state"},
                   {9000, "damaged state"}};
    const vly_rwkv_sizes *sizes = &test_rwkv_sizes[0];
    vly_rwkv_sizes other_sizes = *sizes;
    (void)state;
    vly_rwkv_model *model = test_rwkv_model(sizes, "cpu:1", 0, 0);
    vly_rwkv_context *context = test_rwkv_context(model, 1, 1, 0);
    const uint32_t token = 5;
    const size_t size = vly_rwkv_state_bytes(model);
    unsigned char *bytes = malloc(size);
    unsigned char *after = malloc(size);
    feed(context, &token, 1, NULL);
    assert_ok(vly_rwkv_state_save(context, 0, bytes, size, &test_error),
              test_error);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        bytes[changes[i].at] ^= 4;
        assert_int_equal(
            vly_rwkv_state_restore(context, 0, bytes, size, &test_error),
            VLY_E_PARSE);
        assert_non_null(strstr(test_error.message, changes[i].message));
        bytes[changes[i].at] ^= 4;
        assert_ok(vly_rwkv_state_save(context, 0, after, size, &test_error),
                  test_error);
        assert_memory_equal(after, bytes, size);
    }
    assert_int_equal(
        vly_rwkv_state_restore(context, 0, bytes, size - 4, &test_error),
        VLY_E_PARSE);
    assert_int_equal(vly_rwkv_state_restore(context, 0, bytes, 7, &test_error),
                     VLY_E_PARSE);
    assert_int_equal(
        vly_rwkv_state_restore(context, 1, bytes, size, &test_error),
        VLY_E_INVALID);
    assert_int_equal(
        vly_rwkv_state_save(context, 0, bytes, size - 1, &test_error),
        VLY_E_INVALID);
    /* of the same sizes in bytes, but other ranks */
    other_sizes.rank_w = 8;
    vly_rwkv_model *other = test_rwkv_model(&other_sizes, "cpu:1", 0, 0);
    vly_rwkv_context *theirs = test_rwkv_context(other, 1, 1, 0);
    assert_int_equal(
        vly_rwkv_state_restore(theirs, 0, bytes, size, &test_error),
        VLY_E_PARSE);
    assert_int_equal(vly_rwkv_state_fork(context, 0, theirs, 0, &test_error),
                     VLY_E_INVALID);
    free(bytes);
    free(after);
    vly_rwkv_context_destroy(theirs);
    vly_rwkv_model_destroy(other);
    vly_rwkv_context_destroy(context);
    vly_rwkv_model_destroy(model);
}

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
    const trial t = {1, format, activation};
    const vly_rwkv_sizes *sizes = &test_rwkv_sizes[t.size];
    uint32_t tokens[N_TOKENS + 2];
    float wanted[2][MOST];
    float logits[2][MOST];
    double largest = 0.0;
    test_rwkv_text(sizes->vocabulary, 8, N_TOKENS + 2, tokens);
    one_by_one(&t, tokens, N_TOKENS, wanted[0]);
    one_by_one(&t, tokens, N_TOKENS + 2, wanted[1]);
    vly_rwkv_model *model =
        test_rwkv_model(sizes, "cpu:1,tune=0", format, activation);
    vly_rwkv theirs = model->parts.rwkv;
    real = &theirs;
    model->parts.rwkv.supports = supports_little;
    model->parts.memory.flags = 0;
    vly_rwkv_context *context = test_rwkv_context(model, 1, 20, 0);
    assert_non_null(strstr(vly_rwkv_context_how(context), "gemm: "));
    feed(context, tokens, N_TOKENS, logits[0]); /* 20 and 17 tokens */
    /* single steps: the gates by LORA, the recurrence and FINISH */
    feed(context, tokens + N_TOKENS, 2, logits[1]);
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
    const trial *t = &trials[0];
    uint32_t tokens[N_TOKENS];
    float wanted[MOST];
    float logits[MOST];
    (void)state;
    test_rwkv_text(256, 21, N_TOKENS, tokens);
    one_by_one(t, tokens, N_TOKENS, wanted);
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
    feed(context, tokens, 16, NULL); /* chunks are no graphs */
    assert_int_equal(kept.n_runs, 0);
    for (uint32_t i = 16; i < N_TOKENS; i++)
        feed(context, tokens + i, 1, logits);
    assert_memory_equal(logits, wanted, 256 * sizeof *logits);
    assert_int_equal(kept.n_runs, N_TOKENS - 17);
    vly_rwkv_context_destroy(context);
    assert_int_equal(kept.n_destroyed, 1);
    /* one that cannot be made is an error, and leaves nothing open */
    kept.end = VLY_E_DEVICE;
    context = test_rwkv_context(model, 1, 1, 0);
    feed(context, tokens, 1, logits);
    assert_int_equal(
        vly_rwkv_context_feed(context, tokens, NULL, 1, logits, &test_error),
        VLY_E_DEVICE);
    assert_string_equal(test_error.message, "no graph today");
    assert_false(kept.is_open);
    vly_rwkv_context_destroy(context);
    assert_int_equal(kept.n_destroyed, 1);
    vly_rwkv_model_destroy(model);
}

/* ---- refusals --------------------------------------------------------------
 */

static void refuse_model(const vly_rwkv_sizes *sizes, const char *device,
                         vly_rwkv_format format, vly_rwkv_format activation,
                         vly_status status, const char *message)
{
    const vly_rwkv_source source = test_rwkv_source(sizes, VLY_ELEMENT_BF16);
    const vly_rwkv_options options = {.format = format,
                                      .activation = activation};
    vly_rwkv_model *model = NULL;
    assert_int_equal(vly_rwkv_model_create(test_registry, &source, device,
                                           &options, &model, &test_error),
                     status);
    assert_null(model);
    if (strstr(test_error.message, message) == NULL)
        fail_msg("\"%s\", wanted \"%s\"", test_error.message, message);
}

static vly_status read_large(void *context, vly_rwkv_tensor id, uint32_t layer,
                             uint64_t first, uint64_t n_rows, float *out,
                             vly_error *error)
{
    const vly_rwkv_source source = test_rwkv_source(context, 0);
    const vly_status status =
        source.read(context, id, layer, first, n_rows, out, error);
    if (id == VLY_RWKV_FFN_KEY && layer == 1)
        out[1000] = -7e4f;
    return status;
}

/* What fp16 cannot hold is named, not made infinite; bf16 takes it. */
static void test_too_large(void **state)
{
    const vly_rwkv_options small = {.format = VLY_RWKV_FORMAT_F16};
    const vly_rwkv_options wide = {.format = VLY_RWKV_FORMAT_BF16};
    vly_rwkv_source source =
        test_rwkv_source(&test_rwkv_sizes[0], VLY_ELEMENT_F32);
    vly_rwkv_model *model = NULL;
    (void)state;
    source.read = read_large;
    assert_int_equal(vly_rwkv_model_create(test_registry, &source, "cpu:3",
                                           &small, &model, &test_error),
                     VLY_E_INVALID);
    assert_string_equal(test_error.message,
                        "random: tensor blocks.1.ffn.key.weight has a weight "
                        "of -70000, which is too large for weights of fp16: "
                        "choose bf16 or fp32");
    assert_ok(vly_rwkv_model_create(test_registry, &source, "cpu:3", &wide,
                                    &model, &test_error),
              test_error);
    vly_rwkv_model_destroy(model);
}

static void test_refused(void **state)
{
    const vly_rwkv_sizes *sizes = &test_rwkv_sizes[0];
    vly_rwkv_sizes wrong = *sizes;
    vly_rwkv_format format = VLY_RWKV_FORMAT_AUTO;
    const uint32_t tokens[2] = {1, 256};
    const uint32_t lengths[1] = {3};
    vly_rwkv_context *context = NULL;
    float logits[256];
    (void)state;
    refuse_model(sizes, "cpu", VLY_RWKV_FORMAT_W4, 0, VLY_E_INVALID,
                 "choose w8");
    refuse_model(sizes, "cpu", VLY_RWKV_FORMAT_BF16, VLY_RWKV_FORMAT_F16,
                 VLY_E_INVALID, "activations of fp16 do not go with");
    refuse_model(sizes, "cpu", VLY_RWKV_FORMAT_F32, VLY_RWKV_FORMAT_W8,
                 VLY_E_INVALID, "activations of w8");
    refuse_model(sizes, "nothing", 0, 0, VLY_E_UNSUPPORTED, "nothing");
    wrong.width = 96;
    refuse_model(&wrong, "cpu", 0, 0, VLY_E_INVALID, "no RWKV-7");
    assert_int_equal(vly_rwkv_format_parse("w5", &format, &test_error),
                     VLY_E_INVALID);
    assert_non_null(strstr(test_error.message, "w8 or w4"));
    vly_rwkv_model *model = test_rwkv_model(sizes, "cpu:1", 0, 0);
    assert_int_equal(
        vly_rwkv_context_create(model, 0, 1, 0, &context, &test_error),
        VLY_E_INVALID);
    assert_int_equal(
        vly_rwkv_context_create(model, 1, 1, 2, &context, &test_error),
        VLY_E_INVALID);
    context = test_rwkv_context(model, 1, 1, 0);
    assert_int_equal(
        vly_rwkv_context_feed(context, tokens, NULL, 2, logits, &test_error),
        VLY_E_INVALID);
    assert_string_equal(test_error.message,
                        "token 1 of sequence 0 is 256, wanted 0 to 255");
    assert_int_equal(
        vly_rwkv_context_feed(context, tokens, lengths, 2, logits, &test_error),
        VLY_E_INVALID);
    vly_rwkv_context_destroy(context);
    vly_rwkv_model_destroy(model);
    /* a model for which no machine has the memory: said, not tried */
    wrong = *sizes;
    wrong.layers = 1024;
    wrong.width = 1 << 16;
    wrong.hidden = 1 << 18;
    refuse_model(&wrong, "cpu", 0, 0, VLY_E_NOMEM, "weights of a model needs");
    assert_true(test_error.bytes_requested > UINT64_C(1) << 45);
}

/* Each allocation fails in turn: a sentence, and nothing is left. */
static void test_memory(void **state)
{
    const vly_rwkv_sizes *sizes = &test_rwkv_sizes[3];
    const vly_rwkv_source source = test_rwkv_source(sizes, VLY_ELEMENT_F32);
    vly_rwkv_model *model = NULL;
    vly_rwkv_context *context = NULL;
    vly_status status = VLY_E_NOMEM;
    uint64_t n = 0;
    (void)state;
    const uint64_t live = vly_memory_live();
    for (n = 1; status != VLY_OK; n++) {
        vly_memory_fail_at(n);
        status = vly_rwkv_model_create(test_registry, &source, "cpu:1", NULL,
                                       &model, &test_error);
        if (vly_memory_fail_at(0) == 0 && status != VLY_OK) {
            assert_int_equal(status, VLY_E_NOMEM);
            assert_int_equal(vly_memory_live(), live);
        }
    }
    assert_true(n > 3);
    const uint64_t with_model = vly_memory_live();
    status = VLY_E_NOMEM;
    for (n = 1; status != VLY_OK; n++) {
        vly_memory_fail_at(n);
        status = vly_rwkv_context_create(model, 1, 2, 0, &context, &test_error);
        vly_memory_fail_at(0);
        if (status != VLY_OK) {
            assert_int_equal(status, VLY_E_NOMEM);
            assert_int_equal(vly_memory_live(), with_model);
        }
    }
    assert_true(n > 10);
    vly_rwkv_context_destroy(context);
    assert_int_equal(vly_memory_live(), with_model);
    vly_rwkv_model_destroy(model);
    assert_int_equal(vly_memory_live(), live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prompts),
        cmocka_unit_test(test_batch),
        cmocka_unit_test(test_all_logits),
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_states_refused),
        cmocka_unit_test(test_device_path),
        cmocka_unit_test(test_graphs),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, test_rwkv_open, test_rwkv_close) ? 1
                                                                          : 0;
}

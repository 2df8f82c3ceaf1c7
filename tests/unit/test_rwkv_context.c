/* SPDX-License-Identifier: Apache-2.0
 * Contexts of RWKV-7 models: the same bits alone, in a batch, in a prompt, on
 * any number of threads, after a state was saved, restored or forked; what is
 * refused.
 */
#include "test_rwkv_fixture.h"

#include <stdlib.h>

#include <volley/accelerator.h>

#include "base/memory.h"

enum { N_TOKENS = 37, MOST = 1000 };

static const test_rwkv_trial trials[] = {
    {0, VLY_RWKV_FORMAT_F32, VLY_RWKV_FORMAT_F32},
    {2, VLY_RWKV_FORMAT_F16, VLY_RWKV_FORMAT_F16},
    {1, VLY_RWKV_FORMAT_BF16, VLY_RWKV_FORMAT_F32},
    {0, VLY_RWKV_FORMAT_W8, VLY_RWKV_FORMAT_F16},
    {1, VLY_RWKV_FORMAT_W4, VLY_RWKV_FORMAT_BF16},
};

static void check_prompt(const test_rwkv_trial *t, const char *device,
                         uint32_t chunk, const uint32_t *tokens,
                         const float *wanted)
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
        test_rwkv_one_by_one(&trials[i], tokens, N_TOKENS, wanted);
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
        const test_rwkv_trial *t = &trials[i];
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
            test_rwkv_one_by_one(t, tokens[s], first[s] + second[s], wanted);
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
    const test_rwkv_trial *t = &trials[0];
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
        test_rwkv_one_by_one(t, tokens, n, wanted);
        assert_memory_equal(logits + (size_t)(n - 1) * vocabulary, wanted,
                            vocabulary * sizeof *wanted);
    }
    vly_rwkv_context_destroy(context);
    vly_rwkv_model_destroy(model);
    free(logits);
}

/* ---- states ----------------------------------------------------------------
 */

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
    test_rwkv_feed(one, tokens, 20, NULL);
    const size_t size = vly_rwkv_state_bytes(model);
    unsigned char *bytes = malloc(size);
    assert_ok(vly_rwkv_state_save(one, 0, bytes, size, &test_error),
              test_error);
    assert_ok(vly_rwkv_state_fork(one, 0, two, 1, &test_error), test_error);
    test_rwkv_feed(one, tokens + 20, 10, wanted);
    /* both of two: restored and forked, then the same tokens */
    assert_ok(vly_rwkv_state_restore(two, 0, bytes, size, &test_error),
              test_error);
    for (uint32_t t = 20; t < 30; t++) {
        pair[0] = tokens[t];
        pair[1] = tokens[t];
        test_rwkv_feed(two, pair, 1, logits);
    }
    assert_memory_equal(logits, wanted, n_bytes);
    assert_memory_equal(logits + sizes->vocabulary, wanted, n_bytes);
    /* and from the beginning */
    assert_ok(vly_rwkv_context_reset(one, 0, &test_error), test_error);
    test_rwkv_feed(one, tokens, 30, logits);
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
    } changes[] = {{0, "not a saved state of a model"},
                   {8, "of version"},
                   {12, "of another model"},
                   {30, "of another model"},
                   {50, "damaged state"},
                   {64, "damaged state"},
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
    test_rwkv_feed(context, &token, 1, NULL);
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
    refuse_model(&wrong, "cpu", 0, 0, VLY_E_INVALID,
                 "are not sizes of an RWKV-7 model");
    assert_int_equal(vly_rwkv_format_parse("w5", &format, &test_error),
                     VLY_E_INVALID);
    assert_non_null(strstr(test_error.message, "w8 or w4"));
    vly_rwkv_model *model = test_rwkv_model(sizes, "cpu:1", 0, 0);
    assert_int_equal(
        vly_rwkv_context_create(model, 0, 1, 0, &context, &test_error),
        VLY_E_INVALID);
    assert_int_equal(
        vly_rwkv_context_create(model, 1, 1, 4, &context, &test_error),
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
    float *own = NULL;
    assert_int_equal(vly_rwkv_context_step(context, 256, &own, &test_error),
                     VLY_E_INVALID);
    vly_rwkv_context_destroy(context);
    context = test_rwkv_context(model, 2, 1, 0);
    assert_int_equal(vly_rwkv_context_step(context, 1, &own, &test_error),
                     VLY_E_INVALID);
    assert_string_equal(test_error.message,
                        "a step of 2 sequences, wanted one");
    assert_null(own);
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
    const uint64_t keep = vly_device_memory_keep(0); /* that is no leak */
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
    (void)vly_device_memory_keep(keep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prompts),        cmocka_unit_test(test_batch),
        cmocka_unit_test(test_all_logits),     cmocka_unit_test(test_states),
        cmocka_unit_test(test_states_refused), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_too_large),      cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, test_rwkv_open, test_rwkv_close) ? 1
                                                                          : 0;
}

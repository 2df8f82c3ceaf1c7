/* SPDX-License-Identifier: Apache-2.0
 * test_rwkv_golden [DEVICE]: the tiny RWKV-7 of rwkv.cpp: its logits after
 * three bytes, in single steps and at once, on the processor or on a device as
 * in "cuda:0,early=1" (not there: skipped, or failed where it is required), and
 * those of the reference in double.
 */
#include "test_rwkv_fixture.h"

#include <math.h>
#include <stdlib.h>

enum { VOCABULARY = 256, N_TOKENS = 3 };

static const uint32_t prompt[N_TOKENS] = {34, 105, 110};
static float golden[VOCABULARY];
static const char *device = "cpu:2";

static vly_rwkv_weights *open_weights(void)
{
    vly_rwkv_weights *weights = NULL;
    assert_ok(vly_rwkv_weights_open(GOLDEN "tiny-rwkv7-834k.safetensors",
                                    VLY_RWKV_LORA_NATIVE, &weights,
                                    &test_error),
              test_error);
    return weights;
}

static int open_all(void **state)
{
    FILE *file = fopen(GOLDEN "expected_logits_f32.bin", "rb");
    if (!file || fread(golden, sizeof golden, 1, file) != 1)
        return 1;
    fclose(file);
    return test_rwkv_open(state);
}

/* Returns the largest difference. */
static double compare(const float *logits, double most)
{
    uint32_t best = 0;
    uint32_t wanted = 0;
    double largest = 0.0;
    for (uint32_t i = 0; i < VOCABULARY; i++) {
        const double away = fabs((double)logits[i] - (double)golden[i]);
        assert_close(logits[i], golden[i], most);
        largest = away > largest ? away : largest;
        best = logits[i] > logits[best] ? i : best;
        wanted = golden[i] > golden[wanted] ? i : wanted;
    }
    assert_int_equal(best, wanted);
    return largest;
}

static void test_logits(void **state)
{
    static float logits[VOCABULARY];
    vly_rwkv_weights *weights = NULL;
    vly_rwkv_source source;
    vly_rwkv_model *model = NULL;
    (void)state;
    test_rwkv_need(device);
    weights = open_weights();
    vly_rwkv_source_of(weights, &source);
    assert_ok(vly_rwkv_model_create(test_registry, &source, device, NULL,
                                    &model, &test_error),
              test_error);
    vly_rwkv_weights_close(weights);
    vly_rwkv_context *steps = test_rwkv_context(model, 1, 1, 0);
    assert_ok(vly_rwkv_context_feed(steps, prompt, NULL, N_TOKENS, logits,
                                    &test_error),
              test_error);
    const double most = compare(logits, 1e-5);
    vly_rwkv_context *whole = test_rwkv_context(model, 1, 8, 0);
    memset(logits, 0xff, sizeof logits);
    assert_ok(vly_rwkv_context_feed(whole, prompt, NULL, N_TOKENS, logits,
                                    &test_error),
              test_error);
    print_message("%s: largest difference %.2g in steps, %.2g at once (%s)\n",
                  device, most, compare(logits, 1e-5),
                  vly_rwkv_context_how(steps));
    vly_rwkv_context_destroy(steps);
    vly_rwkv_context_destroy(whole);
    vly_rwkv_model_destroy(model);
}

static void give(void *context, vly_rwkv_tensor id, uint32_t layer, uint64_t n,
                 double *out)
{
    uint64_t rows = 0;
    uint64_t columns = 0;
    float *x = malloc(n * sizeof *x);
    vly_rwkv_weights_shape(context, id, &rows, &columns);
    assert_int_equal(rows * columns, n);
    assert_ok(
        vly_rwkv_weights_read(context, id, layer, 0, rows, x, &test_error),
        test_error);
    for (uint64_t i = 0; i < n; i++)
        out[i] = (double)x[i];
    free(x);
}

/* What the other tests compare with is right itself. */
static void test_reference(void **state)
{
    static double logits[VOCABULARY];
    vly_rwkv_weights *weights = open_weights();
    rwkv_reference reference;
    (void)state;
    assert_true(rwkv_reference_init(&reference, vly_rwkv_weights_sizes(weights),
                                    give, weights));
    for (uint32_t i = 0; i < N_TOKENS; i++)
        rwkv_reference_token(&reference, prompt[i], logits);
    for (uint32_t i = 0; i < VOCABULARY; i++)
        assert_close(logits[i], golden[i], 1e-6);
    rwkv_reference_deinit(&reference);
    vly_rwkv_weights_close(weights);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest on_device[] = {
        cmocka_unit_test(test_logits),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_logits),
        cmocka_unit_test(test_reference),
    };
    if (argc > 1) {
        device = argv[1];
        return cmocka_run_group_tests(on_device, open_all, test_rwkv_close) ? 1
                                                                            : 0;
    }
    return cmocka_run_group_tests(tests, open_all, test_rwkv_close) ? 1 : 0;
}

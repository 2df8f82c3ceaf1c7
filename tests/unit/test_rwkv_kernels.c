/* SPDX-License-Identifier: Apache-2.0
 * Whole RWKV-7 models on the CUDA plugins' own plans and kernels, which run on
 * the processor (fake_attention_cuda, fake_gemm_cuda): a prompt that needs
 * volley.gemm/1, a shorter one and single steps, beside attention_cpu.
 *
 * fp32: sums have another order, exp and tanh are others: 2e-5, with logits of
 * some units. 16 bits: every value between products is rounded, at 2^-11 (fp16)
 * of logits of some units, by the two in other places: 0.01; bf16 (2^-8)
 * 0.08.
 */
#include "test_rwkv_fixture.h"

#include <math.h>

#include "monitor/rwkv_parts.h"

enum { N_TOKENS = 13, VOCABULARY = 40 };

#define SIZES(d)                                                               \
    {                                                                          \
        .layers = 2, .width = d, .heads = d / 64, .hidden = 128,               \
        .vocabulary = VOCABULARY, .rank_w = 8, .rank_a = 8, .rank_v = 8,       \
        .rank_g = 16                                                           \
    }

static const vly_rwkv_sizes narrow = SIZES(64);
static const vly_rwkv_sizes wide = SIZES(128); /* int4: whole groups */

static void check(const vly_rwkv_sizes *sizes, vly_rwkv_format format,
                  vly_rwkv_format activation, double most)
{
    float logits[2][3][VOCABULARY];
    uint32_t tokens[N_TOKENS];
    double largest = 0.0;
    test_rwkv_text(VOCABULARY, 4, N_TOKENS, tokens);
    for (uint32_t i = 0; i < 2; i++) {
        vly_rwkv_model *model = test_rwkv_model(
            sizes, i == 0 ? "cpu:1" : "cuda:0,tune=0,cache=off,chain=0", format,
            activation);
        if (i == 1)
            model->parts.memory.flags = 0; /* a device, to the model */
        vly_rwkv_context *context = test_rwkv_context(model, 1, 10, 0);
        test_rwkv_feed(context, tokens, 10, logits[i][0]);
        test_rwkv_feed(context, tokens + 10, 1, logits[i][1]);
        test_rwkv_feed(context, tokens + 11, 2, logits[i][2]);
        vly_rwkv_context_destroy(context);
        vly_rwkv_model_destroy(model);
    }
    for (uint32_t n = 0; n < 3; n++)
        for (uint32_t i = 0; i < VOCABULARY; i++) {
            const double away =
                fabs((double)logits[1][n][i] - (double)logits[0][n][i]);
            assert_close(logits[1][n][i], logits[0][n][i], most);
            largest = away > largest ? away : largest;
        }
    print_message("weights %s: largest difference %.2g\n",
                  vly_rwkv_format_name(format), largest);
}

static void test_fp32(void **state)
{
    (void)state;
    check(&narrow, VLY_RWKV_FORMAT_F32, VLY_RWKV_FORMAT_F32, 2e-5);
}

static void test_fp16(void **state)
{
    (void)state;
    check(&narrow, VLY_RWKV_FORMAT_F16, VLY_RWKV_FORMAT_F16, 0.01);
}

static void test_w8(void **state)
{
    (void)state;
    check(&narrow, VLY_RWKV_FORMAT_W8, VLY_RWKV_FORMAT_F16, 0.01);
}

static void test_w4(void **state)
{
    (void)state;
    check(&wide, VLY_RWKV_FORMAT_W4, VLY_RWKV_FORMAT_BF16, 0.08);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fp32),
        cmocka_unit_test(test_fp16),
        cmocka_unit_test(test_w8),
        cmocka_unit_test(test_w4),
    };
    return cmocka_run_group_tests(tests, test_rwkv_open, test_rwkv_close) ? 1
                                                                          : 0;
}

/* SPDX-License-Identifier: Apache-2.0
 * test_rwkv_chain [DEVICE]: a token in one launch (chains of volley.rwkv/1) has
 * the bits of one launch after the other: logits and states, in every format
 * that chains take, on the kernels of CUDA as the processor runs them, or on a
 * device as in "cuda:0" (not there: skipped, or failed where it is required).
 */
#include "test_rwkv_fixture.h"

#include <stdlib.h>

#include "monitor/rwkv_parts.h"

enum { N_TOKENS = 3, MOST = 1000 };

static const char *device = "cuda:0,tune=0,cache=off";
static bool is_emulated = true;

#define SIZES(l, d, f, v, rw, ra, rv, rg)                                      \
    {                                                                          \
        .layers = l, .width = d, .heads = d / 64, .hidden = f,                 \
        .vocabulary = v, .rank_w = rw, .rank_a = ra, .rank_v = rv,             \
        .rank_g = rg                                                           \
    }

/* One layer and several, more units than tiles and fewer, ends of tiles and of
 * pieces that are not there. */
static const vly_rwkv_sizes one_layer = SIZES(1, 64, 256, 40, 8, 8, 8, 16);
static const vly_rwkv_sizes odd = SIZES(3, 192, 320, 307, 5, 7, 3, 9);
static const vly_rwkv_sizes groups = SIZES(2, 128, 256, 100, 32, 8, 16, 64);

/* Logits of each token, then the state behind the last. */
static void *run(const vly_rwkv_sizes *sizes, const char *name,
                 vly_rwkv_format format, vly_rwkv_format activation,
                 const char *how, float *logits)
{
    uint32_t tokens[N_TOKENS];
    vly_rwkv_model *model = test_rwkv_model(sizes, name, format, activation);
    if (is_emulated)
        model->parts.memory.flags = 0; /* a device, to the model */
    vly_rwkv_context *context = test_rwkv_context(model, 1, 1, 0);
    test_rwkv_text(sizes->vocabulary, 4, N_TOKENS, tokens);
    for (uint32_t t = 0; t < N_TOKENS; t++)
        test_rwkv_feed(context, tokens + t, 1, logits + t * sizes->vocabulary);
    if (strstr(vly_rwkv_context_how(context), how) == NULL)
        fail_msg("%s: %s, wanted \"%s\" in it", name,
                 vly_rwkv_context_how(context), how);
    const size_t bytes = vly_rwkv_state_bytes(model);
    void *state = malloc(bytes);
    assert_non_null(state);
    assert_ok(vly_rwkv_state_save(context, 0, state, bytes, &test_error),
              test_error);
    vly_rwkv_context_destroy(context);
    vly_rwkv_model_destroy(model);
    return state;
}

static void compare(const vly_rwkv_sizes *sizes, vly_rwkv_format format,
                    vly_rwkv_format activation)
{
    static float logits[2][N_TOKENS * MOST];
    char with[100];
    char without[100];
    const uint64_t n = (uint64_t)N_TOKENS * sizes->vocabulary;
    test_rwkv_need(device);
    (void)snprintf(with, sizeof with, "%.80s,chain=1", device);
    (void)snprintf(without, sizeof without, "%.80s,chain=0", device);
    memset(logits, 0, sizeof logits);
    void *one_by_one =
        run(sizes, without, format, activation, "products", logits[0]);
    void *at_once = run(sizes, with, format, activation, "chain", logits[1]);
    for (uint64_t i = 0; i < n; i++)
        if (memcmp(&logits[0][i], &logits[1][i], sizeof(float)) != 0)
            fail_msg("%s, width %u: logit %u of token %u is %.9g, wanted %.9g",
                     vly_rwkv_format_name(format), sizes->width,
                     (unsigned)(i % sizes->vocabulary),
                     (unsigned)(i / sizes->vocabulary), (double)logits[1][i],
                     (double)logits[0][i]);
    assert_memory_equal(one_by_one, at_once,
                        (size_t)sizes->layers * sizes->width * 66 * 4);
    free(one_by_one);
    free(at_once);
}

static void test_f16(void **state)
{
    (void)state;
    compare(&one_layer, VLY_RWKV_FORMAT_F16, VLY_RWKV_FORMAT_F16);
    compare(&odd, VLY_RWKV_FORMAT_F16, VLY_RWKV_FORMAT_F16);
}

static void test_bf16(void **state)
{
    (void)state;
    compare(&groups, VLY_RWKV_FORMAT_BF16, VLY_RWKV_FORMAT_BF16);
}

static void test_w8(void **state)
{
    (void)state;
    compare(&groups, VLY_RWKV_FORMAT_W8, VLY_RWKV_FORMAT_F16);
}

static void test_w4(void **state)
{
    (void)state;
    compare(&groups, VLY_RWKV_FORMAT_W4, VLY_RWKV_FORMAT_F16);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f16),
        cmocka_unit_test(test_bf16),
        cmocka_unit_test(test_w8),
        cmocka_unit_test(test_w4),
    };
    if (argc > 1) {
        device = argv[1];
        is_emulated = false;
    }
    return cmocka_run_group_tests(tests, test_rwkv_open, test_rwkv_close) ? 1
                                                                          : 0;
}

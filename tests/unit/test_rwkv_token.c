/* SPDX-License-Identifier: Apache-2.0
 * The plan of a token of RWKV-7 in one launch
 * (kernels/accelerators/rwkv_token.cu), which needs no device: models that it
 * takes, with a launch that fits, and what it refuses. What the launch
 * computes: test_rwkv_chain on a device.
 */
#include "volley_test.h"

#include <volley/accelerator.h>

#include "kernels/accelerators/rwkv_token.h"

enum { UNITS = 120, SHARED = 227 << 10 /* an H200's, in clusters */ };

static vly_cuda_rwkv_token token_of(uint32_t width, uint32_t hidden,
                                    const uint32_t rank[4])
{
    vly_cuda_rwkv_token token = {.n_layers = 2,
                                 .width = width,
                                 .hidden = hidden,
                                 .vocabulary = 65536,
                                 .table_rows = 65536,
                                 .type = VLY_ELEMENT_F16,
                                 .type_logits = VLY_ELEMENT_F32,
                                 .eps = 1e-5f,
                                 .eps_group = 64e-5f};
    const uint32_t rows[7] = {width,   width,   width,  rank[0],
                              rank[1], rank[3], rank[2]};
    memcpy(token.rank, rank, sizeof token.rank);
    for (uint32_t k = 0; k < 2; k++) {
        token.kind[k].n = 6 + k;
        for (uint32_t i = 0; i < VLY_CUDA_RWKV_TOKEN_IN; i++)
            token.kind[k].first[i + 1] =
                token.kind[k].first[i] + (i < 6 + k ? rows[i] : 0);
    }
    return token;
}

/* The exchange: its count, then five arrays, none in another one. */
static void check_exchange(const vly_cuda_rwkv_token *t)
{
    const uint32_t bytes[5] = {t->kind[1].first[t->kind[1].n] * 8, t->width * 4,
                               t->width * 8, t->hidden * 4, t->width * 8};
    uint32_t end = sizeof(uint32_t);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(t->at[i] % 16, 0);
        assert_true(t->at[i] >= end);
        end = t->at[i] + bytes[i];
    }
    assert_true(t->bytes >= end);
}

static void test_taken(void **state)
{
    static const uint32_t shapes[][6] = {
        {64, 256, 8, 8, 8, 16},         {128, 512, 8, 16, 24, 40},
        {192, 384, 16, 8, 8, 32},       {768, 3072, 64, 64, 32, 128},
        {1024, 4096, 64, 64, 32, 128},  {2048, 8192, 96, 96, 64, 256},
        {2560, 10240, 96, 96, 64, 320},
    };
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        vly_cuda_rwkv_token t =
            token_of(shapes[i][0], shapes[i][1], shapes[i] + 2);
        const char *why = vly_cuda_rwkv_token_plan(&t, UNITS, SHARED);
        if (why != NULL)
            fail_msg("width %u: %s", shapes[i][0], why);
        assert_in_range(t.blocks, shapes[i][0] / 64, UNITS);
        assert_int_equal(t.blocks % VLY_CUDA_RWKV_TOKEN_CLUSTER, 0);
        /* a block's logits lie where its second vector was */
        assert_true(t.second >= t.hidden * 2);
        assert_true(t.second / 4 >= (t.vocabulary - 1) / t.blocks + 1);
        assert_in_range(t.shared, 1, SHARED);
        assert_in_range(t.ahead, 1, t.slots - 1);
        assert_in_range(t.low, 1, t.ahead);
        assert_true(t.piece << t.log_q[0] == t.width);
        assert_true(t.piece << t.log_q[1] == t.hidden);
        check_exchange(&t);
    }
}

static void refused(const vly_cuda_rwkv_token *token, uint32_t units,
                    uint32_t shared, const char *says)
{
    vly_cuda_rwkv_token t = *token;
    const char *why = vly_cuda_rwkv_token_plan(&t, units, shared);
    if (why == NULL || strstr(why, says) == NULL)
        fail_msg("\"%s\", wanted \"%s\"", why == NULL ? "taken" : why, says);
}

static void test_refused(void **state)
{
    static const uint32_t ranks[4] = {8, 8, 8, 16};
    static const uint32_t none[4] = {8, 0, 8, 16};
    static const uint32_t five[4] = {8, 8, 5, 16};
    static const uint32_t many[4] = {256, 256, 256, 256};
    vly_cuda_rwkv_token t = token_of(100, 256, ranks);
    (void)state;
    refused(&t, UNITS, SHARED, "a width of 100, wanted a multiple of 64");
    t = token_of(1 << 14, 1 << 16, ranks);
    refused(&t, UNITS, SHARED, "a width of 16384, wanted");
    t = token_of(64, 256, none);
    refused(&t, UNITS, SHARED, "a rank of 0, wanted a multiple of 8 above 0");
    t = token_of(64, 256, five);
    refused(&t, UNITS, SHARED, "a rank of 5, wanted a multiple of 8 above 0");
    t = token_of(64, 256, many);
    refused(&t, UNITS, SHARED, "ranks of 32 times 32");
    t = token_of(192, 320, ranks);
    refused(&t, UNITS, SHARED, "a hidden width of 320, wanted 192 times");
    t = token_of(128, 64, ranks);
    refused(&t, UNITS, SHARED, "a hidden width of 64, wanted 128 times");
    t = token_of(768, 3072, ranks);
    refused(&t, 11, SHARED, "in 11 blocks at once"); /* twelve heads */
    refused(&t, 0, SHARED, "in 0 blocks at once");
    refused(&t, UNITS, 48 << 10, "49152 bytes of shared memory each");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_taken),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}

/* SPDX-License-Identifier: Apache-2.0
 * The recurrence of RWKV-7 on attention_cpu: against numpy
 * (golden/wkv_reference.py), the same bits whole and in steps and for any
 * number of threads, refusals.
 */
#include "test_attention.h"

#include <math.h>
#include <stdlib.h>

enum { DIM = 64, SQUARE = DIM * DIM, HEADS = 2, TOKENS = 5 };
enum { R, W, K, V, A, B, N_INPUTS };

/* Inputs of wkv_reference.py. */
static float state_in[HEADS * SQUARE];
static float input[N_INPUTS][TOKENS * HEADS * DIM];

static int make_inputs(void **state)
{
    uint32_t seed = 2503;
    for (uint32_t i = 0; i < HEADS * SQUARE; i++)
        state_in[i] = test_random(&seed);
    for (uint32_t t = 0; t < TOKENS; t++)
        for (uint32_t which = 0; which < N_INPUTS; which++)
            for (uint32_t i = 0; i < HEADS * DIM; i++) {
                float u = test_random(&seed);
                if (which == W)
                    u = 4.0f * u - 3.0f;
                if (which == A || which == B)
                    u = u / 8.0f;
                input[which][t * HEADS * DIM + i] = u;
            }
    return test_attention_open(state);
}

static vly_wkv_desc desc_of(uint32_t seq)
{
    return (vly_wkv_desc){.struct_size = sizeof(vly_wkv_desc),
                          .type = VLY_ELEMENT_F32,
                          .batch = 1,
                          .seq = seq,
                          .heads = HEADS,
                          .dim = DIM,
                          .align = 4};
}

static vly_wkv_run run_from(uint32_t token, float *y, const float *in,
                            float *out)
{
    const uint32_t at = token * HEADS * DIM;
    return (vly_wkv_run){.struct_size = sizeof(vly_wkv_run),
                         .r = input[R] + at,
                         .w = input[W] + at,
                         .k = input[K] + at,
                         .v = input[V] + at,
                         .a = input[A] + at,
                         .b = input[B] + at,
                         .y = y + at,
                         .state_in = in,
                         .state_out = out};
}

static vly_status run_tokens(const char *options, uint32_t threads,
                             const vly_wkv_desc *desc, const vly_wkv_run *run)
{
    const vly_device_spec device = {
        .struct_size = sizeof device, .n_threads = threads, .options = options};
    vly_wkv_plan *plan = NULL;
    vly_status status =
        test_wkv->plan_create(&device, desc, &plan, &test_error);
    if (status == VLY_OK)
        status = test_wkv->run(plan, run, &test_error);
    test_wkv->plan_destroy(plan);
    return status;
}

/* tolerance: sums of 64 numbers up to about 10 in fp32, five times over */
static void check_golden(const char *options, double tolerance)
{
    static float y[TOKENS * HEADS * DIM];
    static float out[HEADS * SQUARE];
    const vly_wkv_desc desc = desc_of(TOKENS);
    const vly_wkv_run run = run_from(0, y, state_in, out);
    char what[16];
    uint32_t head = 0;
    uint32_t at = 0;
    uint32_t i = 0;
    uint32_t lines = 0;
    double wanted = 0.0;
    assert_ok(run_tokens(options, 1, &desc, &run), test_error);
    FILE *file =
        fopen(VLY_TEST_SOURCE_DIR "/tests/golden/wkv_reference.csv", "r");
    assert_non_null(file);
    while (fscanf(file, "%15[^,],%u,%u,%u,%lf\n", what, &head, &at, &i,
                  &wanted) == 5) {
        double found = strcmp(what, "y") == 0
                           ? (double)y[(at * HEADS + head) * DIM + i]
                           : (double)out[head * SQUARE + at * DIM + i];
        if (!(fabs(found - wanted) <= tolerance))
            fail_msg("%s %u %u %u is %.9g, wanted %.9g", what, head, at, i,
                     found, wanted);
        lines++;
    }
    fclose(file);
    assert_int_equal(lines, TOKENS * HEADS * DIM + 3 * HEADS * DIM);
}

static void test_golden(void **state)
{
    (void)state;
    check_golden("choose=reference", 1e-6);
    check_golden("isa=scalar", 2e-5);
    check_golden(NULL, 2e-5);
}

static void test_steps(void **state)
{
    (void)state;
    static float y[2][TOKENS * HEADS * DIM];
    static float out[2][HEADS * SQUARE];
    vly_wkv_desc desc = desc_of(TOKENS);
    vly_wkv_run run = run_from(0, y[0], state_in, out[0]);
    assert_ok(run_tokens(NULL, 1, &desc, &run), test_error);
    desc = desc_of(1);
    for (uint32_t t = 0; t < TOKENS; t++) {
        run = run_from(t, y[1], t == 0 ? state_in : out[1], out[1]);
        assert_ok(run_tokens(NULL, 1 + t, &desc, &run), test_error);
    }
    assert_memory_equal(y[0], y[1], sizeof y[0]);
    assert_memory_equal(out[0], out[1], sizeof out[0]);
}

/* As many sequences as heads: the same numbers seen as a batch. */
static void test_threads(void **state)
{
    (void)state;
    enum { BATCH = 3, SEQ = 40, N = BATCH * SEQ * HEADS * DIM };
    float *memory = aligned_alloc(64, (N_INPUTS + 2) * N * sizeof *memory);
    static float out[2][BATCH * HEADS * SQUARE];
    uint32_t seed = 3;
    assert_non_null(memory);
    for (uint32_t i = 0; i < N_INPUTS * N; i++)
        memory[i] = test_random(&seed) / 4.0f;
    vly_wkv_desc desc = desc_of(SEQ);
    desc.batch = BATCH;
    for (uint32_t k = 0; k < 2; k++) {
        const vly_wkv_run run = {.struct_size = sizeof run,
                                 .r = memory,
                                 .w = memory + N,
                                 .k = memory + 2 * N,
                                 .v = memory + 3 * N,
                                 .a = memory + 4 * N,
                                 .b = memory + 5 * N,
                                 .y = memory + (6 + k) * N,
                                 .state_out = out[k]};
        assert_ok(run_tokens(NULL, k == 0 ? 1 : 5, &desc, &run), test_error);
    }
    assert_memory_equal(memory + 6 * N, memory + 7 * N, N * sizeof *memory);
    assert_memory_equal(out[0], out[1], sizeof out[0]);
    free(memory);
}

/* ---- refusals ------------------------------------------------------------ */

static void check_desc(vly_wkv_desc desc, vly_status status, const char *says)
{
    if (test_wkv->supports(&desc, &test_error) != status ||
        strstr(test_error.message, says) == NULL)
        fail_msg("wanted %s, found %s", says, test_error.message);
}

static void test_descs(void **state)
{
    (void)state;
    vly_wkv_desc desc = desc_of(4);
    assert_ok(test_wkv->supports(&desc, &test_error), test_error);
    desc.dim = 128;
    check_desc(desc, VLY_E_UNSUPPORTED, "heads of 128");
    desc = desc_of(4);
    desc.type = VLY_ELEMENT_E4M3;
    check_desc(desc, VLY_E_UNSUPPORTED, "fp8");
    desc = desc_of(4);
    desc.flags = 8;
    check_desc(desc, VLY_E_UNSUPPORTED, "0x8");
    desc = desc_of(4);
    desc.heads = 0;
    check_desc(desc, VLY_E_INVALID, "no head");
    desc = desc_of(4);
    desc.align = 5;
    check_desc(desc, VLY_E_INVALID, "align is 5");
    desc = desc_of(4);
    desc.struct_size = 4;
    check_desc(desc, VLY_E_INVALID, "shorter");
    desc = desc_of(UINT32_MAX);
    desc.batch = desc.heads = UINT32_MAX;
    check_desc(desc, VLY_E_INVALID, "larger than");
}

static void check_run(vly_wkv_run run, uint32_t flags, const char *says)
{
    vly_wkv_desc desc = desc_of(TOKENS);
    desc.flags = flags;
    if (run_tokens(NULL, 1, &desc, &run) != VLY_E_INVALID ||
        strstr(test_error.message, says) == NULL)
        fail_msg("wanted %s, found %s", says, test_error.message);
}

static void test_runs(void **state)
{
    (void)state;
    static float y[TOKENS * HEADS * DIM];
    static float out[HEADS * SQUARE + 4];
    static const int32_t length = TOKENS + 1;
    vly_wkv_run run = run_from(0, y, state_in, out);
    run.reserved = 5;
    check_run(run, 0, "reserved is 5, wanted 0");
    run.reserved = 0;
    run.k = NULL;
    check_run(run, 0, "k is NULL");
    run = run_from(0, y, state_in, NULL);
    check_run(run, 0, "state_out is NULL");
    run = run_from(0, y, state_in, out);
    run.v = (const char *)run.v + 2;
    check_run(run, 0, "v is at");
    run = run_from(0, y, out + 4, out);
    check_run(run, 0, "state_out overlaps state_in");
    run = run_from(0, input[R], state_in, out);
    check_run(run, 0, "y overlaps r");
    run = run_from(0, y, state_in, out);
    run.stream = out;
    check_run(run, 0, "stream");
    run = run_from(0, y, state_in, out);
    check_run(run, VLY_WKV_LENGTHS, "length is NULL");
    run.length = &length;
    check_run(run, VLY_WKV_LENGTHS, "length[0] is 6");
    for (uint32_t i = 0; i < TOKENS * HEADS * DIM; i++)
        assert_true(y[i] == 0.0f); /* nothing was done */
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_golden),  cmocka_unit_test(test_steps),
    cmocka_unit_test(test_threads), cmocka_unit_test(test_descs),
    cmocka_unit_test(test_runs),
};

int main(void)
{
    return cmocka_run_group_tests(tests, make_inputs, test_attention_close) ? 1
                                                                            : 0;
}

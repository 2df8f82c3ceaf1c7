/* SPDX-License-Identifier: Apache-2.0
 * Attention of attention_cpu beyond what the conformance table asks: the same
 * bits for any number of threads and at the same time as others, what is masked
 * out does not leak, failing allocations, gradients in one block.
 */
#include "test_attention.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/memory.h"

/* ---- the same bits ------------------------------------------------------- */

static void check_threads(vly_attention_desc desc, const char *options)
{
    test_case one;
    test_case other;
    test_case_init(&one, &desc);
    assert_ok(test_case_run(&one, 1, options), test_error);
    for (uint32_t threads = 2; threads <= 7; threads += 5) {
        test_case_init(&other, &desc);
        if (desc.flags & VLY_ATTENTION_BACKWARD) {
            memcpy(other.run.o, one.run.o, one.n_o * 4);
            memcpy(other.run.lse, one.run.lse, one.n_o / desc.dim * 4);
        }
        assert_ok(test_case_run(&other, threads, options), test_error);
        assert_memory_equal(other.memory, one.memory,
                            (size_t)((float *)one.run.grad_v - one.memory +
                                     (ptrdiff_t)one.n_kv) *
                                4);
        test_case_deinit(&other);
    }
    test_case_deinit(&one);
}

static void test_threads(void **state)
{
    (void)state;
    const uint32_t causal = VLY_ATTENTION_CAUSAL | VLY_ATTENTION_LSE;
    check_threads(test_attention_desc(2, 4, 2, 450, 450, 64, causal), NULL);
    check_threads(test_attention_desc(2, 4, 2, 200, 200, 64, causal),
                  "isa=scalar");
    check_threads(test_attention_desc(2, 8, 2, 1, 5000, 64, 0), NULL);
    check_threads(
        test_attention_desc(2, 4, 2, 300, 300, 64,
                            VLY_ATTENTION_CAUSAL | VLY_ATTENTION_BACKWARD),
        NULL);
    check_threads(test_attention_desc(1, 2, 1, 70, 70, 32, causal),
                  "choose=reference");
}

/* ---- ten threads with plans of their own --------------------------------- */

enum { N_WORKERS = 10 };

typedef struct worker {
    test_case one;
    vly_status status;
} worker;

static void *work(void *arg)
{
    worker *w = arg;
    for (uint32_t i = 0; i < 4 && w->status == VLY_OK; i++)
        w->status = test_case_run(&w->one, 1 + i % 3, NULL);
    return NULL;
}

static void test_at_once(void **state)
{
    (void)state;
    static worker workers[N_WORKERS];
    pthread_t threads[N_WORKERS];
    for (uint32_t i = 0; i < N_WORKERS; i++) {
        vly_attention_desc desc = test_attention_desc(1, 2, 1, 130 + i, 150, 64,
                                                      VLY_ATTENTION_CAUSAL);
        test_case_init(&workers[i].one, &desc);
        workers[i].status = VLY_OK;
    }
    for (uint32_t i = 0; i < N_WORKERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]),
                         0);
    for (uint32_t i = 0; i < N_WORKERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (uint32_t i = 0; i < N_WORKERS; i++) {
        test_case alone;
        assert_int_equal(workers[i].status, VLY_OK);
        test_case_init(&alone, &workers[i].one.desc);
        assert_ok(test_case_run(&alone, 1, NULL), test_error);
        assert_memory_equal(alone.run.o, workers[i].one.run.o, alone.n_o * 4);
        test_case_deinit(&alone);
        test_case_deinit(&workers[i].one);
    }
}

/* ---- masked out ---------------------------------------------------------- */

/* The interface lets a NaN value reach queries that do not see it; this plugin
 * does not, forward or backward. */
static void test_nan_stays(void **state)
{
    (void)state;
    enum { N = 100, DIM = 64, BAD = 60 };
    vly_attention_desc desc = test_attention_desc(
        1, 1, 1, N, N, DIM, VLY_ATTENTION_CAUSAL | VLY_ATTENTION_LSE);
    test_case one;
    test_case_init(&one, &desc);
    for (uint32_t c = 0; c < DIM; c++) {
        ((float *)(uintptr_t)one.run.v)[BAD * DIM + c] = NAN;
        ((float *)(uintptr_t)one.run.k)[BAD * DIM + c] = NAN;
    }
    assert_ok(test_case_run(&one, 1, NULL), test_error);
    for (uint32_t i = 0; i < N; i++)
        assert_true(isnan(((float *)one.run.o)[i * DIM]) == (i >= BAD));
    one.desc.flags = VLY_ATTENTION_CAUSAL | VLY_ATTENTION_BACKWARD;
    assert_ok(test_case_run(&one, 1, NULL), test_error);
    for (uint32_t i = 0; i < N; i++)
        assert_true(isnan(((float *)one.run.grad_q)[i * DIM]) == (i >= BAD));
    test_case_deinit(&one);
}

/* All weights of a query with one key are 1, so O is V, to the bit. */
static void test_one_key(void **state)
{
    (void)state;
    vly_attention_desc desc =
        test_attention_desc(3, 2, 2, 1, 1, 8, VLY_ATTENTION_LSE);
    test_case one;
    test_case_init(&one, &desc);
    assert_ok(test_case_run(&one, 1, NULL), test_error);
    assert_memory_equal(one.run.o, one.run.v, one.n_o * 4);
    test_case_deinit(&one);
}

/* ---- memory -------------------------------------------------------------- */

static void test_allocations(void **state)
{
    (void)state;
    const vly_attention_desc desc =
        test_attention_desc(1, 2, 2, 100, 100, 64, 0);
    const vly_device_spec device = {.struct_size = sizeof device,
                                    .n_threads = 2};
    const uint64_t keep = vly_device_memory_keep(0); /* that is no leak */
    uint32_t failed = 0;
    for (uint64_t n = 1; n < 20; n++) {
        vly_attention_plan *plan = NULL;
        const uint64_t live = vly_memory_live();
        vly_memory_fail_at(n);
        vly_status status =
            test_attention->plan_create(&device, &desc, &plan, &test_error);
        const uint64_t left = vly_memory_fail_at(0);
        if (left != 0) { /* there are fewer than n allocations */
            assert_ok(status, test_error);
            test_attention->plan_destroy(plan);
            assert_int_equal(vly_memory_live(), live);
            break;
        }
        failed++;
        assert_int_equal(status, VLY_E_NOMEM);
        assert_null(plan);
        assert_true(test_error.bytes_requested > 0);
        assert_int_equal(vly_memory_live(), live);
    }
    assert_true(failed >= 2 && failed < 19);
    (void)vly_device_memory_keep(keep);
}

/* A run allocates nothing: it works when nothing can be allocated. */
static void test_run_allocates_nothing(void **state)
{
    (void)state;
    vly_attention_desc desc = test_attention_desc(1, 2, 2, 100, 100, 64, 0);
    const vly_device_spec device = {.struct_size = sizeof device,
                                    .n_threads = 1};
    vly_attention_plan *plan = NULL;
    test_case one;
    test_case_init(&one, &desc);
    assert_ok(test_attention->plan_create(&device, &desc, &plan, &test_error),
              test_error);
    vly_memory_fail_at(1);
    vly_status status = test_attention->run(plan, &one.run, &test_error);
    assert_int_equal(vly_memory_fail_at(0), 1);
    assert_ok(status, test_error);
    test_attention->plan_destroy(plan);
    test_case_deinit(&one);
}

/* ---- gradients in one block ---------------------------------------------- */

/* grad_q, grad_k and grad_v as the parts of one [batch][seq][3][heads][dim]. */
static void test_interleaved(void **state)
{
    (void)state;
    enum { S = 70, H = 2, DIM = 64, ROW = 3 * H * DIM };
    vly_attention_desc desc =
        test_attention_desc(1, H, H, S, S, DIM, VLY_ATTENTION_BACKWARD);
    test_case apart;
    test_case together;
    test_case_init(&apart, &desc);
    assert_ok(test_case_run(&apart, 1, NULL), test_error);
    test_case_init(&together, &desc);
    float *inputs = aligned_alloc(64, S * ROW * sizeof *inputs);
    float *grads = aligned_alloc(64, S * ROW * sizeof *grads);
    assert_true(inputs != NULL && grads != NULL);
    const float *from[3] = {together.run.q, together.run.k, together.run.v};
    for (uint32_t s = 0; s < S; s++)
        for (uint32_t i = 0; i < 3; i++)
            memcpy(inputs + s * ROW + i * H * DIM, from[i] + s * H * DIM,
                   H * DIM * sizeof *inputs);
    const vly_attention_layout layout = {S * ROW, ROW, DIM};
    together.desc.q = together.desc.k = together.desc.v = layout;
    together.run.q = inputs;
    together.run.k = inputs + H * DIM;
    together.run.v = inputs + 2 * H * DIM;
    together.run.grad_q = grads;
    together.run.grad_k = grads + H * DIM;
    together.run.grad_v = grads + 2 * H * DIM;
    assert_ok(test_case_run(&together, 1, NULL), test_error);
    const float *wanted[3] = {apart.run.grad_q, apart.run.grad_k,
                              apart.run.grad_v};
    for (uint32_t s = 0; s < S; s++)
        for (uint32_t i = 0; i < 3; i++)
            assert_memory_equal(grads + s * ROW + i * H * DIM,
                                wanted[i] + s * H * DIM, H * DIM * 4);
    free(inputs);
    free(grads);
    test_case_deinit(&apart);
    test_case_deinit(&together);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_threads),
    cmocka_unit_test(test_at_once),
    cmocka_unit_test(test_nan_stays),
    cmocka_unit_test(test_one_key),
    cmocka_unit_test(test_allocations),
    cmocka_unit_test(test_interleaved),
    cmocka_unit_test(test_run_allocates_nothing),
};

int main(void)
{
    return cmocka_run_group_tests(tests, test_attention_open,
                                  test_attention_close)
               ? 1
               : 0;
}

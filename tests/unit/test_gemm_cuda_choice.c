/* SPDX-License-Identifier: Apache-2.0
 * Which way gemm_cuda chooses, what it tells of the others and what it keeps,
 * with a cuBLASLt whose algorithms are wrong, slow or refused as told.
 */
#include "gemm_host_fixture.h"

#include <stdlib.h>

static void wrong_algorithms_are_struck_out(void **state)
{
    (void)state;
    const fake_cublaslt_state bad = {.n_algorithms = 6,
                                     .garbage = 1,
                                     .not_written = 2,
                                     .refused = 4,
                                     .slow = 8 | 32};
    behave(bad);
    vly_plan_info info = choice_of(0, "cache=off," LIBRARY);
    assert_non_null(strstr(info.choice, "algo 4 "));
    assert_int_equal(info.n_candidates, 6);
    assert_int_equal(info.cached, 0);
    assert_true(info.measured_s > 0.0);
    assert_int_equal(info.workspace_bytes, 4096);
    assert_int_equal(n_warnings, 2); /* refused is no news */
    /* none is right: ours; by name: refused */
    behave((fake_cublaslt_state){.n_algorithms = 2, .garbage = 3});
    info = choice_of(0, "cache=off," LIBRARY);
    assert_string_equal(info.choice, "own");
    product p;
    make_case(&p, &cases[0]);
    const vly_device_spec device = {.struct_size = sizeof device,
                                    .options =
                                        "cache=off,choose=cublaslt," LIBRARY};
    vly_error error = {.struct_size = sizeof error};
    vly_gemm_plan *plan = NULL;
    assert_int_equal(gemm->plan_create(&device, &p.desc, &plan, &error),
                     VLY_E_UNSUPPORTED);
    assert_non_null(strstr(error.message, "none gave the right result"));
    assert_null(plan);
    unmake(&p);
}

/* The list of ways of a plan. */
static uint32_t ways_of(uint32_t i, const char *options, vly_plan_candidate *c)
{
    product p;
    vly_gemm_plan *plan = NULL;
    vly_error error = {.struct_size = sizeof error};
    const vly_device_spec device = {
        .struct_size = sizeof device, .n_threads = 1, .options = options};
    uint32_t n = 1;
    make_case(&p, &cases[i]);
    assert_ok(gemm->plan_create(&device, &p.desc, &plan, &error), error);
    for (uint32_t k = 0; k < n; k++) {
        assert_true(k < 64);
        c[k] = (vly_plan_candidate){.struct_size = sizeof *c};
        assert_ok(gemm->plan_candidate(plan, k, &c[k], &n, &error), error);
    }
    vly_plan_candidate none = {.struct_size = 8};
    assert_int_equal(gemm->plan_candidate(plan, 0, &none, &n, &error),
                     VLY_E_INVALID);
    none.struct_size = sizeof none;
    assert_ok(gemm->plan_candidate(plan, n, &none, &n, &error), error);
    assert_int_equal(none.name[0], 0); /* left as it was */
    gemm->plan_destroy(plan);
    unmake(&p);
    return n;
}

static uint32_t count_state(const vly_plan_candidate *c, uint32_t n,
                            uint32_t state)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < n; i++)
        found += c[i].state == state;
    return found;
}

static void ways_are_told(void **state)
{
    (void)state;
    vly_plan_candidate c[64];
    behave((fake_cublaslt_state){.n_algorithms = 6,
                                 .garbage = 1,
                                 .not_written = 2,
                                 .refused = 4,
                                 .slow = 8 | 32});
    uint32_t n = ways_of(0, "cache=off," LIBRARY, c);
    assert_int_equal(count_state(c, n, VLY_CANDIDATE_CHOSEN), 1);
    assert_int_equal(count_state(c, n, VLY_CANDIDATE_WRONG), 3);
    assert_int_equal(count_state(c, n, VLY_CANDIDATE_READY), 2);
    double chosen_s = 0.0;
    for (uint32_t i = 0; i < n; i++) {
        if (c[i].state == VLY_CANDIDATE_CHOSEN) {
            assert_non_null(strstr(c[i].name, "algo 4 "));
            assert_int_equal(c[i].workspace_bytes, 4096);
            chosen_s = c[i].measured_s;
        }
        assert_int_equal(c[i].note[0] != '\0',
                         c[i].state >= VLY_CANDIDATE_REFUSED);
    }
    assert_true(chosen_s > 0.0);
    for (uint32_t i = 0; i < n; i++)
        if (c[i].state == VLY_CANDIDATE_READY)
            assert_true(c[i].measured_s > chosen_s);
    /* none is right */
    behave((fake_cublaslt_state){.n_algorithms = 2, .garbage = 3});
    n = ways_of(0, "cache=off," LIBRARY, c);
    assert_string_equal(c[n - 1].name, "own");
    assert_int_equal(c[n - 1].state, VLY_CANDIDATE_CHOSEN);
    assert_int_equal(count_state(c, n, VLY_CANDIDATE_CHOSEN), 1);
    assert_int_equal(count_state(c, n, VLY_CANDIDATE_WRONG), 2);
    /* no library: why */
    n = ways_of(0, "cache=off,library=/nowhere/lib.so", c);
    assert_string_equal(c[0].name, "cublaslt");
    assert_int_equal(c[0].state, VLY_CANDIDATE_REFUSED);
    assert_non_null(strstr(c[0].note, "/nowhere/lib.so"));
}

/* The case of a type with a bias or an activation that the library has. */
static uint32_t case_with_epilogue(uint32_t type)
{
    for (uint32_t i = 0; i < n_cases; i++)
        if (cases[i].a == type && cases[i].b == type && cases[i].d == type &&
            cases[i].activation == VLY_GEMM_GELU)
            return i;
    fail_msg("no such case");
    return 0;
}

static void what_rounds_twice_is_struck_out(void **state)
{
    (void)state;
    const uint32_t i = case_with_epilogue(VLY_ELEMENT_BF16);
    const char *const all[] = {"cache=off,choose=cublaslt," LIBRARY,
                               "cache=off,choose=default," LIBRARY,
                               "cache=off,tune=0," LIBRARY};
    for (int way = 0; way < 3; way++) {
        behave((fake_cublaslt_state){
            .n_algorithms = 3, .twice = 1, .twice_with_c = 2});
        const vly_plan_info info = choice_of(i, all[way]);
        /* the third, or one with sums in the workspace */
        assert_true(strstr(info.choice, "algo 2 ") != NULL ||
                    strstr(info.choice, ", staged") != NULL);
        assert_int_equal(n_warnings, 0);
    }
    /* all of them: those with sums in the workspace are right */
    behave((fake_cublaslt_state){.n_algorithms = 3, .twice = 7});
    const vly_plan_info info = choice_of(i, all[2]);
    assert_non_null(strstr(info.choice, ", staged"));
}

/* Rounded before gelu: shows in half a unit of nothing, but in most elements
 * where it makes a difference. */
static void what_rounds_before_gelu_is_struck_out(void **state)
{
    static const product_case of[] = {
        {F16, F16, F16, 0, 0, TB, VLY_GEMM_GELU, 6, 33, 40, 2, 8, 0.0f},
        {F16, F16, F16, 0, 0, TB, VLY_GEMM_GELU, 2, 3, 17, 1, 0, 0.5f},
        {F16, F16, F16, 0, 0, TA, VLY_GEMM_GELU, 5, 16, 900, 1, 0, 0.0f},
        {BF16, BF16, BF16, 0, 0, TB, VLY_GEMM_GELU, 4, 9, 64, 1, 0, 0.5f},
    };
    const char *const all[] = {"cache=off,choose=cublaslt," LIBRARY,
                               "cache=off,tune=0," LIBRARY};
    (void)state;
    for (uint32_t i = 0; i < 2 * sizeof of / sizeof of[0]; i++) {
        product p;
        vly_plan_info info;
        case_now = i / 2;
        make_case(&p, &of[i / 2]);
        behave((fake_cublaslt_state){
            .n_algorithms = 3, .twice = 1, .twice_with_c = 2});
        assert_true(compute(&p, all[i % 2], &info));
        assert_true(strstr(info.choice, "algo 2 ") != NULL ||
                    strstr(info.choice, ", staged") != NULL);
        assert_int_equal(n_warnings, 0);
        /* one that rounds once stays */
        behave((fake_cublaslt_state){.n_algorithms = 3});
        assert_true(compute(&p, all[1], &info));
        assert_non_null(strstr(info.choice, "algo 0 "));
        assert_null(strstr(info.choice, ", staged"));
        unmake(&p);
    }
}

/* The same factors from a byte further on. */
static void move_by_a_byte(const void **factor, uint64_t bytes)
{
    char *from = (char *)(uintptr_t)*factor;
    memmove(from + 1, from, bytes);
    *factor = from + 1;
}

/* Products of whole bytes whose pointers are aligned to one: `compute` would
 * fail if a plan took what does not run. */
static void pointers_are_tried_as_they_are(void **state)
{
    static const product_case of = {
        I8, I8, F16, VLY_SCALE_ROW, VLY_SCALE_ROW, TB, 0, 8, 12,
        64, 1,  0,   0.5f};
    const char *const all[] = {"cache=off," LIBRARY,
                               "cache=off,tune=0," LIBRARY,
                               "cache=off,choose=default," LIBRARY};
    char folder[300], options[900], command[400];
    vly_plan_info info;
    product p;
    (void)state;
    make_case(&p, &of);
    p.desc.align = 1;
    move_by_a_byte(&p.run.a, p.desc.stride_a);
    move_by_a_byte(&p.run.b, p.desc.stride_b);
    for (int i = 0; i < 3; i++) {
        behave((fake_cublaslt_state){.n_algorithms = 3, .aligned = 3});
        assert_true(compute(&p, all[i], &info));
        assert_non_null(strstr(info.choice, "algo 2 "));
        behave((fake_cublaslt_state){.n_algorithms = 3, .aligned = 7});
        if (i == 2) /* by name: refused */
            assert_false(compute(&p, all[i], &info));
        else
            assert_true(compute(&p, all[i], &info));
        assert_true(i == 2 || strcmp(info.choice, "own") == 0);
        assert_int_equal(n_warnings, 0);
    }
    /* one that ran when it was kept, and does not any more */
    snprintf(folder, sizeof folder, "%s/gemm_align_XXXXXX",
             VLY_TEST_BINARY_DIR);
    assert_non_null(mkdtemp(folder));
    snprintf(options, sizeof options, "cache=%s," LIBRARY, folder);
    behave((fake_cublaslt_state){.n_algorithms = 1});
    assert_true(compute(&p, options, &info));
    assert_true(compute(&p, options, &info));
    assert_int_equal(info.cached, 1);
    behave((fake_cublaslt_state){.n_algorithms = 1, .aligned = 1});
    assert_true(compute(&p, options, &info));
    assert_string_equal(info.choice, "own");
    assert_int_equal(info.cached, 0);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    assert_int_equal(system(command), 0);
    p.run.a = (const char *)p.run.a - 1;
    p.run.b = (const char *)p.run.b - 1;
    unmake(&p);
}

static void first_is_taken_unmeasured(void **state)
{
    (void)state;
    behave((fake_cublaslt_state){.n_algorithms = 4, .slow = 1});
    vly_plan_info info = choice_of(0, "cache=off,tune=0," LIBRARY);
    assert_non_null(strstr(info.choice, "cublaslt 13.1.0 algo 0 "));
    assert_int_equal(info.n_candidates, 1);
    assert_true(info.measured_s == 0.0);
    assert_int_equal(library->n_runs, 2); /* one to try, that of the test */
    info = choice_of(0, "cache=off," LIBRARY);
    assert_null(strstr(info.choice, "algo 0 "));
}

static void choices_are_kept(void **state)
{
    (void)state;
    char folder[300], options[900];
    snprintf(folder, sizeof folder, "%s/gemm_cache_XXXXXX",
             VLY_TEST_BINARY_DIR);
    assert_non_null(mkdtemp(folder));
    snprintf(options, sizeof options, "cache=%s," LIBRARY, folder);
    behave((fake_cublaslt_state){.n_algorithms = 4, .slow = 1 | 2 | 8});
    vly_plan_info info = choice_of(0, options);
    assert_non_null(strstr(info.choice, "algo 2 "));
    assert_int_equal(info.cached, 0);
    const uint32_t asked = library->n_heuristics;
    vly_plan_candidate kept[64];
    assert_int_equal(ways_of(0, options, kept), 1);
    assert_int_equal(kept[0].state, VLY_CANDIDATE_CHOSEN);
    assert_non_null(strstr(kept[0].name, "algo 2 "));
    assert_true(kept[0].measured_s > 0.0);
    info = choice_of(0, options);
    assert_non_null(strstr(info.choice, "algo 2 "));
    assert_int_equal(info.cached, 1);
    assert_int_equal(info.n_candidates, 4); /* that it was the fastest of */
    assert_int_equal(info.workspace_bytes, 2048);
    assert_int_equal(library->n_heuristics, asked);
    assert_int_equal(choice_of(1, options).cached, 0); /* another product */
    library->retired = 4; /* the library runs it no more: measured again */
    library->slow = 2 | 4 | 8;
    info = choice_of(0, options);
    assert_int_equal(info.cached, 0);
    assert_non_null(strstr(info.choice, "algo 0 "));
    char command[400];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_algorithms_are_struck_out),
        cmocka_unit_test(ways_are_told),
        cmocka_unit_test(what_rounds_twice_is_struck_out),
        cmocka_unit_test(what_rounds_before_gelu_is_struck_out),
        cmocka_unit_test(pointers_are_tried_as_they_are),
        cmocka_unit_test(first_is_taken_unmeasured),
        cmocka_unit_test(choices_are_kept),
    };
    return cmocka_run_group_tests(tests, open_plugin, NULL) ? 1 : 0;
}

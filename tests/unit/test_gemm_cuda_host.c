/* SPDX-License-Identifier: Apache-2.0
 * gemm_cuda where there is no device: its host side and its kernels, compiled
 * for the host, with a runtime and a cuBLASLt that are none. So which element
 * is multiplied with which is tested here, in every way a product can be
 * computed by its own kernels; rounding, speed and what the real library does
 * are not.
 */
#include "gemm_host_fixture.h"

static void own_kernel_computes_everything(void **state)
{
    (void)state;
    assert_int_equal(all_cases("cache=off,choose=own," LIBRARY, UINT64_MAX),
                     n_cases);
}

static void kernels_for_few_rows(void **state)
{
    (void)state;
    const char *const all[] = {"cache=off,tune=0,choose=gemv_8x4," LIBRARY,
                               "cache=off,tune=0,choose=gemv_4x8," LIBRARY,
                               "cache=off,tune=0,choose=gemv_16x2," LIBRARY,
                               "cache=off,tune=0,choose=flow," LIBRARY,
                               "cache=off,tune=0,choose=lines," LIBRARY};
    /* gemv_flow.cu: not fp32, not more than 8 rows */
    for (int i = 0; i < 4; i++)
        assert_int_equal(all_cases(all[i], UINT64_MAX), i < 3 ? 23 : 16);
    assert_int_equal(all_cases(all[4], UINT64_MAX), 6);
    /* with k in parts too */
    behave((fake_cublaslt_state){.n_algorithms = 0});
    assert_int_equal(all_cases("cache=off,choose=gemv," LIBRARY, FEW_PRODUCTS),
                     19);
    assert_int_equal(n_warnings, 0);
}

static void without_a_library_the_plan_says_so(void **state)
{
    (void)state;
    product p;
    vly_plan_info info;
    make_case(&p, &cases[0]);
    assert_true(compute(&p, "cache=off,library=/no/such.so", &info));
    assert_non_null(strstr(info.choice, "own; cuBLASLt cannot be opened"));
    assert_false(
        compute(&p, "cache=off,choose=default,library=/no/such.so", NULL));
    unmake(&p);
}

/* alpha 0 or k 0: A and B are not read; beta 0: C is not. */
static void what_is_not_wanted_is_not_read(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < n_cases; i += 3) {
        product p;
        make_case(&p, &cases[i]);
        if (p.desc.type_d == I32)
            p.run.beta = 1.0f;
        else
            p.run.alpha = 0.0f;
        const void *a = p.run.a, *b = p.run.b;
        if (p.run.alpha == 0.0f)
            p.run.a = p.run.b = NULL;
        assert_true(compute(&p, "cache=off,tune=0," LIBRARY, NULL));
        p.run.a = a;
        p.run.b = b;
        unmake(&p);
        make_case(&p, &cases[i]);
        p.desc.k = 0;
        assert_true(compute(&p, "cache=off,tune=0," LIBRARY, NULL));
        p.desc.m = 0;
        p.n_d = 0;
        assert_true(compute(&p, "cache=off," LIBRARY, NULL));
        unmake(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_kernel_computes_everything),
        cmocka_unit_test(kernels_for_few_rows),
        cmocka_unit_test(without_a_library_the_plan_says_so),
        cmocka_unit_test(what_is_not_wanted_is_not_read),
    };
    return cmocka_run_group_tests(tests, open_plugin, NULL) ? 1 : 0;
}

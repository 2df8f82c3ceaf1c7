/* SPDX-License-Identifier: Apache-2.0
 * gemm_cuda with a cuBLASLt that is none: products by the library and with sums
 * in the workspace, limits of the workspace, and memory that is missing.
 */
#include "gemm_host_fixture.h"

#include <stdlib.h>

static void library_computes_what_it_offers(void **state)
{
    (void)state;
    behave((fake_cublaslt_state){.n_algorithms = 3});
    assert_int_equal(all_cases("cache=off,choose=default," LIBRARY, UINT64_MAX),
                     32);
    assert_int_equal(all_cases("cache=off,tune=0," LIBRARY, UINT64_MAX),
                     n_cases);
    /* every way looked at and measured, those with sums in the workspace too */
    assert_int_equal(
        all_cases("cache=off,choose=cublaslt," LIBRARY, FEW_PRODUCTS), 28);
    assert_int_equal(all_cases("cache=off," LIBRARY, FEW_PRODUCTS), 36);
    assert_int_equal(n_warnings, 0);
}

/* A plan may not ask for more workspace than the caller has. */
static void workspace_is_limited(void **state)
{
    (void)state;
    behave((fake_cublaslt_state){.n_algorithms = 4});
    for (uint32_t i = 0; i < n_cases; i += 3) {
        const product_case *c = &cases[i];
        product p;
        vly_plan_info info;
        if (c->m * c->n * c->k * c->batch > FEW_PRODUCTS)
            continue;
        make_case(&p, c);
        p.desc.workspace_most = 1100;
        assert_true(compute(&p, "cache=off," LIBRARY, &info));
        assert_true(info.workspace_bytes <= 1100);
        unmake(&p);
    }
}

/* The same again with C in the place of D. */
static void compute_in_place(product *p, const char *options)
{
    const vly_device_spec device = {
        .struct_size = sizeof device, .n_threads = 1, .options = options};
    vly_error error = {.struct_size = sizeof error};
    vly_gemm_plan *plan = NULL;
    vly_plan_info info = {.struct_size = sizeof info};
    vly_gemm_run run = p->run;
    assert_int_equal(p->desc.ldc, p->desc.ldd);
    assert_ok(gemm->plan_create(&device, &p->desc, &plan, &error), error);
    assert_ok(gemm->plan_info(plan, &info, &error), error);
    run.workspace_bytes = info.workspace_bytes;
    run.workspace = aligned_alloc(256, info.workspace_bytes + 256);
    memcpy(run.d, run.c, p->n_d * conformance_element_bits(p->desc.type_d) / 8);
    run.c = run.d;
    assert_ok(gemm->run(plan, &run, &error), error);
    look(p, "in place");
    free(run.workspace);
    gemm->plan_destroy(plan);
}

/* Sums of 32 bits for some rows after the other, where all of them have no
 * room; the last piece begins in the one before it. */
static void rows_in_pieces(void **state)
{
    static const struct {
        product_case of;
        uint64_t most;
        const char *says;
    } pieces[] = {
        {{F16, F16, F16, 0, 0, TB | BIAS, VLY_GEMM_RELU2, 200, 24, 40, 2, 8,
          0.5f},
         26000,
         "staged in 4 pieces"},
        {{F32, F32, F32, 0, 0, TA, VLY_GEMM_RELU2, 257, 20, 9, 1, 3, 0.0f},
         14000,
         "staged in 5 pieces"},
        {{I8, I8, F16, VLY_SCALE_ROW, VLY_SCALE_ROW, TB | BIAS, VLY_GEMM_RELU,
          150, 24, 32, 2, 0, 0.5f},
         26000,
         "staged in 3 pieces"},
        {{F16, I8, F16, 0, VLY_SCALE_ROW, TB, 0, 192, 34, 48, 1, 0, 1.0f},
         23000,
         "staged in 3 pieces"},
    };
    (void)state;
    behave((fake_cublaslt_state){.n_algorithms = 4});
    for (uint32_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        const char *const options = "cache=off,choose=cublaslt," LIBRARY;
        product p;
        vly_plan_info info;
        case_now = i;
        seed = i;
        make_case(&p, &pieces[i].of);
        p.desc.workspace_most = pieces[i].most;
        assert_true(compute(&p, options, &info));
        assert_true(info.workspace_bytes <= pieces[i].most);
        if (strstr(info.choice, pieces[i].says) == NULL)
            fail_msg("case %u: %s, wanted: %s", i, info.choice, pieces[i].says);
        if (p.desc.ldc == p.desc.ldd)
            compute_in_place(&p, options);
        unmake(&p);
        assert_int_equal(library->n_live, 0);
    }
}

static void every_block_may_be_missing(void **state)
{
    (void)state;
    const vly_device_spec device = {.struct_size = sizeof device,
                                    .options = "cache=off," LIBRARY};
    /* of each kind the smallest that all ways compute: it is tuned once for
     * each block that is missing */
    static const product_case small[] = {
        {F32, F32, F32, 0, 0, TB, 0, 3, 5, 12, 1, 0, 0.0f},
        {F16, F16, F16, 0, 0, TB | BIAS, VLY_GEMM_GELU, 2, 9, 64, 2, 8, 0.5f},
        {BF16, I4, BF16, 0, VLY_SCALE_GROUP, TB, 0, 1, 6, 256, 1, 0, 0.0f},
        {E4M3, E4M3, F32, VLY_SCALE_BLOCK, VLY_SCALE_BLOCK, TB, 0, 16, 16, 16,
         1, 0, 0.0f},
        {I8, I8, I32, 0, 0, TB, 0, 4, 4, 8, 1, 0, 0.0f},
    };
    for (uint32_t i = 0; i < sizeof small / sizeof small[0]; i++) {
        product p;
        make_case(&p, &small[i]);
        uint32_t n_failed = 0;
        for (int32_t n = 1; n < 200; n++) {
            /* the n-th block of the host, then the n-th of the library */
            const bool is_library = n >= 100;
            vly_error error = {.struct_size = sizeof error};
            vly_gemm_plan *plan = NULL;
            const int64_t live = n_blocks;
            behave((fake_cublaslt_state){.n_algorithms = 2,
                                         .fail_at = is_library ? n - 99 : 0});
            has_failed = false;
            fail_at = is_library ? 0 : n;
            vly_status status =
                gemm->plan_create(&device, &p.desc, &plan, &error);
            fail_at = 0;
            const bool came = is_library ? library->fail_at == 0 : has_failed;
            if (status != VLY_OK) {
                n_failed++;
                assert_null(plan);
                assert_true(strlen(error.message) > 10);
                assert_int_equal(status,
                                 is_library ? VLY_E_DEVICE : VLY_E_NOMEM);
            }
            gemm->plan_destroy(plan);
            assert_int_equal(n_blocks, live);
            assert_int_equal(library->n_live, 0);
            if (!came) /* it was not asked for so many */
                n = is_library ? 200 : 99;
        }
        assert_true(n_failed > 1);
        unmake(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(library_computes_what_it_offers),
        cmocka_unit_test(workspace_is_limited),
        cmocka_unit_test(rows_in_pieces),
        cmocka_unit_test(every_block_may_be_missing),
    };
    return cmocka_run_group_tests(tests, open_plugin, NULL) ? 1 : 0;
}

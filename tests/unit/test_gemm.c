/* SPDX-License-Identifier: Apache-2.0
 * test_gemm DEVICE [PATTERN]: the conformance table of volley.gemm/1 on one
 * device, as in "cpu:2,choose=plain" or "cuda:0". Every line that is not ok is
 * printed. A device that is not there: skipped with the reason, failed where it
 * is required.
 */
#include "device_test.h"

#include "accelerator/accelerator.h"
#include "conformance/conformance_gemm.h"
#include "plugin/host_log.h"

static const char *device_text = "cpu:1";
static const char *pattern;
static vly_error error = {.struct_size = sizeof error};

static void on_result(void *arg, const vly_conformance_result *result)
{
    static const char *const outcomes[] = {"ok", "skipped", "FAILED"};
    (void)arg;
    if (result->outcome != VLY_CONFORMS)
        printf("%s/%s: %s: %s\n", result->net, result->scenario,
               outcomes[result->outcome], result->text);
    fflush(stdout);
}

static uint32_t n_unmeasured; /* plans, as the log has it */

static void on_log(void *arg, int32_t level, const char *source,
                   const char *message)
{
    (void)arg, (void)level;
    n_unmeasured += strstr(message, "was not measured") != NULL;
    fprintf(stderr, "%s: %s\n", source, message);
}

static void skip_or_fail(void)
{
    if (strncmp(device_text, "cpu", 3) == 0 || device_is_required("cuda"))
        fail_msg("%s", error.message);
    print_message("skipped: %s\n", error.message);
    skip();
}

static void test_table(void **state)
{
    (void)state;
    static vly_accelerator accelerator;
    vly_registry *registry = NULL;
    vly_accel_conformance conformance = {.accelerator = &accelerator,
                                         .pattern = pattern,
                                         .on_result = on_result};
    assert_ok(vly_registry_create(&registry, &error), error);
    if (vly_accelerator_find(registry, VLY_GEMM_INTERFACE, device_text, 1,
                             &accelerator, &error) != VLY_OK) {
        vly_registry_destroy(registry);
        skip_or_fail();
    }
    vly_log_set_sink(on_log, NULL);
    vly_conformance_counts counts =
        vly_accel_conformance_run(&conformance, &vly_gemm_table);
    vly_log_set_sink(NULL, NULL);
    assert_int_equal(n_unmeasured, 0); /* memory fails on purpose there */
    printf("%s: %u ok, %u skipped, %u failed\n", device_text, counts.n[0],
           counts.n[1], counts.n[2]);
    vly_registry_destroy(registry);
    assert_int_equal(counts.n[VLY_CONFORMANCE_FAILED], 0);
    /* choose=openblas without OpenBLAS: each line said why */
    if (counts.n[VLY_CONFORMS] == 0 && counts.n[VLY_CONFORMANCE_SKIPPED] > 0 &&
        strstr(device_text, "choose=") != NULL)
        skip();
    assert_true(counts.n[VLY_CONFORMS] > 0);
}

static void test_size(void **state)
{
    (void)state;
    assert_int_equal(vly_gemm_table.n_cases, conformance_gemm_count());
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_table),
                                       cmocka_unit_test(test_size)};
    if (argc > 1)
        device_text = argv[1];
    if (argc > 2)
        pattern = argv[2];
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}

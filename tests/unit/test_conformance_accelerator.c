/* SPDX-License-Identifier: Apache-2.0
 * test_conformance_accelerator DEVICE [PATTERN]: the tables of
 * volley.attention/1 and volley.wkv/1 on one device, as in
 * "cpu:2,choose=reference" or "cuda:0". Every line that is not ok is printed. A
 * device that is not there: skipped with the reason, failed where it is
 * required.
 */
#include "device_test.h"

#include "conformance/conformance_accel.h"

static const char *device_text = "cpu:1";
static const char *pattern;
static uint32_t n_run;      /* tables */
static uint64_t n_conforms; /* in all of them: a way has one interface */
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

static void run_table(const accel_table *table)
{
    static vly_accelerator accelerator;
    vly_registry *registry = NULL;
    vly_accel_conformance conformance = {.accelerator = &accelerator,
                                         .pattern = pattern,
                                         .on_result = on_result};
    assert_ok(vly_registry_create(&registry, &error), error);
    if (vly_accelerator_find(registry, table->interface_id, device_text, 1,
                             &accelerator, &error) != VLY_OK) {
        vly_registry_destroy(registry);
        if (strncmp(device_text, "cpu", 3) == 0 || device_is_required("cuda"))
            fail_msg("%s", error.message);
        print_message("skipped: %s\n", error.message);
        skip();
    }
    vly_conformance_counts counts =
        vly_accel_conformance_run(&conformance, table);
    printf("%s %s: %u ok, %u skipped, %u failed\n", device_text,
           table->interface_id, counts.n[0], counts.n[1], counts.n[2]);
    vly_registry_destroy(registry);
    assert_int_equal(counts.n[VLY_CONFORMANCE_FAILED], 0);
    n_run++;
    n_conforms += counts.n[VLY_CONFORMS];
}

static void test_attention(void **state)
{
    (void)state;
    run_table(&vly_attention_table);
}

static void test_wkv(void **state)
{
    (void)state;
    run_table(&vly_wkv_table);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest attention[] = {cmocka_unit_test(test_attention)};
    const struct CMUnitTest wkv[] = {cmocka_unit_test(test_wkv)};
    if (argc > 1)
        device_text = argv[1];
    if (argc > 2)
        pattern = argv[2];
    int failures = cmocka_run_group_tests(attention, NULL, NULL);
    failures += cmocka_run_group_tests(wkv, NULL, NULL);
    if (pattern == NULL && n_run > 0 && n_conforms == 0) {
        printf("%s: not one case was run\n", device_text);
        failures++;
    }
    return failures ? 1 : 0;
}

/* SPDX-License-Identifier: Apache-2.0
 * test_conformance SPEC [PATTERN [POINTS]]: the conformance table on one
 * backend, as in "cpu:3,isa=scalar" or "cuda:0,plan=global"; with POINTS
 * through a probe that sits there. Every line that is not ok is printed. A
 * device that is not there: skipped with the reason, failed where it is
 * required.
 */
#include "device_test.h"

#include "conformance/conformance.h"
#include "plugin/registry.h"
#include "probe/probe.h"

static const char *spec_text = "cpu:1";
static const char *pattern;
static const char *points;
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

static void skip_or_fail(const char *id)
{
    if (device_is_required(id))
        fail_msg("%s", error.message);
    print_message("skipped: %s\n", error.message);
    skip();
}

/* Deliberately wrong calls of the table are refused, and the check of arguments
 * must find them; all other calls are correct. */
static void look_at_checks(const vly_probe *probe)
{
    vly_probe_checked checked;
    uint64_t looked = 0;
    for (uint32_t k = 0; vly_probe_checked_get(probe, k, &checked); k++) {
        looked += checked.looked;
        if (checked.failed != 0 && strcmp(checked.name, "arguments") != 0 &&
            strcmp(checked.name, "inputs") != 0)
            fail_msg("check %s: %s", checked.name, checked.what);
    }
    assert_true(!points || looked > 1000);
}

static void test_table(void **state)
{
    (void)state;
    const vly_probe_plan plan = {.points = points};
    vly_probe *probe = NULL;
    vly_registry *registry = NULL;
    vly_backend_spec spec;
    vly_conformance conformance = {.pattern = pattern, .on_result = on_result};
    assert_ok(vly_backend_spec_parse(spec_text, &spec, &error), error);
    assert_ok(vly_registry_create(&registry, &error), error);
    if (points) {
        assert_ok(vly_probe_create(&plan, &probe, &error), error);
        assert_ok(vly_probe_attach(probe, registry, &error), error);
    }
    conformance.device.struct_size = sizeof conformance.device;
    vly_status status = vly_registry_device(
        registry, &spec, 1, &conformance.backend, &conformance.device, &error);
    if (status != VLY_OK) {
        vly_probe_destroy(probe);
        vly_registry_destroy(registry);
        if (strcmp(spec.id, "cpu") == 0 || strcmp(spec.id, "template") == 0)
            fail_msg("%s", error.message);
        skip_or_fail(spec.id);
    }
    assert_ok(vly_registry_backend(registry, "cpu", &conformance.other, &error),
              error);
    vly_conformance_counts counts = vly_conformance_run(&conformance);
    printf("%s: %u ok, %u skipped, %u failed\n", spec_text, counts.n[0],
           counts.n[1], counts.n[2]);
    look_at_checks(probe);
    vly_probe_destroy(probe);
    vly_registry_destroy(registry);
    assert_int_equal(counts.n[VLY_CONFORMANCE_FAILED], 0);
    assert_true(counts.n[VLY_CONFORMS] > 0);
}

/* With nothing to run there is nothing that can fail. */
static void test_pattern(void **state)
{
    (void)state;
    vly_conformance conformance = {.pattern = "no_such_net"};
    vly_conformance_counts counts = vly_conformance_run(&conformance);
    assert_int_equal(counts.n[0] + counts.n[1] + counts.n[2], 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_table),
                                       cmocka_unit_test(test_pattern)};
    if (argc > 1)
        spec_text = argv[1];
    if (argc > 2)
        pattern = argv[2];
    if (argc > 3)
        points = argv[3];
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}

/* SPDX-License-Identifier: Apache-2.0
 * test_conformance_accelerator DEVICE [PATTERN [INTERFACE]]: the tables of
 * volley.attention/1, volley.wkv/1 and volley.rwkv/1 on one device, as in
 * "cpu:2,choose=reference" or "cuda:0". Every line that is not ok is printed. A
 * device that is not there: skipped with the reason, failed where it is
 * required. With INTERFACE, as in volley.wkv/1, its table alone is run; it is
 * required on every machine, and one of its cases must pass.
 */
#include "device_test.h"

#include "conformance/conformance_accel.h"

static const char *device_text = "cpu:1";
static const char *pattern;
static const char *required; /* interface; NULL: none */
static uint32_t n_run;       /* tables */
static uint32_t n_needed;    /* of these, the required one */
static uint64_t n_conforms;  /* in all of them: a way has one interface */
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
    const bool needed =
        required != NULL && strcmp(required, table->interface_id) == 0;
    vly_accel_conformance conformance = {.accelerator = &accelerator,
                                         .pattern = pattern,
                                         .on_result = on_result};
    if (required != NULL && !needed)
        skip();
    assert_ok(vly_registry_create(&registry, &error), error);
    if (vly_accelerator_find(registry, table->interface_id, device_text, 1,
                             &accelerator, &error) != VLY_OK) {
        vly_registry_destroy(registry);
        if (needed || strncmp(device_text, "cpu", 3) == 0 ||
            device_is_required("cuda"))
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
    if (needed)
        assert_true(counts.n[VLY_CONFORMS] > 0);
    n_needed += needed;
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

static void test_rwkv(void **state)
{
    (void)state;
    run_table(&vly_rwkv_table);
}

/* ---- graphs, on the processor -------------------------------------------- */

static uint32_t graphs_begun;
static uint32_t graphs_run;
static vly_status refusal; /* what graph_run returns */

static vly_status fake_begin(uint32_t device, void *stream, vly_error *e)
{
    (void)device, (void)stream, (void)e;
    graphs_begun++;
    return VLY_OK;
}

static vly_status fake_end(uint32_t device, void *stream, vly_graph **graph,
                           vly_error *e)
{
    static int32_t some;
    (void)device, (void)stream, (void)e;
    *graph = (vly_graph *)(void *)&some;
    return VLY_OK;
}

static vly_status fake_run(uint32_t device, vly_graph *graph, void *stream,
                           vly_error *e)
{
    (void)device, (void)graph, (void)stream;
    graphs_run++;
    if (refusal != VLY_OK)
        snprintf(e->message, sizeof e->message, "no graph today");
    return refusal;
}

static void fake_destroy(uint32_t device, vly_graph *graph)
{
    (void)device, (void)graph;
}

static char last_text[1000];

static void keep_result(void *arg, const vly_conformance_result *result)
{
    (void)arg;
    snprintf(last_text, sizeof last_text, "%s", result->text);
}

/* The variant of a graph, with graphs whose work is done when they are made: is
 * it run, twice, and does its failure count? */
static void test_graph(void **state)
{
    (void)state;
    static vly_accelerator accelerator;
    vly_registry *registry = NULL;
    vly_accel_conformance conformance = {.accelerator = &accelerator,
                                         .on_result = keep_result};
    const struct {
        const accel_table *table;
        const char *pattern;
    } cases[] = {{&vly_attention_table, "odd_17/fp32_backward"},
                 {&vly_wkv_table, "wkv_sequence_17/fp32"}};
    assert_ok(vly_registry_create(&registry, &error), error);
    for (uint32_t i = 0; i < 2; i++) {
        assert_ok(vly_accelerator_find(registry, cases[i].table->interface_id,
                                       "cpu", 1, &accelerator, &error),
                  error);
        accelerator.memory.graph_begin = fake_begin;
        accelerator.memory.graph_end = fake_end;
        accelerator.memory.graph_run = fake_run;
        accelerator.memory.graph_destroy = fake_destroy;
        conformance.pattern = cases[i].pattern;
        graphs_begun = graphs_run = 0;
        refusal = VLY_OK;
        vly_conformance_counts counts =
            vly_accel_conformance_run(&conformance, cases[i].table);
        assert_int_equal(counts.n[VLY_CONFORMS], 1);
        assert_int_equal(graphs_begun, 1);
        assert_int_equal(graphs_run, 2);
        refusal = VLY_E_DEVICE;
        counts = vly_accel_conformance_run(&conformance, cases[i].table);
        assert_int_equal(counts.n[VLY_CONFORMANCE_FAILED], 1);
        assert_non_null(strstr(last_text, "(graph): no graph today"));
    }
    vly_registry_destroy(registry);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest graph[] = {cmocka_unit_test(test_graph)};
    const struct CMUnitTest attention[] = {cmocka_unit_test(test_attention)};
    const struct CMUnitTest wkv[] = {cmocka_unit_test(test_wkv)};
    const struct CMUnitTest rwkv[] = {cmocka_unit_test(test_rwkv)};
    if (argc > 1)
        device_text = argv[1];
    if (argc > 2)
        pattern = argv[2];
    if (argc > 3)
        required = argv[3];
    int failures = cmocka_run_group_tests(attention, NULL, NULL);
    failures += cmocka_run_group_tests(wkv, NULL, NULL);
    failures += cmocka_run_group_tests(rwkv, NULL, NULL);
    if (strncmp(device_text, "cpu", 3) == 0)
        failures += cmocka_run_group_tests(graph, NULL, NULL);
    if (pattern == NULL && n_run > 0 && n_conforms == 0) {
        printf("%s: not one case was run\n", device_text);
        failures++;
    }
    if (required != NULL && n_needed == 0) {
        printf("%s: %s was not run\n", device_text, required);
        failures++;
    }
    return failures ? 1 : 0;
}

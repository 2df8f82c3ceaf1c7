/* SPDX-License-Identifier: Apache-2.0
 * Accelerators as the engine takes them: tables that do not fit, and plugins
 * found by the name of a device.
 */
#include "volley_test.h"

#include "accelerator/accelerator.h"
#include "plugin/registry.h"

static vly_error error = {.struct_size = sizeof error};

/* Not NULL, never called. */
static void something(void)
{
}

/* A table of functions, all of them there: struct_size, flags, pointers. */
static void fill_table(void *table, uint32_t size)
{
    void (*function)(void) = something;
    const uint32_t head[2] = {size, 0};
    memcpy(table, head, sizeof head);
    for (uint32_t at = 8; at + sizeof function <= size; at += 8)
        memcpy((char *)table + at, &function, sizeof function);
}

typedef vly_status check_function(const void *table, void *out,
                                  vly_error *error);

static vly_status check_memory(const void *table, void *out, vly_error *why)
{
    return vly_memory_check(table, out, why);
}

static vly_status check_gemm(const void *table, void *out, vly_error *why)
{
    return vly_gemm_check(table, out, why);
}

static vly_status check_attention(const void *table, void *out, vly_error *why)
{
    return vly_attention_check(table, out, why);
}

static vly_status check_wkv(const void *table, void *out, vly_error *why)
{
    return vly_wkv_check(table, out, why);
}

static vly_status check_rwkv(const void *table, void *out, vly_error *why)
{
    return vly_rwkv_check(table, out, why);
}

/* Each of n_required functions is missed by name; a larger table is taken, a
 * shorter one is not. */
static void check_table(check_function *check, uint32_t size,
                        uint32_t n_required, const char *interface_id)
{
    static char table[512];
    static char out[512];
    static const char untouched[512];
    fill_table(table, size);
    assert_ok(check(table, out, &error), error);
    for (uint32_t i = 0; i < n_required; i++) {
        fill_table(table, size);
        memset(table + 8 + 8 * i, 0, 8);
        memset(out, 0, sizeof out);
        assert_int_equal(check(table, out, &error), VLY_E_ABI);
        assert_non_null(strstr(error.message, "is missing"));
        assert_non_null(strstr(error.message, interface_id));
        assert_memory_equal(out, untouched, sizeof out);
    }
    fill_table(table, size - 8);
    assert_int_equal(check(table, out, &error), VLY_E_ABI);
    assert_non_null(strstr(error.message, "struct_size"));
    fill_table(table, size + 64);
    assert_ok(check(table, out, &error), error);
    assert_int_equal(check(table, out, NULL), VLY_OK);
}

static void test_tables(void **state)
{
    (void)state;
    check_table(check_memory, 200, 14, VLY_MEMORY_INTERFACE);
    check_table(check_gemm, 112, 5, VLY_GEMM_INTERFACE);
    check_table(check_attention, 112, 5, VLY_ATTENTION_INTERFACE);
    check_table(check_wkv, 112, 5, VLY_WKV_INTERFACE);
    check_table(check_rwkv, 112, 5, VLY_RWKV_INTERFACE);
}

/* A partial set of graph functions counts as none. */
static void test_half_a_graph(void **state)
{
    (void)state;
    vly_memory table;
    vly_memory out;
    fill_table(&table, sizeof table);
    assert_ok(vly_memory_check(&table, &out, &error), error);
    assert_true(out.graph_run != NULL);
    table.graph_end = NULL;
    assert_ok(vly_memory_check(&table, &out, &error), error);
    assert_true(out.graph_begin == NULL && out.graph_run == NULL &&
                out.graph_destroy == NULL);
}

static void test_find(void **state)
{
    (void)state;
    vly_registry *registry = NULL;
    vly_accelerator a;
    assert_ok(vly_registry_create(&registry, &error), error);
    assert_ok(vly_accelerator_find(registry, VLY_GEMM_INTERFACE, "cpu:3,tune=0",
                                   8, &a, &error),
              error);
    assert_string_equal(a.id, "gemm_cpu");
    assert_int_equal(a.device.n_threads, 3);
    assert_int_equal(a.device.index, 0);
    assert_string_equal(a.device.options, "tune=0");
    assert_true(a.gemm.run != NULL && a.memory.alloc != NULL);
    assert_int_equal(a.attention.struct_size, 0);
    assert_true((a.memory.flags & VLY_MEMORY_HOST) != 0);
    assert_ok(vly_accelerator_find(registry, VLY_GEMM_INTERFACE, "cpu", 8, &a,
                                   &error),
              error);
    assert_int_equal(a.device.n_threads, 8);
    assert_null(a.device.options);
    assert_ok(vly_accelerator_find(registry, VLY_GEMM_INTERFACE, "gemm_cpu:2",
                                   8, &a, &error),
              error);
    assert_int_equal(a.device.n_threads, 2);
    vly_registry_destroy(registry);
}

/* Who is not asked is not started: a driver takes seconds and memory. The words
 * of interfaces are there once a plugin has started. */
static void test_find_alone(void **state)
{
    (void)state;
    vly_registry *registry = NULL;
    vly_accelerator a;
    uint32_t n_others = 0;
    assert_ok(vly_registry_create(&registry, &error), error);
    assert_ok(vly_accelerator_find(registry, VLY_GEMM_INTERFACE, "cpu", 1, &a,
                                   &error),
              error);
    for (uint32_t i = 0; i < vly_registry_count(registry); i++) {
        vly_plugin_info info = {.struct_size = sizeof info};
        assert_int_equal(vly_registry_file(registry, i, &info), VLY_OK);
        const bool started = info.interfaces[0] != '\0';
        assert_int_equal(started, strcmp(info.id, "gemm_cpu") == 0);
        n_others += !started;
    }
    assert_true(n_others > 0);
    vly_registry_destroy(registry);
}

static void test_not_found(void **state)
{
    (void)state;
    static const struct {
        const char *interface_id;
        const char *device;
        vly_status status;
        const char *word;
    } wrong[] = {
        {VLY_GEMM_INTERFACE, "auto", VLY_E_INVALID, "auto"},
        {VLY_GEMM_INTERFACE, "", VLY_E_INVALID, "empty"},
        {VLY_GEMM_INTERFACE, NULL, VLY_E_INVALID, "empty"},
        {VLY_GEMM_INTERFACE, "cpu:1025", VLY_E_INVALID, "threads"},
        {VLY_GEMM_INTERFACE, "abacus", VLY_E_UNSUPPORTED, "gemm_abacus"},
        {VLY_ATTENTION_INTERFACE, "gemm_cpu", VLY_E_UNSUPPORTED,
         "volley.attention/1"},
        {VLY_MEMORY_INTERFACE, "cpu", VLY_E_INVALID, "interface"},
        {NULL, "cpu", VLY_E_INVALID, "interface"}};
    vly_registry *registry = NULL;
    vly_accelerator a;
    assert_ok(vly_registry_create(&registry, &error), error);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        error.message[0] = 0;
        vly_status status = vly_accelerator_find(
            registry, wrong[i].interface_id, wrong[i].device, 1, &a, &error);
        if (status != wrong[i].status ||
            strstr(error.message, wrong[i].word) == NULL)
            fail_msg("%zu: status %d: %s", i, (int)status, error.message);
    }
    assert_int_equal(
        vly_accelerator_find(NULL, VLY_GEMM_INTERFACE, "cpu", 1, &a, &error),
        VLY_E_INVALID);
    vly_registry_destroy(registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables), cmocka_unit_test(test_half_a_graph),
        cmocka_unit_test(test_find), cmocka_unit_test(test_find_alone),
        cmocka_unit_test(test_not_found)};
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}

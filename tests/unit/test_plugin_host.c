/* SPDX-License-Identifier: Apache-2.0
 * The host table: memory is counted, messages and samples arrive where they
 * were asked for.
 */
#include "plugin/host_table.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "plugin/host_log.h"
#include "volley_test.h"

static void test_alloc(void **state)
{
    (void)state;
    const vly_host *host = vly_host_table();
    void *context = host->context;
    assert_int_equal(host->struct_size, sizeof(*host));
    assert_int_equal(host->abi_version, VLY_ABI_VERSION);
    uint64_t live = vly_memory_live();
    assert_int_equal(vly_plugin_live_blocks(NULL), 0);
    for (uint64_t align = 1; align <= 4096; align *= 2) {
        char *block = host->alloc(context, 100, align);
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % align, 0);
        memset(block, 1, 100);
        assert_int_equal(vly_plugin_live_blocks(NULL), 1);
        assert_int_equal(vly_memory_live(), live + 1);
        host->free(context, block);
    }
    void *empty = host->alloc(context, 0, 1);
    assert_non_null(empty);
    host->free(context, empty);
    host->free(context, NULL);
    assert_null(host->alloc(context, 8, 0));
    assert_null(host->alloc(context, 8, 24));
    assert_null(host->alloc(context, 8, 8192));
    assert_null(host->alloc(context, UINT64_MAX, 8));
    vly_memory_fail_at(1);
    assert_null(host->alloc(context, 8, 8));
    assert_int_equal(vly_plugin_live_blocks(NULL), 0);
    assert_int_equal(vly_memory_live(), live);
}

typedef struct heard {
    int count;
    int32_t level;
    char text[128];
    double value;
} heard;

static void hear_log(void *arg, int32_t level, const char *source,
                     const char *message)
{
    heard *h = arg;
    h->count++;
    h->level = level;
    snprintf(h->text, sizeof(h->text), "%s: %s", source, message);
}

static void hear_telemetry(void *arg, const char *source, const char *name,
                           double value)
{
    heard *h = arg;
    h->count++;
    h->value = value;
    snprintf(h->text, sizeof(h->text), "%s: %s", source, name);
}

static void test_log(void **state)
{
    (void)state;
    const vly_host *host = vly_host_table();
    heard h = {.count = 0};
    setenv("VOLLEY_LOG", "loud", 1);
    vly_log_set_sink(hear_log, &h);
    host->log(host->context, VLY_LOG_INFO, "dropped");
    assert_int_equal(h.count, 1); /* about the variable */
    assert_string_equal(h.text, "volley: VOLLEY_LOG is \"loud\", wanted debug, "
                                "info, warn or error");
    host->log(host->context, VLY_LOG_WARN, "100% kept");
    assert_int_equal(h.count, 2);
    assert_int_equal(h.level, VLY_LOG_WARN);
    assert_string_equal(h.text, "volley: 100% kept");
    assert_int_equal(vly_log_set_level(VLY_LOG_DEBUG), VLY_LOG_WARN);
    host->log(host->context, VLY_LOG_DEBUG, "seen");
    assert_int_equal(h.count, 3);
    host->log(host->context, 99, NULL); /* a plugin may be wrong */
    assert_int_equal(h.level, VLY_LOG_ERROR);
    assert_int_equal(vly_log_set_level(VLY_LOG_ERROR), VLY_LOG_DEBUG);
    host->log(host->context, VLY_LOG_WARN, "dropped");
    assert_int_equal(h.count, 4);
    assert_int_equal(vly_log_set_level(99), VLY_LOG_ERROR); /* ignored */
    host->log(host->context, VLY_LOG_ERROR, "kept");
    assert_int_equal(h.count, 5);
    vly_log_set_sink(NULL, NULL);
}

static void test_telemetry(void **state)
{
    (void)state;
    const vly_host *host = vly_host_table();
    heard h = {.count = 0};
    host->telemetry(host->context, "power_w", 1.0); /* no process listens */
    vly_telemetry_set_sink(hear_telemetry, &h);
    host->telemetry(host->context, "power_w", 2.0);
    vly_telemetry_set_sink(NULL, NULL);
    host->telemetry(host->context, "power_w", 3.0);
    assert_int_equal(h.count, 1);
    assert_string_equal(h.text, "volley: power_w");
    assert_true(h.value == 2.0);
}

/* Every task waits for all the others: ends only if all run at once. */
static _Atomic uint32_t arrived;

static void meet(void *arg, uint32_t task)
{
    uint32_t *seen = arg;
    seen[task]++;
    atomic_fetch_add(&arrived, 1);
    while (atomic_load(&arrived) < 4)
        continue;
}

static void test_parallel_for(void **state)
{
    (void)state;
    const vly_host *host = vly_host_table();
    uint32_t seen[4] = {0};
    atomic_store(&arrived, 0);
    assert_int_equal(host->parallel_for(host->context, 4, meet, seen), VLY_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(seen[i], 1);
    assert_int_equal(host->parallel_for(host->context, 0, meet, seen),
                     VLY_E_INVALID);
    assert_int_equal(host->parallel_for(host->context, 1025, meet, seen),
                     VLY_E_INVALID);
}

static void test_clock(void **state)
{
    (void)state;
    const vly_host *host = vly_host_table();
    uint64_t first = host->clock_ns(host->context);
    assert_true(host->clock_ns(host->context) >= first);
}

static int n_init, n_deinit;

static vly_status count_init(const vly_host *host, vly_error *error)
{
    (void)host;
    (void)error;
    n_init++;
    return VLY_OK;
}

static void count_deinit(void)
{
    n_deinit++;
}

/* Two registries share a plugin: init once, deinit with the last. */
static void test_started_once(void **state)
{
    (void)state;
    vly_plugin plugin = {
        .id = "counted", .init = count_init, .deinit = count_deinit};
    vly_error error = VLY_ERROR_INIT;
    assert_ok(vly_plugin_start(&plugin, &plugin, &error), error);
    assert_ok(vly_plugin_start(&plugin, &plugin, &error), error);
    assert_int_equal(n_init, 1);
    vly_plugin_stop(&plugin, &plugin);
    assert_int_equal(n_deinit, 0);
    vly_plugin_stop(&plugin, &plugin);
    assert_int_equal(n_deinit, 1);
    vly_plugin_stop(&plugin, &plugin); /* not running: nothing */
    assert_int_equal(n_deinit, 1);
    assert_ok(vly_plugin_start(&plugin, &plugin, &error), error);
    assert_int_equal(n_init, 2);
    vly_plugin_stop(&plugin, &plugin);
}

static void test_too_many(void **state)
{
    (void)state;
    static char entries[200];
    vly_plugin plugin = {
        .id = "many", .init = count_init, .deinit = count_deinit};
    vly_error error = VLY_ERROR_INIT;
    vly_status status = VLY_OK;
    for (size_t i = 0; i < sizeof(entries) && status == VLY_OK; i++) {
        status = vly_plugin_start(&plugin, &entries[i], &error);
        vly_plugin_stop(&plugin, &entries[i]);
    }
    assert_int_equal(status, VLY_E_ABI);
    assert_string_equal(error.message, "more than 128 plugins in one process");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_log), /* first: it reads VOLLEY_LOG once */
    cmocka_unit_test(test_alloc),        cmocka_unit_test(test_telemetry),
    cmocka_unit_test(test_parallel_for), cmocka_unit_test(test_clock),
    cmocka_unit_test(test_started_once), cmocka_unit_test(test_too_many),
};

VLY_TEST_MAIN(tests)

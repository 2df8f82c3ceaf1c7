/* SPDX-License-Identifier: Apache-2.0
 * Host code that backends and accelerators share: the host's table, messages,
 * sizes, options of a device, the processor as a device.
 */
#include "volley_test.h"

#include "base/error.h"
#include "plugin/host_table.h"
#include "plugins/support/support_options.h"
#include "plugins/support/support_processor.h"

const char vly_support_plugin[] = "test";

static void test_host(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    vly_host old = *vly_host_table();
    old.struct_size = sizeof old - 1;
    assert_int_equal(vly_support_start(NULL, &error), VLY_E_ABI);
    assert_int_equal(vly_support_start(&old, &error), VLY_E_ABI);
    assert_string_equal(error.message,
                        "test: the host table is smaller than version 1.0");
    assert_null(vly_support_host);
    assert_ok(vly_support_start(vly_host_table(), &error), error);
    assert_ptr_equal(vly_support_host, vly_host_table());
    vly_support_stop();
    assert_null(vly_support_host);
}

static void test_messages(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    assert_int_equal(vly_support_fail(NULL, VLY_E_DEVICE, "%d", 1),
                     VLY_E_DEVICE);
    assert_int_equal(vly_support_fail_memory(5, 3, " on the device", &error),
                     VLY_E_NOMEM);
    assert_int_equal(error.bytes_requested, 5);
    assert_int_equal(error.bytes_available, 3);
    assert_string_equal(error.message, "out of memory: test needs a block of 5 "
                                       "bytes on the device, 3 are free");
    /* another message has no sizes */
    assert_int_equal(vly_support_fail(&error, VLY_E_INVALID, "%s", "no"),
                     VLY_E_INVALID);
    assert_int_equal(error.status, VLY_E_INVALID);
    assert_int_equal(error.bytes_requested, 0);
    assert_string_equal(error.message, "no");
}

static void test_sizes(void **state)
{
    (void)state;
    uint64_t out = 7;
    assert_false(vly_support_mul(UINT64_MAX / 2, 3, &out));
    assert_false(vly_support_add(UINT64_MAX, 1, &out));
    assert_int_equal(out, 7);
    assert_true(vly_support_mul(UINT64_MAX, 0, &out));
    assert_int_equal(out, 0);
    assert_true(vly_support_mul(UINT64_MAX / 3, 3, &out));
    assert_true(out == UINT64_MAX / 3 * 3);
    assert_true(vly_support_add(UINT64_MAX - 1, 1, &out));
    assert_true(out == UINT64_MAX);
    assert_true(vly_support_available() <= vly_support_total());
}

static void test_options(void **state)
{
    (void)state;
    static const char *const words[] = {"local", "global", NULL};
    uint32_t plan = 9, launch = 9, cluster = 9;
    const vly_support_option options[] = {
        {.name = "plan", .value = &plan, .words = words},
        {.name = "launch", .value = &launch},
        {.name = "cluster", .value = &cluster, .most = 16, .is_power = true}};
    size_t n = 0;
    assert_null(vly_support_read_options(NULL, options, 3, &n));
    assert_null(vly_support_read_options("", options, 3, &n));
    assert_int_equal(plan + launch + cluster, 27);
    assert_null(vly_support_read_options("launch=999999,plan=global,cluster=8",
                                         options, 3, &n));
    assert_int_equal(plan, 1);
    assert_int_equal(launch, 999999);
    assert_int_equal(cluster, 8);
    static const char *const bad[] = {
        "plan",         "plan=",       "plan=globa",     "plan=globals",
        "plans=global", "launch=",     "launch=1000000", "launch=-1",
        "launch=1x",    "cluster=3",   "cluster=32",     "=1",
        "lau=1",        "cluster=0x8",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[64];
        snprintf(text, sizeof text, "launch=5,%s,plan=local", bad[i]);
        const char *at = vly_support_read_options(text, options, 3, &n);
        if (at != text + 9 || n != strlen(bad[i]))
            fail_msg("\"%s\" is not what was refused of \"%s\"", bad[i], text);
    }
    assert_int_equal(launch, 5);
    assert_int_equal(plan, 1);
}

static void test_processor(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    vly_device_info info = {.struct_size = sizeof info - 1, .index = 3};
    assert_int_equal(vly_support_processor_info(NULL, NULL, &error),
                     VLY_E_INVALID);
    assert_non_null(strstr(error.message, "struct_size is 0, wanted "));
    assert_int_equal(vly_support_processor_info(&info, NULL, &error),
                     VLY_E_INVALID);
    assert_int_equal(info.index, 3);
    info.struct_size = sizeof info;
    assert_ok(vly_support_processor_info(&info, NULL, &error), error);
    assert_int_equal(info.index, 0);
    assert_true(info.name[0] != 0);
    assert_non_null(strstr(info.capability, " core"));
    assert_null(strchr(info.capability, ','));
    assert_true(info.memory_bytes == vly_support_total());
    assert_ok(vly_support_processor_info(&info, "AVX2", &error), error);
    assert_non_null(strstr(info.capability, ", AVX2"));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_host),      cmocka_unit_test(test_messages),
    cmocka_unit_test(test_sizes),     cmocka_unit_test(test_options),
    cmocka_unit_test(test_processor),
};

VLY_TEST_MAIN(tests)

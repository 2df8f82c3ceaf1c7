/* SPDX-License-Identifier: Apache-2.0
 * The plugin nvml on a library that is none: every number in its unit, every
 * function missing, every function failing, a device that goes away.
 */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include <volley/volley.h>

#include "accel_common.h"
#include "accelerator/telemetry_source.h"
#include "base/error.h"
#include "nvml_device.h"
#include "volley_test.h"

/* what accel_common wants of a plugin */
const char vly_support_plugin[] = "nvml";

static const char *const fake = VLY_TEST_LIBRARIES "/libnvidia-ml.so.1";
static const uint64_t second = 1000000000;

static const char *const functions[] = {
#define NAME(name, optional, parameters) #name,
    NVML_FUNCTIONS(NAME)
#undef NAME
        "nvmlErrorString"};
enum { N_FUNCTIONS = sizeof functions / sizeof functions[0], N_REQUIRED = 3 };

static nvml_api api;
static nvml_device device;

static void begin(const char *library, uint32_t index)
{
    vly_error error = VLY_ERROR_INIT;
    memset(&device, 0, sizeof device);
    assert_ok(nvml_open(&library, 1, &api, &error), error);
    assert_int_equal(api.nvmlDeviceGetHandleByIndex_v2(index, &device.handle),
                     NVML_OK);
}

static void end(void)
{
    nvml_device_deinit(&api, &device);
    unsetenv("FAKE_NVML_FAIL");
    unsetenv("FAKE_NVML_BLANK");
    unsetenv("FAKE_NVML_XID");
}

static void take(uint64_t at, double *values)
{
    vly_error error = VLY_ERROR_INIT;
    assert_ok(nvml_sample(&api, &device, at, values, &error), error);
}

static uint32_t count(const double *values)
{
    uint32_t n = 0;
    for (int i = 0; i < NVML_N_METRICS; i++)
        n += isnan(values[i]) ? 0 : 1;
    return n;
}

static void test_values(void **state)
{
    (void)state;
    double v[NVML_N_METRICS];
    begin(fake, 0);
    take(second, v);
    /* GPM has one sample: nothing between two yet */
    assert_true(isnan(v[NVML_METRIC_SM_ACTIVE]));
    assert_true(isnan(v[NVML_METRIC_PCIE_SENT]));
    take(second + 50000000, v);
    assert_true(isnan(v[NVML_METRIC_SM_ACTIVE]));
    setenv("FAKE_NVML_XID", "3", 1);
    take(2 * second, v);
    assert_close(v[NVML_METRIC_SM_ACTIVE], 0.25, 1e-12);
    assert_close(v[NVML_METRIC_SM_OCCUPANCY], 0.25, 1e-12);
    assert_close(v[NVML_METRIC_TENSOR_ACTIVE], 0.25, 1e-12);
    assert_close(v[NVML_METRIC_DRAM_ACTIVE], 0.25, 1e-12);
    assert_close(v[NVML_METRIC_KERNEL_RESIDENT], 0.90, 1e-12);
    assert_close(v[NVML_METRIC_MEMORY_ACCESS], 0.40, 1e-12);
    assert_close(v[NVML_METRIC_MEMORY_USED], 200, 0);
    assert_close(v[NVML_METRIC_MEMORY_FREE], 750, 0);
    assert_close(v[NVML_METRIC_SM_CLOCK], 1.98e9, 1);
    assert_close(v[NVML_METRIC_MEMORY_CLOCK], 3.201e9, 1);
    assert_close(v[NVML_METRIC_LIMITED_POWER], 1, 0);
    assert_close(v[NVML_METRIC_LIMITED_HW_THERMAL], 1, 0);
    assert_close(v[NVML_METRIC_LIMITED_BRAKE], 0, 0);
    assert_close(v[NVML_METRIC_LIMITED_POWER_S], 2, 1e-9);
    /* the one field that is not supported */
    assert_true(isnan(v[NVML_METRIC_LIMITED_THERMAL_S]));
    assert_close(v[NVML_METRIC_POWER], 650, 1e-9);
    assert_close(v[NVML_METRIC_POWER_MEAN], 300, 1e-9);
    assert_close(v[NVML_METRIC_ENERGY], 5, 1e-9);
    assert_close(v[NVML_METRIC_TEMPERATURE], 50, 0);
    assert_close(v[NVML_METRIC_MEMORY_TEMPERATURE], 77, 0);
    assert_close(v[NVML_METRIC_ECC_CORRECTED], 2, 0);
    assert_close(v[NVML_METRIC_ECC_UNCORRECTED], 12, 0);
    assert_close(v[NVML_METRIC_XID_ERRORS], 3, 0);
    assert_close(v[NVML_METRIC_XID_LAST], 79, 0);
    assert_close(v[NVML_METRIC_PCIE_SENT], 2097152, 0);
    assert_close(v[NVML_METRIC_PCIE_RECEIVED], 2097152, 0);
    end();
    /* one without GPM: utilisation, and PCIe from the older function */
    begin(fake, 1);
    take(second, v);
    take(3 * second, v);
    assert_true(isnan(v[NVML_METRIC_SM_ACTIVE]));
    assert_close(v[NVML_METRIC_KERNEL_RESIDENT], 0.91, 1e-12);
    assert_close(v[NVML_METRIC_PCIE_SENT], 7000, 0);
    assert_close(v[NVML_METRIC_PCIE_RECEIVED], 9000, 0);
    assert_close(v[NVML_METRIC_LIMITED_POWER], 0, 0);
    assert_close(v[NVML_METRIC_XID_ERRORS], 0, 0);
    end();
}

/* Numbers that stand for "none" are none. */
static void test_blank(void **state)
{
    (void)state;
    double v[NVML_N_METRICS];
    for (uint32_t i = 0; i < 2; i++) {
        setenv("FAKE_NVML_BLANK", "1", 1);
        begin(fake, i);
        take(second, v);
        take(2 * second, v);
        for (int m = 0; m < NVML_N_METRICS; m++)
            assert_true(isnan(v[m]) || m == NVML_METRIC_XID_ERRORS ||
                        m == NVML_METRIC_XID_LAST);
        end();
    }
}

/* A copy of the library in which a function has another name. */
static void copy_without(const char *name, const char *path)
{
    FILE *from = fopen(fake, "rb");
    FILE *to = fopen(path, "wb");
    assert_non_null(from);
    assert_non_null(to);
    size_t n = 1u << 22;
    size_t length = strlen(name);
    char *bytes = malloc(n);
    assert_non_null(bytes);
    n = fread(bytes, 1, n, from);
    uint32_t found = 0;
    for (size_t i = 1; i + length < n; i++)
        if (bytes[i - 1] == '\0' && memcmp(bytes + i, name, length + 1) == 0) {
            bytes[i] = 'x';
            found++;
        }
    assert_true(found > 0);
    assert_int_equal(fwrite(bytes, 1, n, to), n);
    free(bytes);
    fclose(from);
    assert_int_equal(fclose(to), 0);
}

static void test_missing(void **state)
{
    (void)state;
    double all[NVML_N_METRICS];
    double v[NVML_N_METRICS];
    begin(fake, 0);
    take(second, all);
    take(2 * second, all);
    end();
    for (int f = 0; f < N_FUNCTIONS; f++) {
        char path[256];
        const char *library = path;
        vly_error error = VLY_ERROR_INIT;
        snprintf(path, sizeof path, "%s/without_%d_%d.so", VLY_TEST_BINARY_DIR,
                 (int)getpid(), f);
        copy_without(functions[f], path);
        if (f < N_REQUIRED) {
            assert_int_equal(nvml_open(&library, 1, &api, &error),
                             VLY_E_UNSUPPORTED);
            assert_non_null(strstr(error.message, functions[f]));
        } else {
            begin(library, 0);
            take(second, v);
            take(2 * second, v);
            assert_true(count(v) <= count(all));
            /* what is still told is told as before, or by an older function */
            assert_true(count(v) + 7 >= count(all));
            assert_close(
                v[NVML_METRIC_KERNEL_RESIDENT] >= 0 ||
                    strcmp(functions[f], "nvmlDeviceGetUtilizationRates") == 0,
                1, 0);
            end();
        }
        unlink(path);
    }
}

/* Every function that fails leaves its own out, and is asked again. */
static void test_failing(void **state)
{
    (void)state;
    double before[NVML_N_METRICS];
    double v[NVML_N_METRICS];
    begin(fake, 0);
    take(second, before);
    take(2 * second, before);
    for (int f = N_REQUIRED; f < N_FUNCTIONS; f++) {
        char text[96];
        snprintf(text, sizeof text, "%s=3", functions[f]);
        setenv("FAKE_NVML_FAIL", text, 1);
        take((uint64_t)(3 + 2 * f) * second, v);
        assert_true(count(v) + 7 >= count(before));
        unsetenv("FAKE_NVML_FAIL");
        take((uint64_t)(4 + 2 * f) * second, v);
        assert_int_equal(count(v), count(before));
    }
    setenv("FAKE_NVML_FAIL", "*=3", 1);
    take(1000 * second, v);
    assert_int_equal(count(v), 2); /* errors so far need no answer */
    end();
}

static void test_lost(void **state)
{
    (void)state;
    double v[NVML_N_METRICS];
    vly_error error = VLY_ERROR_INIT;
    begin(fake, 0);
    take(second, v);
    v[0] = -7;
    setenv("FAKE_NVML_FAIL", "nvmlDeviceGetPowerUsage=15", 1);
    assert_int_equal(nvml_sample(&api, &device, 2 * second, v, &error),
                     VLY_E_DEVICE);
    assert_string_equal(error.message, "the GPU is gone: GPU is lost");
    assert_close(v[0], -7, 0);
    /* and stays gone */
    unsetenv("FAKE_NVML_FAIL");
    assert_int_equal(nvml_sample(&api, &device, 3 * second, v, &error),
                     VLY_E_DEVICE);
    end();
}

static void test_no_start(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    const char *missing = "/no/such/libnvidia-ml.so.1";
    assert_int_equal(nvml_open(&missing, 1, &api, &error), VLY_E_UNSUPPORTED);
    assert_non_null(strstr(error.message, missing));
    setenv("FAKE_NVML_FAIL", "nvmlInit_v2=9", 1);
    assert_int_equal(nvml_open(&fake, 1, &api, &error), VLY_E_DEVICE);
    assert_string_equal(error.message,
                        "NVML does not start: Driver Not Loaded");
    unsetenv("FAKE_NVML_FAIL");
}

/* ---- the plugin itself: the test's LD_LIBRARY_PATH has the fakes --------- */

static void test_plugin(void **state)
{
    (void)state;
    vly_registry *registry = NULL;
    vly_telemetry_source table;
    vly_telemetry_device info = {.struct_size = sizeof info};
    vly_error error = VLY_ERROR_INIT;
    double v[NVML_N_METRICS + 1];
    uint32_t index = 7;
    setenv("VOLLEY_PLUGIN_PATH", VLY_TEST_PLUGIN_DIR "/nvml.so", 1);
    assert_ok(vly_registry_create(&registry, &error), error);
    assert_ok(vly_telemetry_find(registry, "nvml", &table, &error), error);
    assert_int_equal(table.device_count(), 2);
    assert_ok(table.device_info(1, &info, &error), error);
    assert_string_equal(info.name, "Fake GPU 1");
    assert_string_equal(info.uuid, "GPU-0000-1");
    assert_string_equal(info.driver, "580.00");
    assert_int_equal(table.device_info(2, &info, &error), VLY_E_INVALID);
    assert_non_null(strstr(error.message, "device 2, but there are 2"));
    /* CUDA's order is the other one */
    assert_ok(table.device_find("cuda:0", &index, &error), error);
    assert_int_equal(index, 1);
    assert_ok(table.device_find("cuda:1,plan=global", &index, &error), error);
    assert_int_equal(index, 0);
    assert_ok(table.device_find("cuda", &index, &error), error);
    assert_int_equal(index, 1);
    assert_int_equal(table.device_find("cuda:2", &index, &error), VLY_E_DEVICE);
    assert_int_equal(table.device_find("vulkan:0", &index, &error),
                     VLY_E_UNSUPPORTED);
    assert_int_equal(table.device_find("cuda:x", &index, &error),
                     VLY_E_UNSUPPORTED);
    assert_int_equal(index, 1);
    const vly_telemetry_metric *metrics = NULL;
    const uint32_t n = table.metrics(&metrics);
    assert_int_equal(n, NVML_N_METRICS);
    v[n] = -3;
    assert_ok(table.sample(0, v, n + 1, &error), error);
    assert_close(v[n], -3, 0);
    assert_close(v[NVML_METRIC_POWER], 650, 1e-9);
    v[1] = -3;
    assert_ok(table.sample(0, v, 1, &error), error);
    assert_close(v[1], -3, 0);
    assert_int_equal(table.sample(9, v, n, &error), VLY_E_INVALID);
    vly_registry_destroy(registry);
    /* no device can be had: the plugin says why */
    setenv("FAKE_NVML_FAIL", "nvmlDeviceGetCount_v2=3", 1);
    assert_ok(vly_registry_create(&registry, &error), error);
    assert_int_equal(vly_telemetry_find(registry, "nvml", &table, &error),
                     VLY_E_UNSUPPORTED);
    assert_non_null(
        strstr(error.message, "NVML counts no devices: Not Supported"));
    vly_registry_destroy(registry);
    unsetenv("FAKE_NVML_FAIL");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),  cmocka_unit_test(test_blank),
        cmocka_unit_test(test_missing), cmocka_unit_test(test_failing),
        cmocka_unit_test(test_lost),    cmocka_unit_test(test_no_start),
        cmocka_unit_test(test_plugin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}

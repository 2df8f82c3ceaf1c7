/* SPDX-License-Identifier: Apache-2.0
 * What the monitor is told of the net's device: each sample once, counters as
 * what they grew by, and nothing of a device that the net is not on.
 */
#include <math.h>
#include <time.h>

#include "base/error.h"
#include "base/memory.h"
#include "monitor/device_watch.h"
#include "tools/watch/run_watch.h"
#include "volley_test.h"

enum { DEVICES = 2, METRICS = 4 };

static const vly_telemetry_metric metrics[METRICS] = {
    {"power_watts", NULL, NULL, "Power.", VLY_TELEMETRY_GAUGE, 0},
    {"errors", "kind", "soft", "Errors.", VLY_TELEMETRY_COUNTER, 0},
    {"errors", "kind", "hard", "Errors.", VLY_TELEMETRY_COUNTER, 0},
    {"heat_celsius", NULL, NULL, "Heat.", VLY_TELEMETRY_GAUGE, 0},
};

/* Samples so far, of all devices; atomic. */
static uint64_t n_samples;

/* Of watch_lines.c, which writes files. */
void watch_wall_json(json_writer *json, uint64_t unix_ns)
{
    json_u64(json, "time", unix_ns);
}

static uint32_t device_count(void)
{
    return DEVICES;
}

static vly_status device_info(uint32_t device, vly_telemetry_device *info,
                              vly_error *error)
{
    (void)error;
    info->index = device;
    return VLY_OK;
}

static vly_status device_find(const char *name, uint32_t *device,
                              vly_error *error)
{
    if (strncmp(name, "cuda:", 5) != 0)
        return vly_fail(error, VLY_E_UNSUPPORTED, "not ours");
    *device = (uint32_t)(name[5] - '0');
    return VLY_OK;
}

static uint32_t list_metrics(const vly_telemetry_metric **list)
{
    *list = metrics;
    return METRICS;
}

static void nap(void)
{
    const struct timespec time = {0, 200000};
    nanosleep(&time, NULL);
}

/* Sample k: k watts, 10 + k and 1,000,000 + 5 k errors. */
static vly_status sample(uint32_t device, double *values, uint32_t n,
                         vly_error *error)
{
    (void)device;
    (void)error;
    (void)n;
    const double k =
        (double)__atomic_add_fetch(&n_samples, 1, __ATOMIC_ACQ_REL);
    values[0] = k;
    values[1] = 10 + k;
    values[2] = 1e6 + 5 * k;
    values[3] = NAN;
    return VLY_OK;
}

static const vly_telemetry_source source = {
    .struct_size = sizeof(vly_telemetry_source),
    .metric_size = sizeof(vly_telemetry_metric),
    .device_count = device_count,
    .device_info = device_info,
    .device_find = device_find,
    .metrics = list_metrics,
    .sample = sample,
};

static void move(vly_device_watch *watch, uint32_t device)
{
    vly_device_watch_target(watch, device == 0 ? "cuda:0" : "cuda:1");
    while (!vly_device_watch_is_target(watch, device))
        nap();
}

/* Waits for what is told next: the number of its sample, and that of the one
 * which its counters are held against. */
static uint64_t next(watch_devices *devices, uint64_t *from, uint32_t *idle)
{
    uint64_t numbers[METRICS] = {0};
    while (!watch_devices_values(devices, numbers)) {
        ++*idle;
        nap();
    }
    const uint64_t k = numbers[0] / 1000;
    assert_int_equal(numbers[0], 1000 * k);
    assert_int_equal(numbers[2], 5 * numbers[1]);
    assert_int_equal(numbers[1] % 1000, 0);
    assert_int_equal(numbers[3], 0);
    *from = k - numbers[1] / 1000;
    return k;
}

static void test_once(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    vly_device_watch *watch = NULL;
    watch_devices *devices = NULL;
    uint64_t numbers[METRICS] = {0};
    uint64_t from = 0;
    uint32_t idle = 0;
    assert_ok(vly_device_watch_create(&source, false, 2000000, &watch, &error),
              error);
    assert_ok(watch_devices_open(watch, &devices, &error), error);
    assert_int_equal(watch_devices_count(devices), METRICS);
    assert_string_equal(watch_devices_names(devices)[0], "power_watts");
    assert_string_equal(watch_devices_names(devices)[2], "errors_hard");
    assert_null(watch_devices_names(NULL));
    /* on no device of these */
    assert_false(watch_devices_values(devices, numbers));
    move(watch, 0);
    uint64_t k = next(devices, &from, &idle);
    assert_true(from >= 1 && from < k); /* the first says nothing of counters */
    /* each is told once, as a record without one is not one of zeros */
    for (int i = 0; i < 5; i++) {
        const uint64_t before = k;
        k = next(devices, &from, &idle);
        assert_true(k > before);
        assert_int_equal(from, before);
    }
    assert_true(idle > 0);
    move(watch, 1);
    for (int i = 0; i < 3; i++)
        k = next(devices, &from, &idle);
    /* back: what was counted elsewhere is no news of now */
    const uint64_t left = __atomic_load_n(&n_samples, __ATOMIC_ACQUIRE);
    move(watch, 0);
    k = next(devices, &from, &idle);
    assert_true(from > left && k > from);
    watch_devices_close(devices);
    vly_device_watch_destroy(watch);
}

static void test_no_memory(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    vly_device_watch *watch = NULL;
    watch_devices *devices = NULL;
    assert_ok(vly_device_watch_create(&source, false, 1000, &watch, &error),
              error);
    const uint64_t live = vly_memory_live();
    uint64_t n = 1;
    for (;; n++) {
        vly_memory_fail_at(n);
        const vly_status status = watch_devices_open(watch, &devices, &error);
        const uint64_t left = vly_memory_fail_at(0);
        if (status == VLY_OK && left > 0)
            break;
        assert_int_equal(status, VLY_E_NOMEM);
        assert_null(devices);
        assert_int_equal(vly_memory_live(), live);
    }
    assert_true(n > METRICS);
    watch_devices_close(devices);
    assert_int_equal(vly_memory_live(), live);
    vly_device_watch_destroy(watch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_once),
                                       cmocka_unit_test(test_no_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

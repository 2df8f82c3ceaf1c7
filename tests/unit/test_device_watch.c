/* SPDX-License-Identifier: Apache-2.0
 * Devices sampled on a thread of their own: the one that the net is on, all of
 * them, one that goes away; and tables of volley.telemetry/1 that are refused.
 */
#include "monitor/device_watch.h"

#include <math.h>
#include <time.h>

#include "accelerator/telemetry_source.h"
#include "base/error.h"
#include "base/memory.h"
#include "volley_test.h"

enum { DEVICES = 3, METRICS = 4 };
/* Values of a device begin at its multiple, above any number of samples. */
static const double device_step = 1e12;

static vly_telemetry_metric metrics[METRICS];
static uint32_t n_metrics;
static uint32_t fails; /* device + 1 that is gone; 0: none. Atomic */
static uint64_t samples[DEVICES];

static const vly_telemetry_metric sound[METRICS] = {
    {"power_watts", NULL, NULL, "Power.", VLY_TELEMETRY_GAUGE, 0},
    {"errors", "kind", "soft", "Errors.", VLY_TELEMETRY_COUNTER, 0},
    {"errors", "kind", "hard", "Errors.", VLY_TELEMETRY_COUNTER, 0},
    {"heat_celsius", NULL, NULL, "Heat.", VLY_TELEMETRY_GAUGE, 0},
};

static uint32_t device_count(void)
{
    return DEVICES;
}

static vly_status device_info(uint32_t device, vly_telemetry_device *info,
                              vly_error *error)
{
    if (device == 2)
        return vly_fail(error, VLY_E_DEVICE, "nobody may ask it");
    info->index = device;
    snprintf(info->uuid, sizeof info->uuid, "GPU-%u", device);
    return VLY_OK;
}

/* The library counts the other way round. */
static vly_status device_find(const char *name, uint32_t *device,
                              vly_error *error)
{
    if (strncmp(name, "cuda:", 5) != 0)
        return vly_fail(error, VLY_E_UNSUPPORTED, "not ours");
    *device = (uint32_t)(DEVICES - 1 - (name[5] - '0'));
    return VLY_OK;
}

static uint32_t list_metrics(const vly_telemetry_metric **list)
{
    *list = metrics;
    return n_metrics;
}

static vly_status sample(uint32_t device, double *values, uint32_t n,
                         vly_error *error)
{
    if (__atomic_load_n(&fails, __ATOMIC_ACQUIRE) == device + 1)
        return vly_fail(error, VLY_E_DEVICE, "it fell off the bus");
    const uint64_t k =
        __atomic_fetch_add(&samples[device], 1, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < n; i++)
        values[i] = i == 3 ? NAN : device_step * device + (double)(k + i);
    return VLY_OK;
}

static const vly_telemetry_source good = {
    .struct_size = sizeof(vly_telemetry_source),
    .metric_size = sizeof(vly_telemetry_metric),
    .device_count = device_count,
    .device_info = device_info,
    .device_find = device_find,
    .metrics = list_metrics,
    .sample = sample,
};

static void reset(void)
{
    memcpy(metrics, sound, sizeof metrics);
    n_metrics = METRICS;
    __atomic_store_n(&fails, 0, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < DEVICES; i++)
        __atomic_store_n(&samples[i], 0, __ATOMIC_RELAXED);
}

static void nap(void)
{
    const struct timespec time = {0, 1000000};
    nanosleep(&time, NULL);
}

static vly_device_watch *begin(bool all)
{
    vly_device_watch *watch = NULL;
    vly_error error = VLY_ERROR_INIT;
    reset();
    assert_ok(vly_device_watch_create(&good, all, 1000, &watch, &error), error);
    return watch;
}

/* The next sample of a device, whenever it comes. */
static void next_sample(vly_device_watch *watch, uint32_t device,
                        uint64_t *next, double *values)
{
    vly_device_sample taken;
    while (!vly_device_watch_newest(watch, device, next, &taken, values))
        nap();
    assert_true(taken.at_ns > 0 && taken.unix_ns > 0);
}

static void test_own(void **state)
{
    (void)state;
    vly_device_watch *watch = begin(false);
    double values[METRICS];
    uint64_t next[DEVICES] = {0};
    vly_device_sample taken;
    assert_int_equal(vly_device_watch_devices(watch), DEVICES);
    assert_int_equal(vly_device_watch_metrics(watch), METRICS);
    assert_string_equal(vly_device_watch_metric(watch, 2)->value, "hard");
    assert_string_equal(vly_device_watch_device(watch, 1)->uuid, "GPU-1");
    vly_device_watch_target(watch, "cpu:4");
    vly_device_watch_target(watch, "cuda:1");
    next_sample(watch, 1, &next[1], values);
    assert_true(values[0] >= device_step && values[2] >= values[0] + 2);
    assert_true(isnan(values[3]));
    assert_false(vly_device_watch_newest(watch, 0, &next[0], &taken, values));
    assert_true(vly_device_watch_active(watch, 1));
    /* the net moves, and so does the sampled device */
    vly_device_watch_target(watch, "cuda:2");
    next_sample(watch, 0, &next[0], values);
    assert_true(values[0] < device_step);
    assert_false(vly_device_watch_active(watch, 1));
    assert_true(vly_device_watch_is_target(watch, 0));
    assert_false(vly_device_watch_is_target(watch, 1));
    vly_device_watch_target(watch, "cpu:4");
    while (vly_device_watch_active(watch, 0))
        nap();
    assert_false(vly_device_watch_is_target(watch, 0));
    vly_device_watch_destroy(watch);
    vly_device_watch_destroy(NULL);
}

static void test_gone(void **state)
{
    (void)state;
    vly_device_watch *watch = begin(true);
    double values[METRICS];
    char text[200];
    uint64_t next[DEVICES] = {0};
    next_sample(watch, 0, &next[0], values);
    next_sample(watch, 1, &next[1], values);
    /* the one that cannot be asked is none of them */
    assert_false(vly_device_watch_active(watch, 2));
    assert_true(vly_device_watch_failure(watch, 2, text, sizeof text));
    assert_string_equal(text, "nobody may ask it");
    assert_false(vly_device_watch_failure(watch, 1, text, sizeof text));
    __atomic_store_n(&fails, 2, __ATOMIC_RELEASE);
    while (vly_device_watch_active(watch, 1))
        nap();
    assert_true(vly_device_watch_failure(watch, 1, text, sizeof text));
    assert_string_equal(text, "it fell off the bus");
    /* and stays lost, while the other one continues */
    __atomic_store_n(&fails, 0, __ATOMIC_RELEASE);
    const uint64_t before = __atomic_load_n(&samples[1], __ATOMIC_RELAXED);
    vly_device_watch_target(watch, "cuda:1");
    next_sample(watch, 0, &next[0], values);
    next_sample(watch, 0, &next[0], values);
    assert_int_equal(__atomic_load_n(&samples[1], __ATOMIC_RELAXED), before);
    assert_false(vly_device_watch_active(watch, 1));
    vly_device_watch_destroy(watch);
}

static void test_no_memory(void **state)
{
    (void)state;
    vly_device_watch *watch = NULL;
    vly_error error = VLY_ERROR_INIT;
    reset();
    const uint64_t live = vly_memory_live();
    uint64_t n = 1;
    for (;; n++) {
        vly_memory_fail_at(n);
        const vly_status status =
            vly_device_watch_create(&good, true, 1000, &watch, &error);
        const uint64_t left = vly_memory_fail_at(0);
        if (status == VLY_OK && left > 0)
            break;
        assert_int_equal(status, VLY_E_NOMEM);
        assert_null(watch);
        assert_int_equal(vly_memory_live(), live);
    }
    assert_true(n > 2 * DEVICES);
    vly_device_watch_destroy(watch);
    assert_int_equal(vly_memory_live(), live);
}

/* ---- tables ---------------------------------------------------------------
 */

static void refuses(const vly_telemetry_source *table, const char *why)
{
    vly_telemetry_source out = {0};
    vly_error error = VLY_ERROR_INIT;
    assert_int_equal(vly_telemetry_check(table, &out, &error), VLY_E_ABI);
    if (strstr(error.message, why) == NULL)
        fail_msg("%s, wanted: %s", error.message, why);
    assert_int_equal(out.struct_size, 0); /* untouched */
}

static void test_tables(void **state)
{
    (void)state;
    vly_telemetry_source out;
    vly_telemetry_source bad = good;
    vly_error error = VLY_ERROR_INIT;
    reset();
    assert_ok(vly_telemetry_check(&good, &out, &error), error);
    bad.sample = NULL;
    refuses(&bad, "required function sample is missing");
    bad = good;
    bad.struct_size = 8;
    refuses(&bad, VLY_TELEMETRY_INTERFACE);
    bad = good;
    bad.metric_size = 8;
    refuses(&bad, "4 metrics of 8 bytes");
    n_metrics = VLY_TELEMETRY_METRICS_MAX + 1;
    refuses(&good, "1025 metrics");
    reset();
    metrics[0].name = "Power";
    refuses(&good, "metric 0 has no name");
    reset();
    metrics[3].help = NULL;
    refuses(&good, "metric 3 has no name or no help");
    reset();
    metrics[1].value = NULL;
    refuses(&good, "metric 1 has a bad label");
    reset();
    metrics[1].value = "a\"b";
    refuses(&good, "metric 1 has a bad label");
    reset();
    metrics[2].kind = 7;
    refuses(&good, "metric 2 is of no known kind");
    reset();
    metrics[2].value = "soft";
    refuses(&good, "metric 2 is there twice");
    reset();
    metrics[2].kind = VLY_TELEMETRY_GAUGE;
    refuses(&good, "metric 2 is another label or kind");
    reset();
    metrics[2] = sound[3];
    metrics[3] = sound[2];
    refuses(&good, "metric 3 is not next to");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own),
        cmocka_unit_test(test_gone),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}

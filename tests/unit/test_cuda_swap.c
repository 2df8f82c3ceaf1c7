/* SPDX-License-Identifier: Apache-2.0
 * Nets of the engine on two fake CUDA devices (fake_cuda.c): a net that
 * leaves a device frees its memory there, by a swap, a refused swap or a
 * failure.
 */
#include <stdlib.h>

#include "engine_fixture.h"

/* Silent, as no kernel computes here. */
static const char silent[] = "format = 1\n"
                             "[run]\ndt_ms = 0.1\nms = 1\n"
                             "[area.A]\nmodel = \"lif_psc_delta\"\n"
                             "neurons = 500\n"
                             "[[map]]\nfrom = \"A\"\nto = \"A\"\n"
                             "rule = \"fixed_in_degree\"\nin_degree = 20\n"
                             "weight_mv = 1\ndelay_ms = 1.5\n";

static uint64_t used_on(const char *device)
{
    vly_device_usage usage = {.struct_size = sizeof usage};
    for (uint32_t i = 0; i < vly_device_memory_count(); i++)
        if (vly_device_memory_usage(i, &usage) == VLY_OK &&
            strcmp(usage.device, device) == 0)
            return usage.used_bytes;
    return 0;
}

static void init(fixture *f)
{
    char path[1024];
    (void)snprintf(path, sizeof path, "%s:%s/cpu.so", TEST_PLUGIN,
                   VLY_TEST_PLUGIN_DIR);
    setenv("VOLLEY_PLUGIN_PATH", path, 1);
    fixture_init(f, silent);
}

static void hundred_swaps(void **state)
{
    fixture f;
    uint64_t blocks[2] = {0};
    uint64_t bytes[2] = {0};
    static const char *const names[] = {"cuda:1", "cuda:0"};
    (void)state;
    init(&f);
    vly_net *net = fixture_net(&f, "cuda:0");
    for (int i = 0; i < 100; i++) {
        const char *to = names[i % 2];
        assert_ok(vly_net_run(net, 3, &f.error), f.error);
        assert_ok(vly_net_swap(net, to, 0, &f.error), f.error);
        assert_int_equal(used_on(names[1 - i % 2]), 0);
        if (i < 4) { /* forth and back, twice: the cache of memory is full
                      * then */
            blocks[i % 2] = vly_memory_live();
            bytes[i % 2] = used_on(to);
            assert_true(bytes[i % 2] > 0);
        } else {
            assert_int_equal(vly_memory_live(), blocks[i % 2]);
            assert_int_equal(used_on(to), bytes[i % 2]);
        }
    }
    assert_int_equal(vly_net_burst(net), 300);
    vly_net_destroy(net);
    assert_int_equal(used_on("cuda:0") + used_on("cuda:1") + used_on("host"),
                     0);
    fixture_deinit(&f);
}

static void two_nets_on_one_device(void **state)
{
    fixture f;
    (void)state;
    init(&f);
    vly_net *first = fixture_net(&f, "cuda:0");
    uint64_t one = used_on("cuda:0");
    vly_net *second = fixture_net(&f, "cuda:0");
    assert_int_equal(used_on("cuda:0"), 2 * one);
    assert_ok(vly_net_run(first, 5, &f.error), f.error);
    assert_ok(vly_net_run(second, 7, &f.error), f.error);
    uint64_t both = used_on("cuda:0");
    vly_net_destroy(first);
    assert_true(used_on("cuda:0") >= one && used_on("cuda:0") < both);
    /* no room for another net: the existing one continues */
    assert_int_equal(
        vly_device_memory_limit("cuda:0", used_on("cuda:0") + one / 2, NULL),
        VLY_OK);
    vly_net *third = NULL;
    assert_int_equal(
        vly_net_create(f.connectome, f.registry, "cuda:0", 0, &third, &f.error),
        VLY_E_NOMEM);
    assert_true(f.error.bytes_requested > f.error.bytes_available);
    assert_non_null(strstr(f.error.message, "cuda:0: "));
    assert_ok(vly_net_run(second, 7, &f.error), f.error);
    assert_int_equal(vly_device_memory_limit("cuda:0", UINT64_MAX, NULL),
                     VLY_OK);
    vly_net_destroy(second);
    assert_int_equal(used_on("cuda:0"), 0);
    fixture_deinit(&f);
}

static void refused_swap(void **state)
{
    fixture f;
    (void)state;
    init(&f);
    vly_net *net = fixture_net(&f, "cuda:0");
    uint64_t before = used_on("cuda:0");
    assert_int_equal(vly_device_memory_limit("cuda:1", before / 2, NULL),
                     VLY_OK);
    assert_int_equal(vly_net_swap(net, "cuda:1", 0, &f.error), VLY_E_NOMEM);
    assert_int_equal(used_on("cuda:1"), 0);
    assert_int_equal(used_on("cuda:0"), before);
    assert_ok(vly_net_run(net, 3, &f.error), f.error);
    assert_int_equal(vly_device_memory_limit("cuda:1", UINT64_MAX, NULL),
                     VLY_OK);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

static void failed_device(void **state)
{
    fixture f;
    vly_stats stats = {.struct_size = sizeof stats};
    (void)state;
    init(&f);
    vly_net *net = fixture_net(&f, "cuda:0");
    assert_ok(vly_net_failover(net, "cuda:1", 0, 10, NULL, NULL, &f.error),
              f.error);
    assert_ok(vly_net_run(net, 25, &f.error), f.error);
    setenv("FAKE_CUDA_FAULT", "0", 1);
    vly_status status = vly_net_run(net, 25, &f.error);
    unsetenv("FAKE_CUDA_FAULT");
    assert_ok(status, f.error);
    assert_ok(vly_net_stats(net, &stats, &f.error), f.error);
    assert_string_equal(stats.backend, "cuda:1");
    assert_int_equal(stats.bursts, 50);
    assert_int_equal(used_on("cuda:0"), 0);
    assert_true(used_on("cuda:1") > 0);
    vly_net_destroy(net);
    assert_int_equal(used_on("cuda:1") + used_on("host"), 0);
    fixture_deinit(&f);
}

/* Last: a device whose context is gone stays lost, the other one does not. */
static void lost_device(void **state)
{
    fixture f;
    vly_net *other = NULL;
    (void)state;
    init(&f);
    vly_net *net = fixture_net(&f, "cuda:0");
    setenv("FAKE_CUDA_LOST", "0", 1);
    assert_int_equal(vly_net_run(net, 25, &f.error), VLY_E_DEVICE);
    assert_non_null(strstr(f.error.message, "CUDA device 0 failed"));
    unsetenv("FAKE_CUDA_LOST");
    vly_net_destroy(net);
    assert_int_equal(
        vly_net_create(f.connectome, f.registry, "cuda:0", 0, &other, &f.error),
        VLY_E_DEVICE);
    assert_null(other);
    assert_non_null(strstr(f.error.message, "answers no more"));
    net = fixture_net(&f, "cuda:1");
    assert_ok(vly_net_run(net, 25, &f.error), f.error);
    vly_net_destroy(net);
    assert_int_equal(used_on("cuda:0") + used_on("cuda:1") + used_on("host"),
                     0);
    fixture_deinit(&f);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(hundred_swaps), cmocka_unit_test(two_nets_on_one_device),
    cmocka_unit_test(refused_swap),  cmocka_unit_test(failed_device),
    cmocka_unit_test(lost_device),
};

VLY_TEST_MAIN(tests)

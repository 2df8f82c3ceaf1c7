/* SPDX-License-Identifier: Apache-2.0
 * Early ends and failures of the Vulkan backend, through its table: memory of
 * the host and of the device that runs out at every point, options that are
 * wrong, a device that is lost.
 */
#include "test_pair_paths.h"

#include <stdlib.h>

/* pair_cuda is what PAIR_DEVICE names */
#define pair_vulkan pair_cuda

/* Every neuron fires in every burst. */
static void busy_net(test_net *net, uint32_t n)
{
    static const uint32_t never[] = {0xffffffffu};
    uint32_t coefs[6];
    test_net_init(net, 1);
    test_delta_coefs(coefs, 1.0f, 0);
    test_area(net, "lif_psc_delta", n, coefs, 8);
    test_stimulus(net, 0, never, 1, 256, 0, VLY_STIMULUS_ALWAYS);
    test_synapse(net, 0, 0, 0, 0, 1, 10);
    test_net_finish(net);
}

static vly_status create(const test_net *net, const char *options,
                         vly_backend_net **made, vly_error *error)
{
    vly_device_spec device = {
        .struct_size = sizeof device, .n_threads = 1, .options = options};
    *made = NULL;
    return pair_vulkan->net_create(&device, &net->desc, &net->start, made,
                                   error);
}

static void test_stop(void **state)
{
    (void)state;
    pair_open();
    test_net net;
    busy_net(&net, 300);
    vly_backend_net *made = pair_create(pair_vulkan, &net, NULL, NULL);
    uint32_t stop = 1;
    uint64_t digests[10];
    vly_run run = {.struct_size = sizeof run,
                   .n_bursts = 10,
                   .stop = &stop,
                   .digests = digests};
    vly_error error = {.struct_size = sizeof error};
    assert_ok(pair_vulkan->net_run(made, &run, &error), error);
    assert_int_equal(run.n_bursts_done, 1);
    stop = 0;
    assert_ok(pair_vulkan->net_run(made, &run, &error), error);
    assert_int_equal(run.n_bursts_done, 10);
    run.n_bursts = 0;
    assert_ok(pair_vulkan->net_run(made, &run, &error), error);
    assert_int_equal(run.n_bursts_done, 0);
    pair_vulkan->net_destroy(made);
    pair_vulkan->net_destroy(NULL);
    test_net_deinit(&net);
}

/* Room for 2.5 bursts takes 2, however long the submission. */
static void test_small_buffer(void **state)
{
    (void)state;
    pair_open();
    test_net net;
    busy_net(&net, 100);
    vly_backend_net *made = pair_create(pair_vulkan, &net, NULL, NULL);
    uint32_t spikes[250];
    vly_run run = {.struct_size = sizeof run,
                   .flags = VLY_RUN_RECORD,
                   .n_bursts = 10,
                   .spikes = spikes,
                   .spikes_capacity = 250};
    vly_error error = {.struct_size = sizeof error};
    assert_ok(pair_vulkan->net_run(made, &run, &error), error);
    assert_int_equal(run.n_bursts_done, 2);
    assert_int_equal(run.n_spikes, 200);
    assert_int_equal(spikes[0], 0);
    assert_int_equal(spikes[199], 99);
    run.spikes_capacity = 99;
    assert_int_equal(pair_vulkan->net_run(made, &run, &error), VLY_E_INVALID);
    assert_non_null(strstr(error.message, "99 spikes"));
    pair_vulkan->net_destroy(made);
    test_net_deinit(&net);
}

static void test_refusals(void **state)
{
    (void)state;
    pair_open();
    static const struct {
        const char *options;
        const char *says;
        vly_status status;
    } cases[] = {
        {"plan=fast", "plan=fast", VLY_E_INVALID},
        {"size=32,lanes=2,plan=", "plan=", VLY_E_INVALID},
        {"size=48", "powers of two", VLY_E_INVALID},
        {"lanes=3", "powers of two", VLY_E_INVALID},
        {"groups=65536", "65535", VLY_E_INVALID},
        {"size=64,words=32", "size=64", VLY_E_UNSUPPORTED},
        {"launch=,size=8", "launch=", VLY_E_INVALID},
    };
    test_net net;
    vly_backend_net *made;
    busy_net(&net, 100);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        vly_error error = {.struct_size = sizeof error};
        assert_int_equal(create(&net, cases[i].options, &made, &error),
                         cases[i].status);
        assert_null(made);
        assert_non_null(strstr(error.message, cases[i].says));
    }
    vly_error error = {.struct_size = sizeof error};
    vly_device_spec device = {
        .struct_size = sizeof device, .index = 999, .n_threads = 1};
    assert_int_equal(
        pair_vulkan->net_create(&device, &net.desc, &net.start, &made, &error),
        VLY_E_DEVICE);
    assert_non_null(strstr(error.message, "999"));
    test_net_deinit(&net);
}

static void test_device(void **state)
{
    (void)state;
    pair_open();
    vly_device_info info = {.struct_size = sizeof info};
    vly_error error = {.struct_size = sizeof error};
    assert_ok(pair_vulkan->device_info(0, &info, &error), error);
    print_message("%s, %s, %llu MiB\n", info.name, info.capability,
                  (unsigned long long)(info.memory_bytes >> 20));
    assert_non_null(strstr(info.capability, "Vulkan 1."));
    assert_true(info.name[0] != 0);
    int is_cpu = strstr(info.capability, "processor") != NULL;
    assert_int_equal((pair_vulkan->flags & VLY_BACKEND_EMULATED) != 0, is_cpu);
    assert_true(info.memory_bytes > 0);
    assert_int_equal(pair_vulkan->device_info(1000, &info, &error),
                     VLY_E_DEVICE);
}

/* ---- memory ------------------------------------------------------------ */

/* State of 32 GB: refused with the sizes, and nothing is kept. */
static void test_no_memory(void **state)
{
    (void)state;
    pair_open();
    test_net net;
    busy_net(&net, 1000);
    vly_backend_net *made = NULL;
    vly_error error = {.struct_size = sizeof error};
    net.desc.n_neurons = 0xfffffff0u; /* no memory behind it is read */
    net.areas[0].n_neurons = 0xfffffff0u;
    net.start.n_state_words = 2 * (uint64_t)0xfffffff0u;
    vly_status status = create(&net, NULL, &made, &error);
    net.desc.n_neurons = 1000;
    net.areas[0].n_neurons = 1000;
    net.start.n_state_words = 2000;
    if (status != VLY_E_NOMEM)
        fail_msg("status %d: %s", status, error.message);
    assert_true(error.bytes_requested > error.bytes_available);
    assert_true(error.bytes_available > 0);
    assert_null(made);
    made = pair_create(pair_vulkan, &net, NULL, NULL);
    pair_vulkan->net_destroy(made);
    test_net_deinit(&net);
}

/* Device memory that ends a little later each time: every allocation fails
 * once, and the validation layer, where it is asked for, sees what is left. */
static void test_device_memory_ends(void **state)
{
    (void)state;
    pair_open();
    test_net net;
    test_random_net(&net, 5);
    vly_status status = VLY_E_NOMEM;
    uint32_t n_failed = 0;
    for (uint32_t kib = 0; status != VLY_OK; kib += 1 + kib / 16) {
        char options[40];
        vly_backend_net *made;
        vly_error error = {.struct_size = sizeof error};
        snprintf(options, sizeof options, "memory=%u", kib);
        status = create(&net, options, &made, &error);
        if (status != VLY_OK) {
            assert_int_equal(status, VLY_E_NOMEM);
            assert_null(made);
            assert_true(error.bytes_requested > error.bytes_available);
            assert_true(error.bytes_available <= kib * 1024ull);
            n_failed++;
        }
        pair_vulkan->net_destroy(made);
        assert_true(kib < 1000000);
    }
    assert_true(n_failed > 20);
    test_net_deinit(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_small_buffer),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_device),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_device_memory_ends),
        cmocka_unit_test(pair_test_device_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}

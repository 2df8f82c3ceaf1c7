/* SPDX-License-Identifier: Apache-2.0
 * The other paths of the CUDA backend: stop, small buffers, refusals, memory
 * that runs out, devices, and a device that fails.
 */
#include "test_pair_paths.h"

#include <stdlib.h>

/* n neurons that fire whenever anything arrives, and a stimulus of all */
static void busy_net(test_net *net, uint32_t n)
{
    static const uint32_t thresholds[] = {0x80000000u};
    uint32_t coefs[6];
    test_net_init(net, 1);
    test_delta_coefs(coefs, 1.0f, 0);
    test_area(net, "lif_psc_delta", n, coefs, 8);
    test_random_projection(net, 0, 0, 2, 1, 2, 1, 0);
    test_stimulus(net, 0, thresholds, 1, 0, 256, 0);
    test_net_finish(net);
}

static void test_stop(void **state)
{
    (void)state;
    pair_open();
    test_net net;
    busy_net(&net, 100);
    vly_backend_net *made = pair_create(pair_cuda, &net, NULL, NULL);
    const uint32_t stop = 1;
    uint64_t digests[50];
    vly_run run = {.struct_size = sizeof run,
                   .n_bursts = 50,
                   .stop = &stop,
                   .digests = digests};
    vly_error error = {.struct_size = sizeof error};
    assert_ok(pair_cuda->net_run(made, &run, &error), error);
    assert_int_equal(run.n_bursts_done, 1);
    pair_cuda->net_destroy(made);
    test_net_deinit(&net);
}

/* Room for two full bursts: the run ends where a third might not fit. */
static void test_small_buffer(void **state)
{
    (void)state;
    pair_open();
    const vly_backend *backends[2] = {pair_cpu, pair_cuda};
    enum { N = 300, ROOM = 2 * N + 50, TOTAL = 40 };
    test_net net;
    busy_net(&net, N);
    uint64_t done[2][TOTAL] = {{0}};
    uint64_t digests[2][TOTAL] = {{0}};
    for (int b = 0; b < 2; b++) {
        vly_backend_net *made = pair_create(backends[b], &net, NULL, NULL);
        uint32_t spikes[ROOM + 1] = {0};
        uint64_t at = 0;
        for (int i = 0; at < TOTAL; i++) {
            spikes[ROOM] = 0xabcdef01u;
            vly_run run = {.struct_size = sizeof run,
                           .flags = VLY_RUN_RECORD,
                           .n_bursts = TOTAL - at,
                           .digests = digests[b] + at,
                           .spikes = spikes,
                           .spikes_capacity = ROOM};
            vly_error error = {.struct_size = sizeof error};
            assert_ok(backends[b]->net_run(made, &run, &error), error);
            assert_int_equal(spikes[ROOM], 0xabcdef01u);
            assert_true(run.n_bursts_done > 0);
            done[b][i] = run.n_bursts_done;
            at += run.n_bursts_done;
        }
        backends[b]->net_destroy(made);
    }
    assert_memory_equal(done[0], done[1], sizeof done[0]);
    assert_memory_equal(digests[0], digests[1], sizeof digests[0]);
    test_net_deinit(&net);
}

static void test_refusals(void **state)
{
    (void)state;
    pair_open();
    test_net net;
    busy_net(&net, 100);
    vly_backend_net *made = pair_create(pair_cuda, &net, NULL, NULL);
    vly_error error = {.struct_size = sizeof error};
    uint32_t word = 0;
    vly_column column = {.words = &word, .uniform = 1};
    assert_int_equal(pair_cuda->field_read(made, 0, 0, 99, 2, &word, &error),
                     VLY_E_INVALID);
    assert_int_equal(pair_cuda->field_write(made, 0, 2, 0, 1, &word, &error),
                     VLY_E_INVALID);
    assert_int_equal(pair_cuda->coef_write(made, 0, 6, &column, &error),
                     VLY_E_INVALID);
    vly_stimulus_desc moved = net.stimuli[0];
    moved.first++;
    assert_int_equal(pair_cuda->stimulus_write(made, 0, &moved, &error),
                     VLY_E_INVALID);
    const vly_input outside = {.neuron = 100};
    vly_run run = {.struct_size = sizeof run,
                   .n_bursts = 1,
                   .inputs = &outside,
                   .n_inputs = 1};
    assert_int_equal(pair_cuda->net_run(made, &run, &error), VLY_E_INVALID);
    run.n_inputs = 0;
    assert_ok(pair_cuda->net_run(made, &run, &error), error);
    pair_cuda->net_destroy(made);
    vly_device_spec device = {
        .struct_size = sizeof device, .n_threads = 1, .options = "plan=none"};
    made = NULL;
    assert_int_equal(
        pair_cuda->net_create(&device, &net.desc, &net.start, &made, &error),
        VLY_E_INVALID);
    device.options = NULL;
    device.index = 1000;
    assert_int_equal(
        pair_cuda->net_create(&device, &net.desc, &net.start, &made, &error),
        VLY_E_DEVICE);
    assert_null(made);
    pair_cuda->net_destroy(NULL);
    test_net_deinit(&net);
}

/* As net_info says it, of 1000 synapses a neuron by the resident plan. */
static double bytes_of(const test_net *net, const char *options,
                       vly_backend_net **made)
{
    *made = pair_create(pair_cuda, net, options, NULL);
    vly_net_info info = {.struct_size = sizeof info};
    vly_error error = {.struct_size = sizeof error};
    assert_ok(pair_cuda->net_info(*made, &info, &error), error);
    const char *bytes = strrchr(info.plan, ';');
    assert_non_null(bytes);
    print_message("%s:%s\n", options, bytes + 1);
    return strtod(bytes + 1, NULL);
}

/* Segments take 8 bytes a synapse at most where the longest would need more,
 * and are delivered as ever, also where nearly all of them have rests. */
static void test_segment_bytes(void **state)
{
    (void)state;
    pair_open();
    static const char *const choices[] = {
        "plan=resident", "plan=resident,split=1", "plan=resident,quads=1"};
    static const double limits[] = {8.0, 8.0, 16.0};
    test_net net;
    vly_backend_net *made[2];
    uint32_t coefs[6];
    static const uint32_t thresholds[] = {0xf8000000u};
    test_net_init(&net, 4);
    test_delta_coefs(coefs, 0.5f, 0);
    test_area(&net, "lif_psc_delta", 4000, coefs, 8);
    test_random_projection(&net, 0, 0, 1000, 1, 2, 1, 3);
    test_stimulus(&net, 0, thresholds, 1, 0, 300, 0);
    test_net_finish(&net);
    assert_true(bytes_of(&net, "plan=resident,quads=99", &made[0]) > 8.0);
    pair_cuda->net_destroy(made[0]);
    for (uint32_t i = 0; i < 3; i++) {
        test_run runs[2];
        double bytes = bytes_of(&net, choices[i], &made[1]);
        assert_true(bytes >= 4.0 && bytes <= limits[i]);
        made[0] = pair_create(pair_cpu, &net, NULL, NULL);
        pair_run(pair_cpu, &net, made[0], 60, NULL, 0, &runs[0]);
        pair_run(pair_cuda, &net, made[1], 60, NULL, 0, &runs[1]);
        assert_true(runs[0].run.n_spikes > 1000);
        pair_assert_run(&runs[0], &runs[1]);
        test_run_deinit(&runs[0]);
        test_run_deinit(&runs[1]);
        pair_cpu->net_destroy(made[0]);
        pair_cuda->net_destroy(made[1]);
    }
    test_net_deinit(&net);
}

static void test_device(void **state)
{
    (void)state;
    pair_open();
    assert_true(pair_cuda->device_count() > 0);
    vly_device_info info = {.struct_size = sizeof info};
    vly_error error = {.struct_size = sizeof error};
    assert_ok(pair_cuda->device_info(0, &info, &error), error);
    print_message("%s, %s, %llu MiB\n", info.name, info.capability,
                  (unsigned long long)(info.memory_bytes >> 20));
    assert_non_null(strstr(info.capability, "compute capability"));
    assert_true(info.memory_bytes > 0);
    assert_int_equal(pair_cuda->device_info(1000, &info, &error), VLY_E_DEVICE);
}

/* Accumulators of 4 TB: refused with the sizes, and nothing is kept. */
static void test_no_memory(void **state)
{
    (void)state;
    pair_open();
    test_net net;
    uint32_t coefs[6];
    test_net_init(&net, 1);
    test_delta_coefs(coefs, 1.0f, 0);
    test_area(&net, "lif_psc_delta", 1000, coefs, 8);
    const uint32_t zero = 0;
    const int16_t weight = 1;
    const uint8_t delay = 255;
    test_projection(&net, 0, 0, 1, 1, &zero, &zero, &weight, &delay);
    test_net_finish(&net);
    vly_device_spec device = {.struct_size = sizeof device, .n_threads = 1};
    vly_backend_net *made = NULL;
    vly_error error = {.struct_size = sizeof error};
    net.desc.n_neurons = 0xfffffff0u; /* no memory behind it is read */
    net.areas[0].n_neurons = 0xfffffff0u;
    net.start.n_state_words = 2 * (uint64_t)0xfffffff0u;
    vly_status status =
        pair_cuda->net_create(&device, &net.desc, &net.start, &made, &error);
    net.desc.n_neurons = 1000;
    net.areas[0].n_neurons = 1000;
    net.start.n_state_words = 2000;
    if (status != VLY_E_NOMEM)
        fail_msg("status %d: %s", status, error.message);
    assert_true(error.bytes_requested > error.bytes_available);
    assert_true(error.bytes_available > 0);
    assert_null(made);
    made = pair_create(pair_cuda, &net, NULL, NULL);
    pair_cuda->net_destroy(made);
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
        cmocka_unit_test(test_segment_bytes),
        cmocka_unit_test(pair_test_device_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}

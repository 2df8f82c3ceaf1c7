/* SPDX-License-Identifier: Apache-2.0
 * Every allocation of a backend on the host fails once: while a net is made,
 * runs and is read. Nothing is left, and a net whose run failed can only be
 * destroyed.
 */
#include "test_cpu_net.h"

#include <stdlib.h>

#define BACKEND test_backend

/* kept: blocks that the backend may keep for other nets */
static void make_all(const test_net *net, uint64_t kept, uint64_t least)
{
    uint64_t live = test_host_live();
    vly_device_spec device = {.struct_size = sizeof device, .n_threads = 3};
    vly_status status = VLY_E_NOMEM;
    uint64_t n = 0;
    while (status != VLY_OK) {
        vly_backend_net *made = NULL;
        vly_error error = {.struct_size = sizeof error};
        test_host_fail_at(++n);
        status = BACKEND->net_create(&device, &net->desc, &net->start, &made,
                                     &error);
        test_host_fail_at(0);
        if (status != VLY_OK) {
            assert_int_equal(status, VLY_E_NOMEM);
            assert_null(made);
            assert_true(error.bytes_requested > 0);
            assert_non_null(strstr(error.message, "bytes"));
        }
        BACKEND->net_destroy(made);
        assert_in_range(test_host_live(), live, live + kept);
        assert_true(n < 1000);
    }
    assert_true(n > least);
}

static void test_making(void **state)
{
    (void)state;
    test_plugin_open();
    test_net net;
    test_random_net(&net, 5);
    make_all(&net, 0, 20);
    test_net_deinit(&net);
}

/* A user's model; a device may keep its pipeline. */
static void test_program(void **state)
{
    (void)state;
    static const vly_program_op ops[] = {
        {VLY_PROGRAM_FIELD, 0, 0, 0},    {VLY_PROGRAM_INPUT, 0, 0, 0},
        {VLY_PROGRAM_ADD, 0, 1, 0},      {VLY_PROGRAM_COEF, 1, 0, 0},
        {VLY_PROGRAM_MULTIPLY, 2, 3, 0}, {VLY_PROGRAM_STORE, 4, 0, 0x40000000u},
        {VLY_PROGRAM_LESS, 3, 5, 0}};
    static const uint32_t types[] = {VLY_TYPE_F32, VLY_TYPE_F32, VLY_TYPE_F32,
                                     VLY_TYPE_F32, VLY_TYPE_F32, VLY_TYPE_F32,
                                     VLY_TYPE_U32};
    static const uint32_t out[] = {5, 0};
    const vly_program program = {.struct_size = sizeof program,
                                 .n_ops = sizeof ops / sizeof ops[0],
                                 .n_fields = 2,
                                 .fired = 6,
                                 .ops = ops,
                                 .out = out,
                                 .types = types};
    uint32_t coefs[6];
    test_net net;
    test_plugin_open();
    if ((BACKEND->flags & VLY_BACKEND_PROGRAMS) == 0)
        skip();
    test_net_init(&net, 1);
    test_delta_coefs(coefs, 1.0f, 0);
    test_area(&net, "lif_psc_delta", 300, coefs, 8);
    test_area(&net, "lif_psc_delta", 20, coefs, 8);
    net.areas[1].program = &program;
    test_synapse(&net, 0, 0, 1, 0, 1, 4);
    test_net_finish(&net);
    make_all(&net, 1, 5);
    test_net_deinit(&net);
}

/* Every neuron fires in every burst, so the log grows while it is recorded. */
static void busy_net(test_net *net)
{
    static const uint32_t never[] = {0xffffffffu};
    uint32_t coefs[6];
    test_net_init(net, 1);
    test_delta_coefs(coefs, 1.0f, 0);
    test_area(net, "lif_psc_delta", 3000, coefs, 8);
    test_stimulus(net, 0, never, 1, 256, 0, VLY_STIMULUS_ALWAYS);
    test_synapse(net, 0, 0, 0, 0, 1, 40);
    test_net_finish(net);
}

static void test_running(void **state)
{
    (void)state;
    test_plugin_open();
    test_net net;
    busy_net(&net);
    uint64_t live = test_host_live();
    uint32_t *spikes = calloc(90u * 3000u, sizeof *spikes);
    assert_non_null(spikes);
    vly_status status = VLY_E_NOMEM;
    uint32_t n_failed = 0;
    for (uint64_t n = 1; status != VLY_OK; n++) {
        vly_backend_net *made = test_create(&net, 1, NULL, NULL);
        const vly_input input = {.burst = 2, .neuron = 7, .value = 9};
        vly_run run = {.struct_size = sizeof run,
                       .flags = VLY_RUN_RECORD,
                       .n_bursts = 90,
                       .inputs = &input,
                       .n_inputs = 1,
                       .spikes = spikes,
                       .spikes_capacity = 90u * 3000u};
        vly_error error = {.struct_size = sizeof error};
        test_host_fail_at(n);
        status = BACKEND->net_run(made, &run, &error);
        test_host_fail_at(0);
        if (status != VLY_OK) {
            assert_int_equal(status, VLY_E_NOMEM);
            assert_int_equal(BACKEND->net_run(made, &run, &error), VLY_E_NOMEM);
            n_failed++;
        } else {
            assert_int_equal(run.n_spikes, 90 * 3000);
        }
        BACKEND->net_destroy(made);
        assert_int_equal(test_host_live(), live);
    }
    assert_true(n_failed > 2);
    free(spikes);
    test_net_deinit(&net);
}

/* A snapshot that could not be read leaves the caller's as it was. */
static void test_reading(void **state)
{
    (void)state;
    test_plugin_open();
    test_net net;
    busy_net(&net);
    uint64_t live = test_host_live();
    vly_backend_net *made = test_create(&net, 1, NULL, NULL);
    vly_snapshot snapshot = {.struct_size = sizeof snapshot, .burst = 77};
    vly_error error = {.struct_size = sizeof error};
    vly_status status = VLY_E_NOMEM;
    for (uint64_t n = 1; status != VLY_OK; n++) {
        test_host_fail_at(n);
        status = BACKEND->snapshot_read(made, &snapshot, &error);
        test_host_fail_at(0);
        assert_int_equal(status, status != VLY_OK ? VLY_E_NOMEM : VLY_OK);
        assert_int_equal(snapshot.burst, status != VLY_OK ? 77 : 0);
    }
    BACKEND->net_destroy(made);
    assert_int_equal(test_host_live(), live);
    test_net_deinit(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_making),
        cmocka_unit_test(test_program),
        cmocka_unit_test(test_running),
        cmocka_unit_test(test_reading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}

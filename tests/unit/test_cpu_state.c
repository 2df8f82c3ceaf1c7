/* SPDX-License-Identifier: Apache-2.0
 * What can be changed, stopped and refused: writes between bursts, early
 * ends, errors with their sentences, and every allocation failing once.
 */
#include "test_cpu_net.h"

#include <stdlib.h>

#define BACKEND test_backend

static void one_delta(test_net *net, uint32_t n)
{
    uint32_t coefs[6];
    test_net_init(net, 1);
    test_delta_coefs(coefs, 1.0f, 0);
    test_area(net, "lif_psc_delta", n, coefs, 8);
}

/* ---- early ends -------------------------------------------------------- */

static void test_stop(void **state)
{
    (void)state;
    test_net net;
    one_delta(&net, 300);
    test_net_finish(&net);
    vly_backend_net *made = test_create(&net, 2, NULL, NULL);
    uint32_t stop = 1;
    uint64_t digests[10];
    vly_run run = {.struct_size = sizeof run,
                   .n_bursts = 10,
                   .stop = &stop,
                   .digests = digests};
    vly_error error = {.struct_size = sizeof error};
    /* set from the start: the current burst is the first, then it ends */
    assert_ok(BACKEND->net_run(made, &run, &error), error);
    assert_int_equal(run.n_bursts_done, 1);
    stop = 0;
    assert_ok(BACKEND->net_run(made, &run, &error), error);
    assert_int_equal(run.n_bursts_done, 10);
    run.n_bursts = 0;
    assert_ok(BACKEND->net_run(made, &run, &error), error);
    assert_int_equal(run.n_bursts_done, 0);
    vly_snapshot snapshot;
    test_snapshot(made, &snapshot);
    assert_int_equal(snapshot.burst, 11);
    test_snapshot_deinit(&snapshot);
    BACKEND->net_destroy(made);
    test_net_deinit(&net);
}

/* Every neuron fires in every burst: room for 2.5 bursts takes 2. */
static void test_small_buffer(void **state)
{
    (void)state;
    static const uint32_t never[] = {0xffffffffu};
    test_net net;
    one_delta(&net, 100);
    test_stimulus(&net, 0, never, 1, 256, 0, VLY_STIMULUS_ALWAYS);
    test_net_finish(&net);
    vly_backend_net *made = test_create(&net, 2, NULL, NULL);
    uint32_t spikes[250];
    vly_run run = {.struct_size = sizeof run,
                   .flags = VLY_RUN_RECORD,
                   .n_bursts = 10,
                   .spikes = spikes,
                   .spikes_capacity = 250};
    vly_error error = {.struct_size = sizeof error};
    assert_ok(BACKEND->net_run(made, &run, &error), error);
    assert_int_equal(run.n_bursts_done, 2);
    assert_int_equal(run.n_spikes, 200);
    assert_int_equal(spikes[0], 0);
    assert_int_equal(spikes[199], 99);
    run.spikes_capacity = 99;
    assert_int_equal(BACKEND->net_run(made, &run, &error), VLY_E_INVALID);
    assert_non_null(strstr(error.message, "99 spikes"));
    BACKEND->net_destroy(made);
    test_net_deinit(&net);
}

/* ---- writes ------------------------------------------------------------ */

static void test_fields(void **state)
{
    (void)state;
    test_net net;
    one_delta(&net, 300);
    test_net_finish(&net);
    vly_backend_net *made = test_create(&net, 3, NULL, NULL);
    vly_error error = {.struct_size = sizeof error};
    const uint32_t words[] = {test_float(0.5f), test_float(1.5f)};
    assert_ok(BACKEND->field_write(made, 0, 0, 199, 2, words, &error), error);
    test_run run;
    test_run_bursts(&net, made, 1, NULL, 0, &run);
    assert_int_equal(run.counts[0], 1);
    assert_int_equal(run.spikes[0], 200);
    test_run_deinit(&run);
    uint32_t back[3];
    assert_ok(BACKEND->field_read(made, 0, 0, 198, 3, back, &error), error);
    assert_int_equal(back[0], 0);
    assert_int_equal(back[1], words[0]);
    assert_int_equal(back[2], 0);
    assert_int_equal(BACKEND->field_read(made, 0, 0, 299, 2, back, &error),
                     VLY_E_INVALID);
    assert_int_equal(BACKEND->field_read(made, 0, 2, 0, 1, back, &error),
                     VLY_E_INVALID);
    assert_int_equal(BACKEND->field_write(made, 1, 0, 0, 1, back, &error),
                     VLY_E_INVALID);
    assert_int_equal(error.status, VLY_E_INVALID);
    BACKEND->net_destroy(made);
    test_net_deinit(&net);
}

/* Threshold from one for all to one each and back. */
static void test_coefs(void **state)
{
    (void)state;
    test_net net;
    one_delta(&net, 700);
    test_net_finish(&net);
    vly_backend_net *made = test_create(&net, 2, NULL, NULL);
    vly_error error = {.struct_size = sizeof error};
    uint32_t words[700];
    for (uint32_t i = 0; i < 700; i++)
        words[i] = test_float(i % 100 == 37 ? -1.0f : 1.0f);
    vly_column column = {.words = words};
    assert_ok(BACKEND->coef_write(made, 0, 3, &column, &error), error);
    memset(words, 0xff, sizeof words); /* they were copied */
    test_run run;
    test_run_bursts(&net, made, 2, NULL, 0, &run);
    assert_int_equal(run.counts[0], 7);
    assert_int_equal(run.counts[1], 7);
    assert_int_equal(run.spikes[6], 637);
    test_run_deinit(&run);
    uint32_t high = test_float(1.0f);
    column = (vly_column){.words = &high, .uniform = 1};
    assert_ok(BACKEND->coef_write(made, 0, 3, &column, &error), error);
    test_run_bursts(&net, made, 2, NULL, 0, &run);
    assert_int_equal(run.run.n_spikes, 0);
    test_run_deinit(&run);
    assert_int_equal(BACKEND->coef_write(made, 0, 6, &column, &error),
                     VLY_E_INVALID);
    BACKEND->net_destroy(made);
    test_net_deinit(&net);
}

/* A new table acts from the next burst on, also within a block of four. */
static void test_stimulus_write(void **state)
{
    (void)state;
    static const uint32_t none[] = {0xffffffffu};
    static const uint32_t all[] = {0};
    test_net net;
    one_delta(&net, 100);
    test_stimulus(&net, 0, none, 1, 0, 256, 0);
    test_net_finish(&net);
    vly_backend_net *made = test_create(&net, 2, NULL, NULL);
    vly_error error = {.struct_size = sizeof error};
    test_run run;
    for (uint32_t t = 0; t < 6; t++) {
        vly_stimulus_desc desc = net.stimuli[0];
        desc.thresholds = t % 2 ? all : none;
        assert_ok(BACKEND->stimulus_write(made, 0, &desc, &error), error);
        test_run_bursts(&net, made, 1, NULL, 0, &run);
        assert_int_equal(run.run.n_spikes, t % 2 ? 100 : 0);
        test_run_deinit(&run);
    }
    vly_stimulus_desc desc = net.stimuli[0];
    desc.thresholds = all;
    desc.start = 8;
    desc.stop = 10;
    assert_ok(BACKEND->stimulus_write(made, 0, &desc, &error), error);
    test_run_bursts(&net, made, 6, NULL, 0, &run);
    const uint32_t counts[] = {0, 0, 100, 100, 0, 0};
    assert_memory_equal(run.counts, counts, sizeof counts);
    test_run_deinit(&run);
    desc.n_neurons = 99;
    assert_int_equal(BACKEND->stimulus_write(made, 0, &desc, &error),
                     VLY_E_INVALID);
    assert_int_equal(BACKEND->stimulus_write(made, 1, &desc, &error),
                     VLY_E_INVALID);
    BACKEND->net_destroy(made);
    test_net_deinit(&net);
}

/* ---- refusals ---------------------------------------------------------- */

static void assert_refused(const test_net *net, vly_status wanted,
                           const char *words)
{
    vly_error error = {.struct_size = sizeof error};
    assert_int_equal(BACKEND->supports(&net->desc, &error), wanted);
    if (strstr(error.message, words) == NULL)
        fail_msg("'%s' does not say '%s'", error.message, words);
    vly_backend_net *made = NULL;
    vly_device_spec device = {.struct_size = sizeof device, .n_threads = 1};
    assert_int_equal(
        BACKEND->net_create(&device, &net->desc, &net->start, &made, NULL),
        wanted);
    assert_null(made);
}

static void test_supports(void **state)
{
    (void)state;
    test_plugin_open();
    static const uint32_t table[300];
    test_net net;
    one_delta(&net, 10);
    uint32_t coefs[FEAGI_COEFS];
    test_feagi_coefs(coefs);
    test_area(&net, "feagi", 10, coefs, 8);
    test_synapse(&net, 0, 0, 1, 0, 1, 4);
    test_stimulus(&net, 0, table, 1, 0, 1, 0);
    test_net_finish(&net);
    vly_error error = {.struct_size = sizeof error};
    assert_ok(BACKEND->supports(&net.desc, &error), error);
    net.areas[0].model = "perceptron";
    assert_refused(&net, VLY_E_UNSUPPORTED, "perceptron");
    net.areas[0].model = "lif_psc_delta";
    net.areas[0].model_hash ^= 1;
    assert_refused(&net, VLY_E_UNSUPPORTED, "hash");
    net.areas[0].model_hash ^= 1;
    net.areas[0].n_ports = 2;
    assert_refused(&net, VLY_E_UNSUPPORTED, "2 ports");
    net.areas[0].n_ports = 1;
    net.areas[1].first = 9;
    assert_refused(&net, VLY_E_INVALID, "first neuron is 9, wanted 10");
    net.areas[1].first = 10;
    net.projections[0].flags = 0;
    assert_refused(&net, VLY_E_INVALID, "without gains");
    net.projections[0].flags = VLY_PROJECTION_GAIN | VLY_PROJECTION_PLASTIC;
    assert_refused(&net, VLY_E_INVALID, "plastic, but without a rule");
    net.projections[0].flags = VLY_PROJECTION_GAIN;
    net.projections[0].port = VLY_PORT_BY_SIGN;
    assert_refused(&net, VLY_E_UNSUPPORTED, "port 2");
    net.projections[0].port = 0;
    net.projections[0].base_delay = 5;
    assert_refused(&net, VLY_E_INVALID, "delay 5");
    net.projections[0].base_delay = 4;
    net.stimuli[0].n_thresholds = 257;
    assert_refused(&net, VLY_E_UNSUPPORTED, "257 thresholds");
    net.stimuli[0].n_thresholds = 1;
    net.stimuli[0].n_neurons = 11;
    assert_refused(&net, VLY_E_UNSUPPORTED, "more than one area");
    net.stimuli[0].n_neurons = 10;
    net.start.n_fired_bursts = 1;
    vly_backend_net *made = NULL;
    vly_device_spec device = {.struct_size = sizeof device, .n_threads = 1};
    assert_int_equal(
        BACKEND->net_create(&device, &net.desc, &net.start, &made, &error),
        VLY_E_INVALID);
    net.start.n_fired_bursts = 0;
    device.options = "isa=mmx";
    assert_int_equal(
        BACKEND->net_create(&device, &net.desc, &net.start, &made, &error),
        VLY_E_INVALID);
    assert_non_null(strstr(error.message, "isa=mmx"));
    test_net_deinit(&net);
}

static void test_inputs_refused(void **state)
{
    (void)state;
    test_net net;
    one_delta(&net, 10);
    test_net_finish(&net);
    vly_backend_net *made = test_create(&net, 1, NULL, NULL);
    vly_input inputs[2] = {{.burst = 3, .neuron = 10}, {.burst = 2}};
    vly_run run = {.struct_size = sizeof run,
                   .n_bursts = 1,
                   .inputs = inputs,
                   .n_inputs = 1};
    vly_error error = {.struct_size = sizeof error};
    assert_int_equal(BACKEND->net_run(made, &run, &error), VLY_E_INVALID);
    assert_non_null(strstr(error.message, "neuron 10"));
    inputs[0].neuron = 9;
    run.n_inputs = 2;
    assert_int_equal(BACKEND->net_run(made, &run, &error), VLY_E_INVALID);
    assert_non_null(strstr(error.message, "burst 2 after burst 3"));
    BACKEND->net_destroy(made);
    BACKEND->net_destroy(NULL);
    test_net_deinit(&net);
}

static void test_device(void **state)
{
    (void)state;
    test_plugin_open();
    assert_int_equal(BACKEND->device_count(), 1);
    vly_device_info info = {.struct_size = sizeof info};
    vly_error error = {.struct_size = sizeof error};
    assert_ok(BACKEND->device_info(0, &info, &error), error);
    assert_true(info.name[0] != 0);
    assert_non_null(strstr(info.capability, "core"));
    assert_int_equal(BACKEND->device_info(1, &info, &error), VLY_E_DEVICE);
}

/* ---- memory ------------------------------------------------------------ */

/* The history grows while a net runs. */
static void test_run_without_memory(void **state)
{
    (void)state;
    static const uint32_t never[] = {0xffffffffu};
    test_net net;
    one_delta(&net, 3000);
    test_stimulus(&net, 0, never, 1, 256, 0, VLY_STIMULUS_ALWAYS);
    test_synapse(&net, 0, 0, 0, 0, 1, 10);
    test_net_finish(&net);
    uint64_t live = test_host_live();
    for (uint64_t n = 1; n < 10; n++) {
        vly_backend_net *made = test_create(&net, 2, NULL, NULL);
        vly_run run = {.struct_size = sizeof run, .n_bursts = 20};
        vly_error error = {.struct_size = sizeof error};
        test_host_fail_at(n);
        vly_status status = BACKEND->net_run(made, &run, &error);
        test_host_fail_at(0);
        assert_int_equal(status, n <= 4 ? VLY_E_NOMEM : VLY_OK);
        if (status != VLY_OK)
            assert_int_equal(BACKEND->net_run(made, &run, &error), VLY_E_NOMEM);
        BACKEND->net_destroy(made);
        assert_int_equal(test_host_live(), live);
    }
    vly_backend_net *made = test_create(&net, 2, NULL, NULL);
    vly_error error = {.struct_size = sizeof error};
    vly_column column = {.words = net.words[0][0], .uniform = 1};
    for (uint64_t n = 1; n <= 2; n++) {
        test_host_fail_at(n);
        assert_int_equal(BACKEND->coef_write(made, 0, 0, &column, &error),
                         VLY_E_NOMEM);
    }
    test_host_fail_at(1);
    assert_int_equal(BACKEND->stimulus_write(made, 0, &net.stimuli[0], &error),
                     VLY_E_NOMEM);
    test_host_fail_at(0);
    test_run run;
    test_run_bursts(&net, made, 20, NULL, 0, &run);
    assert_int_equal(run.run.n_spikes, 60000);
    test_run_deinit(&run);
    BACKEND->net_destroy(made);
    assert_int_equal(test_host_live(), live);
    test_net_deinit(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_small_buffer),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_coefs),
        cmocka_unit_test(test_stimulus_write),
        cmocka_unit_test(test_supports),
        cmocka_unit_test(test_inputs_refused),
        cmocka_unit_test(test_device),
        cmocka_unit_test(test_run_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}

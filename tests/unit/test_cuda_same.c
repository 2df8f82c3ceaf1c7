/* SPDX-License-Identifier: Apache-2.0
 * The CUDA backend gives what the reference gives: random nets of all models,
 * with any number of blocks, in launches and pieces of any length, from
 * snapshots of either backend, and with everything written between bursts.
 */
#include "test_cuda_pair.h"

#include <stdlib.h>

enum { BURSTS = 90, INPUTS = 300 };

enum { N_OPTIONS = 16 };
static const char *const options[N_OPTIONS] = {
    NULL,
    "launch=1",
    "blocks=1",
    "launch=7,blocks=3",
    "launch=64",
    "blocks=2,launch=5",
    "blocks=11",
    "launch=33",
    "change=1,launch=9",
    "launch=2",
    "blocks=5",
    "launch=90",
    "launch=45",
    "blocks=7,launch=11",
    "plan=global",
    "plan=global,blocks=2",
};
static const char *const plain_options[N_OPTIONS] = {
    "plan=resident",
    "plan=resident,launch=1,split=1,quads=1",
    "plan=resident,blocks=1,lines=1,quads=5",
    "plan=resident,blocks=3,launch=7",
    "plan=resident,lines=7,split=1",
    "plan=resident,blocks=132,lines=4,launch=31,quads=1",
    "plan=global",
    "plan=resident,blocks=17,lines=1,split=1,quads=2",
    "plan=partitioned",
    "plan=partitioned,cluster=1,unit=1",
    "plan=partitioned,cluster=2,launch=1",
    "plan=partitioned,cluster=4,unit=2,launch=7",
    "plan=partitioned,cluster=8,launch=31",
    "plan=partitioned,cluster=2,blocks=6,unit=4",
    "plan=partitioned,cluster=1,blocks=1",
    "change=1,launch=7",
};

static void make_net(test_net *net, uint64_t seed, int plain)
{
    if (plain)
        pair_plain_net(net, seed);
    else
        test_random_net(net, seed);
}

static void assert_same_state(vly_backend_net *const nets[2])
{
    vly_snapshot snapshots[2];
    uint64_t digests[2] = {0, 1};
    vly_error error = {.struct_size = sizeof error};
    pair_snapshot(pair_cpu, nets[0], &snapshots[0]);
    pair_snapshot(pair_cuda, nets[1], &snapshots[1]);
    pair_assert_snapshot(&snapshots[0], &snapshots[1]);
    assert_ok(pair_cpu->state_digest(nets[0], &digests[0], &error), error);
    assert_ok(pair_cuda->state_digest(nets[1], &digests[1], &error), error);
    assert_true(digests[0] == digests[1]);
    test_snapshot_deinit(&snapshots[0]);
    test_snapshot_deinit(&snapshots[1]);
}

static uint64_t run_both(const test_net *net, vly_backend_net *const nets[2],
                         uint64_t n, const vly_input *inputs, uint64_t n_inputs)
{
    test_run runs[2];
    pair_run(pair_cpu, net, nets[0], n, inputs, n_inputs, &runs[0]);
    pair_run(pair_cuda, net, nets[1], n, inputs, n_inputs, &runs[1]);
    pair_assert_run(&runs[0], &runs[1]);
    uint64_t spikes = runs[0].run.n_spikes;
    test_run_deinit(&runs[0]);
    test_run_deinit(&runs[1]);
    return spikes;
}

static void create_both(const test_net *net, const char *option,
                        vly_backend_net *nets[2])
{
    nets[0] = pair_create(pair_cpu, net, NULL, NULL);
    nets[1] = pair_create(pair_cuda, net, option, NULL);
}

static void destroy_both(vly_backend_net *const nets[2])
{
    pair_cpu->net_destroy(nets[0]);
    pair_cuda->net_destroy(nets[1]);
}

static void test_random_nets(void **state)
{
    (void)state;
    pair_open();
    for (uint64_t seed = 0; seed < 8 * N_OPTIONS; seed++) {
        test_net net;
        vly_backend_net *nets[2];
        vly_input inputs[INPUTS];
        int plain = seed >= 4 * N_OPTIONS;
        make_net(&net, seed, plain);
        pair_inputs(&net, inputs, INPUTS, BURSTS);
        create_both(&net, (plain ? plain_options : options)[seed % N_OPTIONS],
                    nets);
        assert_same_state(nets);
        uint64_t spikes = run_both(&net, nets, BURSTS, inputs, INPUTS);
        assert_true(spikes > 1000);
        assert_same_state(nets);
        destroy_both(nets);
        test_net_deinit(&net);
    }
}

/* One model at a time: the kernels that are made for it alone. */
static void test_single_models(void **state)
{
    (void)state;
    pair_open();
    static const char *const models[] = {"feagi", "lif_psc_delta",
                                         "lif_psc_exp", "izhikevich"};
    static const uint32_t thresholds[] = {0xc0000000u, 0xf0000000u};
    for (uint32_t i = 0; i < 8; i++) {
        uint32_t m = i % 4;
        const float exponential[7] = {0.8f, 0.9f, 0.1f, 0.01f, 0, 1.0f, 0};
        const float izhikevich[7] = {0.5f, 0.02f, 0.2f, -65.0f,
                                     8.0f, 30.0f, 5.0f};
        uint32_t coefs[NET_COEFS] = {0};
        test_net net;
        vly_backend_net *nets[2];
        test_net_init(&net, m);
        if (m == 0) {
            test_feagi_coefs(coefs);
            coefs[FEAGI_EXCITABILITY] = 0xc0000000u;
            coefs[FEAGI_DRIVEN] = 1;
            coefs[FEAGI_UNIFORM] = 0;
        } else if (m == 1) {
            test_delta_coefs(coefs, 0.9f, 3);
        }
        for (uint32_t j = 0; j < 7 && m >= 2; j++)
            coefs[j] = test_float(m == 2 ? exponential[j] : izhikevich[j]);
        for (uint32_t a = 0; a < 2; a++)
            test_area(&net, models[m], a == 0 ? 5000 : 33, coefs, 8);
        test_random_projection(&net, 0, 0, 40, -100, 120, 1, 5);
        test_random_projection(&net, 0, 1, 3, -3, 9, 2, 0);
        test_random_projection(&net, 1, 0, 2000, -100, 120, 7, 255);
        test_stimulus(&net, 0, thresholds, 2, 0, 300, 0);
        test_stimulus(&net, 1, thresholds, 2, 7, 200, 0);
        test_net_finish(&net);
        create_both(&net, i < 4 ? NULL : "plan=global", nets);
        assert_true(run_both(&net, nets, 300, NULL, 0) > 1000);
        assert_same_state(nets);
        destroy_both(nets);
        test_net_deinit(&net);
    }
}

static void test_pieces(void **state)
{
    (void)state;
    pair_open();
    for (uint64_t seed = 60; seed < 66; seed++) {
        test_net net;
        vly_backend_net *nets[2];
        vly_input inputs[INPUTS];
        make_net(&net, seed, seed >= 63);
        pair_inputs(&net, inputs, INPUTS, BURSTS);
        create_both(&net, NULL, nets);
        for (uint64_t at = 0, n = 1; at < BURSTS; n = 1 + (n * 5 + 2) % 13) {
            n = n < BURSTS - at ? n : BURSTS - at;
            run_both(&net, nets, n, inputs, INPUTS);
            at += n;
        }
        assert_same_state(nets);
        destroy_both(nets);
        test_net_deinit(&net);
    }
}

/* Every few bursts each backend goes on from the other's snapshot. */
static void test_swap(void **state)
{
    (void)state;
    pair_open();
    for (uint64_t seed = 80; seed < 86; seed++) {
        test_net net;
        vly_backend_net *nets[2];
        make_net(&net, seed, seed >= 83);
        create_both(&net, NULL, nets);
        for (uint64_t at = 0; at < BURSTS; at += 6) {
            vly_snapshot snapshots[2];
            run_both(&net, nets, 6, NULL, 0);
            assert_same_state(nets);
            pair_snapshot(pair_cpu, nets[0], &snapshots[0]);
            pair_snapshot(pair_cuda, nets[1], &snapshots[1]);
            destroy_both(nets);
            nets[0] = pair_create(pair_cpu, &net, NULL, &snapshots[1]);
            nets[1] = pair_create(pair_cuda, &net, NULL, &snapshots[0]);
            assert_same_state(nets);
            test_snapshot_deinit(&snapshots[0]);
            test_snapshot_deinit(&snapshots[1]);
        }
        destroy_both(nets);
        test_net_deinit(&net);
    }
}

/* Many spikes and a long delay: the log on the device has to grow. */
static void test_log_grows(void **state)
{
    (void)state;
    pair_open();
    uint32_t coefs[6];
    test_net net;
    vly_backend_net *nets[2];
    static const uint32_t thresholds[] = {0x10000000u};
    test_net_init(&net, 5);
    test_delta_coefs(coefs, 0.5f, 0);
    test_area(&net, "lif_psc_delta", 20000, coefs, 8);
    test_random_projection(&net, 0, 0, 2, 10, 20, 60, 3);
    test_stimulus(&net, 0, thresholds, 1, 0, 400, 0);
    test_net_finish(&net);
    for (int i = 0; i < 2; i++) {
        create_both(&net, i == 0 ? "plan=global,launch=100" : "launch=100",
                    nets);
        assert_true(run_both(&net, nets, 200, NULL, 0) > 3000000);
        assert_same_state(nets);
        destroy_both(nets);
    }
    test_net_deinit(&net);
}

/* More spikes in a burst than any list holds, from few blocks and many. */
static void test_all_fire(void **state)
{
    (void)state;
    pair_open();
    static const char *const choices[] = {
        "plan=resident,blocks=3", "plan=resident,blocks=3,lines=7,launch=9",
        "plan=resident,blocks=132,lines=1,split=1", "plan=resident,lines=7",
        "plan=resident,blocks=3,quads=1,split=1"};
    static const uint32_t thresholds[] = {0x08000000u};
    uint32_t coefs[6];
    test_net net;
    vly_backend_net *nets[2];
    test_net_init(&net, 6);
    test_delta_coefs(coefs, 0.5f, 0);
    test_area(&net, "lif_psc_delta", 20000, coefs, 8);
    test_random_projection(&net, 0, 0, 5, -20, 20, 1, 1);
    test_stimulus(&net, 0, thresholds, 1, 0, 300, 0);
    net.stimuli[0].start = 10;
    test_net_finish(&net);
    for (uint32_t i = 0; i < 5; i++) {
        create_both(&net, choices[i], nets);
        assert_true(run_both(&net, nets, 40, NULL, 0) > 400000);
        assert_true(run_both(&net, nets, 3, NULL, 0) > 40000);
        assert_same_state(nets);
        destroy_both(nets);
    }
    test_net_deinit(&net);
}

/* Fields, coefficients and stimuli that change between bursts. */
static void write_both(const test_net *net, vly_backend_net *const nets[2],
                       uint64_t at)
{
    const vly_backend *backends[2] = {pair_cpu, pair_cuda};
    uint32_t area = (uint32_t)(at / 10 % net->desc.n_areas);
    uint32_t n = net->areas[area].n_neurons;
    vly_stimulus_desc stimulus = net->stimuli[area];
    static const uint32_t thresholds[] = {0x20000000u, 0xe0000000u};
    stimulus.thresholds = thresholds;
    stimulus.n_thresholds = 2;
    uint32_t *words = calloc(n, sizeof *words);
    assert_non_null(words);
    for (uint32_t i = 0; i < n; i++)
        words[i] = test_float(0.25f + 0.001f * (float)(i % 512));
    const vly_column each = {.words = words, .uniform = 0};
    const vly_column uniform = {.words = words, .uniform = 1};
    for (int b = 0; b < 2; b++) {
        vly_error error = {.struct_size = sizeof error};
        assert_ok(
            backends[b]->field_write(nets[b], area, 0, 5, n - 9, words, &error),
            error);
        assert_ok(backends[b]->coef_write(nets[b], area, 2,
                                          at % 20 == 0 ? &each : &uniform,
                                          &error),
                  error);
        assert_ok(backends[b]->stimulus_write(nets[b], area, &stimulus, &error),
                  error);
        uint32_t back[4] = {0};
        assert_ok(backends[b]->field_read(nets[b], area, 0, 7, 4, back, &error),
                  error);
        assert_memory_equal(back, words + 2, sizeof back);
    }
    free(words);
}

static void test_writes(void **state)
{
    (void)state;
    pair_open();
    for (int plain = 0; plain < 2; plain++) {
        test_net net;
        vly_backend_net *nets[2];
        make_net(&net, 99, plain);
        create_both(&net, NULL, nets);
        for (uint64_t at = 0; at < 120; at += 10) {
            run_both(&net, nets, 10, NULL, 0);
            write_both(&net, nets, at);
            assert_same_state(nets);
        }
        destroy_both(nets);
        test_net_deinit(&net);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_nets),
        cmocka_unit_test(test_single_models),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_swap),
        cmocka_unit_test(test_log_grows),
        cmocka_unit_test(test_all_fire),
        cmocka_unit_test(test_writes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}

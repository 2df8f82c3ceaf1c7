/* SPDX-License-Identifier: Apache-2.0
 * The Vulkan backend gives what the reference gives: random nets of all models,
 * with work groups of any size, in submissions and pieces of any length, from
 * snapshots of either backend, and with everything written between bursts.
 */
#include "test_cuda_pair.h"

#include <stdlib.h>

enum { BURSTS = 60, INPUTS = 300, N_OPTIONS = 8 };

/* pair_cuda is what PAIR_DEVICE names */
#define pair_vulkan pair_cuda

static const char *const options[N_OPTIONS] = {
    NULL,
    "launch=1",
    "launch=7,groups=3,lanes=1",
    "together=1,size=32,lanes=4",
    "launch=64,size=8,words=64",
    "together=1,size=128,launch=5,groups=1",
    "lanes=32,groups=40,launch=33",
    "together=1,size=256,lanes=16,words=256",
};

static const char *const sliced_options[N_OPTIONS] = {
    "plan=sliced",
    "plan=sliced,launch=1,sums=100",
    "plan=sliced,size=32,lanes=1,launch=7",
    "plan=sliced,sums=64,size=16",
    "plan=sliced,size=128,lanes=32,launch=33",
    "plan=sliced,sums=2000,size=8,words=64",
    "plan=global",
    "plan=sliced,size=256,words=256,sums=777",
};

/* Every event arrives base_delay bursts after its spike; several maps between
 * the same areas, so that parts of rows follow each other in a slice. */
static void sliced_net(test_net *net, uint64_t seed)
{
    static const uint32_t poisson[] = {0xc0000000u, 0xf0000000u, 0xfff00000u};
    static const float values[3][8] = {
        {0.9f, 0, 0, 1.0f, 0, 0, 0, 0},                 /* lif_psc_delta */
        {0.8f, 0.9f, 0.1f, 0.01f, 0, 1.0f, 0, 0},       /* lif_psc_exp */
        {0.5f, 0.02f, 0.2f, -65.0f, 8.0f, 30.0f, 5.0f}, /* izhikevich */
    };
    static const char *const models[3] = {"lif_psc_delta", "lif_psc_exp",
                                          "izhikevich"};
    test_net_init(net, seed);
    for (uint32_t a = 0; a < 4; a++) {
        uint32_t kind = (a + (uint32_t)seed) % 3;
        uint32_t coefs[NET_COEFS] = {0};
        for (uint32_t i = 0; i < 8; i++)
            coefs[i] = test_float(values[kind][i]);
        if (kind == 0)
            coefs[5] = test_random(net, 4);
        if (kind == 1)
            coefs[7] = 2;
        test_area(net, models[kind], 1 + test_random(net, 900), coefs,
                  kind == 2 ? 5 : 9);
        test_stimulus(net, a, poisson, 3, 0, kind == 2 ? 40 : 200, 0);
    }
    for (uint32_t i = 0; i < 14; i++)
        test_random_projection(net, i % 4, test_random(net, 4),
                               1 + test_random(net, 60), -150, 300,
                               1 + test_random(net, 6), 0);
    test_net_finish(net);
    for (uint64_t i = 0; i < net->start.n_state_words; i++)
        net->start.state[i] = 0;
}

static void assert_same_state(vly_backend_net *const nets[2])
{
    vly_snapshot snapshots[2];
    pair_snapshot(pair_cpu, nets[0], &snapshots[0]);
    pair_snapshot(pair_vulkan, nets[1], &snapshots[1]);
    pair_assert_snapshot(&snapshots[0], &snapshots[1]);
    test_snapshot_deinit(&snapshots[0]);
    test_snapshot_deinit(&snapshots[1]);
}

static uint64_t run_both(const test_net *net, vly_backend_net *const nets[2],
                         uint64_t n, const vly_input *inputs, uint64_t n_inputs)
{
    test_run runs[2];
    pair_run(pair_cpu, net, nets[0], n, inputs, n_inputs, &runs[0]);
    pair_run(pair_vulkan, net, nets[1], n, inputs, n_inputs, &runs[1]);
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
    nets[1] = pair_create(pair_vulkan, net, option, NULL);
}

static void destroy_both(vly_backend_net *const nets[2])
{
    pair_cpu->net_destroy(nets[0]);
    pair_vulkan->net_destroy(nets[1]);
}

static void test_random_nets(void **state)
{
    (void)state;
    pair_open();
    for (uint64_t seed = 0; seed < 3 * N_OPTIONS; seed++) {
        test_net net;
        vly_backend_net *nets[2];
        vly_input inputs[INPUTS];
        test_random_net(&net, seed);
        pair_inputs(&net, inputs, INPUTS, BURSTS);
        create_both(&net, options[seed % N_OPTIONS], nets);
        assert_same_state(nets);
        uint64_t spikes = run_both(&net, nets, BURSTS, inputs, INPUTS);
        assert_true(spikes > 1000);
        assert_same_state(nets);
        destroy_both(nets);
        test_net_deinit(&net);
    }
}

static void test_sliced(void **state)
{
    (void)state;
    pair_open();
    for (uint64_t seed = 0; seed < 3 * N_OPTIONS; seed++) {
        test_net net;
        vly_backend_net *nets[2];
        vly_input inputs[INPUTS];
        sliced_net(&net, seed);
        pair_inputs(&net, inputs, INPUTS, BURSTS);
        create_both(&net, sliced_options[seed % N_OPTIONS], nets);
        uint64_t spikes = run_both(&net, nets, 20, inputs, INPUTS);
        spikes += run_both(&net, nets, 1, inputs, INPUTS);
        /* and on from a snapshot */
        vly_snapshot snapshot;
        pair_snapshot(pair_vulkan, nets[1], &snapshot);
        pair_vulkan->net_destroy(nets[1]);
        nets[1] =
            pair_create(pair_vulkan, &net,
                        sliced_options[(seed + 1) % N_OPTIONS], &snapshot);
        test_snapshot_deinit(&snapshot);
        spikes += run_both(&net, nets, BURSTS - 21, inputs, INPUTS);
        assert_true(spikes > 500);
        assert_same_state(nets);
        destroy_both(nets);
        test_net_deinit(&net);
    }
}

static void test_pieces(void **state)
{
    (void)state;
    pair_open();
    for (uint64_t seed = 60; seed < 63; seed++) {
        test_net net;
        vly_backend_net *nets[2];
        vly_input inputs[INPUTS];
        test_random_net(&net, seed);
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
    for (uint64_t seed = 80; seed < 83; seed++) {
        test_net net;
        vly_backend_net *nets[2];
        test_random_net(&net, seed);
        create_both(&net, NULL, nets);
        for (uint64_t at = 0; at < BURSTS; at += 6) {
            vly_snapshot snapshots[2];
            run_both(&net, nets, 6, NULL, 0);
            pair_snapshot(pair_cpu, nets[0], &snapshots[0]);
            pair_snapshot(pair_vulkan, nets[1], &snapshots[1]);
            pair_assert_snapshot(&snapshots[0], &snapshots[1]);
            destroy_both(nets);
            nets[0] = pair_create(pair_cpu, &net, NULL, &snapshots[1]);
            nets[1] = pair_create(pair_vulkan, &net, NULL, &snapshots[0]);
            assert_same_state(nets);
            test_snapshot_deinit(&snapshots[0]);
            test_snapshot_deinit(&snapshots[1]);
        }
        destroy_both(nets);
        test_net_deinit(&net);
    }
}

/* Many spikes and a long delay: the log on the device has to grow, and ids
 * are put in order in several windows. */
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
    test_random_projection(&net, 0, 0, 2, 10, 20, 60, 0);
    test_stimulus(&net, 0, thresholds, 1, 0, 400, 0);
    test_net_finish(&net);
    static const char *const plans[] = {"launch=100,words=64",
                                        "plan=sliced,launch=100,sums=5000"};
    for (int i = 0; i < 2; i++) {
        create_both(&net, plans[i], nets);
        assert_true(run_both(&net, nets, 100, NULL, 0) > 1500000);
        assert_same_state(nets);
        destroy_both(nets);
    }
    test_net_deinit(&net);
}

/* Spikes by area, added to, also where the log ends a submission early. */
static void test_area_spikes(void **state)
{
    (void)state;
    pair_open();
    test_net net;
    vly_backend_net *nets[2];
    uint64_t counts[2][NET_AREAS] = {{7, 8}, {7, 8}};
    test_random_net(&net, 31);
    create_both(&net, "launch=9", nets);
    for (int piece = 0; piece < 3; piece++)
        for (int b = 0; b < 2; b++) {
            const vly_backend *backend = b == 0 ? pair_cpu : pair_vulkan;
            vly_error error = {.struct_size = sizeof error};
            vly_run run = {.struct_size = sizeof run,
                           .n_bursts = 20,
                           .area_spikes = piece == 1 ? NULL : counts[b]};
            assert_ok(backend->net_run(nets[b], &run, &error), error);
            assert_int_equal(run.n_bursts_done, 20);
        }
    assert_memory_equal(counts[0], counts[1], sizeof counts[0]);
    assert_true(counts[0][0] > 7);
    destroy_both(nets);
    test_net_deinit(&net);
}

/* Fields, coefficients and stimuli that change between bursts. */
static void write_both(const test_net *net, vly_backend_net *const nets[2],
                       uint64_t at)
{
    const vly_backend *backends[2] = {pair_cpu, pair_vulkan};
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
    test_net net;
    vly_backend_net *nets[2];
    test_random_net(&net, 99);
    create_both(&net, NULL, nets);
    for (uint64_t at = 0; at < 120; at += 10) {
        run_both(&net, nets, 10, NULL, 0);
        write_both(&net, nets, at);
        assert_same_state(nets);
    }
    destroy_both(nets);
    test_net_deinit(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_nets), cmocka_unit_test(test_sliced),
        cmocka_unit_test(test_pieces),      cmocka_unit_test(test_swap),
        cmocka_unit_test(test_log_grows),   cmocka_unit_test(test_area_spikes),
        cmocka_unit_test(test_writes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}

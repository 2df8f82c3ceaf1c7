/* SPDX-License-Identifier: Apache-2.0
 * The CUDA backend gives what the reference gives: random nets of all models,
 * with any number of blocks, in launches and pieces of any length, from
 * snapshots of either backend, and with everything written between bursts.
 */
#include "test_pair_same.h"

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
    "plan=resident,lines=7,split=1,threads=256",
    "plan=resident,blocks=132,lines=4,launch=31,quads=1",
    "plan=global",
    "plan=resident,blocks=17,lines=1,quads=2,threads=128",
    "plan=partitioned",
    "plan=partitioned,cluster=1,unit=1",
    "plan=partitioned,cluster=2,blocks=6,launch=1",
    "plan=partitioned,cluster=7,unit=2,narrow=1",
    "plan=partitioned,cluster=8,launch=31,narrow=1",
    "plan=partitioned,cluster=3,launch=9",
    "plan=partitioned,cluster=1,blocks=1",
    "change=1,launch=7",
};

const pair_setup pair_same = {
    .n_bursts = 90,
    .kinds = {{.make = test_random_net,
               .options = options,
               .n_options = N_OPTIONS,
               .n_nets = 4 * N_OPTIONS,
               .n_few = 3},
              {.make = pair_plain_net,
               .options = plain_options,
               .n_options = N_OPTIONS,
               .n_nets = 4 * N_OPTIONS,
               .n_few = 3}},
    .log_options = {"plan=global,launch=100", "launch=100"},
    .log_delays = 3};

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
        pair_create_both(&net, i < 4 ? NULL : "plan=global", nets);
        assert_true(pair_run_both(&net, nets, 300, NULL, 0) > 1000);
        pair_assert_state(nets);
        pair_destroy_both(nets);
        test_net_deinit(&net);
    }
}

/* More spikes in a burst than any list holds, from few blocks and many. */
static void test_all_fire(void **state)
{
    (void)state;
    pair_open();
    static const char *const choices[] = {
        "plan=resident,blocks=3",
        "plan=resident,blocks=3,lines=7,launch=9",
        "plan=resident,blocks=132,lines=1,split=1",
        "plan=resident,lines=7",
        "plan=resident,blocks=3,quads=1,split=1",
        "plan=global,blocks=2",
        "plan=global,launch=9"};
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
    for (uint32_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        pair_create_both(&net, choices[i], nets);
        assert_true(pair_run_both(&net, nets, 40, NULL, 0) > 400000);
        assert_true(pair_run_both(&net, nets, 3, NULL, 0) > 40000);
        pair_assert_state(nets);
        pair_destroy_both(nets);
    }
    test_net_deinit(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PAIR_SAME_TESTS,
        cmocka_unit_test(test_single_models),
        cmocka_unit_test(test_all_fire),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}

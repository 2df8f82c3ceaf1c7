/* SPDX-License-Identifier: Apache-2.0
 * The Vulkan backend gives what the reference gives: random nets of all models,
 * with work groups of any size, in submissions and pieces of any length, from
 * snapshots of either backend, and with everything written between bursts.
 */
#include "test_pair_same.h"

enum { N_OPTIONS = 8 };

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

const pair_setup pair_same = {
    .n_bursts = 60,
    .on_processor = true,
    .kinds = {{.make = test_random_net,
               .options = options,
               .n_options = N_OPTIONS,
               .n_nets = 2 * N_OPTIONS,
               .n_few = 2},
              {.make = sliced_net,
               .usual = "plan=sliced",
               .options = sliced_options,
               .n_options = N_OPTIONS,
               .n_nets = 2 * N_OPTIONS,
               .n_few = 1}},
    .log_options = {"launch=15,words=64,size=64",
                    "plan=sliced,launch=15,sums=5000"}};

int main(void)
{
    const struct CMUnitTest tests[] = {PAIR_SAME_TESTS};
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}

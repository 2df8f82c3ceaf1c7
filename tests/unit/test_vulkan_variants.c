/* SPDX-License-Identifier: Apache-2.0
 * Ways of the Vulkan backend that it takes for some nets give what the
 * reference gives, asked for on others too: each such option on random nets,
 * those of plan sliced on nets of two weights and of models with one and two
 * ports. And which of them a net gets that asks for none.
 */
#include "test_pair_same.h"

#include <stdio.h>

enum { N_SLICED = 9, N_WEIGHTS = 2 };

static const char *const sliced_options[N_SLICED] = {
    "plan=sliced,fused=0,short=0,copies=3,launch=7",
    "plan=sliced,fused=0,sums=300",
    "plan=sliced,short=1,fused=0",
    "plan=sliced,short=1,fused=0,launch=1,sums=100",
    "plan=sliced,short=1,fused=0,size=32,lanes=1,launch=7",
    "plan=sliced,short=1,fused=0,size=128,lanes=2,sums=2000,launch=33,kept=1",
    "plan=sliced,fused=1",
    "plan=sliced,fused=1,sums=100,size=32,launch=7",
    "plan=sliced,fused=1,short=1,kept=1,size=16,launch=33,sums=500",
};

static uint32_t variant_area(test_net *net, uint32_t kind)
{
    static const struct {
        const char *model;
        float coefs[10];
        int q;
    } kinds[4] = {
        {"lif_psc_delta", {0.9f, 0, 0, 1.0f}, 9},
        {"lif_psc_exp", {0.8f, 0.9f, 0.1f, 0.01f, 0, 1.0f}, 9},
        {"izhikevich", {0.5f, 0.02f, 0.2f, -65.0f, 8.0f, 30.0f, 5.0f}, 5},
        {"lif_psc_exp2", {0.8f, 0.7f, 0.9f, 0.1f, 0.1f, 0.01f, 0, 1.0f, 0}, 9},
    };
    static const uint32_t refractory[4] = {5, 7, 0, 9};
    uint32_t coefs[NET_COEFS] = {0};
    for (uint32_t i = 0; i < 10; i++)
        coefs[i] = test_float(kinds[kind].coefs[i]);
    if (refractory[kind] != 0)
        coefs[refractory[kind]] = test_random(net, 4);
    return test_area(net, kinds[kind].model, 1 + test_random(net, 900), coefs,
                     kinds[kind].q);
}

/* A map whose synapses weigh one or the other, by chance. */
static void weigh_map(test_net *net, uint32_t p, const int16_t *weights)
{
    const vly_projection_desc *map = &net->projections[p];
    int16_t *weight = (int16_t *)(uintptr_t)map->weight;
    uint64_t n = map->row[net->areas[map->source_area].n_neurons];
    for (uint64_t j = 0; j < n; j++)
        weight[j] = weights[test_random(net, N_WEIGHTS)];
    if (net->areas[map->target_area].n_ports == 2)
        net->projections[p].port = VLY_PORT_BY_SIGN;
}

/* Weights of some maps get shifts: those shifted by 6 are what they were. */
static void shift_maps(test_net *net)
{
    for (uint32_t i = 0; i < net->desc.n_projections; i++)
        net->projections[i].shift = i % 7 == 3 ? 12 : i % 3 == 0 ? 0 : 6;
    for (uint32_t a = 0; a < net->desc.n_areas; a++) {
        net->areas[a].scale[0] /= 64.0f;
        net->areas[a].scale[1] /= 64.0f;
        net->stimuli[a].step *= 64;
    }
}

/* Every event arrives base_delay bursts after its spike, and those of one base
 * delay have two weights, or one. */
static void sliced_net(test_net *net, uint64_t seed)
{
    static const uint32_t poisson[] = {0xc0000000u, 0xf0000000u, 0xfff00000u};
    int16_t weights[6][N_WEIGHTS];
    test_net_init(net, seed);
    for (uint32_t a = 0; a < 4; a++) {
        uint32_t kind = (uint32_t)seed % 4; /* one model, for fused=1 */
        variant_area(net, kind);
        test_stimulus(net, a, poisson, 3, 0, kind == 2 ? 40 : 200, 0);
    }
    for (uint32_t i = 0; i < 6; i++) {
        weights[i][0] = (int16_t)(50 + test_random(net, 200));
        weights[i][1] =
            i % 3 == 2 ? weights[i][0] : (int16_t)-test_random(net, 150);
    }
    for (uint32_t i = 0; i < 14; i++) {
        uint32_t delay = test_random(net, 6);
        test_random_projection(net, i % 4, test_random(net, 4),
                               1 + test_random(net, 60), 0, 0, 1 + delay, 0);
        weigh_map(net, i, weights[delay]);
    }
    if (seed / 3 % 2 == 1)
        shift_maps(net);
    test_net_finish(net);
    for (uint64_t i = 0; i < net->start.n_state_words; i++)
        net->start.state[i] = 0;
}

enum { N_OPTIONS = 4 };

static const char *const options[N_OPTIONS] = {
    "kept=1",
    "kept=1,together=1,size=128,rounds=7",
    "kept=1,launch=7,lanes=4,groups=7",
    "kept=0,launch=33,rounds=5,size=32",
};

const pair_setup pair_same = {
    .n_bursts = 60,
    .on_processor = true,
    .kinds = {{.make = test_random_net,
               .usual = "kept=1",
               .options = options,
               .n_options = N_OPTIONS,
               .n_nets = 2 * N_OPTIONS,
               .n_few = 1},
              {.make = sliced_net,
               .usual = "plan=sliced,short=1,fused=0",
               .options = sliced_options,
               .n_options = N_SLICED,
               .n_nets = 2 * N_SLICED,
               .n_few = 1}},
    .log_options = {"kept=1", "plan=sliced,launch=15,sums=500,kept=1,fused=1"}};

/* With these options on plan sliced it is refused, and why; on another plan
 * they do nothing. */
static void assert_refused(const test_net *net, const char *option,
                           const char *why)
{
    char text[64];
    vly_backend_net *made = NULL;
    vly_error error = {.struct_size = sizeof error};
    vly_device_spec device = {
        .struct_size = sizeof device, .n_threads = 1, .options = text};
    snprintf(text, sizeof text, "plan=sliced,%s", option);
    assert_int_equal(
        pair_cuda->net_create(&device, &net->desc, &net->start, &made, &error),
        VLY_E_UNSUPPORTED);
    assert_non_null(strstr(error.message, why));
    assert_null(made);
    snprintf(text, sizeof text, "plan=global,%s", option);
    made = pair_create(pair_cuda, net, text, NULL);
    pair_cuda->net_destroy(made);
}

static void test_refused(void **state)
{
    (void)state;
    pair_open();
    test_net net;
    uint32_t coefs[NET_COEFS];
    test_net_init(&net, 1);
    test_delta_coefs(coefs, 1.0f, 0);
    test_area(&net, "lif_psc_delta", 100, coefs, 8);
    for (uint32_t i = 0; i < 3; i++)
        test_synapse(&net, 0, 0, 0, i, (int16_t)(10 + i), 1);
    test_net_finish(&net);
    assert_refused(&net, "short=1", "more than two weights");
    test_net_deinit(&net);
    test_net_init(&net, 2);
    test_area(&net, "lif_psc_delta", 100, coefs, 8);
    memset(coefs, 0, sizeof coefs);
    test_area(&net, "lif_psc_exp", 100, coefs, 8);
    test_synapse(&net, 0, 0, 1, 0, 10, 1);
    test_net_finish(&net);
    assert_refused(&net, "fused=1", "more than one model");
    test_net_deinit(&net);
}

static void assert_plan(const test_net *net, const char *option,
                        const char *dispatches, uint32_t bytes)
{
    char wanted[64];
    vly_net_info info = {.struct_size = sizeof info};
    vly_error error = {.struct_size = sizeof error};
    vly_backend_net *made = pair_create(pair_cuda, net, option, NULL);
    assert_ok(pair_cuda->net_info(made, &info, &error), error);
    pair_cuda->net_destroy(made);
    print_message("%s: %s\n", option, info.plan);
    assert_non_null(strstr(info.plan, dispatches));
    snprintf(wanted, sizeof wanted, "%u of its own", bytes);
    assert_non_null(strstr(info.plan, wanted));
}

/* Synapses are short where two weights are all, of two dispatches; one dispatch
 * is for one model. */
static void test_chosen(void **state)
{
    (void)state;
    pair_open();
    test_net net;
    uint32_t coefs[NET_COEFS];
    for (int16_t weights = 2; weights <= 3; weights++)
        for (uint32_t models = 1; models <= 2; models++) {
            test_net_init(&net, 1);
            test_delta_coefs(coefs, 1.0f, 0);
            test_area(&net, "lif_psc_delta", 100, coefs, 8);
            memset(coefs, 0, sizeof coefs);
            if (models == 2)
                test_area(&net, "lif_psc_exp", 100, coefs, 8);
            for (uint32_t i = 0; i < 9; i++)
                test_synapse(&net, 0, i % 3, 0, i,
                             (int16_t)(10 + (int16_t)i % weights), 1);
            test_net_finish(&net);
            assert_plan(&net, "plan=sliced,fused=0", "two dispatches",
                        weights == 2 ? 2 : 4);
            assert_plan(&net, "plan=sliced,fused=0,short=0", "two dispatches",
                        4);
            if (models == 2)
                assert_plan(&net, "plan=sliced", "two dispatches",
                            weights == 2 ? 2 : 4);
            else
                assert_plan(&net, "plan=sliced,fused=1", "one dispatch", 4);
            test_net_deinit(&net);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {PAIR_SAME_TESTS,
                                       cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_chosen)};
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}

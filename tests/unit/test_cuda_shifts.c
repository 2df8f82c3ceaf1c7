/* SPDX-License-Identifier: Apache-2.0
 * Weights with shifts (units of maps) in every plan of the CUDA backend,
 * against the reference: the plan that is asked for is the one that runs, and
 * the plan that is chosen is no slower one than without shifts.
 */
#include "test_cuda_pair.h"

#include <stdio.h>

/* PAIR_SMALL: where kernels run on the processor (emulated_cuda.h). */
#if defined(PAIR_SMALL)
enum { BURSTS = 16, INPUTS = 60, NETS = 1 };
#else
enum { BURSTS = 90, INPUTS = 400, NETS = 4 };
#endif

static void assert_same_state(vly_backend_net *const nets[2])
{
    vly_snapshot snapshots[2];
    pair_snapshot(pair_cpu, nets[0], &snapshots[0]);
    pair_snapshot(pair_cuda, nets[1], &snapshots[1]);
    pair_assert_snapshot(&snapshots[0], &snapshots[1]);
    test_snapshot_deinit(&snapshots[0]);
    test_snapshot_deinit(&snapshots[1]);
}

static void run_both(const test_net *net, vly_backend_net *const nets[2],
                     const vly_input *inputs)
{
    test_run runs[2];
    pair_run(pair_cpu, net, nets[0], BURSTS, inputs, INPUTS, &runs[0]);
    pair_run(pair_cuda, net, nets[1], BURSTS, inputs, INPUTS, &runs[1]);
    assert_true(runs[0].run.n_spikes > 100);
    pair_assert_run(&runs[0], &runs[1]);
    test_run_deinit(&runs[0]);
    test_run_deinit(&runs[1]);
    assert_same_state(nets);
}

/* What the device's net says of itself has to contain `word`. */
static void assert_plan(vly_backend_net *made, const char *option,
                        const char *word)
{
    vly_net_info info = {.struct_size = sizeof info};
    vly_error error = {.struct_size = sizeof error};
    assert_ok(pair_cuda->net_info(made, &info, &error), error);
    if (strstr(info.plan, word) == NULL)
        fail_msg("%s: %s, wanted '%s'", option, info.plan, word);
}

/* Two runs, then another net from the state between: what is under way comes
 * from the log. */
static void compare(test_net *net, const char *option, const char *word)
{
    vly_backend_net *nets[2];
    vly_input inputs[INPUTS];
    vly_snapshot between;
    pair_inputs(net, inputs, INPUTS, 2 * BURSTS);
    nets[0] = pair_create(pair_cpu, net, NULL, NULL);
    nets[1] = pair_create(pair_cuda, net, option, NULL);
    assert_plan(nets[1], option, word);
    run_both(net, nets, inputs);
    pair_snapshot(pair_cpu, nets[0], &between);
    run_both(net, nets, inputs);
    pair_cpu->net_destroy(nets[0]);
    pair_cuda->net_destroy(nets[1]);
    nets[0] = pair_create(pair_cpu, net, NULL, &between);
    nets[1] = pair_create(pair_cuda, net, option, &between);
    run_both(net, nets, inputs);
    pair_cpu->net_destroy(nets[0]);
    pair_cuda->net_destroy(nets[1]);
    test_snapshot_deinit(&between);
}

typedef struct plan_case {
    const char *option;
    const char *word; /* in the text of the plan */
} plan_case;

static const plan_case cases[] = {
    {NULL, "for shifted weights"},
    {"plan=resident", "for shifted weights"},
    {"plan=resident,launch=1,split=1,quads=1", "for shifted weights"},
    {"plan=resident,split=0,launch=7", "for shifted weights"},
    /* 16 bits do not reach to the places of all classes */
    {"plan=resident,blocks=1,launch=9", "1 blocks stay on the device"},
    {"plan=resident,blocks=1,split=1,quads=2", "1 blocks stay on the device"},
    {"plan=partitioned", " sets"},
    {"plan=partitioned,cluster=1,unit=1,launch=5", " sets"},
    {"plan=partitioned,cluster=2,launch=1", " sets"},
    {"plan=partitioned,cluster=2,narrow=1,once=100", " sets"},
    {"plan=partitioned,cluster=4,unit=2,launch=7", " sets"},
    {"plan=partitioned,cluster=1,blocks=1", " sets"},
    {"change=1,launch=7", "for shifted weights"},
    {"plan=global", "global"},
};
enum { N_CASES = sizeof cases / sizeof *cases };

static void test_every_plan(void **state)
{
    (void)state;
    pair_open();
    for (uint64_t i = 0; i < (uint64_t)NETS * N_CASES; i++) {
        const plan_case *of = &cases[i % N_CASES];
        test_net net;
        pair_shifted_net(&net, 40 + i / N_CASES + i);
        compare(&net, of->option, of->word);
        test_net_deinit(&net);
    }
}

/* Nets of one delay, which have no ring to be at rest in, and for which 16 bits
 * and pairs of blocks are meant: they have sets of 32 bits here. */
static void test_one_delay(void **state)
{
    (void)state;
    pair_open();
    static const uint32_t thresholds[] = {0xc0000000u, 0xf0000000u};
    static const plan_case one[] = {
        {"plan=partitioned", " in 3 sets"},
        {"plan=partitioned,cluster=2,once=50,narrow=1", " in 3 sets"},
        {"plan=partitioned,cluster=8,post=64,launch=3", " in 3 sets"},
        {"plan=resident", "for shifted weights"},
        {"change=1,launch=5", "for shifted weights"}};
    for (uint32_t i = 0; i < sizeof one / sizeof *one; i++) {
        uint32_t coefs[NET_COEFS] = {0};
        test_net net;
        test_net_init(&net, i);
        test_delta_coefs(coefs, 0.9f, 3);
        test_area(&net, "lif_psc_delta", 1200, coefs, 20);
        for (uint32_t p = 0; p < 3; p++) {
            test_random_projection(&net, 0, 0, 20, -3000, 3600, 1, 0);
            net.projections[p].shift = 6 * p;
        }
        test_stimulus(&net, 0, thresholds, 2, 0, 300 << 12, 0);
        test_net_finish(&net);
        compare(&net, one[i].option, one[i].word);
        test_net_deinit(&net);
    }
}

/* Two blocks of 2,000 neurons, delays up to 20 bursts: 16 bits reach to the
 * places of one larger shift for delays up to 12. What is beyond becomes
 * several synapses: 600 * 2^6, 20 * 2^12 and others are one to three. */
static void test_several_words(void **state)
{
    (void)state;
    pair_open();
    static const uint32_t thresholds[] = {0xc0000000u, 0xf0000000u};
    static const plan_case few[] = {
        {"plan=resident,blocks=2,launch=9", "2000 neurons each"},
        {"plan=resident,blocks=2,split=1,quads=1", "2000 neurons each"}};
    for (uint32_t i = 0; i < sizeof few / sizeof *few; i++) {
        uint32_t coefs[NET_COEFS] = {0};
        test_net net;
        test_net_init(&net, i);
        test_delta_coefs(coefs, 0.9f, 3);
        test_area(&net, "lif_psc_delta", 4000, coefs, 17);
        test_random_projection(&net, 0, 0, 30, -4000, 5000, 1, 19);
        test_random_projection(&net, 0, 0, 1, -50, 600, 1, 19);
        test_random_projection(&net, 0, 0, 1, -20, 20, 2, 18);
        for (uint32_t p = 0; p < 3; p++)
            net.projections[p].shift = 6 * p;
        test_stimulus(&net, 0, thresholds, 2, 0, 50000, 0);
        test_net_finish(&net);
        compare(&net, few[i].option, few[i].word);
        test_net_deinit(&net);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_plan),
        cmocka_unit_test(test_one_delay),
        cmocka_unit_test(test_several_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}

/* SPDX-License-Identifier: Apache-2.0
 * The partitioned plan of the CUDA backend where a slice is shared out between
 * two blocks, where parts of rows are posted, and where sums are of 16 bits:
 * nets of one delay, which are what this is for, with every share of a slice
 * and any number of posted spikes, against the reference.
 */
#include "test_cuda_pair.h"

#include <stdio.h>
#include <stdlib.h>

/* PAIR_SMALL: where kernels run on the processor (emulated_cuda.h), small nets,
 * and one model with each set of options. */
#if defined(PAIR_SMALL)
enum { BURSTS = 16, INPUTS = 60, LEAST_SPIKES = 20, SHRINK = 8 };
#define EACH_MODEL(m, i)                                                       \
    for (uint32_t m = (i) % MODELS, last_ = m; m == last_; m++)
#else
enum { BURSTS = 60, INPUTS = 400, LEAST_SPIKES = 1000, SHRINK = 1 };
#define EACH_MODEL(m, i) for (uint32_t m = 0; m < MODELS; m++)
#endif

enum { MODELS = 4 }; /* the last: all three */
static const char *const models[3] = {"lif_psc_delta", "lif_psc_exp",
                                      "izhikevich"};

static void add_area(test_net *net, uint32_t model, uint32_t n)
{
    const float exponential[7] = {0.8f, 0.9f, 0.1f, 0.01f, 0, 1.0f, 0};
    const float izhikevich[7] = {0.5f, 0.02f, 0.2f, -65.0f, 8.0f, 30.0f, 5.0f};
    uint32_t coefs[NET_COEFS] = {0};
    if (model == 0)
        test_delta_coefs(coefs, 0.9f, 3);
    for (uint32_t i = 0; i < 7 && model > 0; i++)
        coefs[i] = test_float(model == 1 ? exponential[i] : izhikevich[i]);
    test_area(net, models[model], n, coefs, 8);
}

/* Areas of odd sizes; every synapse takes `delay` bursts. */
static void make_net(test_net *net, uint32_t model, uint32_t delay)
{
    static const uint32_t sizes[3] = {7000, 33, 2500};
    static const uint32_t thresholds[] = {0xc0000000u, 0xf0000000u};
    test_net_init(net, 11 + model);
    for (uint32_t a = 0; a < 3; a++)
        add_area(net, model < 3 ? model : a,
                 sizes[a] > 100 ? sizes[a] / SHRINK : sizes[a]);
    test_random_projection(net, 0, 0, 60, -100, 120, delay, 0);
    test_random_projection(net, 0, 2, 20, -100, 110, delay, 0);
    test_random_projection(net, 1, 0, 2000 / SHRINK, -100, 120, delay, 0);
    test_random_projection(net, 2, 1, 3, -30, 60, delay, 0);
    test_random_projection(net, 2, 0, 40, -90, 100, delay, 0);
    for (uint32_t a = 0; a < 3; a++)
        test_stimulus(net, a, thresholds, 2, 0, 300, 0);
    test_net_finish(net);
}

static void assert_same_state(vly_backend_net *const nets[2])
{
    vly_snapshot snapshots[2];
    pair_snapshot(pair_cpu, nets[0], &snapshots[0]);
    pair_snapshot(pair_cuda, nets[1], &snapshots[1]);
    pair_assert_snapshot(&snapshots[0], &snapshots[1]);
    test_snapshot_deinit(&snapshots[0]);
    test_snapshot_deinit(&snapshots[1]);
}

static void compare(test_net *net, const char *option)
{
    vly_backend_net *nets[2];
    vly_input inputs[INPUTS];
    uint64_t n_spikes = 0;
    pair_inputs(net, inputs, INPUTS, 2 * BURSTS);
    nets[0] = pair_create(pair_cpu, net, NULL, NULL);
    nets[1] = pair_create(pair_cuda, net, option, NULL);
    for (uint32_t i = 0; i < 2; i++) {
        test_run runs[2];
        pair_run(pair_cpu, net, nets[0], BURSTS, inputs, INPUTS, &runs[0]);
        pair_run(pair_cuda, net, nets[1], BURSTS, inputs, INPUTS, &runs[1]);
        n_spikes += runs[0].run.n_spikes;
        pair_assert_run(&runs[0], &runs[1]);
        test_run_deinit(&runs[0]);
        test_run_deinit(&runs[1]);
        assert_same_state(nets);
    }
    if (n_spikes <= 2 * LEAST_SPIKES)
        fail_msg("%s: %u spikes", option, (unsigned)n_spikes);
    pair_cpu->net_destroy(nets[0]);
    pair_cuda->net_destroy(nets[1]);
}

/* How the net runs, by net_info; skips the option where a device has no
 * clusters of blocks. */
static void plan_of(const test_net *net, const char *option, char plan[256])
{
    vly_net_info info = {.struct_size = sizeof info};
    vly_error error = {.struct_size = sizeof error};
    vly_backend_net *made = pair_create(pair_cuda, net, option, NULL);
    assert_ok(pair_cuda->net_info(made, &info, &error), error);
    snprintf(plan, 256, "%s", info.plan);
    pair_cuda->net_destroy(made);
}

static void test_shared_out(void **state)
{
    (void)state;
    pair_open();
    static const char *const options[] = {
        "plan=partitioned,cluster=2,once=100",
        "plan=partitioned,cluster=2,once=100,post=100,launch=7",
        "plan=partitioned,cluster=2,once=50,unit=2",
        "plan=partitioned,cluster=2,once=50,unit=1,post=40",
        "plan=partitioned,cluster=2,once=30,blocks=6,launch=1",
        "plan=partitioned,cluster=2,once=10,blocks=2,post=5",
    };
    for (uint32_t i = 0; i < sizeof options / sizeof *options; i++)
        EACH_MODEL(m, i)
        {
            test_net net;
            make_net(&net, m, m == 2 ? 3 : 1);
            compare(&net, options[i]);
            test_net_deinit(&net);
        }
}

static void test_posted(void **state)
{
    (void)state;
    pair_open();
    static const char *const options[] = {
        "plan=partitioned,post=100000",
        "plan=partitioned,cluster=1,post=1",
        "plan=partitioned,cluster=1,post=32,unit=2,launch=3",
        "plan=partitioned,cluster=2,post=33,unit=1",
        "plan=partitioned,cluster=4,post=64,launch=31",
        "plan=partitioned,cluster=8,post=7",
        "plan=partitioned,blocks=3,post=1000",
        "plan=partitioned,blocks=1,post=9999",
    };
    for (uint32_t i = 0; i < sizeof options / sizeof *options; i++)
        EACH_MODEL(m, i)
        {
            test_net net;
            make_net(&net, m, m == 2 ? 2 : 1);
            compare(&net, options[i]);
            test_net_deinit(&net);
        }
}

/* Weights times 2^7 in units of 2^-7: the same net, whose weights have a
 * divisor. */
static void multiply_weights(test_net *net)
{
    for (uint32_t p = 0; p < net->desc.n_projections; p++) {
        vly_projection_desc *map = &net->projections[p];
        const uint64_t n = map->row[net->areas[map->source_area].n_neurons];
        int16_t *weights = NULL;
        memcpy(&weights, &map->weight, sizeof weights); /* the test's own */
        for (uint64_t i = 0; i < n; i++)
            weights[i] = (int16_t)(weights[i] * 128);
    }
    for (uint32_t a = 0; a < net->desc.n_areas; a++) {
        net->areas[a].scale[0] /= 128.0f;
        net->stimuli[a].step *= 128;
    }
}

static const char *const narrow_options[] = {
    "plan=partitioned,narrow=1",
    "plan=partitioned,narrow=1,cluster=1,launch=7",
    "plan=partitioned,narrow=1,cluster=2",
    "plan=partitioned,narrow=1,cluster=2,unit=2,post=40,deal=0",
    "plan=partitioned,narrow=1,cluster=4,unit=1,launch=1",
    "plan=partitioned,narrow=1,cluster=8,post=33,deal=1",
    "plan=partitioned,narrow=1,cluster=2,blocks=2,post=9999",
    "plan=partitioned,narrow=1,blocks=1,launch=13",
    "change=1,launch=9,narrow=1",
};
enum { N_NARROW = sizeof narrow_options / sizeof *narrow_options };

static void test_narrow(void **state)
{
    (void)state;
    pair_open();
    for (uint32_t i = 0; i < N_NARROW; i++)
        EACH_MODEL(m, i)
        {
            test_net net;
            make_net(&net, m, m == 2 ? 3 : 1);
            if (i % 2 == 1)
                multiply_weights(&net);
            compare(&net, narrow_options[i]);
            test_net_deinit(&net);
        }
}

/* Eight synapses of a neuron, whose weights have no divisor and sum to 32,767
 * or its negative, in every mixture of rows: neurons that share a word often
 * have both sums at their borders. A quarter of them do not fire in a burst,
 * and keep every bit of theirs in the state. */
static void border_net(test_net *net, uint32_t n, uint32_t pattern)
{
    enum { FAN = 8 };
    static const int16_t parts[FAN] = {4681, 4681, 4681, 4681,
                                       4681, 4681, 4680, 1};
    static const uint32_t thresholds[] = {0x40000000u};
    uint32_t *from = malloc(sizeof *from * FAN * n);
    uint32_t *to = malloc(sizeof *to * FAN * n);
    int16_t *weight = malloc(sizeof *weight * FAN * n);
    uint32_t coefs[NET_COEFS] = {0};
    assert_true(from != NULL && to != NULL && weight != NULL);
    for (uint32_t i = 0; i < FAN * n; i++) {
        const uint32_t target = i / FAN;
        const uint32_t row = target / 32;
        const bool minus = pattern == 0   ? row % 2 == 0
                           : pattern == 1 ? row % 2 == 1
                           : pattern == 2 ? true
                                          : target % 3 == 0;
        from[i] = (target * 7 + i % FAN * 1009) % n;
        to[i] = target;
        weight[i] = minus ? (int16_t)-parts[i % FAN] : parts[i % FAN];
    }
    test_net_init(net, pattern);
    test_delta_coefs(coefs, 0.5f, 0);
    coefs[3] = test_float(200.0f); /* above what synapses give */
    test_area(net, "lif_psc_delta", n, coefs, 8);
    test_projection(net, 0, 0, 1, (uint64_t)FAN * n, from, to, weight, NULL);
    test_stimulus(net, 0, thresholds, 1, 0, 120000, 0);
    test_net_finish(net);
    free(from);
    free(to);
    free(weight);
}

static void test_narrow_borders(void **state)
{
    (void)state;
    pair_open();
    for (uint32_t i = 0; i < N_NARROW; i++) {
        test_net net;
        border_net(&net, (i % 2 == 0 ? 20011 : 3000) / SHRINK, i % 4);
        compare(&net, narrow_options[i]);
        test_net_deinit(&net);
    }
}

/* All fire in every burst: warps take turns from a counter. */
static void test_many_spikes(void **state)
{
    (void)state;
    pair_open();
    static const char *const options[] = {
        "plan=partitioned,cluster=1",
        "plan=partitioned,cluster=1,post=64,unit=1,launch=9",
        "plan=partitioned,cluster=2,once=50,post=9999",
        "plan=partitioned,cluster=2,once=0,blocks=4,unit=2",
        "plan=partitioned,cluster=2,narrow=1,post=9999",
    };
    static const uint32_t thresholds[] = {0x08000000u};
    uint32_t coefs[NET_COEFS] = {0};
    test_net net;
    test_net_init(&net, 6);
    test_delta_coefs(coefs, 0.5f, 0);
    test_area(&net, "lif_psc_delta", 20000 / SHRINK, coefs, 8);
    test_random_projection(&net, 0, 0, 9, -20, 20, 1, 0);
    test_stimulus(&net, 0, thresholds, 1, 0, 300, 0);
    test_net_finish(&net);
    for (uint32_t i = 0; i < sizeof options / sizeof *options; i++)
        compare(&net, options[i]);
    test_net_deinit(&net);
}

/* The other plans, and their ways that are not the default yet. */
static void test_other_plans(void **state)
{
    (void)state;
    pair_open();
    static const char *const options[] = {
        "plan=global",
        "plan=global,blocks=2",
        "plan=global,launch=3",
        "plan=resident",
        "plan=resident,lines=2",
        "plan=resident,threads=128",
        "plan=resident,launch=3,blocks=3,quads=1,threads=256",
    };
    for (uint32_t i = 0; i < sizeof options / sizeof *options; i++)
        EACH_MODEL(m, i)
        {
            test_net net;
            make_net(&net, m, 1 + i % 3);
            compare(&net, options[i]);
            test_net_deinit(&net);
        }
}

static void test_plan_says(void **state)
{
    (void)state;
    pair_open();
    test_net net;
    char plan[256];
    make_net(&net, 0, 1);
    plan_of(&net, "plan=partitioned,cluster=1,post=50", plan);
    print_message("%s\n", plan);
    assert_non_null(strstr(plan, "100% of them in one block only"));
    assert_non_null(strstr(plan, "parts of 50 spikes posted"));
    plan_of(&net, "plan=partitioned,cluster=2,once=0,post=0", plan);
    assert_non_null(strstr(plan, "parts of 0 spikes posted"));
    if (strstr(plan, " 2 blocks each") != NULL)
        assert_non_null(strstr(plan, " 0% of them in one block only"));
    plan_of(&net, "plan=partitioned,cluster=2,once=100,post=0", plan);
    print_message("%s\n", plan);
    assert_non_null(strstr(plan, "100% of them in one block only"));
    assert_null(strstr(plan, " by 16 bits"));
    plan_of(&net, "plan=partitioned,cluster=1,narrow=1", plan);
    print_message("%s\n", plan);
    assert_non_null(strstr(plan, " by 16 bits"));
    plan_of(&net, "plan=partitioned,narrow=0", plan);
    assert_null(strstr(plan, " by 16 bits"));
    multiply_weights(&net);
    plan_of(&net, "plan=partitioned,narrow=1", plan);
    assert_non_null(strstr(plan, " by 16 bits"));
    test_net_deinit(&net);
    border_net(&net, 3000 / SHRINK, 0);
    plan_of(&net, "plan=partitioned,narrow=1", plan);
    assert_non_null(strstr(plan, " by 16 bits"));
    test_net_deinit(&net);
    /* of several delays no slice is shared out, and none but 1 is posted */
    make_net(&net, 1, 2);
    plan_of(&net, "plan=partitioned,post=50", plan);
    assert_non_null(strstr(plan, "parts of 0 spikes posted"));
    test_net_deinit(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan_says),
        cmocka_unit_test(test_shared_out),
        cmocka_unit_test(test_posted),
        cmocka_unit_test(test_many_spikes),
        cmocka_unit_test(test_other_plans),
        cmocka_unit_test(test_narrow),
        cmocka_unit_test(test_narrow_borders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}

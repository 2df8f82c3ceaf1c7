/* SPDX-License-Identifier: Apache-2.0
 * One net on several devices beside the reference: parts of one device (span=),
 * and several devices where there are some. The same spikes, states and
 * snapshots whatever the number of devices, also where a net moves between
 * numbers of them; a device that sends nothing ends the net with an error.
 */
#include "test_cuda_pair.h"

#include <stdio.h>
#include <stdlib.h>

/* PAIR_SMALL: where kernels run on the processor (emulated_cuda.h). */
#if defined(PAIR_SMALL)
enum { BURSTS = 12, INPUTS = 60, SHRINK = 8, N_SEEDS = 2 };
#else
enum { BURSTS = 60, INPUTS = 400, SHRINK = 1, N_SEEDS = 12 };
#endif

/* Areas of odd sizes; every synapse takes `delay` bursts. */
static void one_delay_net(test_net *net, uint32_t delay)
{
    static const uint32_t sizes[3] = {7001, 264, 2500};
    static const uint32_t thresholds[] = {0xc0000000u, 0xf0000000u};
    uint32_t coefs[NET_COEFS] = {0};
    test_net_init(net, 21 + delay);
    test_delta_coefs(coefs, 0.9f, 3);
    for (uint32_t a = 0; a < 3; a++)
        test_area(net, "lif_psc_delta", sizes[a] / SHRINK, coefs, 8);
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

/* Runs a net on the reference and on the other backend twice, then destroys
 * both. */
static void compare_nets(test_net *net, vly_backend_net *const nets[2],
                         const char *what)
{
    vly_input inputs[INPUTS];
    uint64_t n_spikes = 0;
    pair_inputs(net, inputs, INPUTS, 2 * BURSTS);
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
    if (n_spikes <= BURSTS)
        fail_msg("%s: %u spikes", what, (unsigned)n_spikes);
    pair_cpu->net_destroy(nets[0]);
    pair_cuda->net_destroy(nets[1]);
}

static void compare(test_net *net, const char *option)
{
    vly_backend_net *const nets[2] = {
        pair_create(pair_cpu, net, NULL, NULL),
        pair_create(pair_cuda, net, option, NULL)};
    compare_nets(net, nets, option);
}

static void test_one_delay(void **state)
{
    static const char *const options[] = {
        "span=2",
        "span=2,cluster=1,launch=7",
        "span=3,cluster=1,unit=1",
        "span=4,unit=2,launch=1",
        "span=2,cluster=2,narrow=1,launch=9",
        "span=2,cluster=3,unit=2,launch=5",
        "span=2,cluster=6,narrow=1",
        "span=3,cluster=1,narrow=1,unit=1",
        "span=2,blocks=3",
    };
    (void)state;
    pair_open();
    for (uint32_t i = 0; i < sizeof options / sizeof *options; i++) {
        test_net net;
        one_delay_net(&net, 1 + i % 3);
        compare(&net, options[i]);
        test_net_deinit(&net);
    }
}

/* Parts of rows are posted for all spikes of a burst, for some, for few; only
 * maps of delay 1 have them. */
static void test_posted(void **state)
{
    static const char *const options[] = {
        "span=2,post=100000",
        "span=2,cluster=1,unit=1,post=100000",
        "span=3,cluster=1,unit=1,post=64,launch=8",
        "span=2,cluster=2,narrow=1,unit=1,post=32",
        "span=4,unit=2,post=96,launch=6",
    };
    (void)state;
    pair_open();
    for (uint32_t i = 0; i < sizeof options / sizeof *options; i++) {
        vly_net_info info = {.struct_size = sizeof info};
        vly_error error = {.struct_size = sizeof error};
        test_net net;
        one_delay_net(&net, 1);
        vly_backend_net *made = pair_create(pair_cuda, &net, options[i], NULL);
        assert_ok(pair_cuda->net_info(made, &info, &error), error);
        assert_non_null(strstr(info.plan, "spikes posted"));
        assert_null(strstr(info.plan, "parts of 0 spikes posted"));
        pair_cuda->net_destroy(made);
        compare(&net, options[i]);
        test_net_deinit(&net);
    }
}

/* More places than 16 bits hold, of sums of 16 bits: a slice of 70,000 neurons
 * on each part. */
static void test_many_places(void **state)
{
    static const uint32_t thresholds[] = {0xffc00000u};
    uint32_t coefs[NET_COEFS] = {0};
    test_net net;
    (void)state;
    pair_open();
    test_net_init(&net, 5);
    test_delta_coefs(coefs, 0.9f, 0);
    test_area(&net, "lif_psc_delta", 140000, coefs, 8);
    test_random_projection(&net, 0, 0, 3, -100, 120, 1, 0);
    test_stimulus(&net, 0, thresholds, 1, 0, 2 * BURSTS, 0);
    test_net_finish(&net);
    compare(&net, "span=2,cluster=2,narrow=1,blocks=4");
    compare(&net, "span=2,cluster=5,narrow=1,blocks=10");
    /* and of the index several words a row, as far as there are blocks */
    compare(&net, "span=2,cluster=1,unit=1,post=200000");
    test_net_deinit(&net);
}

/* Delays up to 13 bursts: spikes are read from each device's log, and input in
 * flight is kept between launches. */
static void test_delays(void **state)
{
    static const char *const options[] = {"span=2,launch=11", "span=3",
                                          "span=4,launch=1",
                                          "span=2,cluster=2,unit=1,post=64"};
    (void)state;
    pair_open();
    for (uint32_t seed = 0; seed < 2 * N_SEEDS; seed++) {
        test_net net;
        if (seed % 2 == 0)
            pair_plain_net(&net, seed);
        else
            pair_shifted_net(&net, seed);
        compare(&net, options[seed % 4]);
        test_net_deinit(&net);
    }
}

/* A snapshot of any number of devices begins a net on any other number. */
static void test_moves(void **state)
{
    static const char *const options[] = {
        "span=2", "span=3,launch=7",  NULL,
        "span=4", "plan=partitioned", "span=2,launch=3"};
    (void)state;
    pair_open();
    test_net net;
    vly_snapshot snapshot;
    pair_plain_net(&net, 5);
    vly_backend_net *reference = pair_create(pair_cpu, &net, NULL, NULL);
    vly_backend_net *made = pair_create(pair_cuda, &net, "span=3", NULL);
    for (uint32_t i = 0; i < sizeof options / sizeof *options; i++) {
        test_run runs[2];
        pair_run(pair_cpu, &net, reference, 9, NULL, 0, &runs[0]);
        pair_run(pair_cuda, &net, made, 9, NULL, 0, &runs[1]);
        pair_assert_run(&runs[0], &runs[1]);
        test_run_deinit(&runs[0]);
        test_run_deinit(&runs[1]);
        pair_snapshot(pair_cuda, made, &snapshot);
        pair_cuda->net_destroy(made);
        made = pair_create(pair_cuda, &net, options[i], &snapshot);
        assert_same_state((vly_backend_net *[2]){reference, made});
        test_snapshot_deinit(&snapshot);
    }
    pair_cpu->net_destroy(reference);
    pair_cuda->net_destroy(made);
    test_net_deinit(&net);
}

/* Fields, a coefficient, the digest of the state, spikes by area. */
static void test_access(void **state)
{
    vly_error error = {.struct_size = sizeof error};
    const uint32_t low = test_float(0.25f);
    const vly_column column = {.words = &low, .uniform = 1};
    const char *const options[2] = {"plan=global", "span=2"};
    vly_backend_net *nets[2];
    uint64_t digests[2] = {0};
    uint64_t area_spikes[2][3] = {{0}};
    uint32_t words[2][300];
    test_net net;
    (void)state;
    pair_open();
    one_delay_net(&net, 2);
    for (uint32_t i = 0; i < 2; i++) {
        vly_run run = {.struct_size = sizeof run,
                       .n_bursts = BURSTS,
                       .area_spikes = area_spikes[i]};
        nets[i] = pair_create(pair_cuda, &net, options[i], NULL);
        assert_ok(pair_cuda->net_run(nets[i], &run, &error), error);
        memset(words[i], 0, sizeof words[i]);
        assert_ok(
            pair_cuda->field_write(nets[i], 0, 0, 77, 300, words[i], &error),
            error);
        assert_ok(pair_cuda->coef_write(nets[i], 0, 3, &column, &error), error);
        run.n_bursts_done = 0;
        assert_ok(pair_cuda->net_run(nets[i], &run, &error), error);
        assert_ok(
            pair_cuda->field_read(nets[i], 0, 0, 33, 300, words[i], &error),
            error);
        assert_ok(pair_cuda->state_digest(nets[i], &digests[i], &error), error);
    }
    assert_memory_equal(words[0], words[1], sizeof words[0]);
    assert_true(digests[0] == digests[1]);
    assert_memory_equal(area_spikes[0], area_spikes[1], sizeof area_spikes[0]);
    assert_true(area_spikes[0][0] > 0);
    pair_cuda->net_destroy(nets[0]);
    pair_cuda->net_destroy(nets[1]);
    test_net_deinit(&net);
}

/* The last part is not launched: the others wait for its blocks. */
static void test_lost(void **state)
{
    vly_error error = {.struct_size = sizeof error};
    vly_run run = {.struct_size = sizeof run, .n_bursts = 5};
    test_net net;
    (void)state;
    pair_open();
    one_delay_net(&net, 1);
    vly_backend_net *made =
        pair_create(pair_cuda, &net, "span=2,fault=2,wait=60", NULL);
    assert_int_equal(pair_cuda->net_run(made, &run, &error), VLY_E_DEVICE);
    print_message("%s\n", error.message);
    assert_non_null(strstr(error.message, "waited 60 ms for part 1"));
    assert_int_equal(pair_cuda->net_run(made, &run, &error), VLY_E_DEVICE);
    pair_cuda->net_destroy(made);
    made = pair_create(pair_cuda, &net, "span=2", NULL); /* the device lives */
    assert_ok(pair_cuda->net_run(made, &run, &error), error);
    pair_cuda->net_destroy(made);
    test_net_deinit(&net);
}

static void assert_refused(const test_net *net, uint32_t n, const char *options,
                           vly_status wanted, const char *text)
{
    vly_device_spec devices[2];
    vly_error error = {.struct_size = sizeof error};
    vly_backend_net *made = NULL;
    for (uint32_t i = 0; i < 2; i++)
        devices[i] = (vly_device_spec){.struct_size = sizeof devices[i],
                                       .index = n > 1 ? i : 0,
                                       .n_threads = 1,
                                       .options = options};
    vly_status status =
        n > 1 ? pair_cuda->net_create_span(devices, n, &net->desc, &net->start,
                                           &made, &error)
              : pair_cuda->net_create(devices, &net->desc, &net->start, &made,
                                      &error);
    print_message("%s\n", error.message);
    assert_int_equal(status, wanted);
    assert_null(made);
    assert_non_null(strstr(error.message, text));
}

static void create_one(const test_net *net, const char *options,
                       const char *text)
{
    vly_net_info info = {.struct_size = sizeof info};
    vly_error error = {.struct_size = sizeof error};
    vly_backend_net *made = pair_create(pair_cuda, net, options, NULL);
    assert_ok(pair_cuda->net_info(made, &info, &error), error);
    print_message("%s\n", info.plan);
    assert_non_null(strstr(info.plan, text));
    pair_cuda->net_destroy(made);
}

static void test_refused(void **state)
{
    test_net net;
    (void)state;
    pair_open();
    test_random_net(&net, 3); /* with FEAGI areas */
    assert_refused(&net, 1, "span=2", VLY_E_UNSUPPORTED, "FEAGI areas");
    create_one(&net, "span=2,devices=all", "1 device of 2, since FEAGI areas");
    test_net_deinit(&net);
    one_delay_net(&net, 1);
    assert_refused(&net, 1, "fault=2", VLY_E_INVALID, "wanted several");
    assert_refused(&net, 1, "span=5", VLY_E_INVALID, "span=0 to 4");
    if (pair_cuda->device_count() > 1)
        assert_refused(&net, 2, "span=2", VLY_E_INVALID, "is for one device");
    test_net_deinit(&net);
    /* one neuron has no second part */
    uint32_t coefs[NET_COEFS] = {0};
    test_net_init(&net, 1);
    test_delta_coefs(coefs, 0.9f, 3);
    test_area(&net, "lif_psc_delta", 1, coefs, 8);
    test_net_finish(&net);
    assert_refused(&net, 1, "span=2", VLY_E_UNSUPPORTED,
                   "fewer than 128 neurons a device");
    create_one(&net, "span=2,devices=all", "1 device of 2, since a span of 2");
    test_net_deinit(&net);
}

static vly_backend_net *create_on(const test_net *net, uint32_t n,
                                  const char *options, char plan[256])
{
    vly_device_spec devices[8];
    vly_net_info info = {.struct_size = sizeof info};
    vly_error error = {.struct_size = sizeof error};
    vly_backend_net *made = NULL;
    for (uint32_t i = 0; i < n; i++)
        devices[i] = (vly_device_spec){.struct_size = sizeof devices[i],
                                       .index = i,
                                       .n_threads = 1,
                                       .options = options};
    assert_ok(pair_cuda->net_create_span(devices, n, &net->desc, &net->start,
                                         &made, &error),
              error);
    assert_ok(pair_cuda->net_info(made, &info, &error), error);
    snprintf(plan, 256, "%s", info.plan);
    print_message("%s\n", plan);
    return made;
}

/* Real ones; the emulation has two. */
static void test_devices(void **state)
{
    char plan[256];
    char wanted[32];
    test_net net;
    (void)state;
    pair_open();
    const uint32_t count = pair_cuda->device_count();
    if (count < 2) {
        print_message("skipped: one device\n");
        skip();
    }
    pair_plain_net(&net, 9);
    for (uint32_t n = 2; n <= count && n <= 8; n++) {
        vly_backend_net *const nets[2] = {
            pair_create(pair_cpu, &net, NULL, NULL),
            create_on(&net, n, "devices=all,launch=17", plan)};
        snprintf(wanted, sizeof wanted, "%u devices: partitioned", n);
        assert_non_null(strstr(plan, wanted));
        compare_nets(&net, nets, plan);
    }
    /* as many as the backend takes: one, with the reason in the plan */
    vly_backend_net *const nets[2] = {pair_create(pair_cpu, &net, NULL, NULL),
                                      create_on(&net, 2, NULL, plan)};
    assert_non_null(strstr(plan, "1 device of 2, since more would be slower"));
    compare_nets(&net, nets, plan);
    test_net_deinit(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_delay),   cmocka_unit_test(test_posted),
        cmocka_unit_test(test_many_places), cmocka_unit_test(test_delays),
        cmocka_unit_test(test_moves),       cmocka_unit_test(test_access),
        cmocka_unit_test(test_lost),        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}

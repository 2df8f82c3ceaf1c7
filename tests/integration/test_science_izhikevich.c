/* SPDX-License-Identifier: Apache-2.0
 * The firing patterns of Izhikevich 2003 (doi:10.1109/TNN.2003.820440, figure
 * 2) for a step of constant input 10: regular spiking, intrinsically bursting,
 * chattering, fast spiking, told apart by their inter-spike intervals.
 */
#include "volley_test.h"

#include <stdlib.h>

#include <volley/volley.h>

enum { RS, IB, CH, FS, N, MAX_SPIKES = 2000 };

/* 0.1 ms: with 0.5 the intervals of fast spiking still jitter by 40%. The step
 * starts after 100 ms at rest. */
static const char text[] =
    "format = 1\n[run]\ndt_ms = 0.1\nbursts = 11000\n[area.A]\n"
    "model = \"izhikevich\"\nneurons = 4\n"
    "a = [0.02, 0.02, 0.02, 0.1]\nb = [0.2, 0.2, 0.2, 0.2]\n"
    "c = [-65, -55, -50, -65]\nd = [8, 4, 2, 2]\nv = -70\nu = -14\n"
    "[[stimulus]]\nkind = \"dc\"\nto = \"A\"\namplitude = 10\n"
    "start_ms = 100\n";

typedef struct spike_times {
    uint32_t n[N];
    double ms[N][MAX_SPIKES];
} spike_times;

static spike_times times;

static vly_status add(void *arg, uint64_t burst, const uint32_t *ids,
                      uint32_t n_ids, uint64_t digest)
{
    (void)arg;
    (void)digest;
    for (uint32_t i = 0; i < n_ids; i++)
        if (times.n[ids[i]] < MAX_SPIKES)
            times.ms[ids[i]][times.n[ids[i]]++] = 0.1 * (double)(burst + 1);
    return VLY_OK;
}

static double interval(int neuron, uint32_t k)
{
    assert_true(k + 1 < times.n[neuron]);
    return times.ms[neuron][k + 1] - times.ms[neuron][k];
}

static double last_interval(int neuron)
{
    return interval(neuron, times.n[neuron] - 2);
}

static double extreme_interval(int neuron, uint32_t from, bool largest)
{
    double result = interval(neuron, from);
    for (uint32_t k = from; k + 1 < times.n[neuron]; k++)
        if ((interval(neuron, k) > result) == largest)
            result = interval(neuron, k);
    return result;
}

static int setup(void **state)
{
    (void)state;
    vly_error error = {.struct_size = sizeof error};
    vly_registry *registry = NULL;
    vly_genome *genome = NULL;
    vly_connectome *connectome = NULL;
    vly_net *net = NULL;
    assert_ok(vly_registry_create(&registry, &error), error);
    assert_ok(vly_genome_parse(text, sizeof text - 1, "test.toml", NULL, 0,
                               &genome, &error),
              error);
    assert_ok(vly_connectome_build(genome, 1, &connectome, &error), error);
    assert_ok(vly_net_create(connectome, registry, "cpu:1", 1, &net, &error),
              error);
    vly_net_on_spikes(net, add, NULL);
    assert_ok(vly_net_run(net, 11000, &error), error);
    vly_net_destroy(net);
    vly_connectome_destroy(connectome);
    vly_genome_destroy(genome);
    vly_registry_destroy(registry);
    for (int k = 0; k < N; k++)
        printf("neuron %d: %u spikes in 1 s, first intervals %.1f %.1f %.1f "
               "ms, last %.1f ms\n",
               k, (unsigned)times.n[k], interval(k, 0), interval(k, 1),
               interval(k, 2), last_interval(k));
    return 0;
}

/* Nothing before the step. */
static void test_rest(void **state)
{
    (void)state;
    for (int k = 0; k < N; k++)
        assert_true(times.ms[k][0] > 100);
}

/* Intervals grow (adaptation), then stay: one spike at a time. */
static void test_regular_spiking(void **state)
{
    (void)state;
    assert_true(last_interval(RS) > 1.5 * interval(RS, 0));
    assert_true(extreme_interval(RS, 4, true) <
                1.3 * extreme_interval(RS, 4, false));
    assert_in_range(times.n[RS], 10, 40);
}

/* A burst at the start, then single spikes at regular intervals. */
static void test_intrinsically_bursting(void **state)
{
    (void)state;
    assert_true(interval(IB, 0) < 8);
    assert_true(last_interval(IB) > 3 * interval(IB, 0));
    uint32_t middle = times.n[IB] / 2;
    assert_true(extreme_interval(IB, middle, true) <
                1.3 * extreme_interval(IB, middle, false));
}

/* Bursts of closely spaced spikes for as long as the input lasts. */
static void test_chattering(void **state)
{
    (void)state;
    uint32_t middle = times.n[CH] / 2;
    assert_true(extreme_interval(CH, middle, false) < 6);
    assert_true(extreme_interval(CH, middle, true) >
                4 * extreme_interval(CH, middle, false));
}

/* High frequency, no adaptation after the first two intervals, which the step
 * itself shortens. */
static void test_fast_spiking(void **state)
{
    (void)state;
    assert_true(last_interval(FS) < 1.1 * interval(FS, 2));
    assert_true(extreme_interval(FS, 4, true) <
                1.3 * extreme_interval(FS, 4, false));
    assert_true(times.n[FS] > 2 * times.n[RS]);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rest),
        cmocka_unit_test(test_regular_spiking),
        cmocka_unit_test(test_intrinsically_bursting),
        cmocka_unit_test(test_chattering),
        cmocka_unit_test(test_fast_spiking),
    };
    return cmocka_run_group_tests(tests, setup, NULL) ? 1 : 0;
}

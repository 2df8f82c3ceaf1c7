/* SPDX-License-Identifier: Apache-2.0
 * Plans of the CUDA backend that are not asked for: which one stays when memory
 * is short, by quotas of the engine's policy, what they take, and the time of
 * their phases. PLANS_EMULATED: kernels as C++ on the processor, small nets.
 */
#include "device_errors.h"

#include <inttypes.h>

#include "connectome/connectome.h"

static vly_registry *registry;
static vly_error error = {.struct_size = sizeof error};

#ifdef PLANS_EMULATED
enum { NEURONS = 4500, IN_DEGREE = 20, BURSTS = 5 }; /* 4 multiprocessors */
#else
enum { NEURONS = 200000, IN_DEGREE = 50, BURSTS = 20 };
#endif

static vly_connectome *build_weights(uint32_t n, uint32_t in_degree,
                                     const char *delay, const char *weight)
{
    char text[1024];
    snprintf(text, sizeof text,
             "format = 1\n[run]\ndt_ms = 1\nbursts = 20\n[area.A]\n"
             "model = \"lif_psc_delta\"\nneurons = %u\n[[map]]\nfrom = \"A\"\n"
             "to = \"A\"\nrule = \"fixed_in_degree\"\nin_degree = %u\n"
             "weight_mv = %s\ndelay_bursts = %s\n"
             "[[stimulus]]\nkind = \"poisson\"\nto = \"A\"\nrate_hz = 100\n"
             "weight_mv = 20\n",
             n, in_degree, weight, delay);
    return device_build(text);
}

static vly_connectome *build(uint32_t n, uint32_t in_degree, const char *delay)
{
    return build_weights(n, in_degree, delay, "{ uniform = [-0.2, 0.2] }");
}

/* Run digest; *plan: 'r', 'p', 'g', or 0 where memory was short. */
static uint64_t digest_of(const vly_connectome *connectome, const char *spec,
                          char *plan)
{
    vly_net *net = NULL;
    vly_stats stats = {.struct_size = sizeof stats};
    vly_status status =
        vly_net_create(connectome, registry, spec, 1, &net, &error);
    *plan = 0;
    if (status == VLY_OK)
        status = vly_net_run(net, BURSTS, &error);
    if (status != VLY_OK) {
        if (status != VLY_E_NOMEM ||
            error.bytes_requested <= error.bytes_available)
            fail_msg("%s: status %d: %s", spec, (int)status, error.message);
        vly_net_destroy(net);
        return 0;
    }
    assert_ok(vly_net_stats(net, &stats, &error), error);
    uint64_t digest = vly_net_digest(net);
    vly_net_destroy(net);
    *plan = stats.plan[0];
    return digest;
}

/* ---- memory ------------------------------------------------------------ */

static void limit(uint64_t bytes)
{
    assert_ok(vly_device_memory_limit("cuda:0", bytes, &error), error);
}

/* From too little for any plan to enough for the one that was chosen. */
static void walk_limits(const vly_connectome *connectome, const char *spec)
{
    char plan = 0;
    uint64_t n_of[128] = {0};
    const uint64_t wanted = digest_of(connectome, "cpu:2", &plan);
    limit(UINT64_MAX);
    assert_true(digest_of(connectome, spec, &plan) == wanted);
    const char first = plan;
    const uint64_t bytes = (uint64_t)NEURONS * IN_DEGREE;
    for (uint64_t most = 4 * bytes; n_of[(int)first] == 0; most += most / 12) {
        assert_true(most < 100 * bytes);
        limit(most);
        uint64_t digest = digest_of(connectome, spec, &plan);
        if (plan != 0)
            assert_true(digest == wanted);
        n_of[(int)plan]++;
        assert_true(device_usage("cuda:0").used_bytes == 0);
    }
    printf("%s: too little for any plan %" PRIu64 " times, then global %" PRIu64
           ", partitioned %" PRIu64 ", resident %" PRIu64 "\n",
           spec, n_of[0], n_of['g'], n_of['p'], n_of['r']);
    assert_true(n_of[0] > 0);
#ifndef PLANS_EMULATED /* where pinned pieces are larger than all the rest */
    assert_true(n_of['g'] > 0);
#endif
    limit(UINT64_MAX);
}

static void test_no_room(void **state)
{
    (void)state;
    device_require(registry, "cuda");
    char plan = 0;
    vly_connectome *large = build(NEURONS, IN_DEGREE, "1");
    vly_connectome *small = build(NEURONS / 10, 10 * IN_DEGREE, "1");
    (void)digest_of(large, "cuda:0", &plan);
    assert_int_equal(plan, 'p'); /* its state exceeds registers */
    walk_limits(large, "cuda:0");
    (void)digest_of(small, "cuda:0", &plan);
    assert_int_equal(plan, 'r');
    walk_limits(small, "cuda:0");
    vly_connectome_destroy(large);
    vly_connectome_destroy(small);
}

/* A net that cannot move stays, and its results do not change. */
static void test_no_room_for_a_swap(void **state)
{
    (void)state;
    device_require(registry, "cuda");
    char plan = 0;
    vly_net *net = NULL;
    vly_connectome *large = build(NEURONS, IN_DEGREE, "1");
    const uint64_t wanted = digest_of(large, "cpu:2", &plan);
    limit((uint64_t)NEURONS * IN_DEGREE * 8);
    assert_ok(vly_net_create(large, registry, "cpu:2", 1, &net, &error), error);
    assert_ok(vly_net_run(net, BURSTS / 2, &error), error);
    assert_int_equal(vly_net_swap(net, "cuda:0", 1, &error), VLY_E_NOMEM);
    assert_true(device_usage("cuda:0").used_bytes == 0);
    assert_ok(vly_net_run(net, BURSTS - BURSTS / 2, &error), error);
    assert_true(vly_net_digest(net) == wanted);
    vly_net_destroy(net);
    limit(UINT64_MAX);
    vly_connectome_destroy(large);
}

/* ---- units of maps ------------------------------------------------------ */

/* Weights of a wide law, in units of several sizes: the net runs by the plan
 * that its size is for, not by plan global. */
static void test_wide_weights(void **state)
{
    (void)state;
    device_require(registry, "cuda");
    static const char law[] = "{ lognormal = [-3.7, 2] }";
    static const char *const delays[] = {"1", "{ uniform = [0.5, 9.5] }"};
    static const char *const specs[] = {"cuda:0", "cuda:0,change=1,launch=2"};
    for (int i = 0; i < 3; i++) {
        const uint32_t n = i % 2 == 0 ? NEURONS / 10 : NEURONS;
        char plan = 0;
        vly_connectome *net = build_weights(n, IN_DEGREE, delays[i / 2], law);
        const vly_net_desc *desc = &net->desc;
        assert_true(desc->n_projections > 1);
        assert_true(desc->projections[desc->n_projections - 1].shift != 0);
        const uint64_t wanted = digest_of(net, "cpu:2", &plan);
        assert_true(digest_of(net, specs[0], &plan) == wanted);
        assert_int_equal(plan, i % 2 == 0 ? 'r' : 'p');
        assert_true(digest_of(net, specs[1], &plan) == wanted);
        vly_connectome_destroy(net);
    }
}

/* ---- phases ------------------------------------------------------------ */

static vly_status take_spikes(void *arg, uint64_t burst, const uint32_t *ids,
                              uint32_t n_ids, uint64_t digest)
{
    (void)arg;
    (void)burst;
    (void)ids;
    (void)n_ids;
    (void)digest;
    return VLY_OK;
}

static void test_phases(void **state)
{
    (void)state;
    device_require(registry, "cuda");
    static const char *const specs[] = {"cuda:0,plan=global",
                                        "cuda:0,plan=resident",
                                        "cuda:0,plan=partitioned"};
    vly_connectome *net_of = build(NEURONS / 100, IN_DEGREE, "1");
    for (int i = 0; i < 3; i++) {
        vly_net *net = NULL;
        vly_stats stats = {.struct_size = sizeof stats};
        assert_ok(vly_net_create(net_of, registry, specs[i], 1, &net, &error),
                  error);
        vly_net_on_spikes(net, take_spikes, NULL);
        assert_ok(vly_net_run(net, 30, &error), error);
        assert_ok(vly_net_stats(net, &stats, &error), error);
        printf("%s: delivery %" PRIu64 ", dynamics %" PRIu64
               ", exchange %" PRIu64 ", drain %" PRIu64 " of %" PRIu64 " ns\n",
               specs[i], stats.delivery_ns, stats.dynamics_ns,
               stats.exchange_ns, stats.drain_ns, stats.run_ns);
        assert_true(stats.delivery_ns > 0);
        assert_true(stats.dynamics_ns > 0);
        assert_true(stats.exchange_ns > 0);
        assert_true(stats.drain_ns > 0);
        vly_net_destroy(net);
    }
    vly_connectome_destroy(net_of);
}

/* ---- bytes a synapse --------------------------------------------------- */

#ifndef PLANS_EMULATED
static double bytes_a_synapse(const vly_connectome *connectome,
                              const char *spec)
{
    vly_net *net = NULL;
    vly_stats stats = {.struct_size = sizeof stats};
    assert_ok(vly_net_create(connectome, registry, spec, 1, &net, &error),
              error);
    assert_ok(vly_net_stats(net, &stats, &error), error);
    vly_net_destroy(net);
    const char *end = strstr(stats.plan, " bytes a synapse");
    assert_non_null(end);
    while (end > stats.plan && end[-1] != ' ')
        end--;
    double bytes = strtod(end, NULL);
    printf("%s: %s\n", spec, stats.plan);
    assert_true(bytes >= 4.0); /* an id and a weight */
    return bytes;
}

/* 1000 synapses a neuron, index and padding included. */
static void test_bytes(void **state)
{
    (void)state;
    device_require(registry, "cuda");
    static const char *const delays[] = {"1", "{ uniform = [0.5, 16.5] }"};
    static const double most[] = {4.6, 5.6};
    for (int i = 0; i < 2; i++) {
        vly_connectome *net = build(30000, 1000, delays[i]);
        double resident = bytes_a_synapse(net, "cuda:0,plan=resident");
        double parts = bytes_a_synapse(net, "cuda:0,plan=partitioned");
        assert_true(resident <= 8.0);
        assert_true(parts <= most[i]);
        vly_connectome_destroy(net);
    }
}
#endif

static int group_setup(void **state)
{
    (void)state;
#ifdef PLANS_EMULATED
    setenv("VOLLEY_PLUGIN_PATH", TEST_PLUGIN ":" VLY_TEST_PLUGIN_DIR "/cpu.so",
           1);
#endif
    return vly_registry_create(&registry, &error);
}

static int group_teardown(void **state)
{
    (void)state;
    vly_registry_destroy(registry);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_no_room_for_a_swap),
        cmocka_unit_test(test_wide_weights),
        cmocka_unit_test(test_phases),
#ifndef PLANS_EMULATED
        cmocka_unit_test(test_bytes),
#endif
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown) ? 1 : 0;
}

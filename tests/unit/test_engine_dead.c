/* SPDX-License-Identifier: Apache-2.0
 * A device that fails ends its net for ever, with the same sentence.
 */
#include "engine_fixture.h"

static const char *const message = "device lost, as asked for";

static void dead_for_ever(void **state)
{
    fixture f;
    char path[512];
    const uint32_t *ids = NULL;
    uint32_t n = 0;
    double value = 0;
    uint64_t digest = 0;
    vly_state *kept = NULL;
    vly_stats stats = {.struct_size = sizeof stats};
    (void)state;
    fixture_init(&f, genome_three);
    vly_error *e = &f.error;
    (void)snprintf(path, sizeof path, "%s/failing.so", VLY_TEST_PLUGINS);
    assert_ok(vly_registry_add(f.registry, path, e), f.error);
    vly_net *net = fixture_net(&f, "failing,at=20");
    assert_ok(vly_net_run(net, 15, e), f.error);
    vly_state *before = NULL;
    assert_ok(vly_net_snapshot(net, &before, e), f.error);
    uint64_t burst = vly_net_burst(net);
    for (int twice = 0; twice < 2; twice++)
        assert_fails(vly_net_run(net, 15, e), VLY_E_DEVICE, e, message);
    assert_int_equal(vly_net_burst(net), burst);
    assert_fails(vly_net_run(net, 0, e), VLY_E_DEVICE, e, message);
    assert_fails(vly_net_fired(net, &ids, &n, e), VLY_E_DEVICE, e, message);
    assert_fails(vly_net_read(net, "A", "v_mv", 0, 1, &value, e), VLY_E_DEVICE,
                 e, message);
    assert_fails(vly_net_write(net, "A", "v_mv", 0, 1, &value, e), VLY_E_DEVICE,
                 e, message);
    assert_fails(vly_net_set(net, "area.A.tau_m_ms", 5, e), VLY_E_DEVICE, e,
                 message);
    assert_fails(vly_net_set_each(net, "A", "tau_m_ms", &value, 1, e),
                 VLY_E_DEVICE, e, message);
    assert_fails(vly_net_inject(net, 90, "A", 0, 0, 1, e), VLY_E_DEVICE, e,
                 message);
    assert_fails(vly_net_snapshot(net, &kept, e), VLY_E_DEVICE, e, message);
    assert_fails(vly_net_restore(net, before, e), VLY_E_DEVICE, e, message);
    assert_fails(vly_net_swap(net, "cpu:1", 1, e), VLY_E_DEVICE, e, message);
    assert_fails(vly_net_state_digest(net, &digest, e), VLY_E_DEVICE, e,
                 message);
    assert_int_equal(vly_net_run(net, 1, NULL), VLY_E_DEVICE);
    /* what it had done is still told */
    assert_ok(vly_net_stats(net, &stats, e), f.error);
    assert_int_equal(stats.bursts, 15);
    assert_null(kept);
    vly_net_destroy(net);
    /* the last snapshot goes on elsewhere: fail-over */
    net = fixture_net(&f, "cpu:1");
    assert_ok(vly_net_restore(net, before, e), f.error);
    fingerprint print = fixture_run(&f, net, 85);
    vly_net *whole = fixture_net(&f, "cpu:1");
    fingerprint wanted = fixture_run(&f, whole, 100);
    assert_same(&print, &wanted);
    vly_net_destroy(whole);
    vly_net_destroy(net);
    vly_state_destroy(before);
    fixture_deinit(&f);
}

/* A backend that is not the CPU's takes part in a swap like any other. */
static void swap_to_another_plugin(void **state)
{
    fixture f;
    char path[512];
    (void)state;
    fixture_init(&f, genome_three);
    (void)snprintf(path, sizeof path, "%s/failing.so", VLY_TEST_PLUGINS);
    assert_ok(vly_registry_add(f.registry, path, &f.error), f.error);
    vly_net *net = fixture_net(&f, "cpu:1");
    vly_net *whole = fixture_net(&f, "cpu:1");
    assert_ok(vly_net_set(net, "area.B.tau_m_ms", 30, &f.error), f.error);
    assert_ok(vly_net_set(whole, "area.B.tau_m_ms", 30, &f.error), f.error);
    for (uint64_t t = 0; t < 80; t++) {
        assert_ok(vly_net_swap(net, t % 2 ? "cpu:1" : "failing", 1, &f.error),
                  f.error);
        assert_ok(vly_net_run(net, 1, &f.error), f.error);
    }
    fingerprint print = fixture_run(&f, net, 0);
    fingerprint wanted = fixture_run(&f, whole, 80);
    assert_same(&print, &wanted);
    vly_net_destroy(net);
    vly_net_destroy(whole);
    fixture_deinit(&f);
}

/* ---- what is returned does not fit the interface ----------------------- */

static const struct {
    const char *lie;
    const char *text;
} run_lies[] = {
    {"stopped", "backend erring:0 returned status -8"},
    {"unknown", "backend erring:0 returned status 42"},
    {"silent", "no reason given"},
    {"endless", "xxxx"},
    {"many", "13 bursts done, which do not fit: wanted at most 12"},
    {"count", "burst 0 with more spikes than neurons"},
    {"sum", "2 spikes recorded, which do not fit its counts: 1"},
    {"id", "burst 10 with the spike of a neuron that does not exist"},
    {"other", "burst 10 with a digest that is not that of its spikes"},
    {"twice", "burst 10 with spikes that do not ascend"},
};

static const struct {
    const char *lie;
    const char *text;
} snapshot_lies[] = {
    {"s_words", "snapshot with n_state_words 7, wanted 6"},
    {"s_burst", "snapshot with burst 13, wanted 12"},
    {"s_bursts", "snapshot with n_fired_bursts 13, wanted 12"},
    {"s_many", "snapshot with n_fired "},
    {"s_grow", "snapshot with other counts in the second call"},
    {"s_row", "snapshot with a row that does not ascend"},
    {"s_id", "snapshot with a neuron that does not exist"},
};

static void erring_init(fixture *f, const char *genome)
{
    char path[512];
    fixture_init(f, genome);
    (void)snprintf(path, sizeof path, "%s/erring.so", VLY_TEST_PLUGINS);
    assert_ok(vly_registry_add(f->registry, path, &f->error), f->error);
}

static vly_net *lying_net(fixture *f, const char *lie)
{
    char spec[64];
    (void)snprintf(spec, sizeof spec, "erring,lie=%s", lie);
    return fixture_net(f, spec);
}

static void run_that_lies(void **state)
{
    static spike_log log;
    fixture f;
    (void)state;
    erring_init(&f, genome_three);
    for (size_t i = 0; i < sizeof run_lies / sizeof run_lies[0]; i++) {
        vly_net *net = lying_net(&f, run_lies[i].lie);
        log = (spike_log){.fail_at = UINT64_MAX};
        vly_net_on_spikes(net, spike_log_add, &log);
        for (int twice = 0; twice < 2; twice++)
            assert_fails(vly_net_run(net, 12, &f.error), VLY_E_DEVICE, &f.error,
                         run_lies[i].text);
        assert_true(memchr(f.error.message, 0, sizeof f.error.message) != NULL);
        assert_int_equal(log.n_calls, 0);
        assert_int_equal(vly_net_burst(net), 0);
        vly_net_destroy(net);
    }
    fixture_deinit(&f);
}

/* So many spikes that several threads look at them; the first comes late. */
static const char genome_busy[] =
    "format = 1\n[run]\ndt_ms = 1\nbursts = 200\n"
    "[area.A]\nmodel = \"lif_psc_delta\"\nneurons = 3000\nt_ref_ms = 0\n"
    "[area.B]\nmodel = \"lif_psc_delta\"\nneurons = 10\n"
    "[[stimulus]]\nkind = \"normal\"\nto = \"A\"\nmean_mv = 40\n"
    "sd_mv = 0.1\nstart_ms = 70\n";

static void long_run_that_lies(void **state)
{
    static const char *const lies[] = {"id", "twice", "other"};
    static spike_log log;
    fixture f;
    (void)state;
    erring_init(&f, genome_busy);
    for (int i = 0; i < 3; i++) {
        vly_net *net = lying_net(&f, lies[i]);
        log = (spike_log){.fail_at = UINT64_MAX};
        vly_net_on_spikes(net, spike_log_add, &log);
        assert_fails(vly_net_run(net, 200, &f.error), VLY_E_DEVICE, &f.error,
                     "burst 70 with spikes that do not ascend");
        assert_int_equal(log.n_calls, 0);
        vly_net_destroy(net);
    }
    vly_net *net = fixture_net(&f, "cpu:1");
    vly_net *quiet = fixture_net(&f, "cpu:1");
    log = (spike_log){.fail_at = UINT64_MAX};
    vly_net_on_spikes(net, spike_log_add, &log);
    assert_ok(vly_net_run(net, 200, &f.error), f.error);
    assert_ok(vly_net_run(quiet, 200, &f.error), f.error);
    assert_int_equal(log.n_calls, 200);
    assert_true(vly_net_digest(net) == vly_net_digest(quiet));
    vly_net_destroy(net);
    vly_net_destroy(quiet);
    fixture_deinit(&f);
}

static void snapshot_that_lies(void **state)
{
    fixture f;
    (void)state;
    erring_init(&f, genome_three);
    for (size_t i = 0; i < sizeof snapshot_lies / sizeof snapshot_lies[0];
         i++) {
        vly_state *kept = NULL;
        vly_net *net = lying_net(&f, snapshot_lies[i].lie);
        assert_ok(vly_net_run(net, 12, &f.error), f.error);
        assert_fails(vly_net_snapshot(net, &kept, &f.error), VLY_E_DEVICE,
                     &f.error, snapshot_lies[i].text);
        assert_null(kept);
        assert_fails(vly_net_run(net, 1, &f.error), VLY_E_DEVICE, &f.error,
                     snapshot_lies[i].text);
        vly_net_destroy(net);
    }
    fixture_deinit(&f);
}

static void create_that_lies(void **state)
{
    fixture f;
    vly_net *net = NULL;
    (void)state;
    erring_init(&f, genome_three);
    assert_fails(vly_net_create(f.connectome, f.registry, "erring,lie=no_net",
                                1, &net, &f.error),
                 VLY_E_DEVICE, &f.error,
                 "backend erring: net_create returned ok and no net");
    assert_fails(vly_net_create(f.connectome, f.registry,
                                "erring,lie=create_stop", 1, &net, &f.error),
                 VLY_E_DEVICE, &f.error, "returned status -8");
    assert_null(net);
    fixture_deinit(&f);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(run_that_lies),
    cmocka_unit_test(long_run_that_lies),
    cmocka_unit_test(snapshot_that_lies),
    cmocka_unit_test(create_that_lies),
    cmocka_unit_test(dead_for_ever),
    cmocka_unit_test(swap_to_another_plugin),
};

VLY_TEST_MAIN(tests)
